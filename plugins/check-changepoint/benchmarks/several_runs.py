"""Versions of several runs each: `python benchmarks/several_runs.py [--each 40] [--seeds 1 2 3]`.

A run differs from its version by 1 %, and a version from its level by nothing, by half of that, or by as much. The
runs' noise is normal, skewed (the logarithm of an exponential one), or one run in ten is disturbed by 8 %. The code
becomes slower twice, each time by three standard deviations of the mean of a version, at least an eighth of the history
apart and from both ends, or not at all. A step is found within three versions. `false` are changes that are none per
1,000 versions, with both kinds of histories; `alarmed` are histories without a change of which one is told.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings
from pools import history
from replaced import rate

from perfcore.model import Change, Series

Counts: TypeAlias = "NDArray[np.int64]"  # of steps, found ones, false ones, versions, histories without, alarmed ones

RUN = 0.01
STEP = 3.0  # standard deviations of the mean of a version
NEAR = 3  # versions
LENGTHS = (12, 24, 60, 120)
RUNS = (2, 3, 5, 10)
BETWEEN = (0.0, 0.5, 1.0)  # of the noise of a run
NOISES = ("normal", "skewed", "disturbed")


def noise(kind: str, draw: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    if kind == "skewed":
        return draw.exponential(1.0, shape) - 1
    normal = draw.standard_normal(shape)
    return normal + 8.0 * (draw.random(shape) < 0.1) if kind == "disturbed" else normal


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    args = parser.parse_args()
    print("| runs | noise | found | false per 1,000 | alarmed | F1 |")
    print("|---" * 6 + "|")
    check = ChangepointCheck(ChangepointSettings())
    totals = np.zeros(6, dtype=np.int64)
    for runs, kind in itertools.product(RUNS, NOISES):
        counts = np.zeros(6, dtype=np.int64)
        for length, between, seed in itertools.product(LENGTHS, BETWEEN, args.seeds):
            for number in range(args.each // 4):
                counts += scored(
                    check, (runs, kind, length, between), [seed, runs, length, round(10 * between), number]
                )
        totals += counts
        print(row(str(runs), kind, counts), flush=True)
    print(row("all", "", totals))


def scored(check: ChangepointCheck, design: tuple[int, str, int, float], seed: Sequence[int]) -> Counts:
    runs, kind, length, between = design
    draw = np.random.default_rng([*seed, NOISES.index(kind)])
    least = max(length // 8, 2)
    first = int(draw.integers(least, length - 2 * least + 1))
    places = [first, int(draw.integers(first + least, length - least + 1))]
    own = RUN * (between * draw.standard_normal((length, 1)) + noise(kind, draw, (length, runs)))
    size = STEP * RUN * math.sqrt(between**2 + 1 / runs)
    counts = np.zeros(6, dtype=np.int64)
    for steps in (places, []):
        level = size * (np.arange(length)[:, None] >= np.array([steps])).sum(axis=1, keepdims=True)
        told = [int(change.target) for change in reported(check, history((5e6 * np.exp(own + level)).tolist()))]
        found = matched(steps, told)
        counts += np.array([len(steps), found, len(told) - found, length, not steps, bool(told) and not steps])
    return counts


def matched(steps: Sequence[int], told: Sequence[int]) -> int:
    """How many steps are told, each by a change of its own."""
    left = sorted(told)
    for place in steps:
        near = next((at for at in left if abs(at - place) <= NEAR), None)
        if near is not None:
            left.remove(near)
    return len(told) - len(left)


def reported(check: ChangepointCheck, series: Series) -> list[Change]:
    return [change for change in check.scan(series, None)[0] if change.kind not in {"noise", "cannot tell"}]


def row(runs: str, kind: str, counts: Counts) -> str:
    steps, found, wrong, versions, histories, alarmed = counts.tolist()
    score = 2 * found / (steps + found + wrong)
    cells = (runs, kind, rate(found, steps), f"{1000 * wrong / versions:.2f}", rate(alarmed, histories), f"{score:.3f}")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
