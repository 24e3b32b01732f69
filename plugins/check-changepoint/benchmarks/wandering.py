"""How many changes are named where the level wanders: `python benchmarks/wandering.py [--each 20] [--seeds 1 2 3]`.

A machine that warms up, a heap that fills or a database that grows has no levels that last. Of histories without a
step every change is a false alarm. In the others one to three steps of 3 to 12 times the usual difference of
neighbours count as found within three versions. Intervals are of 95 %, of F1 from histories drawn again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from compare import MARGIN, Counts, changepoint, counted, resampled, tally
from generated import Floats, Random
from growing import poisson

Wander = Callable[[Random, int], Floats]
_DIFFERENCE = 0.954  # the median of the absolute difference of two normal values


def remembering(random: Random, count: int, *memories: float) -> Floats:
    """Every value inherits so much of the values before it; the first ones are forgotten."""
    fresh = random.standard_normal(count + 200)
    values = np.zeros(count + 200)
    for place in range(len(memories), len(values)):
        values[place] = fresh[place] + sum(share * values[place - 1 - lag] for lag, share in enumerate(memories))
    return values[200:]


def walk(step: float) -> Wander:
    """Noise around a level that differs from the one before by this share of the noise."""
    return lambda random, count: random.standard_normal(count) + np.cumsum(step * random.standard_normal(count))


def pure_walk(random: Random, count: int) -> Floats:
    values: Floats = np.cumsum(random.standard_normal(count))
    return values


def heavy_walk(random: Random, count: int) -> Floats:
    """Steps of Student's t with three degrees of freedom, two of five none."""
    values: Floats = np.cumsum(random.standard_t(3, count) * (random.random(count) > 0.4))
    return values


def long_memory(random: Random, count: int) -> Floats:
    return remembering(random, count, random.uniform(0.85, 0.97))


def uneven_cycle(random: Random, count: int) -> Floats:
    """A cycle whose length and height change: an autoregression with complex roots."""
    root, period = random.uniform(0.9, 0.97), random.uniform(10, 40)
    return remembering(random, count, 2 * root * np.cos(2 * np.pi / period), -(root**2))


def curve(random: Random, count: int) -> Floats:
    """Half a wave to two waves of 10 to 40 spreads, or growth that ends."""
    time, height = np.linspace(0, 1, count), random.choice([-1, 1]) * random.uniform(10, 40)
    bend = np.sin(random.uniform(3, 12) * time + random.uniform(0, 6)) / 2
    shape = bend if random.random() < 0.5 else 1 - np.exp(-random.uniform(2, 6) * time)
    values: Floats = random.standard_normal(count) + height * shape
    return values


def season(random: Random, count: int) -> Floats:
    """A year of months that repeats, and grows with a level that bends."""
    year = np.resize(random.standard_normal(12) * random.uniform(1, 4), count)
    return curve(random, count) + year * np.linspace(1, random.uniform(1, 3), count)


WANDERS: Mapping[str, Wander] = {
    "walk of 0.1": walk(0.1),
    "walk of 0.3": walk(0.3),
    "walk of 1": walk(1.0),
    "walk without noise": pure_walk,
    "heavy walk": heavy_walk,
    "long memory": long_memory,
    "uneven cycle": uneven_cycle,
    "curve": curve,
    "season": season,
}


def stepped(random: Random, wander: Floats) -> tuple[Floats, list[int]]:
    """The same with steps that last, and their places."""
    count = len(wander)
    places = np.sort(random.permutation(np.arange(15, count - 15, 15))[: random.integers(1, 4)])
    usual = float(np.median(np.abs(np.diff(wander)))) / _DIFFERENCE + 1e-9
    sizes = random.choice([-1, 1], len(places)) * random.uniform(3, 12, len(places)) * usual
    return wander + sum(size * (np.arange(count) >= place) for place, size in zip(places, sizes, strict=True)), [
        int(place) for place in places
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    given = parser.parse_args()
    every: list[Counts] = []
    total = [0, 0]
    print(f"{'':20} {'false alarms in 1,000':28} {'precision':>9} {'recall':>7}  F1, within {MARGIN} versions")
    for name, make in WANDERS.items():
        alarms, versions, results = 0, 0, []
        for seed in given.seeds:
            for number in range(given.each):
                random = np.random.default_rng([seed, number, *name.encode()])
                wander = make(random, int(random.integers(60, 300)))
                alarms, versions = alarms + len(changepoint((1000 + wander).tolist())), versions + len(wander)
                values, places = stepped(random, wander)
                results.append((changepoint((1000 + values).tolist()), places))
        counts, rows = counted(results), [tally(*result) for result in results]
        every, total = every + rows, [total[0] + alarms, total[1] + versions]
        print(
            f"{name:20} {poisson(alarms, versions):28} {counts.precision:9.2f} {counts.recall:7.2f}  {resampled(rows)}",
            flush=True,
        )
    print(f"{'all':20} {poisson(*total):28} {'':17}  {resampled(every)}")


if __name__ == "__main__":
    main()
