"""What the benchmarks of a suite share in each run is not their own noise, and no change is in it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings, run_factor

from perfcore.model import Change, Series
from perfcore.model.record import replace


def _suite(
    seed: int, benchmarks: int = 12, versions: int = 10, shared: float = 0.1, steps: Sequence[float] = (0.1,)
) -> list[Series]:
    """Five runs of each version in one session. The first benchmarks change by `steps` in the middle; all benchmarks of
    a run share a factor, with a standard deviation of `shared`."""
    random = np.random.default_rng([seed, benchmarks, versions])
    factor = shared * random.standard_normal((versions, 5))
    suite = []
    for number in range(benchmarks):
        logarithms = factor + random.uniform(0.01, 0.03) * random.standard_t(4, (versions, 5)) / math.sqrt(2)
        logarithms[versions // 2 :] += math.log1p(steps[number]) if number < len(steps) else 0.0
        suite.append(
            Series(
                config_id="suite",
                metric="cpu",
                unit="ns",
                resource=f"benchmark{number}",
                versions=tuple(f"{version:010d}" for version in range(versions)),
                environments=("machine",) * versions,
                values=tuple(map(tuple, (1e5 * (number + 1) * np.exp(logarithms)).tolist())),
                sessions=((("session", 5),),) * versions,
            )
        )
    return suite


def _changes(suite: Sequence[Series]) -> list[Sequence[Change]]:
    return list(ChangepointCheck(ChangepointSettings()).scan_many(suite, {}))


def _versions(suite: Sequence[Series]) -> list[list[int]]:
    """Of the changes that are the code's."""
    return [[int(change.target) for change in changes if change.kind != "machine"] for changes in _changes(suite)]


@pytest.mark.parametrize("shared", [0.05, 0.1])
def test_a_change_of_one_benchmark_shows_though_whole_runs_are_slow(shared: float) -> None:
    detected = [_versions(_suite(seed, shared=shared)) for seed in range(100, 110)]
    assert sum(first == [5] for first, *_ in detected) >= 8
    assert sum(any(others) for _, *others in detected) <= 1


def test_the_evidence_says_that_the_runs_are_not_as_they_were_measured() -> None:
    first, *_ = _changes(_suite(100))
    assert "without what the benchmarks of a run share" in first[0].evidence


def test_the_noise_of_each_run_becomes_that_of_the_benchmark_alone() -> None:
    suite = _suite(1, steps=())
    for before, after in zip(suite, run_factor.without(suite), strict=True):
        spreads = [np.std(np.log(series.values), axis=1).mean() for series in (before, after)]
        assert spreads[0] > 0.06
        assert spreads[1] < 0.035


def test_what_the_benchmarks_do_not_share_stays() -> None:
    """Without a shared factor, a slope exceeds two standard errors in 2.3 % of benchmarks."""
    suites = [_suite(seed, shared=0.0) for seed in range(10)]
    pairs = [(old, new) for suite in suites for old, new in zip(suite, run_factor.without(suite), strict=True)]
    assert sum(old is new for old, new in pairs) >= 0.9 * len(pairs)


def test_what_the_sessions_of_a_version_differ_by_stays() -> None:
    """Each was measured by two of them, of which the second was a tenth slower in all benchmarks."""
    suite = [
        replace(
            series,
            values=tuple((*runs, *(run * 1.1 for run in reversed(runs))) for runs in series.values),
            sessions=((("one", 5), ("two", 5)),) * len(series.values),
        )
        for series in _suite(1)
    ]
    for before, after in zip(suite, run_factor.without(suite), strict=True):
        halves = np.array(after.values).reshape(-1, 2, 5)
        assert after.values != before.values
        assert np.median(halves[:, 1], axis=1) == pytest.approx(1.1 * np.median(halves[:, 0], axis=1))


def test_no_change_between_versions_is_taken_out() -> None:
    """Of all benchmarks or of some: the levels of the versions stay but for the noise."""
    still, moved = _suite(3, steps=()), _suite(3, steps=(0.05,) * 12)
    for before, after in zip(run_factor.without(still), run_factor.without(moved), strict=True):
        ratios = np.log(after.values) - np.log(before.values)
        np.testing.assert_allclose(ratios[5:], math.log1p(0.05))
        np.testing.assert_allclose(ratios[:5], 0.0, atol=1e-12)


@pytest.mark.parametrize("changed", [4, 12])
def test_a_change_of_many_benchmarks_in_one_session_is_of_the_code(changed: int) -> None:
    """One session measured the versions on both sides in turn, so that the machine was the same."""
    detected = _versions(_suite(7, versions=40, shared=0.01, steps=(0.05,) * changed))
    assert [20 in versions for versions in detected] == [True] * changed + [False] * (12 - changed)


def test_benchmarks_of_other_numbers_of_runs_and_commands_without_any_stay() -> None:
    suite = _suite(2)
    suite[3] = replace(suite[3], values=tuple(runs[1:] for runs in suite[3].values))
    suite[4] = replace(suite[4], values=tuple(() for _ in suite[4].values))
    adjusted = run_factor.without(suite)
    assert adjusted[3].values == suite[3].values
    assert adjusted[4].values == suite[4].values
    assert adjusted[0].values != suite[0].values
    commands = [replace(series, resource="") for series in suite]
    assert run_factor.without(commands) == commands


def _of_jobs(seed: int, benchmarks: int, of_machine: float = 0.0, of_code: float = 0.0) -> list[Series]:
    """Thirty versions, each measured by its own job and by the next one. From the eighteenth on, the machine is slower,
    or the code of all benchmarks is."""
    random = np.random.default_rng([seed, benchmarks])
    offsets = 0.005 * random.standard_normal(30) + math.log1p(of_machine) * (np.arange(30) >= 18)
    levels = 0.005 * random.standard_normal((benchmarks, 30)) + math.log1p(of_code) * (np.arange(30) >= 18)
    jobs = [[version, version + 1] if version < 29 else [version] for version in range(30)]

    def runs(benchmark: int, version: int) -> tuple[float, ...]:
        of_jobs = [
            levels[benchmark, version] + offsets[job] + 0.01 * random.standard_normal(5) for job in jobs[version]
        ]
        return tuple(np.exp(np.concatenate(of_jobs)).tolist())

    return [
        Series(
            config_id="suite",
            metric="cpu",
            unit="s",
            resource=f"benchmark{number}",
            versions=tuple(f"{version:010d}" for version in range(30)),
            environments=("machine",) * 30,
            values=tuple(runs(number, version) for version in range(30)),
            sessions=tuple(tuple((f"job {job}", 5) for job in of_version) for of_version in jobs),
        )
        for number in range(benchmarks)
    ]


@pytest.mark.parametrize("benchmarks", [4, 8])
def test_jobs_tell_a_slower_machine_from_code_that_is_slower_in_all_benchmarks(benchmarks: int) -> None:
    for seed in range(3):
        of_machine = _changes(_of_jobs(seed, benchmarks, of_machine=0.08))
        assert [[(change.kind, change.reason) for change in changes] for changes in of_machine] == [
            [("machine", "")]
        ] * benchmarks
        assert all("a session measured the version before" in changes[0].evidence for changes in of_machine)
        of_code = [[c.kind for c in changes] for changes in _changes(_of_jobs(seed, benchmarks, of_code=0.08))]
        assert of_code == [["degradation"]] * benchmarks
