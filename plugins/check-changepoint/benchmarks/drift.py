"""How well slow drifts and changes of the noise are found: `python benchmarks/drift.py [--each 200] [--seeds 101 102]`.

Histories without a drift count how often one is reported all the same; histories with one count how often it is found,
how often its interval holds the true growth, and how far off its beginning is. Histories of several runs for each
version do the same for the noise of the runs. Figures are of all seeds, with the least and the greatest of a seed; an
interval is Wilson's (1927), at 95 %. Other seeds than these set the constants of the method.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray
from perfcore_check_changepoint import ChangePoint, detect

Floats = NDArray[np.float64]
Random = np.random.Generator
NEAR = 5  # versions that a change of the noise may be off
_Z = 1.96


def remembering(random: Random, count: int, memory: float) -> Floats:
    noise = random.standard_normal(count)
    for i in range(1, count):
        noise[i] = memory * noise[i - 1] + math.sqrt(1 - memory**2) * noise[i]
    return noise


def wandering(random: Random, count: int, step: float) -> Floats:
    walk: Floats = random.standard_normal(count) + np.cumsum(step * random.standard_normal(count))
    return walk


def staircase(random: Random, count: int, least: int) -> Floats:
    """Three to six steps of 1.5 to 3 spreads in one direction, at least so many versions apart."""
    steps = min(int(random.integers(3, 7)), count // least - 2)
    slack = np.sort(random.integers(0, count - (steps + 1) * least + 1, steps))
    levels = np.zeros(count)
    for number, start in enumerate(slack):
        levels[start + (number + 1) * least :] += random.uniform(1.5, 3.0)
    return levels + random.standard_normal(count)


UNCHANGED: Mapping[str, Callable[[Random, int], Floats]] = {
    "plain noise": lambda random, count: random.standard_normal(count),
    "memory 0.3": lambda random, count: remembering(random, count, 0.3),
    "memory 0.6": lambda random, count: remembering(random, count, 0.6),
    "walk, steps of 0.03": lambda random, count: wandering(random, count, 0.03),
    "walk, steps of 0.1": lambda random, count: wandering(random, count, 0.1),
    "walk, steps of 0.3": lambda random, count: wandering(random, count, 0.3),
    "one step of 4": lambda random, count: random.standard_normal(count) + 4.0 * (np.arange(count) >= count // 2),
    "staircase, 10 apart": lambda random, count: staircase(random, count, 10),
    "staircase, 20 apart": lambda random, count: staircase(random, count, 20),
}


@attrs.frozen
class Drift:
    """Growth by 28 % over so many versions, after a flat part and before another; `noise` is in per cent."""

    noise: float
    flat: int
    length: int = 30
    after: int = 0
    uneven: bool = False

    def made(self, random: Random) -> tuple[list[float], float]:
        """The values, and by what they grew since the last version before the drift, or the first one."""
        steps = random.exponential(1.0, self.length) if self.uneven else np.ones(self.length)
        growth = 28 * np.cumsum(steps) / steps.sum()
        levels = np.concatenate([np.zeros(self.flat), growth, np.full(self.after, 28.0)])
        values: list[float] = (100 + levels + self.noise * random.standard_normal(len(levels))).tolist()
        return values, float(levels[-1] - levels[max(self.flat - 1, 0)])

    def __str__(self) -> str:
        parts = [f"flat {self.flat}", f"drift {self.length}{' uneven' if self.uneven else ''}", f"flat {self.after}"]
        return f"noise {self.noise:g} %, {', '.join(parts)}"


DRIFTS = (
    *(Drift(noise, flat) for flat in (0, 30) for noise in (0.5, 1, 2, 3, 5)),
    Drift(1, 10),
    Drift(1, 30, length=15),
    Drift(1, 20, after=20),
    Drift(1, 0, uneven=True),
    Drift(1, 30, uneven=True),
)


def of_runs(random: Random, kind: str, count: int, runs: int, start: int, factor: float) -> list[tuple[float, ...]]:
    """Versions that differ by 0.5 %, and their runs by 1 %, from `start` on by `factor` times that."""
    versions, load = [], 0.0
    for version in range(count):
        spread = factor if version >= start else 1.0
        noise = random.standard_normal(runs)
        if kind == "skewed":
            noise = random.gamma(1.0, 1.0, runs) - 1
        elif kind == "spiky":
            noise = np.where(random.random(runs) < 0.05, noise + random.uniform(5, 40, runs), noise)
        elif kind == "load":  # a neighbour whose load changes the spread, and lasts
            load = 0.6 * load + 0.8 * random.standard_normal()
            spread *= math.exp(0.3 * load)
        versions.append(tuple((100 + 0.5 * random.standard_normal() + spread * noise).tolist()))
    return versions


def found(values: Sequence[float | Sequence[float]], kind: str) -> list[ChangePoint]:
    return [change for change in detect(values) if change.kind == kind]


def wilson(hits: int, count: int) -> str:
    share, extra = hits / count, _Z**2 / count
    middle, half = share + extra / 2, _Z * math.sqrt(share * (1 - share) / count + extra / (4 * count))
    return f"{share:7.2%} ({max(middle - half, 0) / (1 + extra):.2%} to {(middle + half) / (1 + extra):.2%})"


def row(name: str, hits: Sequence[Sequence[bool]], extra: str = "") -> None:
    """A line; `hits` has those of every seed."""
    shares = [sum(seed) / len(seed) for seed in hits]
    text = wilson(sum(map(sum, hits)), sum(map(len, hits)))
    print(f"{name:48} {text:30} seeds {min(shares):.1%} to {max(shares):.1%}  {extra}", flush=True)


def false_drifts(seeds: Sequence[int], each: int) -> None:
    print(f"drifts reported in histories of 45 to 300 versions without one, {each} for each of the seeds {seeds}")
    for name, make in UNCHANGED.items():
        hits = []
        for seed in seeds:
            randoms = [np.random.default_rng([seed, number, *name.encode()]) for number in range(each)]
            counts = [int(random.integers(60 if "20 apart" in name else 45, 300)) for random in randoms]
            made = [100 + make(random, count) for random, count in zip(randoms, counts, strict=True)]
            hits.append([bool(found(values.tolist(), "drift")) for values in made])
        row(name, hits)


def true_drifts(seeds: Sequence[int], each: int) -> None:
    print(f"growth by 28 %: how often it is reported as one drift, {each} for each of the seeds {seeds}")
    for drift in DRIFTS:
        hits, covered, off = [], 0, []
        for seed in seeds:
            made = [drift.made(np.random.default_rng([seed, number, 5])) for number in range(each)]
            drifts = [found(values, "drift") for values, _ in made]
            hits.append([len(changes) == 1 for changes in drifts])
            single = [
                (changes[0], grown) for changes, (_, grown) in zip(drifts, made, strict=True) if len(changes) == 1
            ]
            covered += sum(change.low <= grown <= change.high for change, grown in single)
            off += [abs(change.index - max(drift.flat, 1)) for change, _ in single]
        count = max(len(off), 1)
        row(
            str(drift),
            hits,
            f"interval holds the growth: {covered / count:.0%}, begins off by {np.median(off or [0]):.0f}",
        )


def noise(seeds: Sequence[int], each: int) -> None:
    print(f"the noise of runs: changes within {NEAR} versions, {each} for each of the seeds {seeds}")
    for kind in ("normal", "skewed", "spiky", "load"):
        for runs in (3, 5, 10):
            for factor in (1.0, 3.0, 5.0):
                hits: list[list[bool]] = []
                for seed in seeds:
                    hits.append([])
                    for number in range(each):
                        random = np.random.default_rng([seed, number, runs])
                        count = int(random.integers(30, 100))
                        start = int(random.integers(10, count - 6))
                        changes = found(of_runs(random, kind, count, runs, start, factor), "noise")
                        near = [change for change in changes if abs(change.index - start) <= NEAR]
                        hits[-1].append(bool(changes) if factor == 1 else bool(near))
                row(f"{kind}, {runs} runs, factor {factor:g}", hits, "false alarms" if factor == 1 else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=200)
    parser.add_argument("--seeds", type=int, nargs="+", default=[301, 302, 303, 304, 305])
    given = parser.parse_args()
    false_drifts(given.seeds, given.each)
    true_drifts(given.seeds, max(given.each // 4, 1))
    noise(given.seeds, max(given.each // 4, 1))


if __name__ == "__main__":
    main()
