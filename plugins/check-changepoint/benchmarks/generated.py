"""Histories with known changes: every kind of noise that timings, sizes and counters have been seen with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Random = np.random.Generator


Density = Callable[[Floats], Floats]


@attrs.frozen(eq=False)
class Noise:
    """Noise of about one spread, and the law that made it: the `density` of what is left without the `trend`; with a
    memory, that of what is new in each value, which inherits so much of the value before."""

    values: Floats
    density: Density
    trend: Floats | float = 0.0
    memory: float = 0.0


@attrs.frozen(eq=False)
class Made:
    """A history, the first versions of its new levels, and the law of its noise: an amount is
    `base + unit * (level + noise)`; `tick` is what amounts are rounded to, in units."""

    kind: str
    values: list[float]
    truth: tuple[int, ...]
    noise: Noise | None = None
    base: float = 0.0
    unit: float = 1.0
    tick: float = 0.0


def _bell(distance: Floats, deviation: float = 1.0) -> Floats:
    bell: Floats = np.exp(-0.5 * (distance / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))
    return bell


def _normal(random: Random, count: int) -> Noise:
    return Noise(random.standard_normal(count), _bell)


def _skewed(random: Random, count: int) -> Noise:
    shape = random.uniform(0.7, 3.0)
    root = math.sqrt(shape)

    def density(distance: Floats) -> Floats:
        amount = np.maximum(distance * root + shape, 1e-9)
        logarithm = (shape - 1) * np.log(amount) - amount - math.lgamma(shape)
        return np.where(distance * root + shape > 0, np.exp(logarithm) * root, 0.0)

    return Noise((random.gamma(shape, 1.0, count) - shape) / root, density)


def _spiky(random: Random, count: int) -> Noise:
    noise = random.standard_normal(count)
    chances, share = random.random(count), random.uniform(0.01, 0.05)
    values = np.where(chances < share, noise + random.uniform(5, 40, count), noise)
    return Noise(values, lambda d: (1 - share) * _bell(d) + share / 35 * ((d > 5) & (d < 40)))


def _remembering(random: Random, count: int) -> Noise:
    memory = random.uniform(0.3, 0.75)
    noise, fresh = random.standard_normal(count), math.sqrt(1 - memory**2)
    for i in range(1, count):
        noise[i] = memory * noise[i - 1] + fresh * noise[i]
    return Noise(noise, lambda d: _bell(d, fresh), memory=memory)


def _two_modes(random: Random, count: int) -> Noise:
    share, apart = random.uniform(0.1, 0.5), random.uniform(2.5, 6.0)
    noise = random.normal(0, 1, count) + apart * (random.random(count) < share)
    middle, deviation = float(np.median(noise)), float(noise.std())

    def density(distance: Floats) -> Floats:
        amount = distance * deviation + middle
        return deviation * ((1 - share) * _bell(amount) + share * _bell(amount - apart))

    return Noise((noise - middle) / deviation, density)


def _periodic(random: Random, count: int) -> Noise:
    angle = 2 * np.pi * np.arange(count) / random.uniform(6, 25)
    noise = random.standard_normal(count)
    wave = random.uniform(0.8, 1.8) * np.sin(angle + random.uniform(0, 6))
    return Noise(noise + wave, _bell, wave)


def _drifting(random: Random, count: int) -> Noise:
    drift: Floats = random.choice([-1, 1]) * np.linspace(0, random.uniform(1.5, 3.5), count)
    return Noise(random.standard_normal(count) + drift, _bell, drift)


NOISES: dict[str, Callable[[Random, int], Noise]] = {
    "normal": _normal,
    "skewed": _skewed,
    "spiky": _spiky,
    "memory": _remembering,
    "two modes": _two_modes,
    "periodic": _periodic,
    "drifting": _drifting,
}


def _levels(random: Random, count: int) -> tuple[Floats, list[int]]:
    """Steps of one to eight spreads, at least ten versions apart; a third of the histories has a short excursion
    or a fresh step at its end."""
    levels, places = np.zeros(count), []
    place = int(random.integers(10, max(11, count // 3)))
    while place < count - 10:
        places.append(place)
        levels[place:] += random.choice([-1, 1]) * 2 ** random.uniform(0, 3)
        place += int(random.integers(10, count))
    end = random.random()
    if end < 0.15 and (not places or places[-1] < count - 20):
        places.append(count - int(random.integers(4, 10)))
        levels[places[-1] :] += 2 ** random.uniform(1, 3)
    elif end < 0.3 and places and places[0] > 25:
        first = places[0] - int(random.integers(12, 15))
        last = first + int(random.integers(5, 9))
        places += [first, last]
        levels[first:last] += 2 ** random.uniform(1, 3)
    return levels, sorted(places)


def histories(seed: int, each: int) -> list[Made]:
    """For every noise so many histories without a change and twice as many with, and some integers."""
    made = []
    for kind, noise in NOISES.items():
        for number in range(3 * each):
            random = np.random.default_rng([seed, number, *kind.encode()])
            count = int(random.integers(60, 300))
            levels, places = _levels(random, count) if number >= each else (np.zeros(count), [])
            made.append(_made(random, kind if places else f"{kind}, unchanged", noise, levels, places))
    return made + [_integers(seed, number) for number in range(2 * each)]


def _made(
    random: Random, kind: str, law: Callable[[Random, int], Noise], levels: Floats, places: Sequence[int]
) -> Made:
    base, spread = 10 ** random.uniform(-2, 6), 10 ** random.uniform(-2.3, -1.3)
    noise = law(random, len(levels))
    values = base * (1 + spread * (levels + noise.values))
    return Made(kind, values.tolist(), tuple(places), noise, base, base * spread)


def _integers(seed: int, number: int) -> Made:
    """Counters that hardly vary, and clocks that are coarse."""
    random = np.random.default_rng([seed, number, 1])
    count = int(random.integers(60, 300))
    levels, places = _levels(random, count)
    noise, truth = random.standard_normal(count), tuple(places)
    if number % 2:
        noise *= random.random(count) < 0.6
        law = Noise(noise / 3, lambda d: 0.4 * 300 * (np.abs(d) < 0.5 / 300) + 0.6 * _bell(d, 1 / 3))
        return Made("counter", np.rint(1e7 + 300 * levels + 100 * noise).tolist(), truth, law, 1e7, 300.0, 1 / 300)
    values = np.rint(30 + 0.8 * (levels + noise))
    return Made("coarse clock", values.tolist(), truth, Noise(noise, _bell), 30.0, 0.8, 1.25)


def suite(seed: int, series: int = 40, versions: int = 150) -> list[Made]:
    """Benchmarks on one machine that is replaced twice and now and then slow; a quarter of them changes."""
    random = np.random.default_rng([seed, series])
    machine = random.normal(0, 0.003, versions)
    machine[random.random(versions) < 0.1] += np.log(random.uniform(1.07, 1.3))
    for place in random.choice(np.arange(20, versions - 20), 2, replace=False):
        machine[place:] += random.choice([-1, 1]) * random.uniform(0.05, 0.12)
    made = []
    for number in range(series):
        own = machine * random.uniform(0.75, 1.25) + random.normal(0, random.uniform(0.005, 0.02), versions)
        places: Sequence[int] = [int(random.integers(15, versions - 15))] if number < series // 4 else []
        for place in places:
            own[place:] += random.choice([-1, 1]) * random.uniform(0.03, 0.15)
        made.append(Made("suite", (10 ** random.uniform(-2, 3) * np.exp(own)).tolist(), tuple(places)))
    return made


def partly(seed: int, series: int = 12, versions: int = 40) -> list[Made]:
    """A small suite on a machine that is replaced once. Up to 45 % of the commands change together in another version,
    three more are counters that all change in a third one, and one is measured in every third version only."""
    random = np.random.default_rng([seed, series, 3])
    replaced, together, counted = (int(place) for place in random.permutation(np.arange(8, versions - 8, 4))[:3])
    moved, size = int(random.integers(2, int(0.45 * series) + 1)), random.choice([-1, 1]) * random.uniform(0.05, 0.2)
    machine = random.normal(0, 0.003, versions) + random.choice([-1, 1]) * 0.1 * (np.arange(versions) >= replaced)
    made = []
    for number in range(series):
        own = machine * random.uniform(0.8, 1.2) + random.normal(0, random.uniform(0.005, 0.01), versions)
        own[together:] += size if number < moved else 0
        own[[] if number < series - 1 else np.arange(versions) % 3 > 0] = np.nan
        made.append(Made("suite", (10 ** random.uniform(-2, 3) * np.exp(own)).tolist(), (together,) * (number < moved)))
    for number in range(3):
        count = 1e6 * (number + 1) * np.where(np.arange(versions) >= counted, 1.02, 1.0)
        made.append(Made("suite", count.tolist(), (counted,)))
    return made


def fresh(seed: int, each: int, after: int) -> list[Made]:
    """For every noise histories of 60 to 150 versions, and then a change of two to eight spreads that lasts."""
    made = []
    for kind, noise in NOISES.items():
        for number in range(each):
            random = np.random.default_rng([seed, number, 2, *kind.encode()])
            place = int(random.integers(60, 150))
            levels = np.zeros(place + after)
            levels[place:] = random.choice([-1, 1]) * 2 ** random.uniform(1, 3)
            made.append(_made(random, kind, noise, levels, (place,)))
    return made
