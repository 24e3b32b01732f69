"""How much the processes of unchanged functions differ: by CPU time, and relative to the loop beside them.

    python plugins/collect-bench/benchmarks/speeds.py --runs 80

Prints, for functions of eight kinds, the standard deviation of the medians of processes, and the robust one (1.4826
times the median of absolute deviations), both as shares of the median.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from perfcore import open_repository
from perfcore.profile.benchmarks import split

METRICS = ("cpu", "relative")
SUITE = """
import json, random, re

numbers = random.Random(1)
floats = [numbers.random() for _ in range(3000)]
document = {"rows": [{"x": row, "y": str(row)} for row in range(200)]}
text = "the quick brown fox 123 jumps over 456 " * 60
pairs = re.compile(r"(\\w+)\\s+(\\d+)")
memory = bytearray(30_000_000)
order = list(range(400_000))
numbers.shuffle(order)
texts = [str(number) for number in order]

class Point:
    def __init__(self, x):
        self.x, self.others = x, [x]

def time_arithmetic():
    total = 0
    for index in range(4000):
        total += index * index % 7

def time_dictionaries():
    counts = {}
    for index in range(3000):
        counts[index % 997] = counts.get(index % 997, 0) + 1

def time_regular_expressions(): pairs.findall(text)
def time_json(): json.dumps(document)
def time_objects(): [Point(x) for x in range(1500)]
def time_sorting_floats(): sorted(floats)
def time_copying_memory(): bytes(memory[:4_000_000]).count(1)
def time_memory_in_random_order(): sum(len(texts[index]) for index in order[:8000])
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=80)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bench_kinds.py").write_text(SUITE)
        subprocess.run(
            [sys.executable, "-m", "perfcore", "init", "--init-vcs"], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
        (saved,) = open_repository(folder).collect("bench", ["bench_kinds.py"], repeat=args.runs)
        for name, part in split(saved.profile).items():
            rows = part.tables["resources"]
            cells = [f"{metric} {spread([x for x in rows[metric] if isinstance(x, float)])}" for metric in METRICS]
            print(name.ljust(40), *cells, sep="  ")


def spread(medians: Sequence[float]) -> str:
    middle = statistics.median(medians)
    robust = 1.4826 * statistics.median(abs(x - middle) for x in medians)
    return f"{statistics.pstdev(medians) / middle:6.1%} ({robust / middle:.1%})"


if __name__ == "__main__":
    main()
