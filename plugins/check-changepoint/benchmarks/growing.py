"""What a check after every version shows: `python benchmarks/growing.py [--each 4] [--seeds 31 32 33]`.

Histories without a change count the alarms that appear, and those of them that are gone later. Histories with one step
count for how many versions it waits to be reported, by its size in spreads. Shares have intervals of 95 %.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from compare import MARGIN, PATIENCE, changepoint
from generated import NOISES, Floats, Noise, Random

FIRST = 30  # versions of a history that is asked for first
SIZES = (1.5, 2.0, 3.0, 5.0, 10.0)
WAITS = (1, 2, 3, 5, 10, 20, 30)


def drawn(kind: str, seed: int, number: int, stage: int) -> tuple[Random, Noise]:
    """A generator of its own for every history, and its noise of 60 to 150 versions and `PATIENCE` more."""
    random = np.random.default_rng([seed, number, stage, *kind.encode()])
    return random, NOISES[kind](random, int(random.integers(60, 150)) + PATIENCE)


def alarms(values: Floats) -> tuple[int, int]:
    """How many alarms a history without a change shows at some time, and how many of these the whole does not show."""
    seen: list[int] = []
    for count in range(FIRST, len(values) + 1):
        present = changepoint(values[:count].tolist())
        seen += [index for index in present if all(abs(index - other) > MARGIN for other in seen)]
    gone = [index for index in seen if all(abs(index - other) > MARGIN for other in present)]
    return len(seen), len(gone)


def wait(values: Floats, place: int) -> int:
    """How many versions have the new level when the step is first reported."""
    reported = (
        count
        for count in range(1, PATIENCE + 1)
        if any(abs(index - place) <= MARGIN for index in changepoint(values[: place + count].tolist()))
    )
    return next(reported, PATIENCE + 1)


def poisson(events: int, versions: int) -> str:
    """A rate in 1,000 versions with its interval (square roots of counts have a variance of a quarter)."""
    low, high = (max(math.sqrt(events + shift) + sign * 0.98, 0) ** 2 for sign, shift in ((-1, 0), (1, 1)))
    return f"{1000 * events / versions:.2f} ({1000 * low / versions:.2f} to {1000 * high / versions:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=4, help="histories of every noise and seed, for every size")
    parser.add_argument("--seeds", type=int, nargs="+", default=[31, 32, 33])
    given = parser.parse_args()
    numbers = [(kind, seed, number) for kind in NOISES for seed in given.seeds for number in range(given.each)]
    quiet = [drawn(*one, 4)[1].values for one in numbers]
    counts = np.array([alarms(100 + values) for values in quiet])
    versions = sum(len(values) - FIRST for values in quiet)
    shown, gone = counts.sum(axis=0).tolist()
    print(f"{len(quiet)} histories without a change, asked for after each of {versions} versions; in 1,000:")
    print(f"alarms {poisson(shown, versions)}, of which vanished {poisson(gone, versions)}", flush=True)
    print(f"{'share of steps reported with so many versions':46} " + " ".join(f"{count:>5}" for count in WAITS))
    for size in SIZES:
        waits = [_stepped(*one, size) for one in numbers]
        print(f"a step of {size:4g} spreads, {len(waits)} histories{'':10} {_shares(waits)}", flush=True)


def _stepped(kind: str, seed: int, number: int, size: float) -> int:
    random, noise = drawn(kind, seed, number, 5)
    place = len(noise.values) - PATIENCE
    step = size * random.choice([-1, 1]) * (np.arange(len(noise.values)) >= place)
    return wait(100 + noise.values + step, place)


def _shares(waits: Sequence[int]) -> str:
    return " ".join(f"{sum(count <= most for count in waits) / len(waits):5.0%}" for most in WAITS)


if __name__ == "__main__":
    main()
