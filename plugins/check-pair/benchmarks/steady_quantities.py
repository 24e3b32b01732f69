"""How often sizes and counts of unchanged programs get a false verdict across sessions, and what changes are seen:
`python steady_quantities.py REPOSITORY [--metric max_rss] [--versions 0 4]`.

The repository has a history of unchanged programs, each version measured in a session of its own, such as by `perf
collect time --repeat 5 --add -c ... -c ...` after each of some commits without a change. Each version is compared with
the one before, as it was measured and with changes planted, with so many versions before both to tell how much sessions
differ, and for several values of `size_drift`.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from perfcore_check_kit import series
from perfcore_check_pair import PairCheck, PairSettings
from perfcore_check_pair.inference import midmean
from perfcore_testing.check import measured, pairing, sample

from perfcore.library import open_repository
from perfcore.model import Change, Series
from perfcore.model.record import replace

PLANTED = (1.0, 1.07, 1.1, 1.15, 1.25, 1.37)
DRIFTS = (0.02, 0.05, 0.2)
TIME = {"cpu": [5_000_000]}  # decides, so that the metric stands beside it, as in profiles of `collect time`


def part(of_metric: Series, first: int, last: int) -> Series:
    return replace(
        of_metric,
        versions=of_metric.versions[first:last],
        environments=of_metric.environments[first:last],
        values=of_metric.values[first:last],
        sessions=of_metric.sessions[first:last],
        next_versions=(),
    )


def present(of_metric: Series) -> Series:
    """The series without the versions that have no run of this metric."""
    kept = [index for index, runs in enumerate(of_metric.values) if runs]
    values, versions, environments, sessions = (
        tuple(fields[index] for index in kept)
        for fields in (of_metric.values, of_metric.versions, of_metric.environments, of_metric.sessions)
    )
    return replace(
        of_metric, versions=versions, environments=environments, values=values, sessions=sessions, next_versions=()
    )


def changes(of_metric: Series, before: int, factor: float, drift: float) -> Iterator[Change]:
    """The verdicts on every version that has so many before its baseline."""
    check = PairCheck(PairSettings(size_drift=drift, resamples=1000))
    for last in range(before + 1, len(of_metric.values)):
        sides = []
        for index in (last - 1, last):
            runs = [value * (factor if index == last else 1.0) for value in of_metric.values[index]]
            profile = measured(
                {**TIME, of_metric.metric: runs},
                units={of_metric.metric: of_metric.unit},
                session=f"session {index}",
                environment_id=of_metric.environments[index],
            )
            sides.append(sample(profile, of_metric.versions[index]))
        history = (part(of_metric, last - 1 - before, last + 1),) if before else ()
        pair = pairing(*(side.profiles[0] for side in sides))
        pair = replace(pair, baseline=sides[0], target=sides[1], history=functools.partial(tuple, history))
        yield next(change for change in check.compare(pair) if change.metric == of_metric.metric)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--metric", default="max_rss")
    parser.add_argument("--versions", type=int, nargs="+", default=[0, 4])
    given = parser.parse_args()
    repository = open_repository(given.repository).repository
    chosen = [
        of_metric
        for line in series.config_histories(repository)
        for of_metric in map(present, series.metrics(repository, line))
        if of_metric.metric == given.metric and len(of_metric.values) > max(given.versions) + 1
    ]
    for of_metric in chosen:
        levels = [midmean(np.log(np.array(runs))) for runs in of_metric.values]
        steps = [abs(after - before) for before, after in itertools.pairwise(levels)]
        spread = f"standard deviation {statistics.stdev(levels):.2%}, largest step {math.expm1(max(steps)):.1%}"
        print(f"{of_metric.label[:50]}: {len(levels)} sessions, {spread}")
    for before in given.versions:
        for drift in DRIFTS:
            cells = [verdicts(chosen, before, factor, drift) for factor in PLANTED]
            print(f"{before} versions before, size_drift {drift:g}: {', '.join(cells)}", flush=True)


def verdicts(chosen: Sequence[Series], before: int, factor: float, drift: float) -> str:
    every = [change for of_metric in chosen for change in changes(of_metric, before, factor, drift)]
    different = sum(change.kind in ("degradation", "optimization") for change in every)
    return f"{factor - 1:+.0%} {different} of {len(every)}"


if __name__ == "__main__":
    main()
