"""A long series in few numbers."""

from __future__ import annotations

import random

import pytest
from perfcore_site_kit.levels import reduced

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
