"""Made-up measurements: the same for both tools, the same each time."""

from __future__ import annotations

import random

RUNS = 10
Runs = dict[str, list[float]]


def runs_of_functions(rows: int, seed: int) -> Runs:
    """Seconds that each function of a small program took in each of ten runs; so many of them in all."""
    chance = random.Random(seed)
    return {
        f"function_{number}": [round(chance.gauss(0.5, 0.01), 6) for _ in range(RUNS)] for number in range(rows // RUNS)
    }
