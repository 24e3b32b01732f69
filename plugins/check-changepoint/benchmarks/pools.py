"""Machines of a pool: `python benchmarks/pools.py [--machines 1 2 3 6] [--each 100] [--seeds 1 2 3]`.

Histories of 80 versions, each measured by one machine of a pool, whichever was free. Machines are up to twice as fast
or slow; versions differ by 1 %, and the five runs of one as well. The code becomes 4 % slower with version 60, or not
at all. A change counts as found within three versions. The check is asked 2, 4 and 8 versions after the change, and of
unchanged histories after every fifth version; whatever it reported once is false. `apart` are the same histories, a
machine at a time, as if the machines had nothing to do with each other. Intervals are those of Wilson (1927).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings
from replaced import rate

from perfcore.model import Change, Series
from perfcore.model.record import replace

VERSIONS, PLACE, RUNS = 80, 60, 5
NOISE, STEP = 0.01, 0.04
MARGIN = 3
LATER = (2, 4, 8)  # versions that show the change


def history(
    values: Sequence[Sequence[float]],
    machines: Sequence[str] | None = None,
    sessions: Sequence[Sequence[tuple[str, int]]] = (),
) -> Series:
    """The runs of successive versions, which are called by their numbers, on one machine unless these are given."""
    return Series(
        config_id="c" * 40,
        metric="cpu",
        unit="ns",
        resource="",
        versions=tuple(f"{version:010}" for version in range(len(values))),
        environments=("machine",) * len(values) if machines is None else tuple(machines),
        values=tuple(map(tuple, values)),
        sessions=tuple(map(tuple, sessions)),
    )


def shows(changes: Iterable[Change], place: int) -> bool:
    """Whether a regression is told at a version, or beside it."""
    return any(change.kind == "degradation" and abs(int(change.target) - place) <= MARGIN for change in changes)


def measured(machines: int, step: float, seed: Sequence[int]) -> Series:
    draw = np.random.default_rng(seed)
    factors = np.exp(draw.uniform(-0.7, 0.7, machines))
    machine = draw.integers(0, machines, VERSIONS)
    level = np.where(np.arange(VERSIONS) >= PLACE, 5e6 * (1 + step), 5e6) * factors[machine]
    amounts = (level * np.exp(draw.normal(0, NOISE, VERSIONS)))[:, None] * np.exp(
        draw.normal(0, NOISE, (VERSIONS, RUNS))
    )
    return history(amounts.tolist(), list(map(str, machine.tolist())))


def part(series: Series, count: int, environment: str | None = None) -> Series:
    """The first versions, or those of them that one machine measured."""
    chosen = [at for at in range(count) if environment in (None, series.environments[at])]
    return replace(
        series,
        versions=tuple(series.versions[at] for at in chosen),
        environments=tuple(series.environments[at] for at in chosen),
        values=tuple(series.values[at] for at in chosen),
    )


def reported(series: Series, count: int, *, is_apart: bool) -> Iterator[Change]:
    for environment in dict.fromkeys(series.environments[:count]) if is_apart else [None]:
        changes, _ = ChangepointCheck(ChangepointSettings()).scan(part(series, count, environment), None)
        yield from (change for change in changes if change.kind != "machine")


def found(series: Series, count: int, *, is_apart: bool) -> bool:
    return shows(reported(series, count, is_apart=is_apart), PLACE)


def false(series: Series, *, is_apart: bool) -> int:
    return len(
        {
            (change.kind, change.target)
            for count in range(20, VERSIONS + 1, 5)
            for change in reported(series, count, is_apart=is_apart)
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 2, 3, 6])
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    args = parser.parse_args()
    print(f"| machines | {' | '.join(f'after {later}' for later in LATER)} | false changes in 1,000 versions |")
    print("|---" * (len(LATER) + 2) + "|")
    for machines in args.machines:
        numbers = [(seed, machines, number) for seed in args.seeds for number in range(args.each)]
        changed = [measured(machines, STEP, (*number, 1)) for number in numbers]
        steady = [measured(machines, 0.0, (*number, 0)) for number in numbers]
        for is_apart in (False, True) if machines > 1 else (False,):
            rates = [
                rate(sum(found(series, PLACE + later, is_apart=is_apart) for series in changed), len(changed))
                for later in LATER
            ]
            count = sum(false(series, is_apart=is_apart) for series in steady)
            per_thousand = 1000 / (len(steady) * VERSIONS)
            low, high = (max(count + by * 1.96 * math.sqrt(count), 0.0) * per_thousand for by in (-1, 1))
            name = f"{machines}, apart" if is_apart else str(machines)
            print(
                f"| {' | '.join([name, *rates])} | {count * per_thousand:.2f} ({low:.2f} to {high:.2f}) |", flush=True
            )


if __name__ == "__main__":
    main()
