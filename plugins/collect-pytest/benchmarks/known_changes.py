"""Two versions of ten functions, measured with `perf collect pytest` and judged by `perf check`: how many of the five
that are the same does it call changed, and how many of the five that do more does it call slower?

    python plugins/collect-pytest/benchmarks/known_changes.py --sessions 8 --repeat 6 --more 0.3

The second version does so much more work in every second function. The versions are measured interleaved, in one
session for each seed, which orders the functions. Intervals are of the sessions, because the tests of one session share
its disturbances.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from perfcore_testing.project import Project, new_repository

from perfcore.library import open_repository

FUNCTIONS = 10
LOOPS = 2000  # of a function, some 50 µs
TESTS = (
    "import pytest, work\n@pytest.mark.parametrize('n', range({}))\ndef test_work(perf, n): perf(work.functions[n])\n"
)
RESAMPLES = 2000


def source(loops: Sequence[int]) -> str:
    functions = ", ".join(f"lambda: [x * x for x in range({count})]" for count in loops)
    return f"functions = [{functions}]\n"


def judged(project: Project, seed: int, repeat: int, more: float) -> tuple[Counter[str], Counter[str]]:
    """The judgements on functions that are the same, and on those that do more."""
    dice = random.Random(seed)
    slower = set(dice.sample(range(FUNCTIONS), FUNCTIONS // 2))
    changed = [round(LOOPS * (1 + more)) if index in slower else LOOPS for index in range(FUNCTIONS)]
    before = project.commit(f"Before {seed}", work__py=source([LOOPS] * FUNCTIONS))
    after = project.commit(f"After {seed}", work__py=source(changed))
    history = open_repository(project.path)
    first, second = history.collect("pytest", ["."], version=[before, after], repeat=repeat)
    changes = [change for change in history.check(second, first).changes if change.primary]
    same, different = Counter[str](), Counter[str]()
    for change in changes:
        index = int(change.resource.partition("[")[2].removesuffix("]"))
        (different if index in slower else same)[change.kind] += 1
    return same, different


def interval(per_session: Sequence[float]) -> str:
    """The mean over the sessions, with a bootstrap interval of 95 %."""
    rng = random.Random(20261123)
    means = sorted(statistics.fmean(rng.choices(per_session, k=len(per_session))) for _ in range(RESAMPLES))
    low, high = means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]
    return f"{statistics.fmean(per_session) * 100:.0f} % ({low * 100:.0f} to {high * 100:.0f})"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=6)
    parser.add_argument("--more", type=float, default=0.3)
    options = parser.parse_args()
    alarms, detections, judgements = [], [], (Counter[str](), Counter[str]())
    with tempfile.TemporaryDirectory() as folder:
        project = new_repository(Path(folder))
        project.write("test_work.py", TESTS.format(FUNCTIONS))
        for seed in range(options.sessions):
            same, different = judged(project, seed, options.repeat, options.more)
            alarms.append((same["degradation"] + same["optimization"]) / same.total())
            detections.append(different["degradation"] / different.total())
            judgements[0].update(same)
            judgements[1].update(different)
            print(f"session {seed + 1} of {options.sessions}: {dict(same)} {dict(different)}", flush=True)
    print(f"load of the machine: {os.getloadavg()[1]:.1f} on {os.cpu_count()} CPUs")
    print(f"the same: {dict(judgements[0])}; called changed: {interval(alarms)}")
    print(f"{options.more:.0%} more: {dict(judgements[1])}; called slower: {interval(detections)}")


if __name__ == "__main__":
    main()
