"""How well changes are told from the machine in suites of few benchmarks: `python benchmarks/small_suites.py`.

Histories of 150 versions: one version in eight lands on a slow host (+8 to 25 %), and the machine is replaced twice (6
to 12 % for every benchmark). A quarter of the benchmarks has one or two changes of 3 to 15 %. With
`--felt 0.5` only half of a suite feels the machine. A change counts as found within three versions.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from perfcore_check_changepoint import detect, detect_many

sys.path.insert(0, str(Path(__file__).parent))

from compare import Counts, counted
from generated import Made

VERSIONS = 150


def suite(seed: int, series: int, felt: float) -> list[Made]:
    """Benchmarks on shared hosts; the first `felt` of them feel which one it is."""
    random = np.random.default_rng([seed, series, round(100 * felt)])
    machine = random.normal(0, 0.004, VERSIONS)
    slow = random.random(VERSIONS) < 0.12
    machine[slow] += np.log(random.uniform(1.08, 1.25, int(slow.sum())))
    for place in random.integers(25, VERSIONS - 25, 2):
        machine[place:] += random.choice([-1, 1]) * math.log(random.uniform(1.06, 1.12))
    made = []
    for number in range(series):
        share = random.uniform(0.8, 1.2) if number < math.ceil(felt * series) else 0.0
        own = share * machine + random.normal(0, 10 ** random.uniform(math.log10(0.005), math.log10(0.02)), VERSIONS)
        places: list[int] = []
        if random.random() < 0.25:
            both = [int(random.integers(15, 60)), int(random.integers(85, VERSIONS - 15))]
            places = both if random.random() < 0.5 else [int(random.integers(15, VERSIONS - 15))]
        for place in places:
            own[place:] += random.choice([1, 1, 1, -1]) * math.log(random.uniform(1.03, 1.15))
        made.append(Made("suite", (10 ** random.uniform(-2, 2) * np.exp(own)).tolist(), tuple(places)))
    return made


def together(made: Sequence[Made]) -> list[tuple[list[int], Sequence[int]]]:
    changes = detect_many([history.values for history in made]).changes
    return [
        ([change.index for change in own if change.kind == "level"], history.truth)
        for own, history in zip(changes, made, strict=True)
    ]


def alone(made: Sequence[Made]) -> list[tuple[list[int], Sequence[int]]]:
    return [
        ([change.index for change in detect(history.values) if change.kind == "level"], history.truth)
        for history in made
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--benchmarks", type=int, nargs="+", default=[2, 3, 4, 5, 8])
    parser.add_argument("--suites", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--felt", type=float, default=1.0)
    args = parser.parse_args()
    print("| benchmarks | | precision | recall | F1 (of seeds) |")
    print("|---|---|---|---|---|")
    for benchmarks in args.benchmarks:
        for name, method in (("together", together), ("each alone", alone)):
            seeds: list[Counts] = []
            for seed in args.seeds:
                suites = [suite(1000 * seed + number, benchmarks, args.felt) for number in range(args.suites)]
                seeds.append(counted(pair for made in suites for pair in method(made)))
            every = Counts(*(sum(getattr(c, part) for c in seeds) for part in ("hits", "found", "true")))
            scores = [counts.f1 for counts in seeds]
            cells = [str(benchmarks), name, f"{every.precision:.2f}", f"{every.recall:.2f}"]
            print(f"| {' | '.join(cells)} | {every.f1:.2f} ({min(scores):.2f} to {max(scores):.2f}) |", flush=True)


if __name__ == "__main__":
    main()
