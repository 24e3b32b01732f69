"""Jobs that measure a change and its base: `python benchmarks/pairs.py [--each 50] [--seeds 1 2 3]`.

Histories of 80 versions. Job n measures version n, or also the one before it, as the gate of a pull request does. All
that a job measures has an offset in common, of 0, 1 or 2 %; a version differs by 0.7 %, its measurement in a job by
another 0.7 %, and each of its five runs by 1 %. A job runs on the only machine, or on one of three that are up to twice
as fast or slow. The code becomes 4 % slower with version 60, or not at all. A change counts as found within three
versions. The check is asked 2, 4 and 8 versions after the change, and of unchanged histories after every fifth version;
whatever it reported once is false, but for `cannot tell`, which has a column of its own. `untold` is the same without
the names of the jobs. The second table has a machine, and no code, that is slower by so much from job 60 on: how often
that is called the code's, and how often that either may be it. Intervals are those of Wilson (1927).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence

import numpy as np
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings
from pools import LATER, PLACE, RUNS, STEP, VERSIONS, shows
from replaced import rate

from perfcore.model import Change, Series
from perfcore.model.record import replace

OWN, JOB, RUN = 0.007, 0.007, 0.01  # spreads: of a version, of its measurement in a job, of a run


def measured(
    machines: int, offset: float, step: float, seed: Sequence[int], *, is_pairs: bool, of_machine: float = 0.0
) -> Series:
    draw = np.random.default_rng(seed)
    factors = draw.uniform(-0.7, 0.7, machines)
    own = draw.normal(0, OWN, VERSIONS) + math.log1p(step) * (np.arange(VERSIONS) >= PLACE)
    runs: dict[tuple[int, str], list[float]] = {}
    jobs: dict[tuple[int, str], list[tuple[str, int]]] = {}
    for job in range(VERSIONS):
        machine = int(draw.integers(0, machines))
        of_job = draw.normal(0, offset) + factors[machine] + math.log1p(of_machine) * (job >= PLACE)
        for version in (job - 1, job) if is_pairs and job else (job,):
            level = own[version] + of_job + draw.normal(0, JOB)
            key = version, str(machine)
            runs.setdefault(key, []).extend((5e6 * np.exp(level + draw.normal(0, RUN, RUNS))).tolist())
            jobs.setdefault(key, []).append((f"job {job}", RUNS))
    order = sorted(runs)
    return Series(
        config_id="c" * 40,
        metric="cpu",
        unit="ns",
        resource="",
        versions=tuple(f"{version:010}" for version, _ in order),
        environments=tuple(machine for _, machine in order),
        values=tuple(tuple(runs[key]) for key in order),
        sessions=tuple(tuple(jobs[key]) for key in order),
    )


def part(series: Series, count: int) -> Series:
    """The first versions."""
    end = next((at for at, version in enumerate(series.versions) if int(version) >= count), len(series.versions))
    return replace(
        series,
        versions=series.versions[:end],
        environments=series.environments[:end],
        values=series.values[:end],
        sessions=series.sessions[:end],
    )


def reported(series: Series, count: int) -> Iterator[Change]:
    changes, _ = ChangepointCheck(ChangepointSettings()).scan(part(series, count), None)
    yield from (change for change in changes if change.kind != "machine")


def found(series: Series, count: int) -> bool:
    return shows(reported(series, count), PLACE)


def false(series: Series) -> set[tuple[str, str]]:
    counts = range(20, VERSIONS + 1, 5)
    return {(change.kind, change.target) for count in counts for change in reported(series, count)}


def per_thousand(count: int, histories: int) -> str:
    by = 1000 / (histories * VERSIONS)
    low, high = (max(count + side * 1.96 * math.sqrt(count), 0.0) * by for side in (-1, 1))
    return f"{count * by:.2f} ({low:.2f} to {high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", type=int, default=50)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    args = parser.parse_args()
    columns = ["jobs", "offset", *(f"after {later}" for later in LATER), "false in 1,000 versions", "cannot tell"]
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for offset in (0.0, 0.01, 0.02):
        for machines, is_pairs, is_told in ((1, False, True), (1, True, True), (1, True, False), (3, True, True)):
            seeds = [
                (seed, machines, round(1000 * offset), number) for seed in args.seeds for number in range(args.each)
            ]
            changed, steady = (
                [measured(machines, offset, step, (*seed, bool(step)), is_pairs=is_pairs) for seed in seeds]
                for step in (STEP, 0.0)
            )
            if not is_told:
                changed, steady = ([replace(series, sessions=()) for series in some] for some in (changed, steady))
            rates = [rate(sum(found(series, PLACE + later) for series in changed), len(changed)) for later in LATER]
            kinds = [kind for series in steady for kind, _ in false(series)]
            open_ones = kinds.count("cannot tell")
            name = f"{'of pairs' if is_pairs else 'of one version'}{'' if is_told else ', untold'}"
            cells = [f"{name}{', 3 machines' if machines > 1 else ''}", f"{offset:.0%}", *rates]
            cells += [per_thousand(count, len(steady)) for count in (len(kinds) - open_ones, open_ones)]
            print(f"| {' | '.join(cells)} |", flush=True)
    print("\n| offset | machine slower by | of the code | cannot tell |\n|---|---|---|---|")
    for offset in (0.0, 0.01, 0.02):
        for slower in (STEP, 2 * STEP):
            by_history: list[set[str]] = [
                {change.kind for change in reported(series, PLACE + LATER[-1])}
                for seed in args.seeds
                for number in range(args.each)
                for series in [
                    measured(1, offset, 0.0, (seed, 2, round(1000 * offset), number), is_pairs=True, of_machine=slower)
                ]
            ]
            code, open_ones = (sum(kind in some for some in by_history) for kind in ("degradation", "cannot tell"))
            cells = [f"{offset:.0%}", f"{slower:.0%}", rate(code, len(by_history)), rate(open_ones, len(by_history))]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
