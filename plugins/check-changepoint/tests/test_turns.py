"""Machines that measure versions in turns, as those of a pool do, have one history."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings
from perfcore_check_changepoint.doubt import Factors

from perfcore.model import Change, Series
from perfcore.model.record import replace

from .histories import version

FACTORS = {"1:a": 1.0, "1:b": 1.3, "1:c": 0.8}
CODE = {"degradation", "optimization", "drift", "improving drift", "variance", "cannot tell"}
Steps = Sequence[tuple[int, float]]


def _pool(seed: int, count: int, *, steps: Steps = (), slower: str = "", factors: dict[str, float] = FACTORS) -> Series:
    """Versions of which each was measured by one machine of a pool, whichever was free. The steps are of all machines,
    or of the one that is `slower`."""
    draw = np.random.default_rng(seed)
    machines = draw.choice(list(factors), count).tolist()
    level = np.full(count, 5e6)
    for place, size in steps:
        level[[at >= place and slower in ("", machine) for at, machine in enumerate(machines)]] *= 1 + size
    amounts = level * [factors[machine] for machine in machines] * np.exp(draw.normal(0, 0.01, count))
    return Series(
        config_id="c" * 40,
        metric="cpu",
        unit="ns",
        resource="",
        versions=tuple(map(version, range(count))),
        environments=tuple(machines),
        values=tuple((amount,) for amount in amounts.tolist()),
    )


def _scan(series: Series) -> list[Change]:
    return list(ChangepointCheck(ChangepointSettings()).scan(series, None)[0])


def _near(changes: Sequence[Change], place: int) -> list[Change]:
    return [change for change in changes if change.kind in CODE and abs(int(change.target[:8]) - place) <= 3]


def test_a_step_is_found_as_soon_as_on_one_machine() -> None:
    """A machine by itself has measured one or two of the four versions that show it."""
    pools = [_pool(seed, 64, steps=[(60, 0.03)]) for seed in range(40)]
    alone = [_pool(seed, 64, steps=[(60, 0.03)], factors={"1:a": 1.0}) for seed in range(40)]
    in_pools, on_one = (sum(bool(_near(_scan(series), 60)) for series in some) for some in (pools, alone))
    assert on_one >= 30
    assert in_pools >= on_one - 4


def test_unchanged_code_has_no_change() -> None:
    assert sum(any(change.kind in CODE for change in _scan(_pool(seed, 80))) for seed in range(60)) <= 2


def test_a_row_says_which_machines_take_turns_and_by_what_they_differ() -> None:
    factors = {"1:a": 1.0, "1:b": 1.3}
    covered = 0
    for seed in range(60):
        (machine,) = (change for change in _scan(_pool(seed, 60, factors=factors)) if change.kind == "machine")
        before, after = machine.environments
        assert machine.evidence.startswith(f"machines {before} and {after} take turns and differ by a factor of ")
        assert machine.evidence.endswith(" turns")
        covered += (machine.low or 0) <= factors[after] / factors[before] <= (machine.high or 0)
    assert covered >= 52


def test_a_change_has_the_amounts_of_the_machine_that_measured_it() -> None:
    series = _pool(5, 90, steps=[(60, 0.2)])
    (change,) = _near(_scan(series), 60)
    factor = FACTORS[series.environments[int(change.target[:8])]]
    assert change.baseline_value == pytest.approx(5e6 * factor, rel=0.02)
    assert change.target_value == pytest.approx(6e6 * factor, rel=0.02)


def test_a_step_of_one_machine_alone_is_found_on_that_machine() -> None:
    found = 0
    for seed in range(20):
        series = _pool(seed, 120, steps=[(60, 0.1)], slower="1:b")
        first = series.environments.index("1:b", 60)
        found += [change.kind for change in _near(_scan(series), first)] == ["degradation"]
    assert found >= 17


def test_a_count_that_all_machines_have_alike_is_one_history() -> None:
    series = _pool(1, 40)
    counted = replace(series, metric="allocations", values=((700.0,),) * 38 + ((705.0,),) * 2)
    (change,) = (change for change in _scan(counted) if change.kind in CODE)
    assert (change.kind, change.target) == ("degradation", version(38)[:10])


def test_machines_with_few_turns_are_not_compared() -> None:
    series = _pool(1, 40)
    early, late = ("1:a",) * 20 + ("1:b",) * 14, ("1:a", "1:b") * 3
    (machine,) = (c for c in _scan(replace(series, environments=early + late)) if c.kind == "machine")
    assert "not compared" in machine.evidence


def test_amounts_that_differ_a_thousandfold_are_not_compared() -> None:
    machines = [c for c in _scan(_pool(1, 60, factors={"1:a": 1.0, "1:b": 5000.0})) if c.kind == "machine"]
    assert ["not compared" in machine.evidence for machine in machines] == [True]


def test_factors_of_any_uncertainty_leave_a_part_of_the_evidence() -> None:
    for seed in range(300):
        draw = np.random.default_rng(seed)
        count, machines = int(draw.integers(4, 30)), int(draw.integers(1, 4))
        share = np.eye(machines)[draw.integers(0, machines, count)]
        covariance = np.diag(draw.uniform(0, 1, machines)) * 10.0 ** draw.uniform(-20, 20)
        part = Factors(share, covariance).certain(10.0 ** draw.uniform(-40, 40), [int(draw.integers(1, count))])[0]
        assert 0 <= part <= 1


def test_each_series_of_a_suite_has_a_factor_of_its_own() -> None:
    """The same machine is 30 % slower with one benchmark, and 10 % faster with another."""
    suite = [
        replace(_pool(7, 80, factors={"1:a": 1.0, "1:b": factor}, steps=steps), config_id=f"{number:040}")
        for number, (factor, steps) in enumerate([(1.3, ()), (0.9, [(70, 0.1)]), (1.1, ()), (1.2, ()), (1.0, ())])
    ]
    results = ChangepointCheck(ChangepointSettings()).scan_many(suite, {})
    assert [[c.kind for c in changes if c.kind in CODE] for changes in results] == [[], ["degradation"], [], [], []]
