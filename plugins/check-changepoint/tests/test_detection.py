"""What is found in histories of every kind of noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from perfcore_check_changepoint import ChangePoint, detect
from perfcore_check_changepoint.sizes import undone

from .histories import NOISES, drifting, history, normal, of_two_modes, with_memory


def _indexes(values: Sequence[float | Sequence[float]]) -> list[int]:
    """Those of steps and of changes of the noise; drifts have tests of their own."""
    return [change.index for change in detect(values) if change.kind != "drift"]


def _near(found: list[ChangePoint], index: int) -> list[ChangePoint]:
    return [change for change in found if abs(change.index - index) <= 3]


@pytest.mark.parametrize("name", NOISES)
def test_noise_alone_is_seldom_a_change(name: str) -> None:
    """At most two alarms in 3,000 points; where the level drifts by three spreads, which is hard to tell from a few
    steps, at most six."""
    alarms = sum(len(_indexes(history(NOISES[name], seed, 150))) for seed in range(20))
    assert alarms <= (6 if name == "drifting" else 2)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("size", [6.0, -6.0])
def test_a_large_step_is_found_where_it_is(name: str, size: float) -> None:
    for seed in range(5):
        found = detect(history(NOISES[name], seed, 120, [(70, size)]))
        (change,) = _near(found, 70)
        assert change.kind == "level"
        assert change.earliest <= change.index <= change.latest
        assert change.low < change.size < change.high
        assert change.size == pytest.approx(size, abs=1.5)
        assert change.p_value < 1e-6
        assert len(found) <= (3 if name == "drifting" else 2)


@pytest.mark.parametrize(("name", "least"), [("normal", 0.7), ("skewed", 0.9), ("two modes", 0.9), ("outliers", 0.6)])
def test_most_steps_of_one_and_a_half_spreads_are_found(name: str, least: float) -> None:
    """Skewed noise and noise of two modes have sharp edges, by which a step is seen sooner."""
    hits = sum(bool(_near(detect(history(NOISES[name], seed, 120, [(60, 1.5)])), 60)) for seed in range(40))
    assert hits >= least * 40


@pytest.mark.parametrize("runs", [5, 20, 60])
def test_noise_within_versions_is_no_change(runs: int) -> None:
    """Runs that differ much more than the versions do, as on a busy machine."""
    random, alarms, hits = np.random.default_rng(runs), 0, 0
    for _ in range(10):
        versions = 100 * np.exp(0.05 * random.normal(size=(40, runs)))
        alarms += len(detect(versions.tolist()))
        versions[20:] *= 1.15
        hits += _indexes(versions.tolist()) == [20]
    assert alarms <= 1
    assert hits >= 8


@pytest.mark.parametrize(("runs", "least"), [(6, 26), (12, 35)])
def test_a_step_is_no_wandering_level_where_single_runs_are_disturbed(runs: int, least: int) -> None:
    """One run in ten takes 16 % longer. A step of three standard deviations of the medians is found in so many of
    40."""
    hits = 0
    for seed in range(40):
        random = np.random.default_rng([seed, runs])
        disturbed = np.where(random.random((24, runs)) < 0.1, random.exponential(8, (24, runs)), 0.0)
        level = 0.06 * math.sqrt(1 + 1 / runs) * (np.arange(24) >= 14)[:, None]
        logs = level + 0.02 * random.normal(size=(24, 1)) + 0.02 * (random.normal(size=(24, runs)) + disturbed)
        hits += any(abs(index - 14) <= 1 for index in _indexes((1e6 * np.exp(logs)).tolist()))
    assert hits >= least


@pytest.mark.parametrize("factor", [0.1, 2.0, 4.0, 10.0])
@pytest.mark.parametrize(("count", "at", "runs"), [(8, 5, 6), (20, 17, 6), (20, 17, 1), (60, 55, 1)])
def test_a_step_to_a_multiple_is_found_where_noise_grows_with_the_level(
    count: int, at: int, runs: int, factor: float
) -> None:
    """Times vary by a share of themselves: what is ten times as slow varies ten times as much."""
    hits = 0
    for seed in range(30):
        random = np.random.default_rng(seed)
        logs = 0.03 * random.normal(size=(count, 1)) + 0.1 * random.normal(size=(count, runs))
        values = 100 * np.exp(logs) * np.where(np.arange(count) < at, 1.0, factor)[:, None]
        hits += any(change.kind == "level" and abs(change.index - at) <= 1 for change in detect(values.tolist()))
    assert hits >= 27


@pytest.mark.parametrize("runs", [1, 5])
@pytest.mark.parametrize(("count", "at", "factor"), [(12, 5, 100), (60, 30, 10)])
def test_a_step_to_a_large_multiple_is_one_change(count: int, at: int, factor: float, runs: int) -> None:
    """Though the noise of few points is that of one level, and a version near neither level may take half of it."""
    exact = 0
    for seed in range(40):
        noise = np.exp(0.01 * np.random.default_rng(seed).normal(size=(count, runs)))
        values = noise * np.where(np.arange(count) < at, 1.0, factor)[:, None]
        places = [change.index for change in detect(values.tolist())]
        assert at in places
        exact += places == [at]
    assert exact >= 38


@pytest.mark.parametrize("runs", [1, 3, 5, 10])
def test_several_runs_tell_as_much_as_one_that_varies_by_as_little(runs: int) -> None:
    """23, 23, 22 and 20 steps of 40. If the noise of the runs is told by distances to a median that is one of them,
    these are 23, 7, 13 and 16."""
    found = 0
    for seed in range(40):
        values = 100 + np.random.default_rng(seed).normal(size=(20, runs))
        values[10:] += 2.4 / math.sqrt(runs)
        found += any(change.kind == "level" and abs(change.index - 10) <= 2 for change in detect(values.tolist()))
    assert found >= 18


@pytest.mark.parametrize(("count", "runs"), [(8, 6), (20, 1), (60, 3)])
def test_noise_in_proportion_to_the_level_is_no_change(count: int, runs: int) -> None:
    """Of 100 histories at most six: short ones of one run each have few neighbours to tell the noise from."""
    alarms = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        values = 100 * np.exp(0.6 * random.normal(size=(count, runs)))
        alarms += any(change.kind == "level" for change in detect(values.tolist()))
    assert alarms <= 6


@pytest.mark.parametrize("level", [0.0, 80.0])
@pytest.mark.parametrize(("calm", "noisy"), [(9, 7), (30, 30), (60, 30)])
def test_a_step_from_what_never_varied_is_found(level: float, calm: int, noisy: int) -> None:
    """And back."""
    values = [level] * calm + history(normal, calm, noisy)
    for given, place in ((values, calm), (values[::-1], noisy)):
        found = detect(given)
        assert max(found, key=lambda change: abs(change.size)).index == place
        assert len(found) <= 2


@pytest.mark.parametrize(("name", "most"), [("normal", 1.1), ("memory", 1.5), ("two modes", 1.3), ("outliers", 1.1)])
def test_a_step_from_exactly_0_is_neither_other_noise_nor_strays(name: str, most: float) -> None:
    """Where a fifth to four fifths of the versions vary around 5, 20 or 100 spreads: of 240 at most two are missed. And
    the noise is told from those that vary, so that few of its values are levels of their own."""
    missed = levels = 0
    for seed in range(40):
        for level in (5.0, 20.0, 100.0):
            random = np.random.default_rng([seed, 99])
            calm, noisy = (int(random.integers(8, 80)) for _ in range(2))
            values = [0.0] * calm + (level + NOISES[name](random, noisy)).tolist()
            for given, place in ((values, calm), (values[::-1], noisy)):
                steps = [change.index for change in detect(given) if change.kind == "level"]
                missed += not any(abs(index - place) <= 1 for index in steps)
                levels += len(steps)
    assert missed <= 2
    assert levels <= most * 240


@pytest.mark.parametrize("between", [0.0, 1e-12, 1e-6, 1e-4])
def test_a_step_is_found_though_the_runs_of_every_version_differ_in_the_same_way(between: float) -> None:
    """At half of the history it looks most like two modes."""
    noise = normal(np.random.default_rng(1), 24) * between
    runs = np.log([1, 1.002, 1.004, 0.998, 1.001, 1.003])
    values = [tuple((15 + (at >= 12) * math.log(2) + noise[at] + runs).tolist()) for at in range(24)]
    assert [change.index for change in detect(values)] == [12]


def test_many_steps_are_found_each_at_its_place() -> None:
    steps = [(30, 4.0), (60, -7.0), (75, 4.0), (110, 3.0), (140, -5.0)]
    found = _indexes(history(normal, 3, 170, steps))
    assert len(found) == 5
    assert all(abs(index - place) <= 1 for index, (place, _) in zip(found, steps, strict=True))


def test_no_regression_undoes_another() -> None:
    """A later one that ends where the first began makes nothing good, as amid drift."""
    found = undone([_change(1, 100.0, 106.0), _change(2, 94.0, 100.0)])
    assert [change.undone for change in found] == [None, None]


def test_a_regression_that_was_undone_says_so() -> None:
    first, second = detect(history(normal, 1, 80, [(40, 6.0), (48, -6.0)]))
    assert (first.index, second.index) == (40, 48)
    assert (first.undone, second.undone) == (48, None)


def test_a_step_over_which_another_follows_is_not_undone() -> None:
    assert [change.undone for change in detect(history(normal, 1, 90, [(30, 6.0), (60, 6.0)]))] == [None, None]


@pytest.mark.parametrize("length", [1, 2])
def test_a_few_spikes_are_no_change(length: int) -> None:
    values = history(normal, 4, 100)
    for place in (20, 50, 80):
        values[place : place + length] = [500.0] * length
    assert _indexes(values) == []


def test_a_fresh_change_is_seen_within_four_versions() -> None:
    """In half of the histories; five spreads are seen after two or three."""
    delays = []
    for seed in range(15):
        values = history(normal, seed, 72, [(60, 4.0)])
        seen = (count for count in range(61, 73) if _near(detect(values[:count]), 60))
        delays.append(next(seen, 99) - 60)
    assert sorted(delays)[len(delays) // 2] <= 4


def test_another_noise_is_a_change_of_its_own_kind() -> None:
    random = np.random.default_rng(1)
    values = [*random.normal(100, 1, 60), *random.normal(100, 4, 60)]
    (change,) = detect(values)
    assert change.kind == "noise"
    assert abs(change.index - 60) <= 3
    assert change.before == pytest.approx(1, rel=0.4)
    assert change.after == pytest.approx(4, rel=0.4)


def test_a_step_amid_changing_noise_is_found() -> None:
    random = np.random.default_rng(2)
    values = [*random.normal(100, 1, 50), *random.normal(100, 4, 50), *random.normal(112, 4, 50)]
    assert {change.kind: round(change.index, -1) for change in detect(values)} == {"noise": 50, "level": 100}


@pytest.mark.parametrize("period", [7, 12.5, 24])
def test_what_comes_and_goes_with_a_period_is_no_change_and_hides_none(period: float) -> None:
    """A step that is less than half as high as the wave."""
    alarms, hits, held = 0, 0, 0
    for seed in range(10):
        night = 2 * np.sin(2 * np.pi * np.arange(150) / period + seed)
        alarms += len(detect((history(normal, seed, 150) + night).tolist()))
        found = _near(detect((history(normal, seed, 150, [(90, 1.5)]) + night).tolist()), 90)
        hits += len(found) == 1
        held += any(change.low < 1.5 < change.high and change.high - change.low < 1 for change in found)
    assert alarms <= 1
    assert hits >= 8
    assert held >= 6


def test_a_weak_wave_of_a_short_history_hides_few_steps() -> None:
    """Steps that follow a wave hide a part of it, so it is fitted again beside the steps that are left."""
    hits = 0
    for period in (14, 22):
        for seed in range(20):
            night = 1.2 * np.sin(2 * np.pi * np.arange(70) / period + seed)
            hits += bool(_near(detect((history(normal, seed, 70, [(35, 2.0)]) + night).tolist()), 35))
    assert hits >= 28


@pytest.mark.parametrize("count", [4, 6, 12, 60])
@pytest.mark.parametrize("runs", [1, 5])
def test_a_counter_that_never_varies_needs_two_versions_for_a_step(count: int, runs: int) -> None:
    """However small: nothing else in its history differs."""
    assert _indexes([(100.0,) * runs] * (count - 2) + [(101.0,) * runs] * 2) == [count - 2]


def test_a_counter_that_never_varies_shows_a_level_of_four_versions() -> None:
    assert _indexes([100.0] * 30 + [101.0] * 4 + [100.0] * 30) == [30, 34]


def test_a_counter_that_is_one_more_in_some_versions_has_no_steps() -> None:
    """None of 30 histories of 150 versions, of which 1 to 10 % differ by one or two."""
    for rate in (0.01, 0.03, 0.1):
        for seed in range(10):
            random = np.random.default_rng([seed, 7])
            values = 100.0 + (random.random(150) < rate) * random.integers(1, 3, 150)
            assert not _indexes(values.tolist())


def test_two_versions_far_from_all_others_are_a_step_though_they_differ() -> None:
    """By half of the level: of 100 seeds, 90 were found while a value that is very far off was dear as one that is
    only far."""
    found = 0
    for seed in range(100):
        noise = np.random.default_rng([seed, 15]).standard_normal(20)
        found += _indexes((np.repeat([100.0, 150.0], [18, 2]) * np.exp(0.022 * noise)).tolist()) == [18]
    assert found >= 97


def test_half_a_tick_of_the_clock_is_seen_in_the_runs_of_a_version() -> None:
    """Their median is one tick or the other: of 60 seeds, 11 were found by it, and 58 by means of what is beside it."""
    found = 0
    for seed in range(20):
        noise = 0.3 * np.random.default_rng([seed, 16]).standard_normal((60, 5))
        found += bool(_near(detect(np.round(100.2 + np.repeat([0.0, 0.5], 30)[:, None] + noise).tolist()), 30))
    assert found >= 18


def test_many_runs_of_two_values_show_a_step_after_two_versions() -> None:
    """Of 60 seeds, 23 did while each run was to be as near to the level as a version is."""
    found = 0
    for seed in range(20):
        coin = np.random.default_rng([seed, 17]).random((60, 10)) < 0.5
        found += _indexes((100.0 + coin + (np.arange(60) >= 58)[:, None]).tolist()) == [58]
    assert found == 20


def test_many_runs_with_two_modes_have_no_steps() -> None:
    """Of 40 histories in which nothing changes, 3 had eight while each run was to be as near as a version is."""
    alarms = 0
    for seed in range(40):
        random = np.random.default_rng([seed, 10, 1])
        modes = 4 * (random.random((60, 10)) < 0.4) + 0.3 * random.standard_normal((60, 10))
        alarms += bool(_indexes((100 + modes + random.standard_normal((60, 1))).tolist()))
    assert alarms <= 1


def test_a_level_that_came_back_three_times_is_no_wave() -> None:
    """Each as long as it likes."""
    steps = [(20, 5.0), (30, -5.0), (52, 5.0), (68, -5.0), (90, 5.0), (96, -5.0)]
    assert _indexes(history(normal, 7, 130, steps)) == pytest.approx([place for place, _ in steps], abs=1)


@pytest.mark.parametrize("slope", [0.05, 0.1])
def test_a_steep_drift_is_seldom_a_staircase(slope: float) -> None:
    """By five and ten spreads over a hundred versions: 13 and 3 % of 400 seeds."""
    drifts = ((np.array(history(normal, seed, 100)) + slope * np.arange(100)).tolist() for seed in range(20))
    assert sum(bool(_indexes(values)) for values in drifts) <= 3


def test_alarms_seldom_come_and_go() -> None:
    """Histories without a change, each asked for after every version: of twenty, seven show an alarm at some time."""
    alarms = 0
    for noise in (drifting, of_two_modes):
        for seed in range(10):
            values = history(noise, seed, 80)
            alarms += len({round(index / 7) for count in range(30, 81) for index in _indexes(values[:count])})
    assert alarms <= 8


@pytest.mark.parametrize("seed", range(8))
def test_a_step_of_ten_spreads_is_seen_with_its_second_version(seed: int) -> None:
    values = history(normal, seed, 62, [(60, 10.0)])
    assert _indexes(values) == [60]


def test_few_alarms_vanish_when_neighbours_are_alike() -> None:
    """Where another model explains nearly as much without a change, none is reported: seven of these histories showed
    one that was gone later."""
    vanished = 0
    for seed in range(16):
        values, seen = history(with_memory, seed, 80), set[int]()
        for count in range(30, 81):
            present = _indexes(values[:count])
            seen |= {index for index in present if all(abs(index - other) > 3 for other in seen)}
        vanished += sum(all(abs(index - other) > 3 for other in present) for index in seen)
    assert vanished <= 4


def test_a_recent_change_has_to_explain_more_with_every_version() -> None:
    """3.5 % of the penalty more, up to 40 %, so that few alarms come and go."""
    weakest = 99.0
    for seed in range(12):
        values = history(normal, seed, 80, [(60, 1.5)])
        for count in range(61, 81):
            for change in detect(values[:count]):
                weakest = min(weakest, change.gain / (6.5 * min(1 + 0.035 * (count - change.index), 1.4)))
    assert 1.0 <= weakest < 1.1


def test_an_old_change_has_to_explain_a_penalty() -> None:
    """However many versions have come since."""
    gains = [change.gain for seed in range(40) for change in detect(history(normal, seed, 280, [(140, 1.0)]))]
    assert 6.0 < min(gains) < 1.4 * 6.5


def test_drift_is_no_staircase_and_a_staircase_no_drift() -> None:
    assert _indexes(history(drifting, 5, 150)) == []
    assert len(_indexes(history(normal, 5, 150, [(30, 3.5), (60, 3.5), (90, 3.5), (120, 3.5)]))) == 4


def test_a_smooth_curve_is_no_staircase() -> None:
    """It bends, so that no slope fits it: some levels are left of it, but seldom more than one for 37 versions. A
    staircase whose steps are as frequent keeps them."""
    time = np.linspace(0, 1, 816)
    for seed in range(4):
        curve = 80 * time**2 + np.random.default_rng(seed).normal(0, 0.3, 816)
        assert len(_indexes(curve.tolist())) <= 22
    stairs = history(normal, 3, 160, [(place, 5.0) for place in range(16, 160, 16)])
    assert len(_indexes(stairs)) >= 7


@pytest.mark.parametrize("start", [10, 40, 75, 120])
def test_a_temporary_level_is_no_second_mode(start: int) -> None:
    """Thirteen of 148 versions are as many as a second mode has, but they are side by side. Of 30 at least 27."""
    hits = 0
    for seed in range(30):
        values = history(normal, seed, 148, [(start, 3.8), (start + 13, -3.8)])
        hits += {abs(index - start) <= 3 for index in _indexes(values)} >= {True}
    assert hits >= 27


@pytest.mark.parametrize(("before", "after"), [(2, 3), (2, 5), (2, 8), (5, 3), (5, 5), (4, 7)])
def test_three_versions_of_a_short_history_are_no_second_mode(before: int, after: int) -> None:
    """Of 20 levels of three versions, three times as high in noise of 20 %, at least 18 are told."""
    factors, hits = (1.0,) * before + (3.0,) * 3 + (1.0,) * after, 0
    for seed in range(20):
        random = np.random.default_rng([seed, before, after])
        hits += _indexes([(factor * random.uniform(480, 720, 6)).tolist() for factor in factors]) == [
            before,
            before + 3,
        ]
    assert hits >= 18


@pytest.mark.parametrize("count", [8, 12, 20])
def test_modes_of_a_short_history_are_seldom_levels(count: int) -> None:
    """Of 100 whose modes come in any order at most 30 have a change, of those with 20 versions 15."""
    alarms = 0
    for seed in range(100):
        random = np.random.default_rng([seed, count])
        modes = np.where(random.random(count) < 0.4, 130.0, 100.0)
        alarms += bool(_indexes((modes[:, None] + 2 * random.normal(size=(count, 6))).tolist()))
    assert alarms <= (30 if count < 20 else 15)


def test_two_modes_are_no_change_of_the_noise() -> None:
    """Modes that happen to be seldom in one half look like less noise around levels that are none."""
    assert _indexes(history(of_two_modes, 5, 150)) == []


@pytest.mark.parametrize("step", [1, 3, 500])
def test_a_counter_that_never_varies_shows_every_step(step: int) -> None:
    values = [10**9] * 20 + [10**9 + step] * 20
    (change,) = detect(values)
    assert (change.index, change.before, change.after) == (20, 10**9, 10**9 + step)


def test_a_counter_with_a_rare_hiccup_is_constant() -> None:
    values = [10**9] * 60
    values[20] += 5
    values[45] += 7
    assert detect(values) == []


def test_a_step_of_one_amid_integers_beyond_floats_is_found() -> None:
    values = [2**60 + 1] * 20 + [2**60 + 2] * 20
    assert _indexes(values) == [20]


def test_small_integers_with_many_ties_are_no_change() -> None:
    random = np.random.default_rng(3)
    assert sum(len(_indexes(np.rint(random.normal(20, 0.6, 120)).tolist())) for _ in range(20)) <= 1


def test_all_runs_of_a_version_count() -> None:
    """A step too small for single runs is found when there are ten of each version."""
    random = np.random.default_rng(4)
    levels = [100.0] * 20 + [100.8] * 20
    single = [[float(random.normal(level, 1))] for level in levels]
    several = [random.normal(level, 1, 10).tolist() for level in levels]
    assert detect(single) == []
    assert [change.index for change in detect(several)] == pytest.approx([20], abs=2)


def test_runs_that_share_a_bad_version_are_not_independent() -> None:
    """Versions differ by more than their runs do: a hundred runs of one tell little more than one does."""
    alarms = 0
    for seed in range(10):
        random = np.random.default_rng(seed)
        versions = [random.normal(random.normal(100, 2), 0.1, 30).tolist() for _ in range(60)]
        alarms += len(detect(versions))
    assert alarms <= 1


def test_one_version_of_which_every_run_was_disturbed_is_no_change() -> None:
    random = np.random.default_rng(5)
    versions = [random.normal(100, 1, 10).tolist() for _ in range(60)]
    versions[30] = [value * 1.3 for value in versions[30]]
    assert detect(versions) == []


def test_versions_without_values_are_passed_over() -> None:
    values: list[float | list[float]] = [*history(normal, 6, 100, [(50, 6.0)])]
    for place in (*range(0, 100, 7), 50, 51):
        values[place] = math.nan if place % 2 else []
    (change,) = detect(values)
    assert change.index == 52
    assert change.earliest <= 52 <= change.latest


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    for noise in (normal, with_memory, of_two_modes):
        changes = [_near(detect(history(noise, seed, 120, [(60, 4.0)])), 60) for seed in range(60)]
        held = [change.low <= 4.0 <= change.high for found in changes for change in found]
        assert len(held) >= 55
        assert sum(held) >= 0.83 * len(held)


def test_places_are_within_their_range_about_as_often_as_they_say() -> None:
    changes = [_near(detect(history(normal, seed, 120, [(60, 1.8)])), 60) for seed in range(60)]
    held = [change.earliest <= 60 <= change.latest for found in changes for change in found]
    assert sum(held) >= 0.85 * len(held)


def test_a_greater_penalty_finds_no_more() -> None:
    values = history(normal, 8, 200, [(50, 1.2), (100, 1.5), (150, 2.0)])
    counts = [len(detect(values, penalty=penalty)) for penalty in (4.0, 6.5, 12.0, 60.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


def test_a_higher_confidence_gives_a_wider_interval() -> None:
    values = history(normal, 8, 100, [(50, 5.0)])
    (narrow,), (wide,) = detect(values, confidence=0.8), detect(values, confidence=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize(
    ("levels", "told"),
    [
        ([306, 356, 266], [None, None]),  # a gain elsewhere
        ([100, 115, 132, 100], [3, 3, None]),  # both steps are taken back at once
        ([100, 115, 132, 115], [None, 3, None]),  # only the second one is
        ([100, 115, 132, 120, 101], [4, 4, None, None]),  # the third one goes half of the way
        ([100, 80, 120], [None, None]),
        ([100, 120, 90, 130], [None, None, None]),
        ([100, 110, 120, 90, 130, 110], [None, 5, None, None, None]),  # the first step is not
        ([100, 120, 110], [None, None]),
    ],
)
def test_a_change_is_undone_where_the_level_before_comes_back(levels: list[float], told: list[int | None]) -> None:
    found = undone([_change(number, *pair) for number, pair in enumerate(pairwise(map(float, levels)), 1)])
    assert [change.undone for change in found] == told


@pytest.mark.parametrize(("between", "told"), [(0, 2), (500, 502), (2000, None)])
def test_what_comes_back_after_very_many_changes_is_another_one(between: int, told: int | None) -> None:
    levels = [100.0, *(200.0 + 10 * (number % 2) for number in range(between + 1)), 100.0]
    first, *_ = undone([_change(number, *pair) for number, pair in enumerate(pairwise(levels), 1)])
    assert first.undone == told


def _change(index: int, before: float, after: float) -> ChangePoint:
    error = 0.01
    return ChangePoint(
        index=index,
        earliest=index,
        latest=index,
        before=before,
        after=after,
        low=after - before - error,
        high=after - before + error,
        gain=9.0,
        p_value=0.01,
    )


def test_a_step_is_none_whose_interval_holds_no_change() -> None:
    """Runs of two modes, as measured beside other work: the modes moved, and the levels hardly did."""
    values = [
        [17.84, 15.02, 14.96, 14.44, 19.47, 19.4],
        [19.38, 15.76, 16.77, 14.7, 16.46, 19.81],
        [19.77, 15.05, 14.67, 17.56, 14.65, 19.83],
        [18.32, 15.24, 14.31, 14.87, 14.96, 19.74],
        [19.29, 14.72, 14.48, 14.93, 14.98, 19.77],
        [19.37, 16.05, 14.0, 19.75, 15.03, 17.39],
        [11.65, 11.55, 12.17, 11.7, 13.47, 12.05],
        [16.78, 11.82, 16.85, 11.92, 13.35, 12.28],
        [16.8, 12.07, 16.53, 14.65, 15.84, 15.69],
        [12.23, 16.64, 12.22, 16.82, 16.34, 12.48],
    ]
    found = detect(values, penalty=6.5)
    assert not [change for change in found if change.kind == "level" and change.low <= 0 <= change.high]
