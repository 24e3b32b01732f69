"""A machine that was replaced: `python benchmarks/replaced.py [--shared 0 3 5 10] [--series 1] [--each 40]`.

Histories of 120 versions. A machine measured the first 60 of them, and another, which is up to twice as fast or slow
and half to twice as noisy, the others and the last few of the first 60. Versions differ by 1 %. The code becomes 5 %
slower with the first version after the replacement, some versions later, or not at all. A change counts as found within
three versions; whatever else is reported of the code is false. Intervals are those of Wilson (1927).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings

from perfcore.model import Change, Series

VERSIONS, REPLACED = 120, 60
NOISE = 0.01
PLACES = (REPLACED, REPLACED + 4)  # with the first version of the new machine, and where a few came before
MARGIN = 3
Floats = NDArray[np.float64]
_Z = 1.96  # standard deviations of an interval of 95 %


@attrs.frozen
class Counts:
    """Of series: how many there were, how many changes were found, how many have a false one, and how many factors
    were stated, and lie in their interval."""

    series: int = 0
    found: int = 0
    false: int = 0
    stated: int = 0
    covered: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(a + b for a, b in zip(attrs.astuple(self), attrs.astuple(other), strict=True)))


def measured(shared: int, step: float, place: int, seed: Sequence[int], number: int = 0) -> tuple[Series, float]:
    """A series as the two machines measured it, and the factor between them."""
    draw = np.random.default_rng([*seed, number])
    factor, noisier = math.exp(draw.uniform(-0.7, 0.7)), math.exp(draw.uniform(-0.7, 0.7))
    level = np.where(np.arange(VERSIONS) >= place, 5e6 * (1 + step), 5e6)
    old = _amounts(level[:REPLACED], NOISE, draw)
    new = _amounts(level[REPLACED - shared :] * factor, NOISE * noisier, draw)
    entries = [(version, "old", amount) for version, amount in enumerate(old)]
    entries += [(version, "new", amount) for version, amount in enumerate(new, REPLACED - shared)]
    entries.sort(key=lambda entry: (entry[0], entry[1]))
    series = Series(
        config_id=f"{number:040}",
        metric="cpu",
        unit="ns",
        resource="",
        versions=tuple(f"{version:010}" for version, _, _ in entries),
        environments=tuple(machine for _, machine, _ in entries),
        values=tuple((amount,) for _, _, amount in entries),
    )
    return series, factor


def _amounts(level: Floats, noise: float, draw: np.random.Generator) -> list[float]:
    amounts: list[float] = (level * np.exp(draw.normal(0, noise, len(level)))).tolist()
    return amounts


def counted(changes: Sequence[Change], step: float, place: int, factor: float) -> Counts:
    code = [change for change in changes if change.kind != "machine"]
    near = [
        change for change in code if step and change.kind == "degradation" and abs(int(change.target) - place) <= MARGIN
    ]
    stated = [
        c for c in changes if c.kind == "machine" and c.low is not None and c.high is not None and c.moved is None
    ]
    covered = [c for c in stated if (c.low or 0) <= factor <= (c.high or 0)]
    return Counts(1, bool(near), len(code) > bool(near), len(stated), len(covered))


def tried(shared: int, step: float, place: int, count: int, each: int, seed: int) -> Counts:
    check, total = ChangepointCheck(ChangepointSettings()), Counts()
    for number in range(each):
        made = [measured(shared, step if index == 0 else 0.0, place, (seed, number), index) for index in range(count)]
        results = (
            [check.scan(made[0][0], None)[0]] if count == 1 else check.scan_many([series for series, _ in made], {})
        )
        for index, ((_, factor), changes) in enumerate(zip(made, results, strict=True)):
            total += counted(changes, 0.0 if index else step, place, factor)
    return total


def rate(count: int, of: int) -> str:
    """The share with its interval."""
    if not of:
        return "-"
    share, weight = count / of, _Z**2 / of
    middle, half = (
        (share + weight / 2) / (1 + weight),
        math.sqrt(share * (1 - share) * weight + weight**2 / 4) / (1 + weight),
    )
    return f"{share:.1%} ({max(middle - half, 0.0):.1%} to {min(middle + half, 1.0):.1%})"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared", type=int, nargs="+", default=[0, 3, 5, 10])
    parser.add_argument("--series", type=int, default=1)
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--step", type=float, default=0.05)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    args = parser.parse_args()
    print("| measured on both | the code changed | found | series with a false change | factor in its interval |")
    print("|---|---|---|---|---|")
    for shared in args.shared:
        for step, place in ((0.0, 0), *((args.step, place) for place in PLACES)):
            counts = Counts()
            for seed in args.seeds:
                counts += tried(shared, step, place, args.series, args.each, seed)
            when = f"+{place - REPLACED}" if step else "no"
            found = rate(counts.found, args.each * len(args.seeds)) if step else ""
            cells = [str(shared), when, found, rate(counts.false, counts.series), rate(counts.covered, counts.stated)]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
