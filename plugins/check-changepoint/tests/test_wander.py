"""A level that wanders has no steps, but those that it does not explain."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from perfcore_check_changepoint import detect
from perfcore_check_changepoint.cosines import cosines, frequencies, step_cosines

Floats = NDArray[np.float64]


def _levels(values: Sequence[float | Sequence[float]]) -> list[int]:
    return [change.index for change in detect(values) if change.kind == "level"]


def _walk(seed: int, count: int = 200) -> Floats:
    walk: Floats = 1000 + np.cumsum(np.random.default_rng([seed, 31]).standard_normal(count))
    return walk


def _cycle(seed: int, count: int = 300) -> Floats:
    """A cycle of about twenty versions whose length and height change."""
    values = np.random.default_rng([seed, 32]).standard_normal(count)
    for place in range(2, count):
        values[place] += 1.8 * values[place - 1] - 0.9 * values[place - 2]
    return 1000 + values


@pytest.mark.parametrize("wander", [_walk, _cycle])
def test_a_wandering_level_has_hardly_a_step(wander: Callable[[int], Floats]) -> None:
    """Without the walk as a model, the twenty have 65 and 54."""
    assert sum(len(_levels(wander(seed).tolist())) for seed in range(20)) <= 10


def test_a_large_step_of_a_wandering_level_is_found_with_its_size() -> None:
    for seed in range(20):
        values = _walk(seed) + 25.0 * (np.arange(200) >= 120)
        near = [change for change in detect(values.tolist()) if abs(change.index - 120) <= 3]
        assert [change.kind for change in near] == ["level"]
        assert near[0].size == pytest.approx(25, abs=10)


def test_the_runs_of_versions_of_a_wandering_level_have_no_step_either() -> None:
    """Without the walk as a model, the ten have 40."""
    steps = 0
    for seed in range(10):
        noise = np.random.default_rng([seed, 33]).normal(0, 0.3, (200, 5))
        steps += len(_levels((_walk(seed)[:, None] + noise).tolist()))
    assert steps <= 6


def test_two_steps_of_plain_noise_stay() -> None:
    hits = 0
    for seed in range(20):
        noise = np.random.default_rng([seed, 34]).standard_normal(120)
        steps = 3.0 * ((np.arange(120) >= 40) & (np.arange(120) < 80))
        hits += sum(
            any(abs(index - place) <= 3 for index in _levels((100 + noise + steps).tolist())) for place in (40, 80)
        )
    assert hits >= 38


def test_cosines_of_steps_are_those_of_the_transform() -> None:
    for count in (2, 3, 37, 200):
        starts = np.arange(1, count)
        steps = [cosines((np.arange(count) >= start).astype(float)) for start in starts]
        assert step_cosines(count, starts) == pytest.approx(np.array(steps), abs=1e-9)


def test_the_transform_keeps_squares_and_makes_differences_independent() -> None:
    values = np.random.default_rng(35).standard_normal(41)
    transformed = cosines(values)
    assert transformed @ transformed == pytest.approx(((values - values.mean()) ** 2).sum())
    assert frequencies(41) @ transformed**2 == pytest.approx((np.diff(values) ** 2).sum())


def test_two_versions_on_three_times_the_level_are_no_outliers_of_a_walk() -> None:
    """They are far from the median of their neighbours, as outliers are, but the division has a level for them, whose
    noise is three times that of the others."""
    found = 0
    for seed in range(100):
        noise = np.random.default_rng(seed).standard_normal(12)
        found += _levels((np.repeat([100.0, 300.0], [10, 2]) * np.exp(0.02 * noise)).tolist()) == [10]
    assert found >= 91
