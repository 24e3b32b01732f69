"""False verdicts and power of the check `shares`: `python power.py [--pairs 400] [--seeds 5]`.

Of pairs of releases of twelve functions whose hosts differ in their shares (log-normal), prints how often any
function has a verdict where nothing changed; how often a planted rise of one function is a degradation; and how often a
cost that moved to a neighbour is said to have moved, and how often it is called a degradation. Rates have Wilson's 95 %
interval.
"""

from __future__ import annotations

import argparse
import math
import os
import random
from collections.abc import Callable, Mapping
from statistics import NormalDist

from perfcore_check_pair.inference import student_quantile
from perfcore_fleet_kit.shares import Cell, Sample, ShareChange, compare

SHARES = {f"lib.py:f{n}": 2.0 ** (-n / 3) for n in range(12)}
WHOLE = sum(SHARES.values())
GROWING, NEIGHBOUR = "lib.py:f5", "lib.py:f3"
LEAST = 0.01
Wanted = Callable[[Mapping[str, ShareChange]], bool]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=400, help="for each seed")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}; {arguments.seeds} seeds of {arguments.pairs} pairs; threshold {LEAST:.0%}")
    for cells, size, spread in ((6, 500, 0.1), (24, 500, 0.1), (24, 500, 0.3), (72, 2_000, 0.1), (72, 2_000, 0.3)):
        print(f"{cells} cells of about {size} samples, hosts differ by {spread:.0%}")
        _rates("  nothing changed, any verdict", arguments, cells, size, spread, {}, _is_any)
        for points in (0.01, 0.02, 0.04):
            rise = {GROWING: points * WHOLE}
            _rates(f"  +{points:.0%} of all samples, found", arguments, cells, size, spread, rise, _is_found)
        moved = {GROWING: 0.05 * WHOLE, NEIGHBOUR: -0.05 * WHOLE}
        _rates("  5 % moved, said to have moved", arguments, cells, size, spread, moved, _is_shift)
        _rates("  5 % moved, called a degradation", arguments, cells, size, spread, moved, _is_found)


def _rates(
    name: str,
    arguments: argparse.Namespace,
    cells: int,
    size: int,
    spread: float,
    planted: Mapping[str, float],
    is_hit: Wanted,
) -> None:
    counts = []
    for seed in range(arguments.seeds):
        numbers = random.Random(f"{seed} {name} {cells} {size} {spread}")
        hits = 0
        for _ in range(arguments.pairs):
            before = _sample(numbers, SHARES, cells, size, spread)
            after = _sample(numbers, {f: s + planted.get(f, 0) for f, s in SHARES.items()}, cells, size, spread)
            hits += is_hit({change.function: change for change in compare(before, after, student_quantile)})
        counts.append(hits)
    print(f"{name}: {_rate(sum(counts), arguments.seeds * arguments.pairs)}, by seed {counts}", flush=True)


def _sample(numbers: random.Random, shares: Mapping[str, float], cells: int, size: int, spread: float) -> Sample:
    sample = Sample(neighbours={GROWING: {NEIGHBOUR}, NEIGHBOUR: {GROWING}})
    for cell in range(cells):
        exclusive = {}
        for function, share in shares.items():
            mean = size * share / WHOLE * numbers.lognormvariate(0, spread)
            exclusive[function] = max(0, round(numbers.gauss(mean, math.sqrt(mean))))  # a Poisson number of samples
        sample.cells[f"web{cell}", 0] = Cell(sum(exclusive.values()), exclusive)
    return sample


def _is_any(changes: Mapping[str, ShareChange]) -> bool:
    return any(change.verdict in ("degradation", "optimization", "shift") for change in changes.values())


def _is_found(changes: Mapping[str, ShareChange]) -> bool:
    return GROWING in changes and changes[GROWING].verdict == "degradation"


def _is_shift(changes: Mapping[str, ShareChange]) -> bool:
    return GROWING in changes and changes[GROWING].verdict == "shift"


def _rate(hits: int, of: int) -> str:
    z, share = NormalDist().inv_cdf(0.975), hits / of
    middle = (share + z * z / 2 / of) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / 4 / of**2)
    return f"{share:.1%} [{max(0.0, middle - half):.1%}, {middle + half:.1%}]"


if __name__ == "__main__":
    main()
