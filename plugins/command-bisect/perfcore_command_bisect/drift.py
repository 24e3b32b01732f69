"""What a machine did between sessions, seen in the ends, which are measured in most of them.

Only the ends tell. A version that is believed to be like one of them must not: an offset of its session would explain
away what speaks against that belief.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import attrs

from perfcore_command_bisect import noise

# Ratios of the variance between sessions to that of a run. Below half, a drift changes no answer; powers of two are
# fine enough, because the likelihood changes slowly with the ratio.
_RATIOS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)
# The prior that sessions differ more than runs do. With more, one bisection in eight under steady noise was taken for a
# drift, and a quarter of those were wrong at a stated 98 %.
PRIOR = 0.02
# Scales beyond which a value says nothing about its session: 1.2 % of normal noise, and nearly all spikes
_SPIKE = 2.5
_APART = 0.5  # what sessions share of the noise where nothing was measured that tells
# Sessions that can show a drift: two levels and a variance are estimated from them
FEWEST = 4
_FINEST = 1e-3  # of a scale: no noise is smaller


@attrs.frozen
class Group:
    """The amounts of one version in one session. `apart` says that no end was measured with them."""

    place: int
    session: str
    amounts: tuple[float, ...]
    apart: bool = False


@attrs.frozen
class Settled:
    """Groups without what their sessions did. A group counts as `weights[i]` runs for each of its runs."""

    groups: tuple[Group, ...]
    weights: tuple[float, ...]


@attrs.frozen
class Endpoints:
    """The places of the ends, where their levels are, and the scale of the noise."""

    places: tuple[int, int]
    levels: tuple[float, float]
    scale: float

    def residuals(self, group: Group) -> list[float]:
        """How far an end's amounts are from its level; nothing for others."""
        if group.apart or group.place not in self.places:
            return []
        level, reach = self.levels[self.places.index(group.place)], _SPIKE * self.scale
        return [max(-reach, min(reach, amount - level)) for amount in group.amounts]


@attrs.frozen
class Drift:
    """How likely it is that sessions differ more than runs do; if so, the likeliest ratio of the variance of their
    offsets to that of a run, and where the ends are then."""

    probability: float
    ratio: float
    ends: Endpoints


def still(groups: Sequence[Group]) -> Settled:
    """As they are: runs are all that differs."""
    return Settled(tuple(groups), tuple(_weight(group, 0.0) for group in groups))


def settle(groups: Sequence[Group], found: Drift) -> Settled:
    """Without the offset of each session, as far as its ends tell it. What is left of an offset is shared by the runs
    of a session. An end that tells the offset for another version is used up by that."""
    ends, ratio = found.ends, found.ratio
    calm = _without_spikes(groups, ends.scale)
    # The offset of a session is predicted as ratio n / (1 + ratio n) of the mean residual of its n runs of ends: the
    # best linear unbiased prediction (G. K. Robinson, That BLUP is a good thing, 1991).
    residuals: dict[str, list[float]] = {}
    others = {group.session for group in groups if group.place not in ends.places}
    for group in calm:
        residuals.setdefault(group.session, []).extend(ends.residuals(group))
    settled, weights = [], []
    for group in groups:
        residual, runs = residuals[group.session], len(group.amounts)
        share = ratio / (ratio + 1 / len(residual)) if residual else 0.0
        offset = share * statistics.fmean(residual) if residual else 0.0
        settled.append(attrs.evolve(group, amounts=tuple(amount - offset for amount in group.amounts)))
        if group.place not in ends.places or group.apart:
            weight = (1 - share) * ratio
            weights.append(_weight(group, weight / (1 + weight)))
        else:
            weights.append((runs - share) / runs if group.session in others else 1.0)
    return Settled(tuple(settled), tuple(weights))


def seen(groups: Sequence[Group], ends: Endpoints) -> Drift:
    """By Bayes' rule, for normal noise of unknown size; `ends` is a first guess."""
    sessions: dict[str, list[list[float]]] = {}
    groups = _without_spikes(groups, ends.scale)
    for group in groups:
        if residuals := ends.residuals(group):
            sessions.setdefault(group.session, [[], []])[ends.places.index(group.place)].extend(residuals)
    # Both levels are estimated, so both ends need runs somewhere.
    shared = all(any(amounts) for amounts in zip(*sessions.values(), strict=True))
    if len(sessions) < FEWEST or not shared:
        return Drift(0.0, 0.0, ends)
    # The noise within sessions, which no offset changes: sums of squares around each group's own mean.
    many = [group.amounts for group in groups if len(group.amounts) > 1]
    squares = (_FINEST * ends.scale) ** 2 + sum(statistics.variance(values) * (len(values) - 1) for values in many)
    freedom = sum(len(values) - 1 for values in many)
    fits = [_fit(list(sessions.values()), squares, freedom, ratio) for ratio in (0.0, *_RATIOS)]
    most = max(fit[0] for fit in fits)
    # The best is taken off first, since the exponential of a log likelihood of many runs underflows.
    none, *drifts = (math.exp(fit[0] - most) for fit in fits)
    # All ratios are equally likely beforehand, which on powers of two is about flat in the logarithm of the ratio.
    moved = PRIOR * statistics.fmean(drifts)
    best = drifts.index(max(drifts))
    levels = ends.levels[0] + fits[best + 1][1], ends.levels[1] + fits[best + 1][2]
    return Drift(moved / (moved + (1 - PRIOR) * none), _RATIOS[best], attrs.evolve(ends, levels=levels))


def _fit(
    sessions: Sequence[Sequence[Sequence[float]]], squares: float, freedom: int, ratio: float
) -> tuple[float, float, float]:
    """The log likelihood of a ratio, over all levels and sizes of the noise, and the likeliest levels."""
    # Runs of a session have the covariance I + ratio J (J: all ones), with the inverse I - ratio J / (1 + ratio n) and
    # the determinant 1 + ratio n (J. Sherman and W. J. Morrison, 1950). With both levels and the size of the noise
    # integrated out this is the restricted likelihood (H. D. Patterson and R. Thompson, 1971):
    #   (logs - log |X' V^-1 X| - (N - 2) log RSS) / 2
    aa = ab = bb = a = b = residual_squares = logs = 0.0
    for good, bad in sessions:
        n, m = len(good), len(bad)
        x, z = math.fsum(good) / max(1, n), math.fsum(bad) / max(1, m)
        shared = ratio / (1 + ratio * (n + m))
        nn, nm, mm = n - n * n * shared, -n * m * shared, m - m * m * shared
        aa, ab, bb = aa + nn, ab + nm, bb + mm
        a, b = a + nn * x + nm * z, b + nm * x + mm * z
        residual_squares += nn * x * x + 2 * nm * x * z + mm * z * z
        logs -= math.log(1 + ratio * (n + m))
        freedom += bool(n) + bool(m)
    determinant = aa * bb - ab * ab
    level_a, level_b = (bb * a - ab * b) / determinant, (aa * b - ab * a) / determinant
    residual_squares = squares + max(0.0, residual_squares - level_a * a - level_b * b)
    return 0.5 * (logs - math.log(determinant) - (freedom - 2) * math.log(residual_squares)), level_a, level_b


def _without_spikes(groups: Sequence[Group], scale: float) -> list[Group]:
    """With amounts that are far from the others of their group moved nearer: what is far is told by the runs within
    sessions, and `scale` where these are all the same."""
    middles = [statistics.median(group.amounts) for group in groups]
    group_middles = list(zip(groups, middles, strict=True))
    sizes = [
        abs(amount - middle) for group, middle in group_middles if len(group.amounts) > 1 for amount in group.amounts
    ]
    # Pulled in and not dropped (P. J. Huber, 1964): a session whose only run is a spike still counts a little.
    reach = _SPIKE * (noise.scale_of(sizes, 0.0, 0.0) or scale)
    return [
        attrs.evolve(group, amounts=tuple(max(middle - reach, min(middle + reach, a)) for a in group.amounts))
        for group, middle in group_middles
    ]


def _weight(group: Group, shared: float) -> float:
    shared = max(shared, _APART) if group.apart else shared
    # The design effect of runs that share a part of their noise (L. Kish, Survey Sampling, 1965).
    return 1 / (1 + (len(group.amounts) - 1) * shared)
