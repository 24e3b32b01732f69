"""How well changes could be found if the noise were known: `python benchmarks/oracle.py [--each 20] [--seeds 21 22]`.

The oracle is given the law of the noise of each history, with its parameters: density, autocorrelation, drift and wave.
It does not know the levels, or how many there are. The probability of a change at each version is summed over all ways
to divide the history (forward and backward recursions of a hidden Markov chain: L. Rabiner, 1989, Proceedings of the
IEEE 77(2)), with a flat prior for a new level. It names changes around which there is one with a probability of at
least a half, which nearly maximises F1. No detector that has to learn the noise can be expected to do better.

Intervals are of 95 %, from histories drawn again (bootstrap).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from compare import MARGIN, changepoint, resampled, tally
from generated import Floats, Made, histories

HAZARD = 0.01  # probability of a change in a version; of the histories with changes about 0.015 are
LIKELY = 0.5  # probability of a change within the margin, from which on it is named
_FINE = 0.05  # distance of the levels that are tried, in spreads: a skewed density has an edge
_COARSE = 0.2  # the same with a memory, where every pair of levels is tried
_AS_GOOD = 0.985  # share of the greatest probability around a version; of these the likeliest itself is named
_TINY = 1e-30  # density of what the law never gives


def oracle(made: Made) -> list[int]:
    """The changes of a history whose law is known."""
    chances, places = probabilities(made), list[int]()
    while True:
        none = np.log(np.concatenate([np.ones(MARGIN), 1 - np.minimum(chances, 1 - 1e-9), np.ones(MARGIN)]))
        around = 1 - np.exp(np.lib.stride_tricks.sliding_window_view(none, 2 * MARGIN + 1).sum(axis=1))
        place = int(np.where(around >= _AS_GOOD * around.max(), chances, -1.0).argmax())
        if around[place] < LIKELY:
            return sorted(places)
        places.append(place)
        chances[max(0, place - MARGIN) : place + MARGIN + 1] = 0.0


def probabilities(made: Made) -> Floats:
    """That of a change at each version."""
    levels, stay, move = _likelihoods(made)
    possible = np.ptp(levels) / made.tick if made.kind == "counter" else len(levels)
    count, fresh = len(stay), HAZARD / max(possible, 1.0)
    forward = np.empty(stay.shape)
    forward[0] = stay[0] / stay[0].sum()
    for version in range(1, count):
        joint = (1 - HAZARD) * forward[version - 1] * stay[version] + fresh * (forward[version - 1] @ move(version))
        forward[version] = joint / joint.sum()
    chances, backward = np.zeros(count), np.ones(len(levels))
    for version in range(count - 1, 0, -1):
        moved = fresh * (move(version) @ backward)
        stayed = (1 - HAZARD) * stay[version] * backward
        chance, other = (float(forward[version - 1] @ part) for part in (moved, stayed))
        chances[version] = chance / (chance + other)
        backward = (moved + stayed) / (moved + stayed).sum()
    return chances


def _likelihoods(made: Made) -> tuple[Floats, Floats, Callable[[int], Floats]]:
    """The levels, the likelihood of every version at each of them if it has the level of the one before, and that of
    a version (the level before in rows) if it has a new one."""
    noise = made.noise
    assert noise is not None, "only histories whose law is known have an oracle"
    amounts = (np.array(made.values) - made.base) / made.unit - noise.trend
    if made.kind == "counter":  # of all integers only those that come again are likely enough
        values, counts = np.unique(amounts, return_counts=True)
        levels = values[counts > 1]
    else:
        middle = np.median(np.lib.stride_tricks.sliding_window_view(amounts, 5), axis=1)  # spikes are no levels
        levels = np.arange(middle.min() - 1, middle.max() + 1, _COARSE if noise.memory else _FINE)
    before = np.concatenate([[0.0], amounts[:-1]])

    def density(distances: Floats) -> Floats:
        if made.tick > 0.5:  # of all amounts that are rounded to this one
            distances = distances[..., None] + made.tick * (np.arange(8) - 3.5) / 8
            return np.asarray(noise.density(distances).mean(axis=-1)) + _TINY
        return noise.density(distances) + _TINY

    memory, kept = noise.memory, math.sqrt(1 - noise.memory**2)
    stay = density((amounts - memory * before)[:, None] - (1 - memory) * levels)
    if not memory:
        return levels, stay, lambda version: np.broadcast_to(stay[version], (len(levels),) * 2)
    stay[0] = density(kept * (amounts[0] - levels)) * kept
    inherited = levels - memory * levels[:, None]
    return levels, stay, lambda version: density(amounts[version] - memory * before[version] - inherited)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=20, help="unchanged histories of every noise and seed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[21, 22, 23])
    given = parser.parse_args()
    made = [one for seed in given.seeds for one in histories(seed, given.each)]
    results = {"detect": [changepoint(one.values) for one in made], "oracle": [oracle(one) for one in made]}
    for name, places in results.items():
        print(f"{name:24} {_row(places, made)}")
    print()
    print(f"{'F1 by noise':24} " + " ".join(f"{name:>24}" for name in results))
    for kind in sorted({one.kind for one in made if one.truth}):
        chosen = [number for number, one in enumerate(made) if one.kind == kind]
        rows = [[tally(places[n], made[n].truth) for n in chosen] for places in results.values()]
        print(f"{kind:24} " + " ".join(f"{resampled(row):>24}" for row in rows))


def _row(places: Sequence[Sequence[int]], made: Sequence[Made]) -> str:
    quiet = [(len(found), len(one.values)) for found, one in zip(places, made, strict=True) if not one.truth]
    alarms = 1000 * sum(found for found, _ in quiet) / sum(versions for _, versions in quiet)
    rows = [tally(found, one.truth) for found, one in zip(places, made, strict=True)]
    return f"F1 {resampled(rows)}   false alarms in 1,000: {alarms:.2f}"


if __name__ == "__main__":
    main()
