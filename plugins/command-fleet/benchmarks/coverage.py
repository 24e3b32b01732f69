"""How often `perf fleet compare` sees a difference between a release and itself: `python coverage.py [--pairs 2000]`.

Hosts differ in their shares by 15 % (log-normal), cells in size by a factor of 4. Prints the rate at which any of four
functions has an interval without 0, with its 95 % interval (Wilson), beside that of intervals from sqrt(p (1 - p) / n).
"""

from __future__ import annotations

import argparse
import math
import random
from statistics import NormalDist

from perfcore_check_pair.inference import student_quantile
from perfcore_fleet_kit.shares import Cell, Sample, compare

SHARES = {"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    numbers = random.Random(arguments.seed)
    for cells in (4, 8, 24):
        cell_misses = independent_misses = 0
        for _ in range(arguments.pairs):
            before, after = _sample(numbers, cells), _sample(numbers, cells)
            changes = compare(before, after, student_quantile)
            cell_misses += any(change.low > 0 or change.high < 0 for change in changes)
            independent_misses += any(_is_beyond(before, after, name) for name in SHARES)
        cell_rate, independent_rate = (_rate(misses, arguments.pairs) for misses in (cell_misses, independent_misses))
        print(f"{cells} cells: {cell_rate}, as if independent {independent_rate}")


def _sample(numbers: random.Random, cells: int) -> Sample:
    sample = Sample()
    for cell in range(cells):
        weights = {name: share * numbers.lognormvariate(0, 0.15) for name, share in SHARES.items()}
        total = int(300 * numbers.uniform(0.5, 2))
        drawn = numbers.choices(list(weights), list(weights.values()), k=total)
        sample.cells[f"web{cell}", 0] = Cell(total, {name: drawn.count(name) for name in weights})
    return sample


def _is_beyond(before: Sample, after: Sample, name: str) -> bool:
    shares = [sample.amount(name) / sample.total for sample in (before, after)]
    errors = [share * (1 - share) / sample.total for share, sample in zip(shares, (before, after), strict=True)]
    limit = NormalDist().inv_cdf(1 - 0.05 / 2 / len(SHARES)) * math.sqrt(sum(errors))
    return abs(shares[1] - shares[0]) > limit


def _rate(misses: int, pairs: int) -> str:
    z, share = NormalDist().inv_cdf(0.975), misses / pairs
    middle = (share + z * z / 2 / pairs) / (1 + z * z / pairs)
    half = z / (1 + z * z / pairs) * math.sqrt(share * (1 - share) / pairs + z * z / 4 / pairs**2)
    return f"{share:.1%} [{middle - half:.1%}, {middle + half:.1%}]"


if __name__ == "__main__":
    main()
