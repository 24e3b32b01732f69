"""How often 3 to 6 runs of each side get a false verdict, and show a change: `python benchmarks/few_runs.py`.

The runs are interleaved, in blocks of one session, or of two sessions whose offsets have a standard deviation of 3 %.
Shares are of all comparisons of all seeds, with their 95 % interval (E. B. Wilson, 1927). No constant was set by these
seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from across_sessions import wilson
from numpy.typing import NDArray
from perfcore_check_pair import PairCheck, PairSettings
from perfcore_testing.check import measured, pairing

from perfcore.model import Pairing

Array: TypeAlias = NDArray[np.float64]
Noise: TypeAlias = Callable[[np.random.Generator, int], Array]
SCHEDULES = ("interleaved", "blocks", "sessions")
OFFSET = 0.03
CHANGED = ("degradation", "optimization")

# Logarithms of the amounts of runs in the order in which they were measured.
NOISES: dict[str, Noise] = {
    "normal, 3 %": lambda draw, runs: draw.normal(0, 0.03, runs),
    "skewed": lambda draw, runs: np.log1p(draw.lognormal(-4, 1.2, runs)),
    "spikes": lambda draw, runs: draw.normal(0, 0.01, runs) + np.log(np.where(draw.random(runs) < 0.15, 3.0, 1.0)),
    "Student's t, 2": lambda draw, runs: 0.01 * draw.standard_t(2, runs),
    "drift": lambda draw, runs: np.cumsum(draw.normal(0, 0.01, runs)) + draw.normal(0, 0.01, runs),
}


def compared(noise: Noise, schedule: str, runs: int, factor: float, draw: np.random.Generator) -> Pairing:
    amounts = 5e6 * np.exp(noise(draw, 2 * runs))
    if schedule == "interleaved":
        # A B, B A: every other pair in reverse order, as `perf collect` does.
        reverse = np.arange(runs) % 2
        first, second = amounts[0::2], amounts[1::2]
        sides = np.where(reverse, second, first), np.where(reverse, first, second)
    else:
        sides = amounts[:runs], amounts[runs:]
    offsets = draw.normal(0, OFFSET, 2) if schedule == "sessions" else (0.0, 0.0)
    later = runs if schedule == "blocks" else 0
    names = ("s", "t" if schedule == "sessions" else "s")
    profiles = [
        measured(list(amount * np.exp(offset) * scale), session=name, first_block=block)
        for amount, offset, scale, name, block in zip(sides, offsets, (1.0, factor), names, (0, later), strict=True)
    ]
    return pairing(*profiles)


def share(noise: Noise, schedule: str, runs: int, factor: float, each: int, seeds: Sequence[int]) -> str:
    """The share of comparisons with a verdict: false ones where nothing changed, else those that say slower."""
    check, hits = PairCheck(PairSettings(resamples=400)), 0
    for seed in seeds:
        draw = np.random.default_rng((seed, runs, round(100 * factor), SCHEDULES.index(schedule)))
        for _ in range(each):
            (change,) = check.compare(compared(noise, schedule, runs, factor, draw))
            hits += change.kind in (CHANGED if factor == 1.0 else CHANGED[:1])
    low, high = wilson(hits, each * len(seeds))
    return f"{100 * hits / each / len(seeds):.1f} ({100 * max(low, 0):.1f} to {100 * high:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", type=int, default=400)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--runs", type=int, nargs="+", default=[3, 4, 5, 6])
    parser.add_argument("--factors", type=float, nargs="+", default=[1.0, 1.1, 1.86])
    parser.add_argument("--schedules", nargs="+", choices=SCHEDULES, default=SCHEDULES)
    args = parser.parse_args()
    print(f"| measured | noise | runs a side | {' | '.join(f'{100 * (f - 1):+.0f} %' for f in args.factors)} |")
    print(f"|---|---|---|{'---|' * len(args.factors)}")
    for schedule in args.schedules:
        for name, noise in NOISES.items():
            for runs in args.runs:
                cells = [share(noise, schedule, runs, factor, args.each, args.seeds) for factor in args.factors]
                print(f"| {schedule} | {name} | {runs} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
