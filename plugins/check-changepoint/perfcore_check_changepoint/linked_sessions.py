"""Offsets of the machine in sessions that share a version with the next, as jobs do that measure a change and its base.

What two sessions measured of the same version differs by their offsets and by noise, whatever the code did before and
after it. A chain of such links alone would walk away from the truth, so offsets are random effects: the variance of
offsets as a multiple of that of the noise has the likelihood of all differences within versions (H. D. Patterson and
R. Thompson, 1971, Biometrika 58(3)), and the best linear prediction of the offsets (C. R. Henderson, 1975, Biometrics
31(2)) is averaged over that ratio. So offsets that are no more than noise are hardly taken out, and are hardly doubted.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.runs import Indexes
from perfcore_check_changepoint.series import NORMAL, median

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEWEST = 12  # differences within versions: fewer tell hardly how much sessions differ that have none
MOST = 8  # sessions of a version: one that all of them measured tells no offset of theirs from its noise
_RATIOS = np.logspace(-2, 3, 21)  # of both variances: below, offsets are nothing, and above, noise is
_FAR = 3.0  # spreads from which on a difference tells no more of the variances
_LEAST = 1e-30  # sum of squares of amounts that differ by nothing else
_EXPECTED = 2  # differences that the expected noise counts as: the few that there are may be alike by chance
_TOGETHER = 64  # sessions whose links are looked at, so that the time is in proportion to the sessions


def tell_enough(differences: int, linked: int, sessions: int) -> bool:
    """Whether so many differences within versions, of so many of the sessions, tell how much all of these differ."""
    return differences >= _FEWEST or 2 * linked > sessions


class Links(msgspec.Struct, frozen=True, eq=False):
    """The versions that several sessions measured. Observation i is of the version `version[i]` and the session
    `session[i]`, both by number, those of a version one after the other. `expected` is the variance of the noise, as
    neighbours in a session tell it."""

    version: Indexes
    session: Indexes
    amount: Floats
    count: int
    expected: float = 0.0

    @classmethod
    def of(cls, point: Indexes, session: Indexes, amount: Floats, count: int) -> Links | None:
        """Of observations of `count` sessions in the order of the points; None where they share too few versions."""
        blocks = session // _TOGETHER
        _, group, sizes = np.unique(point * (count + 1) + blocks, return_inverse=True, return_counts=True)
        several = (sizes[group] > 1) & (np.bincount(point)[point] <= MOST)
        version = np.unique(group[several], return_inverse=True)[1]
        links = cls(version, session[several], amount[several], count, _within(point, session, amount))
        linked = len(np.unique(links.session))
        return links if tell_enough(len(links.version) - links.versions, linked, count) else None

    @property
    def versions(self) -> int:
        return int(self.version.max(initial=-1)) + 1

    def centered(self, amount: Floats) -> Floats:
        """Amounts of the observations without the mean of their version."""
        means = np.bincount(self.version, amount) / np.bincount(self.version)
        centered: Floats = amount - means[self.version]
        return centered

    def far_off(self, centered: Floats, reach: float) -> Floats:
        """The offsets of sessions that are farther off than all they share versions with, in the same direction; 0 for
        others. They would be taken for noise."""
        sizes = np.bincount(self.version)[self.version]
        versions = np.bincount(self.session, minlength=self.count)
        beyond = np.bincount(self.session, np.sign(centered) * (np.abs(centered) > reach), self.count)
        is_far = (versions > 1) & (np.abs(beyond) == versions)
        offsets = np.bincount(self.session, centered * sizes / (sizes - 1), self.count) / np.maximum(versions, 1)
        return np.where(is_far, offsets, 0.0)


def _within(point: Indexes, session: Indexes, amount: Floats) -> float:
    """Half of the variance by which neighbours in a session differ: the other half is of the versions."""
    order = np.lexsort((point, session))
    moves = np.diff(amount[order])[np.diff(session[order]) == 0]
    return (NORMAL * median(np.abs(moves)) / 2) ** 2 if len(moves) else 0.0


class Prediction(msgspec.Struct, frozen=True, eq=False):
    """The offsets of all sessions, and what their covariance is made of: `variances` along each direction in which
    sessions can differ. `between` is the variance of offsets, and `noise` that of a version in one session."""

    offsets: Floats
    variances: Floats
    blocks: list[tuple[Floats, Floats]]
    between: float
    noise: float

    @property
    def covariance(self) -> Floats:
        covariance = np.zeros((len(self.offsets), len(self.offsets)))
        start = 0
        for values, vectors in self.blocks:
            end = start + len(values)
            covariance[start:end, start:end] = (vectors * self.variances[start:end]) @ vectors.T
            start = end
        return covariance


def predicted(links: Links) -> Prediction | None:
    """None where the sessions do not differ."""
    centered = links.centered(links.amount)
    reach = _FAR * NORMAL * median(np.abs(centered))
    if not reach:
        return None
    far = links.far_off(centered, reach)
    centered = links.centered(links.amount - far[links.session])
    blocks = _directions(links.version.tobytes(), links.session.tobytes(), links.count)
    values = np.concatenate([values for values, _ in blocks])
    bounded = links.centered(np.clip(centered, -reach, reach))
    along, bounded_along = (
        _along(blocks, np.bincount(links.session, amounts, links.count)) for amounts in (centered, bounded)
    )
    free = len(centered) - links.versions + _EXPECTED
    shrunk = 1 / (values + 1 / _RATIOS[:, None])
    unexplained = np.maximum(float(bounded @ bounded) - (bounded_along**2 * shrunk).sum(axis=1), _LEAST)
    unexplained += _EXPECTED * links.expected
    likelihood = -(free * np.log(unexplained) + np.log1p(_RATIOS[:, None] * values).sum(axis=1)) / 2
    weight = np.exp(likelihood - likelihood.max())
    weight /= weight.sum()
    predicted_along = _split(blocks, (weight @ shrunk) * along)
    offsets = [vectors @ amounts for (_, vectors), amounts in zip(blocks, predicted_along, strict=True)]
    noise = weight * unexplained / free
    return Prediction(
        offsets=far + np.concatenate(offsets),
        variances=noise @ shrunk,
        blocks=blocks,
        between=float(noise @ _RATIOS),
        noise=float(noise.sum()),
    )


@functools.lru_cache(maxsize=2)  # the benchmarks of a suite have the same ones
def _directions(version: bytes, session: bytes, count: int) -> list[tuple[Floats, Floats]]:
    """The eigenvalues and vectors of the graph of the sessions, a block of them at a time: in a direction with the
    value 0 no link tells how they differ."""
    versions, sessions = (np.frombuffer(numbers, dtype=np.int64) for numbers in (version, session))
    sizes = np.bincount(versions)
    blocks = []
    for start in range(0, count, _TOGETHER):
        size = min(_TOGETHER, count - start)
        chosen = (sessions >= start) & (sessions < start + size)
        of_version, of_session = np.unique(versions[chosen], return_inverse=True)[1], sessions[chosen] - start
        incidence = np.zeros((of_version.max(initial=-1) + 1, size))
        incidence[of_version, of_session] = 1 / np.sqrt(sizes[versions[chosen]])
        values, vectors = np.linalg.eigh(np.diag(np.bincount(of_session, minlength=size)) - incidence.T @ incidence)
        blocks.append((np.maximum(values, 0.0), vectors))
    return blocks


def _along(blocks: list[tuple[Floats, Floats]], of_sessions: NDArray[Any]) -> Floats:
    amounts = _split(blocks, of_sessions)
    return np.concatenate([vectors.T @ of_block for (_, vectors), of_block in zip(blocks, amounts, strict=True)])


def _split(blocks: list[tuple[Floats, Floats]], of_sessions: NDArray[Any]) -> list[Floats]:
    return np.split(of_sessions, np.cumsum([len(values) for values, _ in blocks])[:-1])
