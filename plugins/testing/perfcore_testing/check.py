"""The contract of checks that compare two samples, and builders of what they compare.

    class TestContract(CheckContract):
        @pytest.fixture
        def driver(self):
            return Halved(Halved.Settings())

A check that decides otherwise about one of these laws than most is free to override that test, and says why.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from perfcore.errors import PerfError
from perfcore.model import EMPTY, Header, Pairing, Profile, Sample, Tool
from perfcore.model.record import replace
from perfcore.profile.recording import RUN, RUNS
from perfcore.profile.table import TableBuilder, Value, column, table
from perfcore_testing.changes import assert_the_same_elsewhere, assert_told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from perfcore.hookspecs import Check
    from perfcore.model import Change
    from perfcore.profile.table import Table

Amounts: TypeAlias = Mapping[str, Sequence[Value]]

KINDS = ("degradation", "optimization", "same", "cannot tell")
MIRRORED = {"degradation": "optimization", "optimization": "degradation"}
BASELINE, TARGET = "a" * 40, "b" * 40
NAN, INFINITE = math.nan, math.inf


def noisy(center: float, seed: int, *, runs: int = 20, spread: float = 0.01) -> list[float]:
    """Amounts of so many runs, whose logarithms are normal with this spread around the center."""
    # A text is hashed by SHA-512 for the seed, not by `hash`: every process gets the same numbers.
    noise = random.Random(f"perfcore {seed}")
    return [center * math.exp(noise.gauss(0, spread)) for _ in range(runs)]


def measured(
    amounts: Amounts | Sequence[Value],
    *,
    unit: str = "ns",
    units: Mapping[str, str] = EMPTY,
    better: Mapping[str, Any] = EMPTY,
    session: str = "",
    first_block: int = 0,
    disturbed: Sequence[int] = (),
    exits: Sequence[int] = (),
    rows_per_run: int = 1,
    type: str = "time",
    collector: str = "time",
    environment_id: str = "e" * 40,
    exact: Sequence[str] = (),
) -> Profile:
    """A profile with these amounts of each metric, one per run: a plain sequence is CPU time.

    `session` names what the runs of two profiles were taken in turn in: run k of each is in block k of it, or in block
    `first_block` + k where one side was measured after the other.
    `disturbed` are numbers of runs, `exits` the exit codes where not all are 0. Each amount is spread evenly
    over `rows_per_run` rows. `exact` names the metrics that are declared deterministic.
    """
    metrics = amounts if isinstance(amounts, Mapping) else {"cpu": amounts}
    runs = max((len(values) for values in metrics.values()), default=0)
    columns = [column("run", [run for run in range(runs) for _ in range(rows_per_run)], dtype="i64", role="order")]
    for name, values in metrics.items():
        rows = [_share(value, rows_per_run) for value in values for _ in range(rows_per_run)]
        rows += [None] * (runs * rows_per_run - len(rows))
        direction = better.get(name, "lower")
        columns.append(
            column(name, rows, unit=units.get(name, unit), role="value", better=direction, exact=name in exact)
        )
    tables = {
        "resources": table("resources", columns),
        "runs": _runs(runs, session, first_block, set(disturbed), list(exits) or [0] * runs),
    }
    return Profile(
        header=Header(type=type, argv=("work",), cmd="work"),
        created=0,
        collector=Tool(name=collector),
        environment_id=environment_id,
        config_id="c" * 40,
        tables=tables,
    )


def sample(profiles: Profile | Sequence[Profile], version: str | None) -> Sample:
    """A sample of one profile or of several."""
    return Sample(version=version, profiles=(profiles,) if isinstance(profiles, Profile) else tuple(profiles))


def pairing(
    baseline: Profile | Sequence[Profile],
    target: Profile | Sequence[Profile],
    *,
    interleaved: bool = False,
    thresholds: Mapping[str, float] = EMPTY,
    versions: tuple[str | None, str | None] = (BASELINE, TARGET),
) -> Pairing:
    """Two samples, each of one profile or of several, as a check gets them."""
    return Pairing(
        baseline=sample(baseline, versions[0]),
        target=sample(target, versions[1]),
        config_id="c" * 40,
        interleaved=interleaved,
        thresholds=thresholds,
    )


def swapped(original: Pairing) -> Pairing:
    """The same comparison, seen from the other side."""
    return replace(original, baseline=original.target, target=original.baseline)


def _share(value: Value, rows: int) -> Value:
    return value / rows if isinstance(value, int | float) and rows > 1 else value


def _runs(runs: int, session: str, first_block: int, disturbed: set[int], exits: Sequence[int]) -> Table:
    builder = TableBuilder("runs", RUNS)
    for run in range(runs):
        builder.add(
            run=run,
            session=session or None,
            block=first_block + run if session else None,
            position=0,
            started=first_block + run,
            warmup=False,
            disturbed=run in disturbed,
            exit=exits[run % len(exits)],
        )
    return builder.build()


def hopeless() -> Iterator[tuple[str, Profile, Profile]]:
    """Named comparisons of which no check can make much: it answers, and does not fail."""
    good = noisy(5e6, 1)
    odd: Mapping[str, Sequence[Value]] = {
        "no run at all": [],
        "one run": [5e6],
        "two runs": [5e6, 5.1e6],
        "constants": [5_000_000] * 12,
        "zeros": [0] * 12,
        "some zeros": [0, 1] * 6,
        "negative": [-5.0, -6.0, -7.0, -5.5] * 3,
        "both signs": [-1.0, 1.0] * 6,
        "NaN": [NAN] * 12,
        "some NaN": [5e6, NAN, 5.1e6] * 4,
        "infinite": [INFINITE, -INFINITE] * 6,
        "some missing": [5e6, None, 5.1e6] * 4,
        "nothing but missing": [None] * 12,
        "as large as floats go": [1.7e308, 1.1e308] * 6,
        "as small as floats go": [5e-324, 1e-323] * 6,
        # Integers that floats cannot tell apart.
        "beyond 53 bits": [2**63 - 1, 2**63 - 2] * 6,
    }
    for name, values in odd.items():
        profile = measured(values)
        yield name, profile, profile
        yield f"{name} after good ones", measured(good), profile
        yield f"{name} before good ones", profile, measured(good)
        yield f"{name} in several rows", measured(good), measured(values, rows_per_run=2)
    pairs = itertools.permutations(["zeros", "constants", "as large as floats go", "as small as floats go"], 2)
    for first, second in pairs:
        yield f"{first} and {second}", measured(odd[first]), measured(odd[second])
    no_runs = measured(good)
    totals = {"resources": table("resources", [no_runs.tables["resources"]["cpu"]])}
    yield "rows without runs", replace(no_runs, tables=totals), replace(no_runs, tables=totals)
    yield "no tables", no_runs, replace(no_runs, tables={})
    empty = TableBuilder("resources", (RUN,)).build()
    yield "no columns of values", no_runs, no_runs.replace_tables(resources=empty)
    yield (
        "no table of runs",
        no_runs,
        replace(no_runs, tables={"resources": no_runs.tables["resources"]}),
    )


HOPELESS = {name: (first, second) for name, first, second in hopeless()}


def assert_sound(change: Change, compared: Pairing) -> None:
    """What holds for every change whatever it says."""
    assert_told(change)
    assert change.kind in KINDS
    assert change.config_id == compared.config_id
    assert change.label == compared.label
    assert (change.baseline, change.target) == (compared.baseline.label, compared.target.label)


class CheckContract:
    """What every check with `compare` does. Override the fixture `driver`."""

    @pytest.fixture
    def driver(self) -> Check:
        raise NotImplementedError("override this fixture: it gives the driver to test")

    @pytest.fixture
    def compare(self, driver: Check) -> Callable[[Pairing], dict[str, Change]]:
        """The verdicts on whole profiles by metric, each of them sound."""

        def run(compared: Pairing) -> dict[str, Change]:
            changes = driver.compare(compared)
            for change in changes:
                assert_sound(change, compared)
            assert len({change.id for change in changes}) == len(changes), "two changes of one id"
            whole_program = [change for change in changes if not change.resource]
            assert len({change.metric for change in whole_program}) == len(whole_program), "two verdicts on one metric"
            return {change.metric: change for change in whole_program}

        return run

    def test_gives_one_verdict_for_every_metric(self, compare: Any) -> None:
        profiles = [measured({"cpu": noisy(5e6, s), "wall": noisy(6e6, s), "pages": [7] * 20}) for s in (1, 2)]
        assert set(compare(pairing(*profiles))) == {"cpu", "wall", "pages"}

    def test_something_decides(self, compare: Any) -> None:
        """At least one verdict is primary, or the check could never fail a build."""
        profiles = [measured({"wall": noisy(6e6, s), "cpu": noisy(5e6, s)}, session="s") for s in (1, 2)]
        assert any(change.primary for change in compare(pairing(*profiles)).values())

    @pytest.mark.parametrize("session", ["", "s"], ids=["in blocks", "in turn"])
    def test_identical_samples_are_no_change(self, compare: Any, session: str) -> None:
        for seed in range(5):
            profile = measured(noisy(5e6, seed, spread=0.1), session=session)
            assert compare(pairing(profile, profile))["cpu"].kind in ("same", "cannot tell")

    def test_noise_alone_is_seldom_a_degradation(self, compare: Any) -> None:
        false_alarms = 0
        for seed in range(40):
            sides = [measured(noisy(5e6, 2 * seed + side), session="s") for side in (0, 1)]
            false_alarms += compare(pairing(*sides, interleaved=True))["cpu"].kind == "degradation"
        # Of 40 at a level of 5 % two are expected, half of them in this direction; more than 4 come once in 300 times.
        assert false_alarms <= 4

    @pytest.mark.parametrize("session", ["", "s"], ids=["in blocks", "in turn"])
    @pytest.mark.parametrize("factor", [2.0, 0.5])
    @pytest.mark.parametrize("better", ["lower", "higher"])
    def test_a_large_clear_change_is_found(self, compare: Any, session: str, factor: float, better: str) -> None:
        sides = [
            measured(noisy(center, seed), session=session, better={"cpu": better})
            for seed, center in enumerate((5e6, 5e6 * factor))
        ]
        change = compare(pairing(*sides, interleaved=bool(session)))["cpu"]
        assert change.kind == ("degradation" if (factor > 1) == (better == "lower") else "optimization")
        assert change.ratio == pytest.approx(factor, rel=0.05)
        assert change.primary

    @pytest.mark.parametrize("session", ["", "s"], ids=["in blocks", "in turn"])
    def test_swapping_the_sides_swaps_the_verdict(self, compare: Any, session: str) -> None:
        for seed, factor in enumerate((1.0, 1.01, 1.03, 1.1, 2.0)):
            sides = [measured(noisy(5e6 * f, 2 * seed + i), session=session) for i, f in enumerate((1.0, factor))]
            forward = compare(pairing(*sides, interleaved=bool(session)))["cpu"]
            backward = compare(swapped(pairing(*sides, interleaved=bool(session))))["cpu"]
            assert backward.kind == MIRRORED.get(forward.kind, forward.kind)
            assert backward.ratio == pytest.approx(1 / forward.ratio)

    def test_a_change_below_the_threshold_is_no_degradation(self, compare: Any) -> None:
        """`thresholds` names the smallest change that matters, for a metric or for all."""
        sides = [measured({"cpu": noisy(c, s), "wall": noisy(c, s)}, session="s") for s, c in ((1, 5e6), (2, 5.5e6))]
        kinds = {
            name: change.kind
            for name, change in compare(pairing(*sides, interleaved=True, thresholds={"": 0.5, "wall": 0.001})).items()
        }
        assert kinds == {"cpu": "same", "wall": "degradation"}

    def test_a_part_of_its_chance_makes_a_check_no_bolder(self, driver: Check) -> None:
        """What it calls a change with a `share` of its chance of a false alarm, it calls so with all of it."""
        for seed, factor in enumerate((1.0, 1.01, 1.03, 1.1, 2.0)):
            sides = [measured(noisy(5e6 * f, 2 * seed + i), session="s") for i, f in enumerate((1.0, factor))]
            full_alpha, partial_alpha = (
                driver.compare(replace(pairing(*sides, interleaved=True), share=share))[0].kind for share in (1.0, 0.05)
            )
            assert partial_alpha in (full_alpha, "cannot tell", "same")

    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ({"unit": "ns"}, {"unit": "s"}),
            ({"type": "time"}, {"type": "trace"}),
            ({"collector": "time"}, {"collector": "trace"}),
            ({"better": {"cpu": "lower"}}, {"better": {"cpu": "higher"}}),
        ],
        ids=["unit", "type", "collector", "direction"],
    )
    def test_what_is_not_comparable_is_not_compared(self, driver: Check, left: Any, right: Any) -> None:
        """Refused with an error for people, or answered with `cannot tell`; never decided."""
        sides = measured(noisy(5e6, 1), **left), measured(noisy(1e7, 2), **right)
        with contextlib.suppress(PerfError):
            changes = driver.compare(pairing(*sides))
            assert {change.kind for change in changes} == {"cannot tell"}
            assert all(change.evidence for change in changes)

    @pytest.mark.parametrize("name", HOPELESS)
    @pytest.mark.parametrize("interleaved", [False, True], ids=["in blocks", "in turn"])
    def test_hopeless_samples_get_an_honest_answer(self, compare: Any, name: str, interleaved: bool) -> None:
        first, second = HOPELESS[name]
        compared = pairing(first, second, interleaved=interleaved)
        forward, backward = compare(compared), compare(swapped(compared))
        assert set(forward) == set(backward)
        for metric, change in forward.items():
            assert backward[metric].kind == MIRRORED.get(change.kind, change.kind)

    @pytest.mark.parametrize("interleaved", [False, True], ids=["in blocks", "in turn"])
    def test_one_noisy_run_decides_nothing(self, compare: Any, interleaved: bool) -> None:
        sides = measured([5_000_000]), measured([9_000_000])
        assert compare(pairing(*sides, interleaved=interleaved))["cpu"].kind == "cannot tell"

    @pytest.mark.parametrize("nothing", [None, NAN], ids=["missing", "NaN"])
    def test_a_missing_amount_is_not_zero(self, compare: Any, nothing: float | None) -> None:
        """Every fourth run has no amount; the others say that nothing changed."""
        amounts: list[Value] = [*noisy(5e6, 1, runs=40, spread=0.001)]
        amounts[::4] = [nothing] * 10
        change = compare(pairing(measured(noisy(5e6, 2, runs=40, spread=0.001)), measured(amounts)))["cpu"]
        assert change.kind in ("same", "cannot tell")
        assert change.target_value == pytest.approx(5e6, rel=0.01)

    @pytest.mark.parametrize("gone", [False, True], ids=["new", "gone"])
    def test_a_metric_of_one_side_is_not_decided(self, compare: Any, gone: bool) -> None:
        """`cannot tell`, or left out; and the other metrics go on."""
        with_extra = measured({"cpu": noisy(5e6, 1), "extra": noisy(5e6, 3)}, session="s")
        without_extra = measured({"cpu": noisy(1e7, 2)}, session="s")
        changes = compare(pairing(*((with_extra, without_extra) if gone else (without_extra, with_extra))))
        assert changes["cpu"].kind == ("optimization", "degradation")[gone]
        assert "extra" not in changes or changes["extra"].kind == "cannot tell"

    def test_ids_outlive_the_data(self, compare: Any) -> None:
        """A change has the same id when more runs move its estimate or its kind."""
        few = compare(pairing(measured(noisy(5e6, 1, runs=8)), measured(noisy(5e6, 2, runs=8))))
        many = compare(pairing(measured(noisy(5e6, 3)), measured(noisy(1e7, 4))))
        assert few["cpu"].id == many["cpu"].id

    def test_ids_tell_changes_apart(self, compare: Any) -> None:
        """Another metric, another version on either side or another configuration is another change."""
        profile = measured({"cpu": noisy(5e6, 1), "wall": noisy(5e6, 2)})
        original = pairing(profile, profile)
        others = [
            original,
            pairing(profile, profile, versions=("d" * 40, TARGET)),
            pairing(profile, profile, versions=(BASELINE, "d" * 40)),
            swapped(original),
            replace(original, target=replace(original.target, dirty=True)),
            replace(original, config_id="d" * 40),
        ]
        ids = [change.id for variant in others for change in compare(variant).values()]
        assert len(set(ids)) == 2 * len(others)

    def test_is_deterministic(self, driver: Check) -> None:
        sides = [measured({"cpu": noisy(5e6, s), "wall": noisy(5e6, s + 2)}) for s in (1, 2)]
        first = driver.compare(pairing(*sides))
        assert driver.compare(pairing(*sides)) == first

    def test_says_the_same_in_another_process(self, driver: Check) -> None:
        """Ids and numbers are stored, so they depend on nothing but the data and the settings."""
        expression = "compare(pairing(measured(noisy(5e6, 1)), measured(noisy(5e6, 2))))"
        assert_the_same_elsewhere(driver, expression, __name__)

    def test_leaves_profiles_as_they_are(self, driver: Check) -> None:
        profiles = [measured({"cpu": noisy(5e6, s), "wall": [None, 2.0] * 10}, session="s") for s in (1, 2)]
        before = [_bytes(profile) for profile in profiles]
        driver.compare(pairing(*profiles, interleaved=True))
        assert [_bytes(profile) for profile in profiles] == before

    def test_several_profiles_are_one_sample(self, compare: Any) -> None:
        """Ten profiles of one run each tell as much as one of ten runs."""
        sides = [[measured([amount]) for amount in noisy(center, s, runs=20)] for s, center in ((1, 5e6), (2, 1e7))]
        assert compare(pairing(*sides))["cpu"].kind == "degradation"

    def test_rows_of_one_run_belong_together(self, compare: Any) -> None:
        """Ten thousand rows of two runs are still two runs."""
        sides = [measured(noisy(c, s, runs=2), rows_per_run=5000) for s, c in ((1, 5e6), (2, 1e7))]
        assert compare(pairing(*sides))["cpu"].kind == "cannot tell"

    def test_names_are_hostile(self, compare: Any) -> None:
        """A metric keeps its name; evidence is safe to print."""
        for name in ("\x1b[31mred", "a\nb", "<script>", "naïve 時間", "", "run ", "\ud800"):
            sides = [
                measured({name: noisy(5e6, s)}, unit=unit, type="x") for s, unit in ((1, "\x1b[2J"), (2, "\u202eB"))
            ]
            assert set(compare(pairing(sides[0], sides[0]))) <= {name}
            assert set(compare(pairing(*sides))) <= {name}


def _bytes(profile: Profile) -> dict[str, list[tuple[str, bytes, bytes | None]]]:
    return {
        name: [(c.name, c.data.tobytes(), c.valid) for c in content.columns] for name, content in profile.tables.items()
    }
