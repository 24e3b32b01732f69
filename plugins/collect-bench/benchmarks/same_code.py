"""Two versions with the same code, measured with `perf collect bench`: how far apart are they, and how often does a
test call them different? A run is a process, and the amount of a run is the median of its values.

    python plugins/collect-bench/benchmarks/same_code.py --sessions 6 --repeat 10

Each session measures a suite of 20 functions in both versions, interleaved. Intervals are of the sessions, because
benchmarks of one session share its disturbances.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from perfcore_testing.project import new_repository
from scipy.stats import mannwhitneyu

from perfcore.library import open_repository
from perfcore.profile.benchmarks import split

SUITE = """
import json, re, random

numbers = random.Random(1).sample(range(100_000), 1000)
words = [f"word{number}" for number in numbers]
table = dict(zip(words, numbers))
text = " ".join(words)
document = json.dumps(table)

class Point:
    def __init__(self, x, y): self.x, self.y = x, y

def time_add(): 1 + 1
def time_sum(): sum(numbers)
def time_sort(): sorted(numbers)
def time_sort_words(): sorted(words)
def time_set(): set(words)
def time_set_difference(): set(words) - set(words[::2])
def time_dict(): dict(zip(words, numbers))
def time_lookup(): [table[word] for word in words]
def time_join(): " ".join(words)
def time_split(): text.split()
def time_replace(): text.replace("word", "w")
def time_match(): re.findall("word[0-9]+7", text)
def time_dumps(): json.dumps(table)
def time_loads(): json.loads(document)
def time_objects(): [Point(x, x) for x in numbers]
def time_cycles():
    for _ in range(100):
        a = []; a.append(a)
def time_format(): [f"{number:08.3f}" for number in numbers]
def time_comprehension(): [x * x for x in numbers if x % 2]
def time_generator(): sum(x * x for x in numbers)
def time_call(): len(numbers)
"""
ALPHA = 0.05
RESAMPLES = 2000


METRICS = ("wall", "cpu")

Amounts = dict[tuple[str, str], list[float]]
"""The amounts of the runs by benchmark and metric."""


def amounts(repository: Path, repeat: int) -> list[Amounts]:
    """Those of both versions."""
    history = open_repository(repository)
    saved = history.collect("bench", ["benchmarks"], version=["HEAD~1", "HEAD"], repeat=repeat)
    series = [split(history.profile(profile)) for profile in saved]
    return [
        {
            (name, metric): [float(str(amount)) for amount in part.tables["resources"][metric]]
            for name, part in of_version.items()
            for metric in METRICS
        }
        for of_version in series
    ]


def interval(per_session: Sequence[float]) -> str:
    """The mean over the sessions, with a bootstrap interval."""
    rng = random.Random(20261122)
    means = sorted(statistics.fmean(rng.choices(per_session, k=len(per_session))) for _ in range(RESAMPLES))
    low, high = means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]
    return f"{statistics.fmean(per_session) * 100:.1f} % ({low * 100:.1f} to {high * 100:.1f})"


def spread(runs: Sequence[float]) -> float:
    """The robust standard deviation of runs (1.4826 MAD) over their median."""
    center = statistics.median(runs)
    return 1.4826 * statistics.median(abs(amount - center) for amount in runs) / center


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=6)
    parser.add_argument("--repeat", type=int, default=10)
    options = parser.parse_args()
    errors, alarms, spreads = ({metric: [] for metric in METRICS} for _ in range(3))  # type: ignore[var-annotated]
    costs = []
    with tempfile.TemporaryDirectory() as folder:
        project = new_repository(Path(folder))
        project.write("benchmarks/bench_python.py", SUITE)
        project.commit("First")
        project.commit("Second", README="nothing else\n")
        for session in range(options.sessions):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            first, second = amounts(project.path, options.repeat)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            costs.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / (2 * options.repeat))
            for metric in METRICS:
                pairs = [(first[key], second[key]) for key in first if key[1] == metric]
                ratios = sorted(abs(statistics.median(b) / statistics.median(a) - 1) for a, b in pairs)
                errors[metric].append(ratios[int(0.95 * len(ratios))])
                alarms[metric].append(statistics.fmean(mannwhitneyu(a, b).pvalue < ALPHA for a, b in pairs))
                spreads[metric].append(statistics.median(spread(a) for a, _ in pairs))
            print(f"session {session + 1} of {options.sessions}", flush=True)
    print(
        f"load of the machine: {os.getloadavg()[1]:.1f} on {os.cpu_count()} CPUs; CPU time of a run: {costs[0]:.2f} s"
    )
    for metric in METRICS:
        print(f"{metric}: 95th percentile of the error: {interval(errors[metric])}")
        print(f"{metric}: called different at p < {ALPHA}: {interval(alarms[metric])}")
        print(f"{metric}: spread of runs (robust sd): {interval(spreads[metric])}")


if __name__ == "__main__":
    main()
