"""The contract of checks that scan whole histories, and builders of what they scan.

    class TestContract(ScanContract):
        @pytest.fixture
        def driver(self):
            return Levels(Levels.Settings())

A check that decides otherwise about one of these laws than most is free to override that test, and says why. One that
compares two versions as well has the contract of `perfcore_testing.check` besides.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from perfcore.model import Series
from perfcore.model.record import replace
from perfcore_testing.changes import assert_the_same_elsewhere, assert_told
from perfcore_testing.check import noisy
from perfcore_testing.kinds import misfits

if TYPE_CHECKING:
    from perfcore.hookspecs import Check
    from perfcore.model import Change

KINDS = ("degradation", "optimization", "drift", "improving drift", "variance", "machine", "same", "cannot tell")
DRIFTS = ("drift", "improving drift")
LEVELS = ("degradation", "optimization")
NAN, INFINITE = math.nan, math.inf

HOPELESS: dict[str, tuple[tuple[float, ...], ...]] = {
    "no version": (),
    "one version": ((5e6,),),
    "two versions": ((5e6,), (5.1e6,)),
    "no values": ((),) * 12,
    "constants": ((5e6,),) * 40,
    "constants in several runs": ((5e6, 5e6, 5e6),) * 40,
    "zeros": ((0.0,),) * 40,
    "some zeros": ((0.0,), (1.0,)) * 20,
    "negative": ((-5.0,), (-6.0,), (-7.0,), (-5.5,)) * 10,
    "both signs": ((-1.0,), (1.0,)) * 20,
    "NaN": ((NAN,),) * 12,
    "NaN and one number": ((NAN,),) * 12 + ((5.0,),),
    "infinite": ((INFINITE,), (-INFINITE,)) * 10,
    "as large as floats go": ((1.7e308,), (1.1e308,)) * 20,
    "as small as floats go": ((5e-324,), (1e-323,)) * 20,
    # Below 2^63 floats are 1,024 apart: who subtracts means of such values has little but rounding left.
    "beyond 53 bits": ((2.0**63,), (2.0**63 - 2048,)) * 20,
    "one version off": ((5.0,),) * 20 + ((5e9,),) + ((5.0,),) * 20,
}
# 5,000 brackets are deeper than Python's recursion limit of 1,000.
DAMAGED = (b"", b"\xff\xfe\x00", b"null", b"[]", b"{}", b'{"format": 99}', b"[" * 5000, b"a" * 5000)


def history(values: Sequence[Sequence[float] | float], environments: Sequence[str] = (), **how: Any) -> Series:
    """A history as perfcore gives it to a check; a number is a version of one run."""
    fields = {"config_id": "c" * 40, "metric": "cpu", "unit": "ns", "resource": ""} | how
    return Series(
        versions=tuple(_version(position) for position in range(len(values))),
        environments=tuple(environments or ["e" * 40] * len(values)),
        values=tuple((float(runs),) if isinstance(runs, int | float) else tuple(runs) for runs in values),
        **fields,
    )


def stepped(factor: float = 2.0, *, before: int = 40, after: int = 40, **how: Any) -> Series:
    """A history that is stable, and from the version `before` on stable elsewhere."""
    return history([*noisy(5e6, 1, runs=before), *noisy(5e6 * factor, 2, runs=after)], **how)


def assert_sound(change: Change, scanned: Series) -> None:
    """What holds for every change of a history whatever it says."""
    assert_told(change)
    assert change.kind in KINDS
    assert (change.config_id, change.label) == (scanned.config_id, scanned.label)
    assert (change.metric, change.unit, change.resource) == (scanned.metric, scanned.unit, scanned.resource)
    version_ids = [version[:10] for version in scanned.versions]
    assert version_ids.index(change.baseline) < version_ids.index(change.target), (
        "a change comes after what it is compared with"
    )
    first, last = (scanned.versions.index(version) for version in (change.earliest, change.latest))
    assert first <= version_ids.index(change.target) <= last, (
        "the version that is named is one that may have brought it"
    )
    assert change.undone == "" or scanned.versions.index(change.undone) > first
    assert (change.low is None) == (change.confidence is None)
    assert bool(change.until) == (change.kind in DRIFTS)
    assert not change.until or scanned.versions.index(change.until) >= version_ids.index(change.target)
    assert change.pace is None or change.until


class ScanContract:
    """What every check with `scan` does, and with `scan_many` where it has it. Override the fixture `driver`."""

    @pytest.fixture
    def driver(self) -> Check:
        raise NotImplementedError("override this fixture: it gives the driver to test")

    @pytest.fixture
    def scan(self, driver: Check) -> Any:
        """The changes of a series and the state, each of the changes sound."""

        def run(scanned: Series, state: bytes | None = None) -> tuple[list[Change], bytes]:
            changes, after = driver.scan(scanned, state)
            assert isinstance(after, bytes)
            for change in changes:
                assert_sound(change, scanned)
            assert len({change.id for change in changes}) == len(changes), "two changes of one id"
            return list(changes), after

        return run

    def test_it_fits_the_kind(self, driver: Check) -> None:
        assert misfits("check", driver) == []

    @pytest.mark.parametrize("factor", [2.0, 0.5])
    @pytest.mark.parametrize("better", ["lower", "higher"])
    def test_a_clear_step_is_found_where_it_is(self, scan: Any, factor: float, better: str) -> None:
        scanned = stepped(factor, better=better)
        change = _only(scan(scanned)[0])
        assert change.kind == ("degradation" if (factor > 1) == (better == "lower") else "optimization")
        assert change.target == scanned.versions[40][:10]
        assert change.ratio == pytest.approx(factor, rel=0.05)
        assert change.primary

    def test_a_clear_step_of_several_runs_is_found(self, scan: Any) -> None:
        values = [noisy(5e6 if position < 12 else 6e6, position, runs=10) for position in range(24)]
        scanned = history(values)
        change = _only(scan(scanned)[0])
        assert change.target == scanned.versions[12][:10]

    def test_noise_in_histories_seldom_is_a_change(self, scan: Any) -> None:
        false_alarms = sum(len(_levels(scan(history(noisy(5e6, seed, runs=80)))[0])) for seed in range(20))
        # In 1,600 versions, about as many as a t-test in a sliding window gives (docs/detection-method.md).
        assert false_alarms <= 2

    def test_noise_of_many_runs_seldom_is_a_change(self, scan: Any) -> None:
        """Runs that differ by much tell little each, however many there are."""
        histories = ([noisy(5e6, 100 * seed + v, runs=40, spread=0.05) for v in range(40)] for seed in range(5))
        assert sum(len(_levels(scan(history(values))[0])) for values in histories) <= 2

    @pytest.mark.parametrize("name", HOPELESS)
    def test_hopeless_histories_get_an_answer(self, scan: Any, name: str) -> None:
        changes, state = scan(history(HOPELESS[name]))
        assert _levels(changes) == []
        assert _what(scan(history(HOPELESS[name]), state)[0]) == _what(changes)

    @pytest.mark.parametrize("nothing", [(), (NAN,), (INFINITE,)], ids=["none", "NaN", "infinite"])
    def test_versions_without_an_amount_are_not_zero(self, scan: Any, nothing: tuple[float, ...]) -> None:
        """Neither here and there, nor over a stretch of the history."""
        values: list[Any] = [(value,) for value in noisy(5e6, 1, runs=80)]
        values[::4], values[40:60] = [nothing] * 20, [nothing] * 20
        assert _levels(scan(history(values))[0]) == []

    def test_another_machine_is_no_change_of_the_code(self, scan: Any) -> None:
        """Nor is what both machines measured taken together."""
        values = [*noisy(5e6, 1, runs=40), *noisy(1e7, 2, runs=40)]
        assert _levels(scan(history(values, ["a"] * 40 + ["b"] * 40))[0]) == []
        turns = [value * (1 + position % 2) for position, value in enumerate(noisy(5e6, 3, runs=80))]
        assert _levels(scan(history(turns, ["a", "b"] * 40))[0]) == []

    def test_a_step_below_the_threshold_is_not_told(self, scan: Any) -> None:
        assert _levels(scan(stepped(1.3, threshold=0.5))[0]) == []
        assert _only(scan(stepped(1.3, threshold=0.01))[0]).kind == "degradation"

    def test_more_comparisons_make_no_scan_bolder(self, scan: Any) -> None:
        for seed, factor in enumerate((1.0, 1.01, 1.03, 1.1)):
            values = [*noisy(5e6, 2 * seed, runs=40), *noisy(5e6 * factor, 2 * seed + 1, runs=40)]
            few, many = (scan(history(values, comparisons=count))[0] for count in (1, 1000))
            assert len(_levels(many)) <= len(_levels(few))

    def test_a_state_changes_nothing_but_the_work(self, scan: Any) -> None:
        """A history that grows is told as one that is seen for the first time."""
        points, state = stepped(1.3, before=50, after=50), None
        for count in (20, 49, 52, 60, 99, 100):
            changes, state = scan(_first(points, count), state)
            assert _what(changes) == _what(scan(_first(points, count))[0])
        assert scan(points, state) == (changes, state)

    @pytest.mark.parametrize("number", range(len(DAMAGED) + 3))
    def test_a_state_that_makes_no_sense_is_ignored(self, scan: Any, number: int) -> None:
        """One that is damaged, or of another history: then everything is looked at again."""
        scanned = stepped(1.3)
        expected, good = scan(scanned)
        others = (
            good[: len(good) // 2],
            scan(history([*noisy(1e3, 5, runs=60), *noisy(2e3, 6, runs=60)], metric="wall"))[1],
            scan(replace(scanned, versions=tuple(reversed(scanned.versions))))[1],
        )
        assert _what(scan(scanned, (*DAMAGED, *others)[number])[0]) == _what(expected)

    def test_ids_of_a_history_outlive_its_data(self, scan: Any) -> None:
        """A change keeps its id while versions come after it and its estimate moves."""
        points, state, ids = stepped(1.3, before=40, after=60), None, set()
        for count in range(60, 101, 10):
            changes, state = scan(_first(points, count), state)
            ids |= {change.id for change in _levels(changes)}
        assert len(ids) == 1

    def test_ids_of_histories_tell_changes_apart(self, scan: Any) -> None:
        """Another metric, resource or configuration, or another place in the same history."""
        ids = [
            change.id
            for how in ({}, {"metric": "wall"}, {"resource": "main"}, {"config_id": "d" * 40})
            for change in scan(history([*[1.0] * 20, *[2.0] * 20, *[1.0] * 20], **how))[0]
        ]
        assert len(set(ids)) == len(ids) == 8

    def test_a_scan_leaves_the_series_as_it_is(self, driver: Check) -> None:
        scanned = stepped(1.3)
        before = copy.deepcopy(scanned)
        first = driver.scan(scanned, None)
        assert scanned == before
        assert driver.scan(scanned, None) == first, "it says something else the second time"

    def test_a_scan_says_the_same_in_another_process(self, driver: Check) -> None:
        """Ids, numbers and state are stored, so they depend on nothing but the data and the settings."""
        assert_the_same_elsewhere(driver, "scan(stepped(1.3), None)", __name__)

    @pytest.mark.parametrize("name", ["\x1b[31mred", "a\nb", "<script>", "naïve 時間", "", "\u202eB", "\ud800"])
    def test_names_in_histories_are_hostile(self, scan: Any, name: str) -> None:
        """A metric keeps its name; evidence is safe to print; and the state comes back."""
        scanned = history(
            [1.0] * 20 + [2.0] * 20 + [2.0] * 5,
            [name] * 40 + [name + "x"] * 5,
            metric=name,
            unit=name,
            resource=name,
            label=name,
        )
        changes, state = scan(scanned)
        assert _levels(changes)
        assert scan(scanned, state)[0] == changes

    def test_what_all_series_share_is_the_machine(self, driver: Check) -> None:
        """Every series becomes slower in one version, and one of them by itself in another."""
        many = _many(driver, [_shared(index, own=1.2 if index == 3 else 1.0) for index in range(10)])
        levels = [_levels(changes) for changes in many]
        assert [len(series_changes) for series_changes in levels] == [int(index == 3) for index in range(10)]
        assert levels[3][0].target == _version(20)[:10]

    def test_series_together_are_told_in_their_order(self, driver: Check) -> None:
        """Also those of which nothing was measured, and none at all."""
        many = [_shared(index, own=1.0) for index in range(6)]
        none = replace(many[2], values=((),) * len(many[2].versions))
        assert len(_many(driver, [*many[:2], none, *many[3:]])) == 6
        assert list(_many(driver, [])) == []

    @pytest.mark.parametrize("damage", ["kept", "cut", "other"])
    def test_a_memory_changes_nothing_but_the_work(self, driver: Any, damage: str) -> None:
        """A suite that grows, and in which an old version is measured again, is told as one that is seen for the first
        time; also where the memory is damaged, or of other series."""
        if not hasattr(driver, "scan_many") or not _remembers(driver):
            pytest.skip("it remembers nothing of series that are scanned together")
        memory: dict[str, bytes] = {}
        suites = [[_long(number, versions) for number in range(4)] for versions in (700, 701, 900)]
        again = [replace(scanned, values=((2e6,), *scanned.values[1:])) for scanned in suites[-1]]
        for many in (*suites, again):
            assert driver.scan_many(many, memory) == driver.scan_many(many, {})
            if damage == "cut":
                memory |= {key: row[: len(row) // 2] for key, row in memory.items()}
            if damage == "other":
                rows = list(memory.values())
                memory |= dict(zip(memory, [*rows[1:], *rows[:1]], strict=True))


def _remembers(driver: Any) -> bool:
    """Whether `scan_many` takes a memory: a driver may leave it out."""
    return "memory" in inspect.signature(driver.scan_many).parameters


def _many(driver: Any, many: Sequence[Series]) -> Sequence[Sequence[Change]]:
    if not hasattr(driver, "scan_many"):
        pytest.skip("it has no `scan_many`: series are looked at one by one")
    results: Sequence[Sequence[Change]] = driver.scan_many(many, *[{}] * _remembers(driver))
    assert len(results) == len(many)
    for changes, scanned in zip(results, many, strict=True):
        for change in changes:
            assert_sound(change, scanned)
    return results


def _shared(number: int, own: float) -> Series:
    """Sixty versions; the machine is slower from the fortieth on, and the command itself from the twentieth."""
    values = noisy(1e6 * (number + 1), 50 + number, runs=60, spread=0.005)
    levels = [(own if version >= 20 else 1.0) * (1.3 if version >= 40 else 1.0) for version in range(60)]
    return history(
        [value * level for value, level in zip(values, levels, strict=True)], config_id=f"{number:040d}", comparisons=10
    )


def _long(number: int, versions: int) -> Series:
    """The first versions of a history in which one series becomes slower, and later the machine."""
    values = noisy(1e6 * (number + 1), 70 + number, runs=900, spread=0.005)[:versions]
    levels = [(1.1 if number == 2 and at >= 300 else 1.0) * (1.3 if at >= 650 else 1.0) for at in range(versions)]
    amounts = [value * level for value, level in zip(values, levels, strict=True)]
    return history(amounts, config_id=f"{number:040d}", comparisons=4)


def _first(scanned: Series, count: int) -> Series:
    return replace(
        scanned,
        versions=scanned.versions[:count],
        environments=scanned.environments[:count],
        values=scanned.values[:count],
    )


def _levels(changes: Sequence[Change]) -> list[Change]:
    return [change for change in changes if change.kind in LEVELS]


def _only(changes: Sequence[Change]) -> Change:
    levels = _levels(changes)
    assert len(levels) == 1, f"one change was made, {len(levels)} are told"
    return levels[0]


def _what(changes: Sequence[Change]) -> list[Change]:
    """Changes without their ids, which may be those that were given at first."""
    return [replace(change, id="") for change in changes]


def _version(number: int) -> str:
    return f"{number:08d}" + "f" * 32
