"""What sampling costs a busy program: `python overhead.py [--pairs 15]`.

Runs with and without the sampler alternate; prints the median ratio of their CPU times, with the interval of the median
that the order statistics give at 95 %.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile

_WORK = """
import sys
def leaf(n):
    return sum(range(n % 50))
def work(n):
    return leaf(n) + (work(n - 1) if n % 30 else 0)
if len(sys.argv) > 1:
    from perfcore_fleet_sampler import start
    start(sys.argv[1], interval=1)
for n in range({rounds}):
    work(n)
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=300_000)
    arguments = parser.parse_args()
    program = _WORK.format(rounds=arguments.rounds)
    ratios = []
    with tempfile.TemporaryDirectory() as spool:
        for pair in range(arguments.pairs):
            words = [[], [spool]] if pair % 2 else [[spool], []]
            seconds = {bool(each): _run(program, each) for each in words}
            ratios.append(seconds[True] / seconds[False])
    ratios.sort()
    # P(Binomial(n, 1/2) < k) <= 2.5 % gives the ranks of the interval.
    low = max(0, int(len(ratios) / 2 - 0.98 * len(ratios) ** 0.5))
    low_ratio, high_ratio = ratios[low], ratios[len(ratios) - 1 - low]
    print(
        f"load {os.getloadavg()[0]:.1f}; CPU time with the sampler: {statistics.median(ratios):.3f} "
        f"[{low_ratio:.3f}, {high_ratio:.3f}] of that without, {seconds[False]:.1f} s a run"
    )


def _run(program: str, words: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program, *words], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
