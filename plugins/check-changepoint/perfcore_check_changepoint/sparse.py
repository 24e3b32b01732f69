"""Least squares over many unknowns of which every equation has few, and those close to one another.

The normal matrix of such equations is a band: it is taken apart into blocks as wide as the band, of which each touches
the next one only, and solved by elimination from the first block to the last and back (G. Golub and C. Van Loan, Matrix
Computations, 4.5). The time is in proportion to the unknowns, and to the square of the width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.runs import Indexes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TINY = 1e-9  # share of the largest element of a matrix under which another is rounding
_LEAST = 1e-200  # so that a matrix of nothing but 0 has an inverse, too
_NARROWEST = 32  # unknowns in a block at least: smaller ones take as long


def ridge(largest: float) -> float:
    """What is added to the diagonal of a matrix that may be singular."""
    return max(_TINY * largest, _LEAST)


class Sparse(msgspec.Struct, frozen=True, eq=False):
    """A matrix with few elements in each row: `values[r, k]` is added to column `columns[r, k]`, of `width`."""

    columns: Indexes
    values: Floats
    width: int

    @property
    def dense(self) -> Floats:
        matrix = np.zeros((len(self.columns), self.width))
        np.add.at(matrix, (np.arange(len(self.columns))[:, None], self.columns), self.values)
        return matrix

    def times(self, vector: Floats) -> Floats:
        product: Floats = (self.values * vector[self.columns]).sum(axis=1)
        return product

    def transposed(self, vector: Floats) -> Floats:
        """The product of its transpose and a vector."""
        of_rows = (self.values * vector[:, None]).ravel()
        product: Floats = np.bincount(self.columns.ravel(), of_rows, minlength=self.width).astype(
            np.float64, copy=False
        )
        return product


class Band(msgspec.Struct, frozen=True, eq=False):
    """A symmetric matrix of blocks: those of the diagonal, and the ones below them. Unknowns from `width` on, which
    fill the last block, are 0."""

    diagonal: NDArray[np.float64]
    below: NDArray[np.float64]
    width: int

    def times(self, vector: Floats) -> Floats:
        parts = self._parts(vector)
        product = np.einsum("bij,bj->bi", self.diagonal, parts)
        product[1:] += np.einsum("bij,bj->bi", self.below, parts[:-1])
        product[:-1] += np.einsum("bji,bj->bi", self.below, parts[1:])
        whole: Floats = product.ravel()[: self.width]
        return whole

    def solve(self, right: Floats) -> Floats:
        """The vector whose product with the matrix, made regular by a ridge, is `right`."""
        size = self.diagonal.shape[1]
        diagonal = self.diagonal + ridge(float(self.diagonal.max())) * np.eye(size)
        parts = self._parts(right)
        carried: list[Floats] = []
        for number, below in enumerate(self.below):
            solved = np.linalg.solve(diagonal[number], np.column_stack([below.T, parts[number]]))
            carried.append(solved)
            diagonal[number + 1] -= below @ solved[:, :size]
            parts[number + 1] -= below @ solved[:, size]
        parts[-1] = np.linalg.solve(diagonal[-1], parts[-1])
        for number in range(len(carried) - 1, -1, -1):
            parts[number] = carried[number][:, size] - carried[number][:, :size] @ parts[number + 1]
        whole: Floats = parts.ravel()[: self.width]
        return whole

    def _parts(self, vector: Floats) -> NDArray[np.float64]:
        count, size = self.diagonal.shape[:2]
        parts = np.zeros(count * size)
        parts[: self.width] = vector
        return parts.reshape(count, size)


def normal(matrix: Sparse, weight: Floats) -> Band:
    """The product of the transposed matrix, the weights of its rows and the matrix. Unknowns are near if their numbers
    are."""
    apart = int(np.ptp(matrix.columns, axis=1).max(initial=0))
    size = min(max(apart, _NARROWEST), matrix.width)
    count = -(-matrix.width // size)
    rows, columns = matrix.columns[:, :, None], matrix.columns[:, None, :]
    values = matrix.values[:, :, None] * matrix.values[:, None, :] * weight[:, None, None]
    rows, columns = (np.broadcast_to(which, values.shape).ravel() for which in (rows, columns))
    values = values.ravel()
    block, down, within = rows // size, rows // size - columns // size, rows % size * size + columns % size
    diagonal, below = (
        np.bincount(
            (block[chosen] - offset) * size**2 + within[chosen], values[chosen], minlength=(count - offset) * size**2
        )
        .reshape(count - offset, size, size)
        .astype(np.float64, copy=False)
        for offset, chosen in enumerate((down == 0, down == 1))
    )
    return Band(diagonal, below, matrix.width)
