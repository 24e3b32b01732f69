"""The rule, case by case."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from perfcore_check_pair import PairCheck, PairSettings
from perfcore_testing.check import Amounts, measured, noisy, pairing

from perfcore.config.settings import structure
from perfcore.errors import UsageError
from perfcore.model import Change
from perfcore.model.record import replace

TWELVE = [1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998, 1.003, 0.997, 1.001, 0.999, 1.0]


def _check(
    baseline: Amounts | list[Any],
    target: Amounts | list[Any],
    *,
    in_turn: bool = True,
    options: dict[str, Any] | None = None,
    thresholds: dict[str, float] | None = None,
    **how: Any,
) -> dict[str, Change]:
    blocks = (0, 0 if in_turn else 100)
    sides = [
        measured(amounts, session="s", first_block=block, **how)
        for amounts, block in zip((baseline, target), blocks, strict=True)
    ]
    check = PairCheck(structure(PairSettings, options or {}, where="check pair"))
    return {c.metric: c for c in check.compare(pairing(*sides, thresholds=thresholds or {}))}


def _scaled(factor: float, count: int = 12) -> list[float]:
    return [5e6 * factor * value for value in (TWELVE * 2)[:count]]


def test_a_change_has_everything_a_reader_needs() -> None:
    change = _check(noisy(5e6, 1, runs=12), noisy(5.5e6, 2, runs=12))["cpu"]
    assert change.kind == "degradation"
    assert change.primary
    assert (change.unit, change.metric, change.resource) == ("ns", "cpu", "")
    assert change.confidence == 0.95
    assert change.p_value == pytest.approx(2 / 2**12)
    assert change.low is not None
    assert change.high is not None
    assert 1 < change.low < 1.1 < change.high < 1.12
    assert change.evidence == (
        "12 interleaved pairs; median 5.03 ms → 5.48 ms; signed-rank p=0.00049; "
        "+9.4 % (95 %: +8.3 % to +10.2 %); more than 2 %"
    )


def test_a_significant_change_below_the_threshold_is_same() -> None:
    change = _check(_scaled(1), _scaled(1.01))["cpu"]
    assert change.p_value is not None
    assert change.p_value < 0.001
    assert change.kind == "same"
    assert "all of it within 2 %" in change.evidence


def test_exactly_the_threshold_is_not_beyond_it() -> None:
    assert _check(_scaled(1), _scaled(1.5), thresholds={"": 0.5})["cpu"].kind == "same"
    assert _check(_scaled(1.5), _scaled(1), thresholds={"": 0.5})["cpu"].kind == "same"
    assert _check(_scaled(1), _scaled(1.5), thresholds={"": 0.49})["cpu"].kind == "degradation"


def test_threshold_zero_finds_anything_significant() -> None:
    assert _check(_scaled(1), _scaled(1.001), thresholds={"": 0.0})["cpu"].kind == "degradation"
    assert _check(_scaled(1), _scaled(1), thresholds={"": 0.0})["cpu"].kind == "same"


@pytest.mark.parametrize("threshold", [-0.1, float("nan"), float("inf")])
def test_a_threshold_that_makes_no_sense_is_refused(threshold: float) -> None:
    with pytest.raises(UsageError, match="threshold of 'cpu'"):
        _check(_scaled(1), _scaled(1), thresholds={"cpu": threshold})


def test_undecided_says_how_many_pairs_would_tell() -> None:
    """With as many of the same kind, a third more for good measure, the answer is there."""
    sides = noisy(5e6, 1, runs=12, spread=0.03), noisy(5e6, 2, runs=12, spread=0.03)
    change = _check(*sides)["cpu"]
    assert change.kind == "cannot tell"
    assert "a change of more than 2 % is neither shown nor excluded; about " in change.evidence
    needed = int(change.evidence.split("about ")[1].split()[0].replace(",", ""))
    assert 12 < needed < 1000
    times = needed * 4 // 3 // 12 + 1
    assert _check(*(side * times for side in sides))["cpu"].kind != "cannot tell"


@pytest.mark.parametrize(("pairs", "kind"), [(1, "cannot tell"), (2, "cannot tell"), (3, "cannot tell")])
def test_three_pairs_never_show_a_change_and_say_how_many_would(pairs: int, kind: str) -> None:
    change = _check(_scaled(1, pairs), _scaled(3, pairs))["cpu"]
    assert change.kind == kind
    assert change.ratio == pytest.approx(3)
    assert (change.needed, change.reason) == (6, f"too few interleaved pairs: {pairs} of at least 6")
    assert (
        "takes 6 interleaved pairs or more (4 where every run of one side is far beyond the other's" in change.evidence
    )


@pytest.mark.parametrize("pairs", [4, 5])
def test_few_pairs_show_a_change_far_beyond_their_noise(pairs: int) -> None:
    """All of 5 runs beyond all of 5 others is one of 126 orders in either direction."""
    kinds = {factor: _check(_scaled(1, pairs), _scaled(factor, pairs))["cpu"] for factor in (1.0, 1.02, 1.86, 0.5)}
    assert [change.kind for change in kinds.values()] == ["cannot tell", "cannot tell", "degradation", "optimization"]
    assert kinds[1.02].reason == f"too few interleaved pairs: {pairs} of at least 6"
    assert kinds[1.86].p_value == pytest.approx({4: 2 / 70, 5: 2 / 252}[pairs])
    assert kinds[1.86].evidence.endswith(
        "all of it more than 2 %, and every run of one side beyond every run of the other"
    )


def test_few_pairs_with_one_run_among_those_of_the_other_side_show_nothing() -> None:
    mixed = [*_scaled(1.86, 4), 5e6]
    assert _check(_scaled(1, 5), mixed)["cpu"].kind == "cannot tell"


@pytest.mark.parametrize(
    ("runs", "reason"), [(1, "too few runs: 1 of at least 4"), (3, "too few runs: 3 of at least 4")]
)
def test_too_few_runs_in_blocks_say_how_many_would_do(runs: int, reason: str) -> None:
    assert _check(_scaled(1, runs), _scaled(3, runs), in_turn=False)["cpu"].reason == reason


def test_an_inconclusive_verdict_says_why_in_a_few_words() -> None:
    noisy_sides = noisy(5e6, 1, runs=12, spread=0.03), noisy(5e6, 2, runs=12, spread=0.03)
    undecided = _check(*noisy_sides)["cpu"]
    assert undecided.reason == f"too much noise: measure about {undecided.needed} interleaved pairs"
    assert _check(_scaled(1), _scaled(1.05), in_turn=False)["cpu"].reason.startswith("the machine may drift as much: ")
    apart = [measured(_scaled(factor), session=session) for factor, session in ((1, "a"), (1.1, "b"))]
    (change,) = PairCheck(PairSettings()).compare(pairing(*apart))
    assert change.reason == "sessions may differ as much: measure about 6 interleaved pairs"
    assert _check({"cpu": _scaled(1)}, {"wall": _scaled(1)})["wall"].reason == "only the target has amounts of it"
    assert _check(_scaled(1), _scaled(2))["cpu"].reason == ""


@pytest.mark.parametrize(("runs", "kind"), [(3, "cannot tell"), (4, "degradation")])
def test_three_runs_in_blocks_never_show_a_change(runs: int, kind: str) -> None:
    assert _check(_scaled(1, runs), _scaled(3, runs), in_turn=False)["cpu"].kind == kind


def test_a_stricter_alpha_takes_more_pairs() -> None:
    change = _check(_scaled(1, 6), _scaled(3, 6), options={"alpha": 0.001})["cpu"]
    assert change.kind == "cannot tell"
    assert "takes 11 interleaved pairs" in change.evidence


@pytest.mark.parametrize(
    ("factor", "kind"), [(1.0, "same"), (1.05, "cannot tell"), (1.2, "degradation"), (0.8, "optimization")]
)
def test_runs_in_blocks_allow_for_drift(factor: float, kind: str) -> None:
    change = _check(_scaled(1), _scaled(factor), in_turn=False)["cpu"]
    assert change.kind == kind
    assert "not interleaved" in change.evidence
    assert "10 %" in change.evidence
    if factor == 1.05:
        assert "interleaved pairs would tell" in change.evidence


def test_the_allowance_for_drift_does_not_follow_the_threshold() -> None:
    """The machine drifts as much whatever change matters."""
    kinds = {
        (threshold, drift): _check(
            _scaled(1), _scaled(1.15), in_turn=False, thresholds={"": threshold}, options={"drift": drift}
        )["cpu"].kind
        for threshold in (0.0, 0.3)
        for drift in (0.0, 0.1, 0.2)
    }
    assert kinds == {
        (0.0, 0.0): "degradation",
        (0.0, 0.1): "degradation",
        (0.0, 0.2): "cannot tell",
        (0.3, 0.0): "same",
        (0.3, 0.1): "same",
        (0.3, 0.2): "same",
    }


def test_exact_values_need_no_test() -> None:
    """Three runs without any spread are enough; below, nobody knows whether there is spread."""
    kinds = {
        target: _check({"instructions": [1000] * 3}, {"instructions": [target] * 3}, in_turn=False)["instructions"].kind
        for target in (1000, 1010, 1030, 970)
    }
    assert kinds == {1000: "same", 1010: "same", 1030: "degradation", 970: "optimization"}
    two = _check({"instructions": [1000] * 2}, {"instructions": [2000] * 2}, in_turn=False)["instructions"]
    assert two.kind == "cannot tell"
    assert "3 where no value ever varies" in two.evidence


def test_exact_values_from_and_to_zero() -> None:
    zero, some = [0] * 4, [7] * 4
    up, down = (
        _check({"faults": zero}, {"faults": some})["faults"],
        _check({"faults": some}, {"faults": zero})["faults"],
    )
    assert (up.kind, down.kind, up.ratio) == ("degradation", "optimization", None)
    assert _check({"faults": zero}, {"faults": zero})["faults"].kind == "same"
    assert _check({"faults": [-1] * 4}, {"faults": some})["faults"].kind == "cannot tell"


@pytest.mark.parametrize(
    ("least", "reason"),
    [(0, "amounts of zero have no ratio: measure longer runs"), (-1, "amounts below zero have no ratio")],
)
def test_an_amount_without_a_ratio_says_what_decides_it(least: int, reason: str) -> None:
    """As a sampled run that was too short for one sample."""
    change = _check({"samples": [least]}, {"samples": [1]})["samples"]
    assert (change.kind, change.reason) == ("cannot tell", reason)


def test_one_constant_side_is_tested_like_any_other() -> None:
    assert _check([5e6] * 12, _scaled(1.1))["cpu"].kind == "degradation"


def test_cpu_time_decides_and_wall_time_stands_beside_it() -> None:
    amounts: dict[str, list[Any]] = {"wall": _scaled(2), "max_rss": [1] * 12, "cpu": _scaled(1)}
    changes = _check(amounts, {**amounts, "wall": _scaled(3)})
    assert [name for name, change in changes.items() if change.primary] == ["cpu"]
    assert (changes["wall"].kind, changes["cpu"].kind) == ("degradation", "same")


@pytest.mark.parametrize(
    ("metrics", "primary"),
    [
        (("a", "wall", "b"), "wall"),
        (("a", "b"), "a"),
        (("zero", "b", "a"), "b"),
    ],
)
def test_without_cpu_time_wall_time_decides_and_else_the_first_column(metrics: tuple[str, ...], primary: str) -> None:
    amounts = {name: [0] * 12 if name == "zero" else _scaled(1) for name in metrics}
    assert [name for name, change in _check(amounts, amounts).items() if change.primary] == [primary]


def test_a_primary_metric_is_one_that_both_sides_have() -> None:
    changes = _check({"cpu": _scaled(1), "wall": _scaled(1)}, {"wall": _scaled(2)})
    assert {name: change.primary for name, change in changes.items()} == {"cpu": False, "wall": True}
    assert "only the baseline has amounts of it" in changes["cpu"].evidence


def test_wall_time_has_its_own_threshold() -> None:
    changes = _check({"cpu": _scaled(1), "wall": _scaled(1)}, {"cpu": _scaled(1.04), "wall": _scaled(1.04)})
    assert (changes["cpu"].kind, changes["wall"].kind) == ("degradation", "same")
    given = _check({"wall": _scaled(1)}, {"wall": _scaled(1.04)}, thresholds={"wall": 0.01, "": 0.5})
    assert given["wall"].kind == "degradation"


def test_disturbed_runs_count_for_cpu_time_and_not_for_wall_time() -> None:
    amounts = {"cpu": _scaled(1), "wall": _scaled(1)}
    spoilt = {"cpu": _scaled(1), "wall": [5e7, 6e7, 7e7, *_scaled(1)[3:]]}
    changes = [
        PairCheck(PairSettings()).compare(
            pairing(measured(amounts, session="s"), measured(spoilt, session="s", disturbed=disturbed))
        )
        for disturbed in ((), (0, 1, 2))
    ]
    kept, left_out = ({c.metric: c for c in some} for some in changes)
    assert (kept["wall"].kind, left_out["wall"].kind) == ("cannot tell", "same")
    assert "9 interleaved pairs; 3 pairs left out that the machine disturbed" in left_out["wall"].evidence
    assert left_out["cpu"].evidence.startswith("12 interleaved pairs; median")


def test_where_most_runs_are_disturbed_wall_time_in_blocks_is_not_believed() -> None:
    """Taken in turn both sides suffered alike, so the runs are kept."""
    answers = {}
    for session in ("", "s"):
        baseline = measured({"wall": _scaled(1)}, session=session)
        target = measured({"wall": _scaled(3)}, session=session, disturbed=range(8))
        answers[session] = PairCheck(PairSettings()).compare(pairing(baseline, target))[0]
    assert (answers[""].kind, answers["s"].kind) == ("cannot tell", "degradation")
    assert "0 and 8 runs disturbed by the machine" in answers[""].evidence
    assert "8 pairs disturbed by the machine" in answers["s"].evidence


def test_runs_that_ended_differently_are_not_decided() -> None:
    """A program that fails early is not faster."""
    sides = measured(_scaled(2), session="s"), measured(_scaled(1), session="s", exits=[0, 3])
    change = PairCheck(PairSettings()).compare(pairing(*sides))[0]
    assert change.kind == "cannot tell"
    assert change.ratio == pytest.approx(0.5)
    assert "exit code 0, the target's with 0, 3" in change.evidence


def test_programs_that_always_end_with_the_same_code_are_compared() -> None:
    sides = [measured(_scaled(factor), session="s", exits=[4]) for factor in (2, 1)]
    assert PairCheck(PairSettings()).compare(pairing(*sides))[0].kind == "optimization"


def test_other_environments_are_not_decided_unless_wanted() -> None:
    sides = [measured(_scaled(factor), environment_id=machine * 40) for factor, machine in ((1, "d"), (2, "e"))]
    change = PairCheck(PairSettings()).compare(pairing(*sides))[0]
    assert change.kind == "cannot tell"
    assert change.ratio == pytest.approx(2)
    assert "different environments" in change.evidence
    wanted = PairCheck(PairSettings(across_environments=True))
    assert wanted.compare(pairing(*sides))[0].kind == "degradation"
    unknown = [replace(sides[0], environment_id=""), sides[1]]
    assert PairCheck(PairSettings()).compare(pairing(*unknown))[0].kind == "degradation"


def test_postprocessed_and_raw_profiles_are_not_compared() -> None:
    raw = measured(_scaled(1))
    filtered = replace(raw, postprocessors=(replace(raw.collector, name="filter"),))
    change = PairCheck(PairSettings()).compare(pairing(raw, filtered))[0]
    assert (change.kind, change.evidence) == (
        "cannot tell",
        "profiles of different postprocessors cannot be compared: filter, none",
    )
    assert change.ratio is None


def test_importing_the_plugin_loads_no_numpy() -> None:
    script = "import sys, perfcore_check_pair; sys.exit('numpy' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_comparing_loads_no_scipy() -> None:
    """`scipy.stats` takes several times as long to import as a comparison takes."""
    script = """\
import sys
from perfcore_testing.check import measured, noisy, pairing
from perfcore_check_pair import PairCheck, PairSettings
PairCheck(PairSettings()).compare(pairing(measured(noisy(1, 1)), measured(noisy(1, 2))))
sys.exit("scipy" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_of_many_comparisons_a_weak_change_needs_its_whole_interval_beyond_the_threshold() -> None:
    baseline = [5e6 * value for value in TWELVE[:8]]
    weak = [a * b for a, b in zip(baseline, (1.01, 1.12, 1.02, 1.1, 1.01, 1.13, 1.02, 1.08), strict=True)]
    strong = [a * b for a, b in zip(baseline, (1.5, 1.6, 1.4, 1.5, 1.55, 1.45, 1.5, 1.52), strict=True)]
    for target, among_many in ((weak, "cannot tell"), (strong, "degradation")):
        pair = pairing(measured(baseline, session="s"), measured(target, session="s"), thresholds={"": 0.05})
        assert PairCheck(PairSettings()).compare(pair)[0].kind == "degradation"
        change = PairCheck(PairSettings()).compare(replace(pair, comparisons=14))[0]
        assert change.kind == among_many, change.evidence


@pytest.mark.parametrize(
    ("after", "kind"), [(1030, "degradation"), (1000, "same"), (1001, "same"), (900, "optimization")]
)
def test_one_run_a_side_decides_a_metric_that_is_declared_exact(after: int, kind: str) -> None:
    change = _check({"instructions": [1000]}, {"instructions": [after]}, exact=["instructions"])["instructions"]
    assert change.kind == kind
    assert change.p_value is None


def test_one_run_a_side_decides_nothing_unless_both_sides_declare_the_metric_exact() -> None:
    sides = [measured({"bytes": [1000]}, exact=["bytes"]), measured({"bytes": [2000]})]
    (change,) = PairCheck(PairSettings()).compare(pairing(*sides))
    assert change.kind == "cannot tell"


def test_a_metric_that_is_declared_exact_and_varies_is_tested_like_any_other() -> None:
    noise = [1000, 1010, 990]
    assert _check({"bytes": noise}, {"bytes": noise[::-1]}, exact=["bytes"])["bytes"].kind == "cannot tell"
