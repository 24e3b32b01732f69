"""A part that was measured beside other work: `python benchmarks/busy_parts.py [--each 30] [--seeds 1 2 3]`.

Histories of 80 versions of six runs. A version differs by 0.7 %, and a run by 1 %. In a part of the versions, other
work makes a run slower by an amount with an exponential distribution of 15 %, whose median is taken away; it makes a
version differ by 5 %, or leaves that as it is. The code becomes 4 % slower for eight versions in the part that is calm,
or not at all. A change counts as found within three versions, in the whole history. `flickers` are the histories of
which it was told and was not told any more with two versions more. The check is asked of unchanged histories after
every fifth version; whatever it reported of the level once is false.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from pairs import part, per_thousand
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings
from pools import VERSIONS, history, shows
from replaced import rate

from perfcore.model import Change, Series

RUNS, OWN, RUN, STEP, LENGTH = 6, 0.007, 0.01, 0.04, 8
OWN_BUSY, RUN_BUSY = 0.05, 0.15
DESIGNS = (((0, 40), 55), ((0, 40), 70), ((40, 65), 20), ((40, 65), 72))  # the busy part, and the first slower version
LEVELS = ("degradation", "optimization", "drift", "improving drift")


def measured(busy: tuple[int, int], place: int, own: float, step: float, seed: Sequence[int]) -> Series:
    draw = np.random.default_rng(seed)
    values = []
    for version in range(VERSIONS):
        is_busy = busy[0] <= version < busy[1]
        level = draw.normal(0, own if is_busy else OWN) + math.log1p(step) * (place <= version < place + LENGTH)
        slower = draw.exponential(RUN_BUSY, RUNS) - math.log(2) * RUN_BUSY if is_busy else draw.normal(0, RUN, RUNS)
        values.append((5e6 * np.exp(level + slower)).tolist())
    return history(values)


def reported(series: Series, count: int) -> Iterator[Change]:
    changes, _ = ChangepointCheck(ChangepointSettings()).scan(part(series, count), None)
    yield from (change for change in changes if change.kind in LEVELS)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", type=int, default=30)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    args = parser.parse_args()
    print("| busy versions | slower from | versions differ by | found | flickers | false in 1,000 versions |")
    print("|---" * 6 + "|")
    for own in (OWN_BUSY, OWN):
        for busy, place in DESIGNS:
            seeds = [(seed, *busy, place, number) for seed in args.seeds for number in range(args.each)]
            slower = [measured(busy, place, own, STEP, seed) for seed in seeds]
            asked = range(min(place + 4, VERSIONS), VERSIONS + 1, 2)
            told = [[shows(reported(series, count), place) for count in asked] for series in slower]
            flickers = sum(any(before and not after for before, after in pairwise(some)) for some in told)
            false = sum(
                len({(c.kind, c.target) for count in range(20, VERSIONS + 1, 5) for c in reported(series, count)})
                for series in (measured(busy, place, own, 0.0, seed) for seed in seeds)
            )
            cells = [
                f"{busy[0]} to {busy[1]}",
                str(place),
                f"{own:.1%}",
                rate(sum(some[-1] for some in told), len(told)),
            ]
            cells += [rate(flickers, len(told)), per_thousand(false, len(seeds))]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
