"""Histories with known changes, small and made anew from a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from perfcore.model import Series

Noise = Callable[[np.random.Generator, int], NDArray[np.float64]]


def normal(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    return random.normal(size=count)


def skewed(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    noise = random.gamma(1.0, 1.0, count)
    return noise - 1.0


def with_outliers(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    noise = random.normal(size=count)
    noise[random.random(count) < 0.04] += random.uniform(8, 60)
    return noise


def with_memory(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    noise = random.normal(size=count)
    for i in range(1, count):
        noise[i] = 0.6 * noise[i - 1] + 0.8 * noise[i]
    return noise


def of_two_modes(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    noise: NDArray[np.float64] = random.normal(scale=0.25, size=count) + 2.2 * (random.random(count) < 0.35)
    return noise


def drifting(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    noise: NDArray[np.float64] = random.normal(size=count) + np.linspace(0, 3, count)
    return noise


def seasonal(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    noise: NDArray[np.float64] = random.normal(size=count) + 1.2 * np.sin(np.arange(count) / 2.5)
    return noise


NOISES: dict[str, Noise] = {
    "normal": normal,
    "skewed": skewed,
    "outliers": with_outliers,
    "memory": with_memory,
    "two modes": of_two_modes,
    "drifting": drifting,
    "seasonal": seasonal,
}


def history(
    noise: Noise, seed: int, count: int, steps: Sequence[tuple[int, float]] = (), base: float = 100.0
) -> list[float]:
    """Noise around `base`, and from each of the steps on so much more."""
    values = base + noise(np.random.default_rng(seed), count)
    for index, size in steps:
        values[index:] += size
    return [float(value) for value in values]


def version(number: int) -> str:
    return f"{number:08d}" + "f" * 32


def series(
    values: Sequence[Sequence[float] | float],
    environments: Sequence[str] | None = None,
    **how: object,
) -> Series:
    """A history as perfcore gives it to a check."""
    fields = {"config_id": "c" * 40, "metric": "cpu", "unit": "ns", "resource": ""} | how
    return Series(
        versions=tuple(version(i) for i in range(len(values))),
        environments=tuple(environments or ["e" * 40] * len(values)),
        values=tuple((value,) if isinstance(value, float | int) else tuple(value) for value in values),
        **fields,  # type: ignore[arg-type]
    )
