"""Slow drift and the noise of runs: what is found, and what is not."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from perfcore_check_changepoint import ChangePoint, ChangepointCheck, ChangepointSettings, detect
from perfcore_check_changepoint.memory import decode

from perfcore.model import Change, Series

from .histories import history, normal, series


def _ramp(seed: int, flat: int, length: int, after: int = 0, *, total: float = 28.0, noise: float = 1.0) -> list[float]:
    growth = total * np.arange(1, length + 1) / length
    levels = np.concatenate([np.zeros(flat), growth, np.full(after, total)])
    values = 100 + levels + noise * np.random.default_rng(seed).standard_normal(len(levels))
    return [float(value) for value in values]


def _drifts(values: list[float]) -> list[ChangePoint]:
    return [change for change in detect(values) if change.kind == "drift"]


def _scan(scanned: Series) -> list[Change]:
    return list(ChangepointCheck(ChangepointSettings()).scan(scanned, None)[0])


@pytest.mark.parametrize(("flat", "length", "after"), [(1, 30, 0), (10, 30, 0), (30, 30, 0), (20, 30, 20), (80, 60, 0)])
def test_slow_growth_is_one_drift_from_its_first_version_to_its_last(flat: int, length: int, after: int) -> None:
    (change,) = detect(_ramp(1, flat, length, after))
    assert change.kind == "drift"
    assert change.earliest - 2 <= flat <= change.latest + 2
    assert change.until == pytest.approx(flat + length - 1, abs=2)
    assert change.low <= change.size <= change.high
    assert change.size == pytest.approx(28, abs=2)


def test_growth_without_noise_is_a_drift() -> None:
    (change,) = detect([1000.0 + 3 * max(0, number - 15) for number in range(50)])
    assert (change.kind, change.index, change.until) == ("drift", 16, 49)
    assert (change.before, change.after) == pytest.approx((1000, 1102), abs=1)


@pytest.mark.parametrize("versions", [12, 20, 40, 100])
@pytest.mark.parametrize("factor", [0.25, 1.6, 3.4, 20.0])
def test_growth_by_a_share_of_the_level_is_a_drift(factor: float, versions: int) -> None:
    """However large it becomes: compound growth is a curve, and no line is near to it."""
    for seed in range(5):
        growth = factor ** (np.arange(versions) / (versions - 1))
        noise = np.exp(0.005 * np.random.default_rng(seed).standard_normal(versions))
        (change,) = detect((100 * growth * noise).tolist())
        assert change.kind == "drift"
        assert change.index <= versions / 2
        assert change.until is not None
        assert change.until >= versions - 3
        assert math.log(change.after / change.before) / math.log(factor) == pytest.approx(0.9, abs=0.15)
        assert change.low <= change.size <= change.high


@pytest.mark.parametrize("versions", [20, 40, 100])
@pytest.mark.parametrize("total", [3.0, -0.8])
def test_growth_that_slows_down_is_a_drift(total: float, versions: int) -> None:
    """As of a cache that fills."""
    for seed in range(5):
        growth = 1 + total * np.log1p(4 * np.arange(versions) / (versions - 1)) / math.log(5)
        noise = np.exp(0.002 * np.random.default_rng(seed).standard_normal(versions))
        drifts = _drifts((100 * growth * noise).tolist())
        assert {math.copysign(1, drift.size) for drift in drifts} == {math.copysign(1, total)}
        assert all(drift.low <= drift.size <= drift.high for drift in drifts)
        assert sum((drift.until or 0) - drift.index for drift in drifts) >= versions / 2


def test_neither_noise_nor_a_walk_grows_along_a_curve() -> None:
    noise = [np.random.default_rng([seed, 4]).standard_normal(60) for seed in range(100)]
    for drawn in (noise, [values.cumsum() for values in noise]):
        assert sum(bool(_drifts((100 + values).tolist())) for values in drawn) <= 1


def test_a_short_history_shows_no_growth_along_a_curve() -> None:
    assert detect([100.0, 140.0, 165.0, 180.0, 190.0, 197.0, 203.0]) == []


def test_steps_to_multiples_of_a_level_are_steps_and_no_drift() -> None:
    for seed in range(20):
        noise = np.exp(0.01 * np.random.default_rng(seed).standard_normal(60))
        values = np.repeat([100.0, 220.0, 500.0], 20) * noise
        assert [(change.kind, change.index) for change in detect(values.tolist())] == [("level", 20), ("level", 40)]


@pytest.mark.parametrize("memory", [0.0, 0.3, 0.6])
def test_noise_is_no_drift(memory: float) -> None:
    """One of 200 at most, whatever each value keeps of the one before."""
    drifts = 0
    for seed in range(40):
        noise = normal(np.random.default_rng([seed, 1]), 80)
        for i in range(1, 80):
            noise[i] = memory * noise[i - 1] + math.sqrt(1 - memory**2) * noise[i]
        drifts += bool(_drifts((100 + noise).tolist()))
    assert drifts == 0


def test_walks_by_shares_of_the_level_are_no_drifts() -> None:
    drifts = 0
    for seed in range(100):
        walk = np.random.default_rng([seed, 3]).normal(0, 0.08, 80).cumsum()
        drifts += bool(_drifts((100 * np.exp(walk)).tolist()))
    assert drifts <= 1


def test_random_walks_are_no_drifts() -> None:
    """benchmarks/drift.py has 2 in 1,000 of many seeds: 5 of these 40 would be far more."""
    walks = (np.random.default_rng([seed, 2]).standard_normal((2, 80)) for seed in range(40))
    assert sum(bool(_drifts((100 + noise + np.cumsum(0.3 * steps)).tolist())) for noise, steps in walks) <= 1


def test_steps_are_steps_and_no_drift() -> None:
    steps = [(40, 3.0), (80, 3.0), (120, 3.0)]
    assert [change.kind for change in detect(history(normal, 3, 160, steps))] == ["level"] * 3


def test_a_step_back_undoes_a_drift() -> None:
    values = _ramp(5, 20, 30)
    drift, step = detect([*values, *(100 + np.random.default_rng(6).standard_normal(20)).tolist()])
    assert (drift.kind, step.kind) == ("drift", "level")
    assert drift.undone == step.index == 50


def test_a_drift_over_several_windows_is_one() -> None:
    """Windows of 512 versions show parts of it."""
    (drift,) = detect(_ramp(7, 100, 900, total=90.0))
    assert drift.index == pytest.approx(100, abs=10)
    assert drift.until == 999
    assert drift.size == pytest.approx(90, rel=0.02)


@pytest.mark.parametrize(
    ("better", "sign", "kind"),
    [
        ("lower", 1, "drift"),
        ("lower", -1, "improving drift"),
        ("higher", 1, "improving drift"),
        ("higher", -1, "drift"),
    ],
)
def test_a_drift_is_for_the_worse_or_for_the_better(better: str, sign: int, kind: str) -> None:
    scanned = series(_ramp(7, 15, 30, total=28.0 * sign), better=better)
    (change,) = _scan(scanned)
    assert (change.kind, change.primary) == (kind, True)
    assert change.until == scanned.versions[-1]
    assert change.pace is not None
    assert change.pace**30 == pytest.approx(change.ratio, rel=0.05)
    assert "evidence" in change.evidence


def test_a_drift_below_the_threshold_is_not_reported() -> None:
    scanned = series([100 + (value - 100) / 1000 for value in _ramp(9, 15, 30)])
    assert _scan(scanned) == []


def test_a_drift_keeps_its_id_while_it_goes_on() -> None:
    values, state, ids = _ramp(10, 20, 40), None, set()
    for count in range(44, 61, 4):
        changes, state = ChangepointCheck(ChangepointSettings()).scan(series(values[:count]), state)
        ids |= {change.id for change in changes if change.kind == "drift"}
    assert len(ids) == 1


@pytest.mark.parametrize(("versions", "kind"), [(20, "drift"), (1, "drift"), (5, "cannot tell")])
def test_a_drift_that_no_session_shows_by_itself_may_be_the_machine(versions: int, kind: str) -> None:
    """Sessions of one version each are noise between versions, and one of 20 shows growth within it."""
    values = [100 + (value - 100) / 4 for value in _ramp(11, 20, 40, noise=0.4)]
    sessions = tuple(((f"session {number // versions}", 1),) for number in range(60))
    (change,) = _scan(series(values, sessions=sessions))
    assert (change.kind, bool(change.until)) == (kind, kind == "drift")


def test_a_drift_of_one_of_many_series_is_its_own() -> None:
    random = np.random.default_rng(12)
    machine = np.where(np.arange(60) < 25, 1.0, 1.1)
    own = 1 + 0.01 * np.maximum(0, np.arange(60) - 30)
    many = [
        series(
            (100 * machine * (own if number == 3 else 1.0) * (1 + 0.005 * random.standard_normal(60))).tolist(),
            config_id=f"{number:040d}",
            comparisons=10,
        )
        for number in range(10)
    ]
    results = ChangepointCheck(ChangepointSettings()).scan_many(many, {})
    assert [number for number, changes in enumerate(results) if any(c.kind == "drift" for c in changes)] == [3]


@pytest.mark.parametrize("number", [2, 5, 6])
def test_a_state_of_an_earlier_format_keeps_names_only(number: int) -> None:
    environments: dict[str, object] = {"e": {"steps": [], "changes": []}}
    state = {"format": number, "key": "k", "environments": environments, "reported": [["e", "level up", "v", 3]]}
    memory = decode(json.dumps(state).encode(), "k")
    assert [reported.anchor for reported in memory.reported] == ["v"]
    assert not memory.settled


def _runs(seed: int, count: int, start: int, factor: float, runs: int = 10) -> list[tuple[float, ...]]:
    random = np.random.default_rng([seed, 5])
    return [
        tuple(
            (100 + 0.5 * random.standard_normal() + (factor if v >= start else 1) * random.normal(size=runs)).tolist()
        )
        for v in range(count)
    ]


@pytest.mark.parametrize(("factor", "start"), [(5.0, 20), (3.0, 20), (0.2, 20), (5.0, 33)])
def test_runs_that_differ_by_more_are_a_change_of_the_noise(factor: float, start: int) -> None:
    (change,) = detect(_runs(1, 40, start, factor))
    assert change.kind == "noise"
    assert change.index == pytest.approx(start, abs=1)
    assert change.after / change.before == pytest.approx(factor, rel=0.5)
    assert change.before + change.low <= change.after <= change.before + change.high


@pytest.mark.parametrize("level", [lambda at: 1.05**at, lambda at: 1 + at / 20, lambda at: 1 + math.sqrt(at / 60)])
def test_noise_in_proportion_to_a_level_that_grows_is_no_change(level: Callable[[int], float]) -> None:
    for seed in range(10):
        random = np.random.default_rng(seed)
        values = [tuple(100 * level(at) * np.exp(0.01 * random.standard_normal(6))) for at in range(50)]
        assert [change.kind for change in detect(values)] == ["drift"]


@pytest.mark.parametrize("length", [20, 30, 60, 100])
def test_a_steep_drift_has_no_step_where_it_begins_or_ends(length: int) -> None:
    exact = 0
    for seed in range(20):
        changes = detect(_ramp(seed, 30, length, 15, total=5.0 * length))
        exact += [change.kind for change in changes] == ["drift"] and abs(changes[0].index - 31) <= 2
    assert exact >= 17


def test_a_drift_goes_on_behind_steps_against_it() -> None:
    """Growth by 40 %, a fall of a fifth in it, and growth that falls back again and again."""
    once = [(1 + 0.01 * at) * (1.0 if at < 40 else 0.8) for at in range(60)]
    again = [1 + 0.02 * (at % 20) for at in range(80)]
    for levels, falls in ((once, {40}), (again, {20, 40, 60})):
        exact = 0
        for seed in range(10):
            random = np.random.default_rng(seed)
            changes = detect([100 * level * math.exp(0.01 * random.standard_normal()) for level in levels])
            steps = {change.index for change in changes if change.kind == "level" and change.size < 0}
            drifts = [change for change in changes if change.kind == "drift" and change.size > 0]
            exact += steps == falls and len(drifts) == len(falls) + 1 and not drifts[-1].undone
            # Each part is told by the amounts that it has.
            assert all(drift.after == pytest.approx(100 * levels[drift.until or 0], rel=0.03) for drift in drifts)
        assert exact >= 8


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("rest", [0, 30])
def test_drifts_in_both_directions_are_two(sign: int, rest: int) -> None:
    """A level that rises and falls, at once or after some versions."""
    exact = 0
    for seed in range(20):
        random, shape = (
            np.random.default_rng(seed),
            np.concatenate([np.arange(40), np.full(rest, 40), 40 - np.arange(40)]),
        )
        changes = detect((100 + sign * shape + random.standard_normal(len(shape))).tolist())
        exact += [(change.kind, change.size * sign > 0) for change in changes] == [("drift", True), ("drift", False)]
    assert exact >= 12


def test_runs_that_differ_as_before_are_no_change() -> None:
    assert sum(bool(detect(_runs(seed, 40, 40, 1.0))) for seed in range(2, 22)) == 0


def test_noise_that_grows_with_the_level_is_the_change_of_the_level() -> None:
    runs = _runs(3, 40, 40, 1.0)
    values = [tuple(run * (3 if number >= 20 else 1) for run in version) for number, version in enumerate(runs)]
    assert {change.kind for change in detect(values)} == {"level"}
