"""Sessions of which each measures a version and the one before it, as jobs for changes do."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings, linked_sessions, sessions
from perfcore_check_changepoint.runs import Runs

from perfcore.model import Change, Series
from perfcore.model.record import replace

from .histories import series, version

COUNT, PLACE, RUNS, NOISE = 80, 60, 5, 0.007
MACHINES = {"1:a": 0.0, "1:b": 0.4, "1:c": -0.3}


def _draw(offset: float, seed: int, count: int = COUNT) -> tuple[np.random.Generator, np.ndarray]:
    draw = np.random.default_rng(seed)
    return draw, draw.normal(0, offset, count)


def _pairs(
    offset: float,
    seed: int,
    step: float = 0.0,
    *,
    count: int = COUNT,
    machines: Sequence[str] = ("1:a",),
    release: int | None = None,
) -> Series:
    """Job n measures the versions n - 1 and n, or a release and n, on a machine that is free. All that it measures is
    off by as much."""
    draw, offsets = _draw(offset, seed, count)
    own = draw.normal(0, NOISE, count) + math.log1p(step) * (np.arange(count) >= PLACE)
    seen: dict[tuple[int, str], tuple[list[float], list[tuple[str, int]]]] = {}
    for job in range(count):
        machine = machines[int(draw.integers(len(machines)))]
        for place in (job - 1 if release is None else release, job) if job else (job,):
            level = own[place] + offsets[job] + MACHINES[machine] + draw.normal(0, NOISE)
            runs, jobs = seen.setdefault((place, machine), ([], []))
            runs += (1e6 * np.exp(level + draw.normal(0, 0.01, RUNS))).tolist()
            jobs.append((f"{job:012}", RUNS))
    order = sorted(seen)
    given = series(
        [seen[key][0] for key in order],
        [machine for _, machine in order],
        sessions=tuple(tuple(seen[key][1]) for key in order),
    )
    return replace(given, versions=tuple(version(place) for place, _ in order))


def _on_a_slower_machine(given: Series, size: float) -> Series:
    """Whatever was measured from one job on takes longer."""
    slower = [
        tuple(run * (1 + size * (int(name) >= PLACE)) for run, name in zip(runs, _names(jobs), strict=True))
        for runs, jobs in zip(given.values, given.sessions, strict=True)
    ]
    return replace(given, values=tuple(slower))


def _last(given: Series, count: int) -> Series:
    return replace(
        given,
        versions=given.versions[-count:],
        environments=given.environments[-count:],
        values=given.values[-count:],
        sessions=given.sessions[-count:],
    )


def _scan(given: Series) -> list[Change]:
    return list(ChangepointCheck(ChangepointSettings()).scan(given, None)[0])


def _of_code(changes: Sequence[Change]) -> list[Change]:
    return [change for change in changes if change.kind != "machine"]


def _shows(changes: Sequence[Change]) -> bool:
    return any(change.kind == "degradation" and abs(int(change.target[:8]) - PLACE) <= 2 for change in changes)


@pytest.mark.parametrize(("offset", "size"), [(0.0, 0.04), (0.01, 0.05), (0.03, 0.12)])
def test_a_step_is_found_however_much_jobs_differ(offset: float, size: float) -> None:
    """Each job measured both levels or one of them, and none of them many versions."""
    found = [_scan(_pairs(offset, seed, size, count=PLACE + 6)) for seed in range(20)]
    assert sum(map(_shows, found)) >= 17


@pytest.mark.parametrize("offset", [0.03, 0.06])
def test_a_step_far_beyond_what_jobs_differ_by_is_told_of_two_versions(offset: float) -> None:
    found = [_scan(_pairs(offset, seed, 0.25, count=PLACE + 2)) for seed in range(20)]
    assert sum(map(_shows, found)) >= 18


@pytest.mark.parametrize("offset", [0.0, 0.02])
def test_the_first_jobs_of_a_history_are_compared(offset: float) -> None:
    """Eight jobs are linked by seven versions."""
    found = [_scan(_last(_pairs(offset, seed, 0.15, count=PLACE + 3), 9)) for seed in range(20)]
    assert sum(map(_shows, found)) >= 18
    machine = [_scan(_last(_on_a_slower_machine(_pairs(offset, seed, count=PLACE + 3), 0.15), 9)) for seed in range(20)]
    assert not any(change.kind == "degradation" for changes in machine for change in changes)


@pytest.mark.parametrize("width", [3, 6])
def test_a_level_of_a_few_versions_is_the_code_or_the_machine_at_both_ends(width: int) -> None:
    code, machine = list[str](), list[str]()
    for seed in range(15):
        given = _pairs(0.005, seed)
        of_versions = [
            tuple(run * (1.08 if PLACE <= int(name[:8]) < PLACE + width else 1.0) for run in runs)
            for name, runs in zip(given.versions, given.values, strict=True)
        ]
        of_jobs = [
            tuple(
                run * (1.08 if PLACE <= int(name) < PLACE + width else 1.0)
                for run, name in zip(runs, _names(jobs), strict=True)
            )
            for runs, jobs in zip(given.values, given.sessions, strict=True)
        ]
        code += [change.kind for change in _of_code(_scan(replace(given, values=tuple(of_versions))))]
        machine += [change.kind for change in _of_code(_scan(replace(given, values=tuple(of_jobs))))]
    assert min(code.count("degradation"), code.count("optimization")) >= 13
    assert code.count("cannot tell") <= 1
    assert len(machine) - machine.count("cannot tell") <= 2


@pytest.mark.parametrize("offset", [0.0, 0.02, 0.05])
def test_what_jobs_differ_by_is_no_change(offset: float) -> None:
    found = [change for seed in range(20) for change in _of_code(_scan(_pairs(offset, seed)))]
    assert len(found) <= 1


@pytest.mark.parametrize(("offset", "size"), [(0.0, 0.08), (0.01, 0.08), (0.01, 0.5)])
def test_a_machine_that_became_slower_between_two_jobs_is_no_step_of_the_code(offset: float, size: float) -> None:
    """The first job that it measured shows the version before at the new level, too."""
    told = []
    for seed in range(20):
        told += _of_code(_scan(_on_a_slower_machine(_pairs(offset, seed), size)))
    assert len(told) >= 18
    assert sum(change.kind != "cannot tell" for change in told) <= 1
    assert f"session {PLACE:012} began here and measured the version before as slow or fast" in told[0].evidence
    assert f"to decide: perf compare {told[0].baseline} {told[0].target} -- COMMAND" in told[0].evidence
    assert told[0].reason == "came with a session"


def test_a_release_that_every_job_measures_tells_no_offsets() -> None:
    """One measurement for each offset: how much of it is noise is not known."""
    given = _pairs(0.02, 1, release=0)
    assert sessions.align(Runs.of(given.values, given.sessions), 0) is None


def test_versions_of_several_jobs_of_which_some_are_far_off_tell_the_noise() -> None:
    """What is cut off of these is no part of the mean of a version."""
    draw = np.random.default_rng(1)
    values = [
        [float(amount) for job in (at, at + 1, at + 2) for amount in _times(draw, 1.15 if job % 9 == 3 else 1.0)]
        for at in range(40)
    ]
    jobs = tuple(tuple((f"{job:012}", RUNS) for job in (at, at + 1, at + 2)) for at in range(40))
    aligned = sessions.align(Runs.of(values, jobs), 0)
    assert aligned is not None
    assert isinstance(aligned.estimate, linked_sessions.Prediction)
    assert 0.002 < math.sqrt(aligned.estimate.noise) < 0.006


def _times(draw: np.random.Generator, factor: float) -> np.ndarray:
    times: np.ndarray = factor * 1e6 * np.exp(draw.normal(0, NOISE, RUNS))
    return times


def test_offsets_are_as_far_off_as_their_covariance_says() -> None:
    squares = []
    for seed in range(20):
        given = _pairs(0.02, seed)
        aligned = sessions.align(Runs.of(given.values, given.sessions), 0)
        assert aligned is not None
        offsets = _draw(0.02, seed)[1][1:]  # the first job has measured a single version
        # The level and the mean of the offsets are one and the same.
        left = np.eye(len(offsets)) - 1 / len(offsets)
        covariance = left @ aligned.doubt.factors.covariance @ left
        off = left @ (aligned.estimate.offsets - offsets)
        squares.append(float((off**2).sum() / np.trace(covariance)))
    assert 0.7 < np.mean(squares) < 1.4


def test_offsets_that_are_nothing_but_noise_are_not_taken_out() -> None:
    given = _pairs(0.0, 1)
    runs = Runs.of(given.values, given.sessions)
    aligned = sessions.align(runs, 0)
    assert aligned is not None
    moved = np.abs(np.log(np.asarray(aligned.runs.amounts) / np.asarray(runs.amounts)))
    assert moved.max() < NOISE


def test_a_job_that_was_off_by_much_is_put_right() -> None:
    """It would be two slow versions, and take the links of the others for noise."""
    given = _pairs(0.002, 3)
    slow = [
        tuple(run * 1.5 if name == f"{30:012}" else run for run, name in zip(runs, _names(jobs), strict=True))
        for runs, jobs in zip(given.values, given.sessions, strict=True)
    ]
    aligned = sessions.align(Runs.of(slow, given.sessions), 0)
    assert aligned is not None
    assert max(aligned.runs.amounts) / min(aligned.runs.amounts) < 1.15
    assert _of_code(_scan(replace(given, values=tuple(slow)))) == []


def _names(jobs: Sequence[tuple[str, int]]) -> list[str]:
    return [name for name, runs in jobs for _ in range(runs)]


def test_amounts_that_no_job_differs_in_stay_what_they_are() -> None:
    given = _pairs(0.0, 1)
    values = [[1e6 + 3e4 * (at >= PLACE)] * len(runs) for at, runs in enumerate(given.values)]
    (change,) = _scan(replace(given, values=tuple(map(tuple, values))))
    assert (int(change.target[:8]), change.ratio, change.low, change.high) == (PLACE, 1.03, 1.03, 1.03)


def test_jobs_of_a_pool_are_linked_across_its_machines() -> None:
    pool = tuple(MACHINES)
    found = [_scan(_pairs(0.0, seed, 0.05, count=PLACE + 6, machines=pool)) for seed in range(10)]
    assert sum(map(_shows, found)) >= 8
    unchanged = [c for seed in range(20) for c in _of_code(_scan(_pairs(0.02, seed, machines=pool)))]
    assert sum(change.kind != "cannot tell" for change in unchanged) <= 2


def test_a_pool_whose_jobs_share_versions_takes_turns() -> None:
    """No machine continues another, and none is called not compared that has a factor."""
    for seed in range(5):
        machines = [c for c in _scan(_pairs(0.0, seed, machines=tuple(MACHINES))) if c.kind == "machine"]
        assert len(machines) == 2
        for change in machines:
            before, after = change.environments
            assert change.evidence.startswith(f"machines {before} and {after} take turns and differ by a factor of ")
            assert change.low is not None
            assert change.high is not None
            assert change.low < math.exp(MACHINES[after] - MACHINES[before]) < change.high


def test_the_benchmarks_of_a_suite_are_as_sure_as_what_is_known_of_the_jobs() -> None:
    def suite(step: float, seed: int, count: int) -> list[Series]:
        return [
            replace(_pairs(0.02, 100 * seed + number, step if number == 3 else 0.0, count=count), metric=f"m{number}")
            for number in range(8)
        ]

    check = ChangepointCheck(ChangepointSettings())
    unchanged = [_of_code(found) for seed in range(6) for found in check.scan_many(suite(0.0, seed, COUNT), {})]
    assert sum(map(len, unchanged)) <= 1
    found = [check.scan_many(suite(0.1, seed, PLACE + 6), {}) for seed in range(6)]
    assert sum(_shows(some[3]) for some in found) >= 5


def test_a_slower_machine_is_no_change_of_a_suite_whose_runs_share_a_factor() -> None:
    """What the benchmarks of a run share is taken out, but not what the jobs that measured a version differ by."""
    check, slower = ChangepointCheck(ChangepointSettings()), list[Change]()
    for seed in range(4):
        suite = [
            replace(_on_a_slower_machine(_pairs(0.005, 100 * seed + number), 0.08), resource=f"benchmark {number}")
            for number in range(5)
        ]
        slower += [change for found in check.scan_many(suite, {}) for change in found]
    assert len(slower) >= 15
    assert sum(change.kind not in ("cannot tell", "machine") for change in slower) <= 1


def test_long_histories_of_jobs_are_scanned_in_windows() -> None:
    given = [
        replace(_pairs(0.01, seed, 0.08 if seed == 2 else 0.0, count=1500), metric=f"m{seed}") for seed in range(3)
    ]
    check = ChangepointCheck(ChangepointSettings())
    found = [_of_code(some) for some in check.scan_many(given, {})]
    assert _shows(found[2])
    assert sum(map(len, found)) <= 3  # of 4,500 versions
    assert _shows(_scan(given[2]))
