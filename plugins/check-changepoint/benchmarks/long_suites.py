"""Long histories of a suite, in windows and as a whole: `python benchmarks/long_suites.py [--versions 1500]`.

Every series has a change of 2 to 10 % in 400 versions on average, a third of them undone after 50 to 300 versions; the
machine is replaced once in 500 versions on average, by 3 to 12 %, and one version in fifty lands on a slow host. Whole
is `detect_many`; in windows is what the check does, of which `one more` is the CPU time of a version that is measured
later. A change counts as found within three versions.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import numpy as np
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings, detect_many
from perfcore_testing.scan import history

sys.path.insert(0, str(Path(__file__).parent))

from compare import Counts, counted
from generated import Made

from perfcore.model import Series

Places = list[tuple[list[int], Sequence[int]]]
CHECK = ChangepointCheck(ChangepointSettings())


def suite(seed: int, series: int, versions: int) -> list[Made]:
    random = np.random.default_rng([seed, series, versions])
    machine = random.normal(0, 0.003, versions)
    machine[random.random(versions) < 0.02] += random.uniform(0.05, 0.2)
    for replaced in np.flatnonzero(random.random(versions) < 1 / 500):
        machine[replaced:] += float(random.choice([-1, 1])) * random.uniform(0.03, 0.12)
    made = []
    for _ in range(series):
        amounts = random.uniform(0.8, 1.2) * machine + random.normal(0, random.uniform(0.004, 0.015), versions)
        places = [place for place in np.flatnonzero(random.random(versions) < 1 / 400).tolist() if place > 8]
        for place in list(places):
            size = float(random.choice([-1, 1])) * math.log(random.uniform(1.02, 1.1))
            amounts[place:] += size
            end = place + int(random.integers(50, 300))
            if random.random() < 1 / 3 and end < versions - 8:
                amounts[end:] -= size
                places.append(end)
        made.append(Made("suite", np.exp(amounts + random.uniform(-3, 3)).tolist(), tuple(sorted(places))))
    return made


def whole(made: Sequence[Made]) -> Places:
    found = detect_many([one.values for one in made]).changes
    return [([c.index for c in own if c.kind == "level"], one.truth) for own, one in zip(found, made, strict=True)]


def _series(made: Sequence[Made]) -> list[Series]:
    return [
        history(one.values, config_id=f"{number:040d}", comparisons=len(made), threshold=0.0)
        for number, one in enumerate(made)
    ]


def in_windows(made: Sequence[Made]) -> Places:
    many = _series(made)
    at = {version[:10]: index for index, version in enumerate(many[0].versions)}
    found = CHECK.scan_many(many, {})
    levels = ("degradation", "optimization")
    return [
        ([at[c.target] for c in changes if c.kind in levels], one.truth)
        for changes, one in zip(found, made, strict=True)
    ]


def one_more(made: Sequence[Made]) -> float:
    """CPU seconds of a scan after one more version."""
    memory: dict[str, bytes] = {}
    CHECK.scan_many(_series([attrs.evolve(one, values=one.values[:-1]) for one in made]), memory)
    many, start = _series(made), time.process_time()
    CHECK.scan_many(many, memory)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versions", type=int, default=1500)
    parser.add_argument("--benchmarks", type=int, nargs="+", default=[3, 8, 20])
    parser.add_argument("--suites", type=int, default=3)
    parser.add_argument("--seeds", type=int, nargs="+", default=[31, 32, 33, 34])
    args = parser.parse_args()
    methods: tuple[tuple[str, Callable[[Sequence[Made]], Places]], ...] = (("whole", whole), ("windows", in_windows))
    print("| benchmarks | | precision | recall | F1 (of seeds) | seconds | one more |")
    print("|---|---|---|---|---|---|---|")
    for benchmarks in args.benchmarks:
        suites = {
            seed: [suite(1000 * seed + number, benchmarks, args.versions) for number in range(args.suites)]
            for seed in args.seeds
        }
        for name, method in methods:
            start = time.process_time()
            seeds = [counted(pair for made in some for pair in method(made)) for some in suites.values()]
            seconds = (time.process_time() - start) / args.suites / len(args.seeds)
            more = [one_more(made) for some in suites.values() for made in some] if method is in_windows else []
            every = Counts(*(sum(getattr(c, part) for c in seeds) for part in ("hits", "found", "true")))
            scores = [counts.f1 for counts in seeds]
            cells = [str(benchmarks), name, f"{every.precision:.3f}", f"{every.recall:.3f}"]
            cells += [f"{every.f1:.3f} ({min(scores):.3f} to {max(scores):.3f})", f"{seconds:.2f}"]
            print(f"| {' | '.join(cells)} | {np.median(more) if more else math.nan:.2f} |", flush=True)


if __name__ == "__main__":
    main()
