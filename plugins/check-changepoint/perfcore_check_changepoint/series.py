"""Values as they come, made numbers to compute with.

The numbers are relative: the median is 0 and the noise about 1, whatever was measured and in which unit, so that
nothing that follows depends on either. Integers are made relative before they become floats.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace

from perfcore_check_changepoint.partition import Floats, are_places, places
from perfcore_check_changepoint.runs import Indexes, Runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)

# Beyond these, squares of values leave the range of floats (1e308); they are scaled by a power of two first.
_LARGE, _SMALL = 1e100, 1e-100
_FARTHEST = 1e12  # spreads: a value so far off is an outlier under every model, and its square is still exact enough
_PRECISION = 1e9  # parts of the noise that are told apart, so that rounding elsewhere decides nothing
_STILL = 8  # neighbours of one amount, and others at least, from which on that amount is a level without noise
_NEIGHBOURS = 5  # points whose median tells an outlier from a level
_THREE = 3
_FEW = 512  # values that are put in order in less time than parted
_CLIP = 3.0  # spreads from that median that a point counts at most
# Differences above 2.5 standard deviations are steps or strays. Without them normal values have this deviation:
# sqrt(1 - 2 * 2.5 * phi(2.5) / (2 * Phi(2.5) - 1)), phi and Phi being the normal density and distribution.
_STEP = 2.5
_WITHIN = 0.9546
# Of the logarithm of a normal deviation as differences of neighbours tell it: its variance times their number
# (J. von Neumann, 1941, Annals of Mathematical Statistics 12(4)).
_OF_LOGARITHM = 0.75
_TIED = 4  # runs for every value that they have, at least, where these are ticks of a clock, or numbers of events
_TICKS = 1.5  # from the median of a version, as far as one of its runs counts
_SELDOM = 15  # neighbours of which one pair at most differs where a value is the same until it changes, as of a counter
_MANY = 50  # differences; of fewer, a stretch with more noise is not told from steps, so the larger noise is taken
# By which factor the median distance of 2, 4, 6, ... normal runs to their median is too small: simulated, as for odd
# numbers, where it is 0.98 to 1 without the run that is the median.
_NEARER = np.array([1.415, 1.384, 1.278, 1.196, 1.148, 1.117, 1.096, 1.081, 1.071, 1.063, 1.055, 1.05])
_ODD, _EVEN = 0.5, 1.3
_HALVES = 4  # runs of which two halves tell whether those that follow each other are alike
_CLEARLY = 3.0  # standard errors by which they are
_OF_MEDIAN = 5.4  # of the square of a median absolute deviation: its relative variance times the number of values
NORMAL = 1.4826  # standard deviations in a median absolute deviation of normal noise


class Points(msgspec.Struct, frozen=True, eq=False):
    """The points of a series that have a value. `values` are the runs of all points one after the other, `point` says
    which point each belongs to, `weight` what it counts for, and `centers` are the medians of the points. `indexes` are
    the indexes of the points in what was given. `value * unit + origin` leads back to the amounts that were given.
    `quantum` is the smallest distance of two values, `first` are the first runs of the points, `medians` are the
    running medians of the centers, `single` is whether every point is one run,
    `varying`, where some versions hardly vary and others do, tells which runs are of the others, and `spread`, where it
    changes, the noise of every run relative to the typical one, `machine` being that of the machine and of the
    conditions that it measured under alone."""

    values: Floats
    point: Indexes
    weight: Floats
    centers: Floats
    indexes: Indexes
    origin: float
    unit: float
    quantum: float
    first: Indexes
    total_weight: float
    cuts: Indexes
    medians: Floats
    single: bool
    varying: NDArray[np.bool_] | None = None
    spread: Floats | None = None
    machine: Floats | None = None

    def __len__(self) -> int:
        return len(self.centers)

    @property
    def zero(self) -> float:
        """Where an amount of 0 is; infinite where it is too many units away."""
        return -self.origin / self.unit if self.unit else -math.inf

    @property
    def noise(self) -> Floats:
        """That of every point on its machine, relative to the typical one."""
        return _ones(len(self)) if self.machine is None else self.means(self.machine)

    @property
    def run_noise(self) -> float:
        """That of a run around the level, relative to that of points, at least as much: more where each has many runs
        that differ."""
        if self.single:
            return 1.0
        values, counts = self.values, np.bincount(self.point).astype(float)
        if self.machine is not None:
            middles = self.centers[self.point]
            values = middles + (values - middles) / self.machine
        between, within = _variances(values, self.centers, self.point, counts)
        return max(math.sqrt(between + within), 1.0)

    def per_run(self, amounts: Floats) -> Floats:
        """The amounts of the points, for each of their runs."""
        return amounts if self.single else amounts[self.point]

    def minus(self, amounts: Floats) -> Points:
        """The same points without these amounts of theirs."""
        centers = self.centers - amounts
        values = centers if self.single else self.values - self.per_run(amounts)
        return replace(self, values=values, centers=centers, medians=running_medians(centers, _NEIGHBOURS))

    def without_outliers(self) -> Floats:
        """The centers, none of them far from the median of its neighbours, whatever the level does."""
        return _near(self.centers, self.medians, None if self.machine is None else self.noise)

    def spread_by(self, parts: Floats | None) -> Points:
        """The same points, whose noise is that of their machine times these parts."""
        if parts is None:
            return replace(self, spread=self.machine)
        runs = self.per_run(parts)
        return replace(self, spread=runs if self.machine is None else runs * self.machine)

    def by_conditions(self, numbers: Indexes) -> Points:
        """The same points, of which each has the noise of those that were measured on the same machine under the same
        conditions; `numbers` are those of the conditions of every point."""
        machines = 0 if self.machine is None else np.unique(self.machine, return_inverse=True)[1]
        conditions = np.unique(machines * (numbers.max() + 1) + numbers[self.point], return_inverse=True)[1]
        return self.with_noise(_noise_of_machines(self.values, self.point, conditions))

    def with_noise(self, machine: Floats | None) -> Points:
        """The same points with this noise of their runs, and with the places that are left for changes."""
        noise = None if machine is None else self.means(machine)
        cuts = places(_near(self.centers, self.medians, noise), noise)
        return replace(self, cuts=cuts, spread=machine, machine=machine)

    def means(self, values: Floats) -> Floats:
        """Means over the runs of every point."""
        if self.single:
            return values
        means: Floats = np.bincount(self.point, values) / np.bincount(self.point)
        return means


@functools.lru_cache(maxsize=256)
def _ones(count: int) -> Floats:
    ones = np.ones(count)
    ones.flags.writeable = False
    return ones


def read(given: Runs) -> Points | None:
    """The points; None where there are fewer than two, or all are equal. Those without a run are left out."""
    runs, counts = given.amounts, given.counts
    indexes = counts.nonzero()[0]
    if len(indexes) < 2:
        return None
    origin = _middle(runs)
    flat, power = _relative(runs, origin)
    middle = median(flat)  # of an even number of runs it is between two, so that neither sign is preferred
    flat = flat - middle
    if len(flat) == len(indexes):
        first = point = np.arange(len(indexes))
        centers = flat
    else:
        counts = counts[indexes]
        first = np.cumsum(counts) - counts
        point = np.repeat(np.arange(len(indexes)), counts)
        centers = _between_ticks(medians(flat, first, point), flat, point)
    unit = _spread(centers, _least(flat, centers, point)) or _spread(flat)
    if unit == 0:
        return None
    single = centers is flat
    flat = _standard(flat, unit)
    centers = flat if single else _standard(centers, unit)
    apart = _distances(flat)
    weight = _weights(flat, centers, point)
    middles = running_medians(centers, _NEIGHBOURS)
    points = Points(
        values=flat,
        point=point,
        weight=weight,
        centers=centers,
        indexes=indexes,
        origin=as_float(origin) + _ldexp(middle, power),
        unit=_ldexp(unit, power),
        quantum=float(apart.min()) if len(apart) else 0.0,
        first=first,
        total_weight=float(weight.sum()),
        cuts=first,
        medians=middles,
        single=single,
        varying=_varying(flat, centers, point),
    )
    return points.with_noise(None if given.machines is None else _noise_of_machines(flat, point, given.machines))


class Rows(msgspec.Struct, frozen=True, eq=False):
    """What `Points` has of several series at once, each of one run for every point: `numbers` says which these are, and
    `cuts` of each point (column) whether a stretch may begin there."""

    numbers: Indexes
    centers: Floats
    medians: Floats
    cuts: NDArray[np.bool_]


def read_rows(rows: Floats) -> Rows | None:
    """The same of series (rows) whose points all have one run, in a fraction of the time that they take one by one.
    Those for which more has to be looked at are left out; None where that are all of them."""
    if rows.shape[1] <= _NEIGHBOURS:
        return None
    sizes = np.abs(rows).max(axis=1)
    numbers = np.flatnonzero((sizes <= _LARGE) & ((sizes >= _SMALL) | (sizes == 0)))  # none of them is NaN
    half = rows.shape[1] // 2
    flat = rows[numbers]
    ordered = np.sort(flat, axis=1)
    origins = ordered[:, half, None].copy()
    flat -= origins
    ordered -= origins
    flat -= middles_of_ordered(ordered)[:, None]
    units = np.array([_spread(row) for row in flat])
    numbers, flat, units = numbers[units > 0], flat[units > 0], units[units > 0]
    if not len(numbers):
        return None
    centers = _standard(flat, units[:, None])
    middles = running_medians(centers, _NEIGHBOURS)
    return Rows(numbers, centers, middles, are_places(_near(centers, middles, None), None))


def _noise_of_machines(values: Floats, point: Indexes, machines: Indexes) -> Floats | None:
    """The noise of every run on its machine, in that of the whole series. An estimate is off as well, so only as much
    of its distance from the mean of all machines counts as is not explained by that: the share 1 - variance /
    distance^2, and nothing below 0 (W. James and C. Stein, 1961, Berkeley Symposium 4(1)). None where a machine shows
    no noise at all, or fewer than two have enough versions."""
    owned = [np.flatnonzero(machines == number) for number in range(int(machines.max()) + 1)]
    logarithms, counts = np.array([_noise_of_machine(values[mine], point[mine]) for mine in owned]).T
    if not np.isfinite(logarithms).all() or np.count_nonzero(counts) < 2:
        return None
    mean = float(counts @ logarithms) / float(counts.sum())
    distances = (logarithms - mean) * (counts > 0)
    distances *= 1 - _OF_LOGARITHM / np.maximum(counts * distances**2, _OF_LOGARITHM)
    noise = np.empty(len(values))
    for mine, distance in zip(owned, distances.tolist(), strict=True):
        noise[mine] = math.exp(mean + distance)
    return noise


def _noise_of_machine(values: Floats, point: Indexes) -> tuple[float, int]:
    """Its logarithm, and how many versions tell it; 0 of too few."""
    first = np.flatnonzero(np.diff(point, prepend=-1))
    if len(first) < _STILL:
        return 0.0, 0
    spread = _spread(medians(values, first, point))
    return math.log(spread) if spread else -math.inf, len(first)


def _varying(values: Floats, centers: Floats, point: Indexes) -> NDArray[np.bool_] | None:
    """The runs of points beside those that never vary: of one amount that all of many neighbours have, and nobody else.
    None where there are none, or too few others to tell their noise."""
    same = centers[1:] == centers[:-1]
    if np.count_nonzero(same) < _STILL - 1:  # as in nearly all series: no need to look where they are
        return None
    bounds = np.concatenate([[0], np.flatnonzero(~same) + 1, [len(centers)]])
    lengths = np.diff(bounds)
    if lengths.max() < _STILL:
        return None
    still = np.zeros(len(centers), dtype=bool)
    for start, length in zip(bounds[:-1][lengths >= _STILL], lengths[lengths >= _STILL], strict=True):
        if int((centers == centers[start]).sum()) == length:
            still[start : start + length] = True
    varying = ~still[point] | (values != centers[point])
    return varying if _STILL <= int((~still).sum()) < len(centers) else None


def in_logarithms(points: Points) -> Points | None:
    """The same points on a logarithmic scale, for noise in proportion to the level. All amounts have to be above 0.
    Neither `origin` nor `unit` leads back to amounts; None where all are equal."""
    values, centers = np.log(points.values - points.zero), np.log(points.centers - points.zero)
    unit = _spread(centers, _least(values, centers, points.point))
    if unit == 0:
        return None
    values, centers = _standard(values - median(centers), unit), _standard(centers - median(centers), unit)
    apart = _distances(values)
    weight = _weights(values, centers, points.point)
    return replace(
        points,
        values=values,
        centers=centers,
        weight=weight,
        quantum=float(apart.min()) if len(apart) else 0.0,
        total_weight=float(weight.sum()),
        medians=running_medians(centers, _NEIGHBOURS),
    )


def median(values: Floats) -> float:
    """The median of values without NaN, several times as fast as NumPy's, which looks for it."""
    half, parted = len(values) // 2, values.copy()
    if len(values) <= _FEW:
        parted.sort()
        return middle_of_ordered(parted)
    if len(values) % 2:
        parted.partition(half)
        return parted.item(half)
    parted.partition((half - 1, half))
    return parted.item(half - 1) * 0.5 + parted.item(half) * 0.5


def middle_of_ordered(values: Floats) -> float:
    """The median of values in order."""
    half = len(values) // 2
    return values.item(half) if len(values) % 2 else values.item(half - 1) * 0.5 + values.item(half) * 0.5


def middles_of_ordered(rows: Floats) -> Floats:
    """The medians of rows in order."""
    half = rows.shape[1] // 2
    middles: Floats = rows[:, half] if rows.shape[1] % 2 else rows[:, half - 1] * 0.5 + rows[:, half] * 0.5
    return middles


def medians(runs: Floats, first: Indexes, point: Indexes) -> Floats:
    """Those of every point, of its runs."""
    counts = np.diff(np.append(first, len(runs)))
    count = len(runs) // max(1, len(first))
    if len(first) and (counts == count).all():  # as nearly always: rows in order take a tenth of the time
        ordered = np.sort(runs.reshape(-1, count), axis=1, kind="stable").ravel()
    else:
        ordered = runs[np.lexsort((runs, point))]
    low, high = first + (counts - 1) // 2, first + counts // 2
    middles: Floats = ordered[low] * 0.5 + ordered[high] * 0.5
    return middles


def _between_ticks(middles: Floats, runs: Floats, point: Indexes) -> Floats:
    """The medians of points as means of the runs that are one tick from them, and others as if they were, where most
    runs have the value of another one: the median of runs of 12 and 13 ms is one of these, and says little of how many
    there are of each."""
    apart = _distances(runs)
    if (len(apart) + 1) * _TIED > len(runs) or not len(apart):
        return middles
    offsets = within(runs - middles[point], _TICKS * float(apart.min()))
    means: Floats = middles + np.bincount(point, offsets) / np.bincount(point)
    return means


def quantile(values: Floats, share: float) -> float:
    """Between the values next to it in proportion, as NumPy's, which imports masked arrays."""
    ordered = np.sort(values)
    low, part = divmod(share * (len(ordered) - 1), 1)
    first, second = (ordered.item(min(int(low) + step, len(ordered) - 1)) for step in (0, 1))
    return first + (second - first) * part if part < 0.5 else second - (second - first) * (1 - part)


def distinct(values: NDArray[Number]) -> NDArray[Number]:
    """The values, each once, in order; in a fifth of the time of NumPy's `unique`, which imports masked arrays."""
    ordered = values.copy()
    ordered.sort()
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    once: NDArray[Number] = ordered[first]
    return once


def _distances(values: Floats) -> Floats:
    """Those of distinct values that are neighbours in order."""
    once = distinct(values)
    apart: Floats = once[1:] - once[:-1]
    return apart


def within(values: Floats, bound: float) -> Floats:
    """The values, none of them beyond the bound in either direction."""
    bounded: Floats = np.maximum(values, -bound)
    return np.minimum(bounded, bound, out=bounded)


def running_medians(values: Floats, width: int) -> Floats:
    """Medians of `width` neighbours (3 or 5), as many as fit; also those of rows, in which one fits."""
    if values.shape[-1] < width:
        return np.array([median(values)])
    # Comparisons of whole arrays (W. Paeth, 1990, Graphics Gems): several times as fast as windows put in order.
    before, after = values[..., :-1], values[..., 1:]
    low, high = np.minimum(before, after), np.maximum(before, after)
    if width == _THREE:
        return _middle_of(low[..., :-1], high[..., :-1], values[..., 2:])
    count = values.shape[-1] - width + 1
    lower = np.maximum(low[..., :count], low[..., 2 : count + 2])
    upper = np.minimum(high[..., :count], high[..., 2 : count + 2])
    return _middle_of(np.minimum(lower, upper), np.maximum(lower, upper), values[..., width - 1 :])


def _middle_of(low: Floats, high: Floats, other: Floats) -> Floats:
    """The middle of three, of which the first is the least of two and the second is the greatest of them."""
    middles: Floats = np.maximum(low, np.minimum(high, other))
    return middles


def _near(amounts: Floats, inner: Floats, noise: Floats | None) -> Floats:
    """The amounts, or rows of them, none far from the medians of their neighbours, of which `inner` are those that have
    some on both sides. `noise` is that of each amount, or 1."""
    if amounts.shape[-1] < _NEIGHBOURS:
        return amounts
    edge = _NEIGHBOURS // 2
    middles = np.empty(amounts.shape)
    middles[..., :edge], middles[..., -edge:] = inner[..., :1], inner[..., -1:]
    middles[..., edge:-edge] = inner
    reach = _CLIP if noise is None else _CLIP * noise
    bounded: Floats = np.minimum(np.maximum(amounts, middles - reach), middles + reach)
    return bounded


def _standard(values: Floats, unit: float | Floats) -> Floats:
    """In units of the noise, clipped to the range in which integers can count cells."""
    with np.errstate(over="ignore"):
        near = np.minimum(np.maximum(values / unit, -_FARTHEST), _FARTHEST)
    return np.rint(near * _PRECISION) / _PRECISION


def _middle(runs: Sequence[float]) -> float:
    """A middle value of the input, not a mean of two, so that integers stay integers."""
    half = len(runs) // 2
    if isinstance(runs, np.ndarray):
        parted = runs.copy()
        parted.partition(half)
        return float(parted[half])
    return sorted(runs)[half]


def _relative(runs: Sequence[float], origin: float) -> tuple[Floats, int]:
    """Distances from the origin, and the power of two that they were divided by so that they can be squared."""
    if not isinstance(runs, np.ndarray) and isinstance(origin, int):
        runs, origin = [as_float(run - origin) for run in runs], 0.0
    floats = np.asarray(runs, dtype=float)
    power = _power(float(np.abs(floats).max()))
    return (np.ldexp(floats, -power) - math.ldexp(origin, -power), power) if power else (floats - origin, 0)


def _power(largest: float) -> int:
    """0, but for numbers that are very large or very small."""
    return math.frexp(largest)[1] if largest > _LARGE or 0 < largest < _SMALL else 0


def as_float(run: float) -> float:
    """The nearest float that is finite."""
    try:
        return float(run)
    except OverflowError:
        return 1.7e308 if run > 0 else -1.7e308


def as_floats(amounts: Sequence[float]) -> Floats:
    """The nearest floats that are finite."""
    return amounts if isinstance(amounts, np.ndarray) else np.array([as_float(amount) for amount in amounts])


def _ldexp(unit: float, power: int) -> float:
    try:
        return math.ldexp(unit, power)
    except OverflowError:
        return 1.7e308


def _spread(values: Floats, least: float = 0.0) -> float:
    """The noise, at least `least`, from differences of neighbours, of which a step changes one only.

    Their median absolute value tells which of them are steps or strays; the root mean square of the others varies by
    three quarters as much. The median is small where most neighbours are equal, their trimmed mean is not; where even
    that is 0 (a counter that never varies), a fraction of the smallest difference makes every step stand out, or of
    the least noise, where that is less: at once where steps are all that varies. Where most of a history does not vary
    at all and a segment of it does, the noise is that of the segment.
    """
    differences = np.abs(values[1:] - values[:-1])
    steps = differences.copy()
    steps.sort()
    if not len(steps) or steps[-1] == 0:
        return 0.0
    middle = middle_of_ordered(steps) * NORMAL / math.sqrt(2)
    if middle:
        near = steps[: int(steps.searchsorted(_STEP * math.sqrt(2) * middle, side="right"))]
        deviation = math.sqrt(float(near.dot(near)) / (2 * len(near))) / _WITHIN
        middle = deviation if len(steps) >= _MANY else max(middle, deviation)
    most = steps[: max(1, int(0.9 * len(steps)))]
    trimmed = float(np.add.reduce(most)) / len(most) * 1.1
    spread = max(middle, trimmed / 2)
    if middle == 0 and (varying := [size for size in running_medians(differences, 5).tolist() if size > 0]):
        stretch = median(np.array(varying)) * NORMAL / math.sqrt(2)
        spread = stretch if stretch > 3 * spread else spread
    if steps[0] / 2 > 0 and spread >= steps[0] / 2:  # and so no less than half of the smallest distance
        return max(spread, least)
    moves = np.count_nonzero(steps)
    smallest = float(_distances(values).min()) / (4 if moves == 1 or moves * _SELDOM <= len(steps) else 2)
    return max(spread, least, min(smallest, 4 * least or smallest))


def _least(values: Floats, centers: Floats, point: Indexes) -> float:
    """The least noise that medians of versions can be said to have: half of what they have where the runs are all that
    varies. 0 where every version is one run."""
    if len(values) == len(centers):
        return 0.0
    counts = np.bincount(point).astype(float)
    return 0.5 * math.sqrt(_of_median(median(counts))) * _within(values, centers, point, counts)


def _within(values: Floats, centers: Floats, point: Indexes, counts: Floats) -> float:
    """The noise of the runs in their versions, where any has several, told by their distances to its median. The run
    that is the median of an odd number tells nothing; of an even number, both in the middle are nearer to it than to
    where the version is."""
    several = counts[point] > 1
    is_odd = counts % 2 == 1
    nearer = np.where(is_odd, 1.0, _NEARER.take(counts.astype(np.int64) // 2 - 1, mode="clip"))
    distances = (np.abs(values - centers[point]) * nearer[point])[several]
    distances.sort()
    return middle_of_ordered(distances[np.count_nonzero(is_odd & (counts > 1)) :]) * NORMAL


def _of_median(count: float) -> float:
    """The variance of the median of so many normal values, in that of one: pi / (2 n) of very many (Laplace), and
    within 1 % of what a simulation has from three on, 4 % of two."""
    return math.pi / 2 / (count + (_ODD if count % 2 else _EVEN))


def _variances(values: Floats, centers: Floats, point: Indexes, counts: Floats) -> tuple[float, float]:
    """The variances between the versions and within them, where the medians of versions vary by 1."""
    within = _within(values, centers, point, counts) ** 2
    return max(1.0 - _of_median(median(counts)) * within, 0.0), within


def _weights(values: Floats, centers: Floats, point: Indexes) -> Floats:
    """The weight of every run. The runs of a version share the state of the machine, so ten of them hold less
    information than ten versions. With variances b between and w within versions, the mean of r runs has the variance
    b + f w/r, as that of (b + w) / (b + f w/r) independent runs, f being 1 if runs that follow each other are no more
    alike than others."""
    if len(values) == len(centers):
        return np.ones(len(values))
    counts = np.bincount(point).astype(float)
    between, within = _variances(values, centers, point, counts)
    of_mean = between + within / counts * (
        _alikeness(values - centers[point], point, counts, within) if within else 1.0
    )
    effective = (between + within) / of_mean if between + within > 0 else np.ones(len(counts))
    weights: Floats = (np.clip(effective, 1.0, counts) / counts)[point]
    return weights


def _alikeness(distances: Floats, point: Indexes, counts: Floats, within: float) -> float:
    """By which factor the means of the first and the second half of the runs of a version differ by a larger variance
    than those of independent runs would, as if both halves are of sessions that nobody told; 1 unless clearly more."""
    near = np.clip(distances / math.sqrt(within), -_CLIP, _CLIP)  # a run that was disturbed tells no more
    places = np.arange(len(distances)) - (np.cumsum(counts) - counts)[point]
    side = np.sign(2 * places + 1 - counts[point])  # 0 of a run in the middle
    chosen = counts >= _HALVES
    halves = counts // 2
    differences = (np.bincount(point, near * side)[chosen]) / halves[chosen]
    if not len(differences):
        return 1.0
    standard = np.abs(differences) / np.sqrt(2 / halves[chosen])
    factor = (median(standard) * NORMAL) ** 2
    return factor if factor > 1 + _CLEARLY * math.sqrt(_OF_MEDIAN / len(differences)) else 1.0
