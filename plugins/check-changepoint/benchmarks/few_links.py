"""Sessions that share one or two versions with the next: `python benchmarks/few_links.py [--each 30] [--seeds 1 2 3]`.

Each day measures some versions in one session, and the last one or two of the day before. All that a session measures
has an offset in common; a version differs by 0.7 %, its measurement in a session by another 0.7 %, and each of its five
runs by 1 %. The code becomes 5 % slower with the first version of the session in the middle, or halfway through that,
or not at all. A change counts as found within three versions. `false` and `left open` are the histories without a
change of which something is told, or left open.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import numpy as np
from pairs import JOB, OWN, RUN
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings
from pools import RUNS, history, shows
from replaced import rate

from perfcore.model import Change, Series

STEP = 0.05
DESIGNS = ((40, 8, 2), (60, 15, 2), (24, 4, 1), (60, 15, 1), (40, 20, 1))  # versions, those of a day, and shared ones


def measured(design: tuple[int, int, int], offset: float, step: float, place: int, seed: Sequence[int]) -> Series:
    versions, length, shared = design
    draw = np.random.default_rng(seed)
    own = draw.normal(0, OWN, versions) + math.log1p(step) * (np.arange(versions) >= place)
    runs: list[list[float]] = [[] for _ in range(versions)]
    sessions: list[list[tuple[str, int]]] = [[] for _ in range(versions)]
    for day, start in enumerate(range(0, versions, length)):
        of_day = draw.normal(0, offset)
        for version in range(max(start - shared, 0), min(start + length, versions)):
            level = own[version] + of_day + draw.normal(0, JOB)
            runs[version] += (5e6 * np.exp(level + draw.normal(0, RUN, RUNS))).tolist()
            sessions[version].append((f"day {day}", RUNS))
    return history(runs, sessions=sessions)


def reported(series: Series) -> list[Change]:
    return list(ChangepointCheck(ChangepointSettings()).scan(series, None)[0])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", type=int, default=30)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    args = parser.parse_args()
    print("| versions | a day | shared | offset | found at the border | within a day | false | left open |")
    print("|---" * 8 + "|")
    for design in DESIGNS:
        versions, length, _ = design
        border = length * (versions // length // 2)
        for offset in (0.0, 0.02, 0.05):
            seeds = [
                (seed, *design, round(1000 * offset), number) for seed in args.seeds for number in range(args.each)
            ]
            found = [
                sum(shows(reported(measured(design, offset, STEP, place, seed)), place) for seed in seeds)
                for place in (border, border + length // 2)
            ]
            kinds = [{c.kind for c in reported(measured(design, offset, 0.0, border, seed))} for seed in seeds]
            counts = [
                *found,
                sum(bool(some - {"cannot tell"}) for some in kinds),
                sum("cannot tell" in s for s in kinds),
            ]
            cells = [*map(str, design), f"{offset:.0%}", *(rate(count, len(seeds)) for count in counts)]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
