"""Least squares over unknowns of which each equation has few."""

from __future__ import annotations

import numpy as np
import pytest
from perfcore_check_changepoint.sparse import Sparse, normal, ridge


def _equations(unknowns: int, reach: int, seed: int) -> Sparse:
    """Three unknowns in each, no more than `reach` apart."""
    draw = np.random.default_rng(seed)
    first = draw.integers(0, unknowns, 4 * unknowns)
    columns = np.minimum(first[:, None] + draw.integers(0, reach + 1, (4 * unknowns, 3)), unknowns - 1)
    return Sparse(columns, draw.normal(0, 1, columns.shape), unknowns)


@pytest.mark.parametrize(("unknowns", "reach"), [(1, 0), (7, 2), (32, 32), (33, 2), (150, 3), (120, 40), (60, 60)])
def test_the_band_of_the_equations_is_solved_as_their_whole_matrix_is(unknowns: int, reach: int) -> None:
    equations, draw = _equations(unknowns, reach, unknowns), np.random.default_rng(reach)
    weight, vector = draw.uniform(0.5, 2, len(equations.columns)), draw.normal(0, 1, unknowns)
    whole = (equations.dense.T * weight) @ equations.dense
    band = normal(equations, weight)
    assert band.times(vector) == pytest.approx(whole @ vector, rel=1e-12, abs=1e-12)
    regular = whole + ridge(float(whole.max())) * np.eye(unknowns)
    assert band.solve(vector) == pytest.approx(np.linalg.solve(regular, vector), rel=1e-9)


def test_products_are_those_of_the_whole_matrix() -> None:
    equations, draw = _equations(40, 5, 1), np.random.default_rng(2)
    vector, rows = draw.normal(0, 1, 40), draw.normal(0, 1, len(equations.columns))
    assert equations.times(vector) == pytest.approx(equations.dense @ vector)
    assert equations.transposed(rows) == pytest.approx(equations.dense.T @ rows)


def test_a_singular_matrix_has_the_solution_around_zero() -> None:
    """Differences of neighbours leave their mean open."""
    columns = np.stack([np.arange(1, 30), np.arange(29)], axis=1)
    differences = Sparse(columns, np.tile([1.0, -1.0], (29, 1)), 30)
    solved = normal(differences, np.ones(29)).solve(differences.transposed(np.ones(29)))
    assert solved == pytest.approx(np.arange(30) - 14.5, rel=1e-4)
