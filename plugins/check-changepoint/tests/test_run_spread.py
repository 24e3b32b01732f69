"""Histories of which a part was measured beside other work, so that runs and versions differ by more there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings, run_spread
from perfcore_check_changepoint.runs import Runs
from perfcore_check_changepoint.series import read

from perfcore.model import Change

from .histories import series

COUNT, RUNS, STEPS = 80, 6, ("degradation", "optimization")


def _measured(seed: int, busy: range, slower: range = range(0), own: float = 0.05) -> list[list[float]]:
    """Versions of which those in `busy` have runs that other work made slower, and those in `slower` take 4 % more."""
    draw, values = np.random.default_rng(seed), []
    for number in range(COUNT):
        is_busy = number in busy
        level = draw.normal(0, own if is_busy else 0.007) + math.log1p(0.04) * (number in slower)
        runs = draw.exponential(0.15, RUNS) - math.log(2) * 0.15 if is_busy else draw.normal(0, 0.01, RUNS)
        values.append((1e6 * np.exp(level + runs)).tolist())
    return values


def _scan(values: list[list[float]]) -> list[Change]:
    return list(ChangepointCheck(ChangepointSettings()).scan(series(values), None)[0])


@pytest.mark.parametrize("busy", [range(40), range(35, 60)], ids=["before", "beside"])
def test_a_step_where_runs_agree_is_not_lost_in_the_noise_of_a_busy_part(busy: range) -> None:
    """It is told whenever it is asked for, and not only of some numbers of versions."""
    place = 55 if busy.start == 0 else 20
    told = [
        [any(c.kind == "degradation" and abs(int(c.target[:8]) - place) <= 3 for c in _scan(values[:count]))]
        for seed in range(10)
        for values in [_measured(seed, busy, range(place, place + 8))]
        for count in (64, 70, 75, 80)
    ]
    assert told.count([True]) >= 38


def test_versions_that_were_measured_beside_other_work_are_no_changes() -> None:
    found = [
        change.target
        for seed in range(20)
        for count in (50, 60, 70, 80)
        for change in _scan(_measured(seed, range(40, 65))[:count])
        if change.kind in STEPS
    ]
    assert len(found) <= 8


def test_runs_that_differ_by_more_around_medians_that_do_not_make_these_no_noisier() -> None:
    draw = np.random.default_rng(1)
    values = [
        (1e6 + draw.normal(0, 1e3) + (1e3 if number < 40 else 3e4) * np.array([-2.0, -1.0, 0.0, 1.0, 2.0])).tolist()
        for number in range(COUNT)
    ]
    points = read(Runs.of(values))
    assert points is not None
    (change,) = changes = run_spread.run_spread_changes(points, 6.5)
    assert change.index == 40
    noise = run_spread.with_own_noise(points, changes).noise
    assert noise.max() / noise.min() < 1.3


@pytest.mark.parametrize("calm", [10, 30, 60])
@pytest.mark.parametrize("noise", [1e-9, 1e-6, 1e-4])
def test_a_step_to_noise_from_what_hardly_varied_is_found(calm: int, noise: float) -> None:
    draw = np.random.default_rng(calm)
    values = [(1e9 * (1 + noise * draw.normal(size=RUNS))).tolist() for _ in range(calm)]
    values += [(1.2e9 * (1 + 0.01 * draw.normal(size=RUNS))).tolist() for _ in range(20)]
    for count in (8, 12, 20):
        found = [change for change in _scan(values[: calm + count]) if change.kind in STEPS]
        assert [int(change.target[:8]) for change in found] == [calm]


@pytest.mark.parametrize("calm", [6, 20, 40])
@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-4])
def test_a_step_to_noise_from_what_hardly_varied_is_found_after_two_versions(calm: int, noise: float) -> None:
    """Of 120 steps at most four are missed, and of 40 such histories without one at most one shows any."""
    missed = alarms = 0
    for seed in range(40):
        draw = np.random.default_rng([seed, calm])
        values = [(100 * (1 + noise * draw.normal(size=RUNS))).tolist() for _ in range(calm)]
        noisy = [(1 + 0.01 * draw.normal() + 0.02 * draw.normal(size=RUNS)).tolist() for _ in range(5)]
        for count in (2, 3, 5):
            slower = [[130 * share for share in of_version] for of_version in noisy[:count]]
            found = [change for change in _scan(values + slower) if change.kind in STEPS]
            missed += [int(change.target[:8]) for change in found] != [calm]
        as_slow = [[100 * share for share in of_version] for of_version in noisy]
        alarms += any(change.kind in STEPS for change in _scan(values + as_slow))
    assert missed <= 4
    assert alarms <= 1


def test_conditions_come_beside_the_noise_of_machines() -> None:
    """Two machines in turn, of which one is four times as noisy; both are ten times as noisy in the second half."""
    draw, scale = np.random.default_rng(2), np.repeat([1.0, 10.0], COUNT // 2) * np.tile([1.0, 4.0], COUNT // 2)
    values = [
        (1e6 + draw.normal(0, 1e3 * noise) + draw.normal(0, 1e3 * noise, RUNS)).tolist() for noise in scale.tolist()
    ]
    machines = np.repeat(np.arange(COUNT) % 2, RUNS)
    points = read(Runs.of(values))
    assert points is not None
    halves = (np.arange(COUNT) >= COUNT // 2).astype(np.int64)
    of_machines = read(replace(Runs.of(values), machines=machines))
    assert of_machines is not None
    noise = of_machines.by_conditions(halves).noise
    parts = [float(noise[half : half + 2][side]) for half in (0, COUNT // 2) for side in (0, 1)]
    assert [part / parts[0] for part in parts[2:]] == pytest.approx([10, 40], rel=0.6)
    assert 2 < parts[1] / parts[0] < 10
    assert points.by_conditions(halves * 0).noise == pytest.approx(np.ones(COUNT))
