"""A long series in few numbers."""

from __future__ import annotations

import math
import random

import pytest
from perfcore_site_kit.levels import Level, levels_of, reduced

_CLOSE = (1e16, 1e16 + 2, 1e16 + 4, 1.0, -3.0)  # of which distances are rounded to the same


def _farthest_of_stretches(medians: list[float | None], most: int) -> list[float | None]:
    values: list[float | None] = []
    before: float | None = None
    for index in range(most):
        stretch = medians[index * len(medians) // most : (index + 1) * len(medians) // most]
        measured = sorted(median for median in stretch if median is not None)
        if not measured:
            values.append(None)
            continue
        middle = measured[len(measured) // 2]
        base = middle if before is None else before
        values.append(max(measured, key=lambda median: abs(median - base)) if index < most - 1 else middle)
        before = middle
    return values


@pytest.mark.parametrize("seed", range(20))
def test_of_each_stretch_the_value_stays_that_is_farthest_from_the_one_before(seed: int) -> None:
    draw = random.Random(seed)
    for amounts in ([draw.gauss(1, 0.1) for _ in range(250)], _CLOSE, (1.0, 2.0, 3.0)):
        medians = [None if draw.random() < 0.1 else draw.choice(amounts) for _ in range(250)]
        for most in (3, 40, 120):
            assert list(reduced(medians, most)) == _farthest_of_stretches(medians, most)


def _by_buckets(positions: list[int], medians: list[float | None], length: int, size: int) -> Level:
    buckets: list[list[float]] = [[] for _ in range(math.ceil(length / size))]
    for position, median in zip(positions, medians, strict=True):
        if median is not None and math.isfinite(median):
            buckets[position // size].append(median)
    least, most = (tuple(of(bucket) if bucket else None for bucket in buckets) for of in (min, max))
    mean = tuple(math.fsum(bucket) / len(bucket) if bucket else None for bucket in buckets)
    return Level(size, least, most, mean, tuple(map(len, buckets)))


@pytest.mark.parametrize("seed", range(20))
def test_a_level_has_every_median_that_is_a_number_in_the_bucket_of_its_position(seed: int) -> None:
    draw = random.Random(seed)
    length = draw.choice([9, 10, 11, 99, 100, 101, 250])
    # On two machines a version has two medians, and not every version was measured.
    positions = sorted(draw.choices(range(length), k=draw.choice([1, length // 3, length])))
    unusual: list[float | None] = [None, math.inf, math.nan] if seed % 2 else [1.0]
    medians = [draw.gauss(1, 0.1) if draw.random() < 0.9 else draw.choice(unusual) for _ in positions]
    assert levels_of(positions, medians, length) == {
        size: _by_buckets(positions, medians, length, size) for size in (10, 100) if length > size
    }
