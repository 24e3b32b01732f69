"""Which of many versions changed an amount, how sure that is, and what to measure next: Bayes' rule, no I/O.

Versions stand in an order from the good end, place 0, to the bad end, parents before children. The question is with
which of them the level changes from that of the good end to that of the bad one: that version and all that contain it
are bad, the others good. Every run counts for every hypothesis: runs before the change are of
one level, runs after it of the other, and neither the levels nor the noise are known beforehand (`noise`). So a run
in the middle also teaches what the ends are like, and few runs of the ends suffice.

What a machine does between sessions would look like a change. Therefore each measurement of a version is taken in turn
with an end (version, end, version: the middle of both is the same instant), and where ends show that sessions differ
more than runs do, every amount enters without its session's offset (`drift`), and the end is measured as often as the
version. A machine that holds still needs one run of an end for two of a version, and these are not lost: they make the
level of that end better known. Where a version is best run only once, which happens only where it costs nothing to get
ready for it, every second one does without an end as long as no session shows a drift.

First the ends have to differ by more than the smallest change that matters (`gap`): until that is as sure as the answer
has to be, only they are run again.

The next version is the one whose run is expected to tell most; how often it is run weighs what is learnt against what
it costs to get there.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import statistics
from collections.abc import Sequence

import attrs

from perfcore_command_bisect import drift, noise
from perfcore_command_bisect import effect as gaps
from perfcore_command_bisect.drift import Group, Settled
from perfcore_command_bisect.effect import LEVEL, Gap

FIRST_RUNS = 4  # of each end
MORE_RUNS = 2
SMALLEST = 0.01  # the smallest relative change that matters
SURE = 0.95
_PRIOR_NOTHING = 0.05
_DOUBT = 0.05  # about the side of a version that is used to know what the levels are about
_TIMES = (1, 2, 3, 4, 6, 8)
_UNHEARD = 0.15  # the probability of a drift below which nobody asks what it would mean
_NEGLIGIBLE = 12.0  # nats below the best explanation of the noise
_FINEST = 40.0  # scales in a step beyond which noise is not looked at any finer
_ENDS_SHARE = 0.5  # of all runs, for finding out whether the ends differ at all
_LEAST = 1e-9
_SAME = 20 * _LEAST  # no smaller difference is one
_POINTS = 32

Row = Sequence[float]


@attrs.frozen
class Evidence:
    """Amounts of the version at a place. What was measured in turn shares a session; `apart` says that no end was
    measured in it, as in profiles that were there before."""

    place: int
    amounts: tuple[float, ...]
    session: str
    apart: bool = False


@attrs.frozen(kw_only=True)
class Question:
    """`places` versions, the first good, the last bad. `prior[i]` says how likely version i is to have made the change
    (nothing: all alike; `prior[0]` does not count). `broken` places cannot be measured. Of the pairs in `alike`, both
    versions are the same program, so no version made the change that only one of them contains. `contains[i]` has a bit
    for every place that version i contains, itself too (nothing: all before it, a history without branches)."""

    places: int
    prior: tuple[float, ...] = ()
    broken: frozenset[int] = frozenset()
    alike: frozenset[tuple[int, int]] = frozenset()
    contains: tuple[int, ...] = ()

    def inside(self, place: int) -> int:
        """The bits of the places that a version contains."""
        return self.contains[place] if self.contains else (2 << place) - 1

    def shares(self) -> list[float]:
        """The prior of each place, of the whole 1; all 0 where nothing can have made the change."""
        shares = list(self.prior) if self.prior else [1.0] * self.places
        innocent = 1
        for one, other in self.alike:
            innocent |= self.inside(one) ^ self.inside(other)
        shares = [_positive(share) if not innocent >> place & 1 else 0.0 for place, share in enumerate(shares)]
        whole = sum(shares)
        return [share / whole for share in shares] if whole else shares

    def sums(self, probabilities: Sequence[float]) -> list[float]:
        """How likely each version is to be bad."""
        if not self.contains:
            return list(itertools.accumulate(probabilities))
        known = [(place, p) for place, p in enumerate(probabilities) if p]
        return [sum(p for place, p in known if bits >> place & 1) for bits in self.contains]


@attrs.frozen(kw_only=True)
class Belief:
    """`probabilities[i]`: that version i made the change; `nothing`: that the ends do not differ. `step` is the size of
    the change with its interval, `good` the level of the good end: a ratio and an amount where `logarithmic`, else
    differences. `scale` and `shape` are the likeliest noise. `drifts`: sessions differ more than runs do. `runs` are
    those of the good end, of the bad end and of all versions, `sessions` those with an end and those without; profiles
    that were there before do not count. `gap` is what their own runs say of the ends, as soon as both have some."""

    probabilities: tuple[float, ...]
    nothing: float
    runs: tuple[int, int, int] = (0, 0, 0)
    sessions: tuple[int, int] = (0, 0)
    gap: Gap | None = None
    logarithmic: bool = True
    good: float = 0.0
    step: float = 0.0
    low: float = 0.0
    high: float = 0.0
    scale: float = 1.0
    shape: float = 0.0
    drifts: bool = False

    @property
    def entropy(self) -> float:
        """How much is not known yet, in bits."""
        return -sum(p * math.log2(p) for p in (*self.probabilities, self.nothing) if p > 0)


@attrs.frozen
class Answer:
    """The change came with one of these versions, which no version that can be measured tells apart."""

    places: tuple[int, ...]
    probability: float


@attrs.frozen
class Measurement:
    """What to run in turn: a version so many times, and an end; for the first of all, both ends."""

    place: int
    times: int
    end: int
    end_times: int


def believe(question: Question, evidence: Sequence[Evidence], smallest: float = SMALLEST) -> Belief:
    """What the evidence says, whatever its order. Amounts that are no finite numbers are no evidence; `smallest` is the
    smallest relative change that matters."""
    shares = question.shares()
    groups, unit = _groups(evidence)
    logarithmic = unit is None
    ends = 0, question.places - 1
    if not any(shares):
        return Belief(probabilities=tuple(shares), nothing=1.0, logarithmic=logarithmic)
    if any(not any(group.place == end for group in groups) for end in ends):
        left = 1 - _PRIOR_NOTHING
        return Belief(probabilities=tuple(left * p for p in shares), nothing=_PRIOR_NOTHING, logarithmic=logarithmic)
    levels = _Levels.of(groups, {0: 0.0, ends[1]: 1.0})
    belief = _of_settled(question, drift.still(groups), smallest, logarithmic)
    seen = drift.seen(groups, drift.Ends(ends, levels.centres, levels.scale))
    if seen.probability > _UNHEARD:
        moving = _of_settled(question, drift.settle(groups, seen), smallest, logarithmic)
        belief = _mixed(belief, moving, seen.probability)
    belief = attrs.evolve(belief, runs=_counts(groups, ends), sessions=_sessions(groups, ends))
    return belief if unit is None else _in_unit(belief, unit)


def _of_settled(question: Question, settled: Settled, smallest: float, logarithmic: bool) -> Belief:
    """What groups say whose sessions do not differ any more."""
    shares, ends = question.shares(), (0, question.places - 1)
    sides = {0: 0.0, ends[1]: 1.0}
    levels = _Levels.of(settled.groups, sides)
    for _ in range(2):
        posterior = _Posterior.of(settled, levels, question)
        probabilities, nothing = posterior.probabilities(shares)
        rest = max(1 - nothing, _LEAST)
        bad = [p / rest for p in question.sums(probabilities)]
        sides = {place: p for place, p in enumerate(bad) if not _DOUBT < p < 1 - _DOUBT} | {0: 0.0, ends[1]: 1.0}
        again = _Levels.of(settled.groups, sides)
        if again == levels:
            break
        levels = again
    return attrs.evolve(posterior.belief(shares), gap=posterior.gap(smallest, logarithmic))


def _mixed(still: Belief, moving: Belief, share: float) -> Belief:
    """Of two beliefs, the second of which has this probability."""
    assert still.gap is not None
    assert moving.gap is not None
    likelier = attrs.evolve(moving, drifts=True) if share > 0.5 else still
    beyond = (1 - share) * still.gap.beyond + share * moving.gap.beyond
    both = zip(still.probabilities, moving.probabilities, strict=True)
    return attrs.evolve(
        likelier,
        probabilities=tuple((1 - share) * one + share * other for one, other in both),
        nothing=(1 - share) * still.nothing + share * moving.nothing,
        gap=attrs.evolve(moving.gap if share > 0.5 else still.gap, beyond=beyond),
    )


def _in_unit(belief: Belief, unit: float) -> Belief:
    sizes = {name: getattr(belief, name) * unit for name in ("good", "step", "low", "high", "scale")}
    gap = belief.gap and belief.gap.scaled(unit)
    return attrs.evolve(belief, logarithmic=False, gap=gap, **sizes)


def answer(question: Question, belief: Belief) -> Answer:
    """The likeliest version, or versions that cannot be told apart, and how likely they are."""
    groups: dict[int, list[int]] = {}
    for place, key in enumerate(_descendants(question)):
        if place:
            groups.setdefault(key, []).append(place)
    found = [
        Answer(tuple(group), math.fsum(belief.probabilities[place] for place in group)) for group in groups.values()
    ]
    return max(found, key=lambda one: (one.probability, -one.places[0]))


def credible(belief: Belief, level: float) -> tuple[int, int]:
    """The shortest row of versions that holds the change with this probability; all of them where none does."""
    sums = list(itertools.accumulate(belief.probabilities))
    best = 1, len(sums) - 1
    for first in range(1, len(sums)):
        last = bisect.bisect_left(sums, sums[first - 1] + level)
        if last >= len(sums):
            break
        if last - first < best[1] - best[0]:
            best = first, last
    return best


def alike(belief: Belief, most: int, sure: float = SURE) -> bool:
    """Whether the ends hardly differ, or so many runs, of which they may have half, will not tell that they do."""
    runs, gap = min(belief.runs[:2]), belief.gap
    if gap is None or runs < FIRST_RUNS:
        return False
    return gap.negligible or (gap.beyond < sure and gap.hopeless(runs, int(most * _ENDS_SHARE / 2), sure))


def found(question: Question, belief: Belief, sure: float = SURE) -> bool:
    """Whether the likeliest answer is sure, and that there is anything to answer."""
    if belief.gap is None or min(belief.runs[:2]) < FIRST_RUNS:
        return False
    return belief.gap.beyond >= sure and answer(question, belief).probability >= sure


def choose(question: Question, belief: Belief, setup: float = 0.0, sure: float = SURE) -> Measurement | None:
    """What tells most for what it costs; None where nothing can tell more. `setup` is what it costs to get ready for
    another version, in runs."""
    ends = 0, question.places - 1
    if min(belief.runs[0], belief.runs[1]) < FIRST_RUNS:
        return Measurement(0, FIRST_RUNS, ends[1], FIRST_RUNS)
    more = max(MORE_RUNS, min(belief.runs[:2]) // 3)
    if belief.gap is None or belief.gap.beyond < sure:
        return Measurement(0, more, ends[1], more)
    place = _most_telling(question, belief)
    if place is None:
        others = 1 - belief.nothing - answer(question, belief).probability
        return Measurement(0, more, ends[1], more) if belief.nothing > max(others, 1e-6) else None
    end = ends[0] if belief.runs[0] <= belief.runs[1] else ends[1]
    times = _times(belief, question.sums(belief.probabilities)[place], setup)
    paired, alone = belief.sessions
    if times == 1 and not belief.drifts and alone < paired - 1:
        return Measurement(place, 1, end, 0)
    return Measurement(place, times, end, _turns_of_end(times, belief.drifts))


def _groups(evidence: Sequence[Evidence]) -> tuple[list[Group], float | None]:
    """The evidence in one order. Amounts are logarithms now, or else in this unit."""
    finite = [(e, tuple(a for a in e.amounts if math.isfinite(a))) for e in evidence]
    kept = sorted((e.place, e.session, sorted(amounts), e.apart) for e, amounts in finite if amounts)
    logarithmic = all(amount > 0 for _, _, amounts, _ in kept for amount in amounts)
    unit = None if logarithmic else max(abs(amount) for _, _, amounts, _ in kept for amount in amounts) or 1.0
    groups = [
        Group(place, session, tuple(math.log(a) if unit is None else a / unit for a in amounts), apart)
        for place, session, amounts, apart in kept
    ]
    return groups, unit


def _counts(groups: Sequence[Group], ends: tuple[int, int]) -> tuple[int, int, int]:
    """Runs of the good end, of the bad end, and of all versions; those of earlier profiles do not count."""
    fresh = [(group.place, len(group.amounts)) for group in groups if not group.apart]
    good, bad = (sum(count for place, count in fresh if place == end) for end in ends)
    return good, bad, sum(count for _, count in fresh)


@attrs.frozen
class _Levels:
    """Where the two levels may be."""

    good: noise.Grid
    bad: noise.Grid
    rising: bool
    scale: float
    centres: tuple[float, float]

    @classmethod
    def of(cls, groups: Sequence[Group], sides: dict[int, float]) -> _Levels:
        """From the amounts of versions that are believed to be on one side."""
        both: tuple[list[float], list[float]] = [], []
        for group in groups:
            if group.place in sides:
                both[sides[group.place] > 0.5].extend(group.amounts)
        middles = statistics.median(both[0]), statistics.median(both[1])
        step = abs(middles[1] - middles[0])
        residuals = [amount - middle for side, middle in zip(both, middles, strict=True) for amount in side]
        scale = noise.scale_of(residuals, step, max(_LEAST, step / _FINEST))
        half = noise.half_steps(scale)
        good, bad = (noise.grid(half, middle, len(side)) for side, middle in zip(both, middles, strict=True))
        return cls(good, bad, middles[1] >= middles[0], scale, middles)


@attrs.frozen
class _Kind:
    """One kind of noise (a scale and a shape): for each case, the log likelihood of all runs of good versions at every
    good level, and of all runs of bad ones at every bad level; `alone` of all runs at both."""

    number: int
    good: tuple[Row, ...]
    bad: tuple[Row, ...]
    alone: tuple[Row, Row]

    def best(self) -> float:
        return max(max(good) + max(bad) for good, bad in zip(self.good, self.bad, strict=True))


class _Posterior:
    """The likelihood of every hypothesis. A case is a set of measured versions that are bad: versions which make the
    same ones bad are equally likely to have made the change, but for the prior."""

    def __init__(
        self,
        levels: _Levels,
        ends: Sequence[tuple[Row, Row]],
        cases: Sequence[int],
        kinds: Sequence[_Kind],
        top: float,
    ) -> None:
        self.levels = levels
        self.ends = ends
        self.cases = cases
        self.kinds = kinds
        self.top = top

    @classmethod
    def of(cls, settled: Settled, levels: _Levels, question: Question) -> _Posterior:
        measured = sorted({group.place for group in settled.groups})
        cases = _cases(question, measured)
        every = (1 << len(measured)) - 1
        different = sorted(set(cases[1:]))
        good = [_sums(settled, place, levels.good) for place in measured]
        bad = [_sums(settled, place, levels.bad) for place in measured]
        kinds = []
        for number in range(len(good[0])):
            low = _Subsets([rows[number] for rows in good], from_end=True)
            high = _Subsets([rows[number] for rows in bad], from_end=False)
            one = tuple(low.sum(every & ~case) for case in different), tuple(map(high.sum, different))
            kinds.append(_Kind(number, *one, (low.sum(every), high.sum(every))))
        bests = [kind.best() for kind in kinds]
        kept = [kind for kind, best in zip(kinds, bests, strict=True) if best > max(bests) - _NEGLIGIBLE]
        places = {case: number for number, case in enumerate(different)}
        ends = list(zip(good[0], bad[-1], strict=True))
        return cls(levels, ends, [places.get(case, 0) for case in cases], kept, max(bests))

    def probabilities(self, shares: Sequence[float]) -> tuple[list[float], float]:
        """(of each version that it made the change, that nothing did)."""
        change = [sum(of_kinds) for of_kinds in self._likelihoods]
        pairs, all_levels = self._pairs(), self._union()
        weights = [share * change[case] for share, case in zip(shares, self.cases, strict=True)]
        weights = [(1 - _PRIOR_NOTHING) * weight / pairs for weight in weights]
        none = _PRIOR_NOTHING * sum(self._same(kind) for kind in self.kinds) / all_levels
        whole = sum(weights) + none
        if not whole:
            return [(1 - _PRIOR_NOTHING) * share for share in shares], _PRIOR_NOTHING
        return [weight / whole for weight in weights], none / whole

    def gap(self, smallest: float, logarithmic: bool) -> Gap:
        """By how much the ends differ, by their own runs."""
        whole = math.log1p(smallest) if logarithmic else smallest * max(map(abs, self.levels.centres))
        return gaps.of_ends(self.ends, self._offset, self.levels.good.scale / 4, max(whole, _SAME))

    def belief(self, shares: Sequence[float]) -> Belief:
        probabilities, nothing = self.probabilities(shares)
        case = self.cases[probabilities.index(max(probabilities))]
        of_kinds = self._likelihoods[case]
        kind = self.kinds[of_kinds.index(max(of_kinds))]
        good, step, low, high = self._sizes(case)
        factor, shape = divmod(kind.number, len(noise.SHAPES))
        return Belief(
            probabilities=tuple(probabilities),
            nothing=nothing,
            good=good,
            step=step,
            low=low,
            high=high,
            scale=self.levels.good.scale * noise.SCALES[factor],
            shape=noise.SHAPES[shape],
        )

    @functools.cached_property
    def _likelihoods(self) -> list[list[float]]:
        """For each case and kind of noise."""
        return [[self._likelihood(kind, case) for kind in self.kinds] for case in range(len(self.kinds[0].good))]

    def _likelihood(self, kind: _Kind, case: int) -> float:
        """Of a case, over all pairs of levels in the right order."""
        before, after = kind.good[case], kind.bad[case]
        most_before, most = max(before), max(after)
        top = most_before + most - self.top
        if top < -_NEGLIGIBLE * 3:
            return 0.0
        sums = _behind([math.exp(value - most) for value in after], len(before), self._offset, self.levels.rising)
        total = sum(math.exp(value - most_before) * later for value, later in zip(before, sums, strict=True))
        return total * math.exp(top)

    @property
    def _offset(self) -> int:
        """How far the bad levels begin behind the good ones."""
        return self.levels.good.first - self.levels.bad.first

    def _same(self, kind: _Kind) -> float:
        """The likelihood that all runs are of one level."""
        good, bad = self.levels.good, self.levels.bad
        alone = [
            value for number, value in enumerate(kind.alone[1]) if not good.first <= bad.first + number <= good.last
        ]
        return sum(math.exp(min(0.0, value - self.top)) for value in (*kind.alone[0], *alone))

    def _pairs(self) -> float:
        good, bad = self.levels.good, self.levels.bad
        levels = good.last - good.first + 1
        return max(1.0, sum(_behind([1.0] * (bad.last - bad.first + 1), levels, self._offset, self.levels.rising)))

    def _union(self) -> int:
        good, bad = self.levels.good, self.levels.bad
        return len({*range(good.first, good.last + 1), *range(bad.first, bad.last + 1)})

    def _sizes(self, case: int) -> tuple[float, float, float, float]:
        """(good level, step, lowest and highest step that is believed) in a case."""
        width = self.levels.good.scale / 4
        steps: dict[int, float] = {}
        levels: dict[int, float] = {}
        for kind in self.kinds:
            before, after = kind.good[case], kind.bad[case]
            top = max(before) + max(after) - self.top
            if top < -_NEGLIGIBLE / 3:
                continue
            ones = [math.exp(value - max(before) + top) for value in before]
            others = [math.exp(value - max(after)) for value in after]
            for a, one in enumerate(ones):
                for b, other in enumerate(others, -a - self._offset):
                    if (b > 0) == self.levels.rising and b:
                        steps[b] = steps.get(b, 0.0) + one * other
                        levels[a] = levels.get(a, 0.0) + one * other
        if not steps:
            middle = self.levels.centres
            return middle[0], middle[1] - middle[0], middle[1] - middle[0], middle[1] - middle[0]
        good = self.levels.good.levels[0] + width * gaps.quantile(levels, 0.5)
        step, low, high = (width * gaps.quantile(steps, share) for share in (0.5, (1 - LEVEL) / 2, (1 + LEVEL) / 2))
        return good, step, low, high


def _sums(settled: Settled, place: int, levels: noise.Grid) -> list[Row]:
    """For each kind of noise, the log likelihood of all runs of a place at every level."""
    groups = zip(settled.groups, settled.weights, strict=True)
    found = [noise.likelihoods(g.amounts, levels, weight) for g, weight in groups if g.place == place]
    total: list[Row] = list(found[0])
    for rows in found[1:]:
        total = [_plus(one, other) for one, other in zip(total, rows, strict=True)]
    return total


class _Subsets:
    """Sums of rows over sets of measured versions, each set from one that has a version less: in a history without
    branches the sets are nested, so that each takes one addition."""

    def __init__(self, rows: Sequence[Row], *, from_end: bool) -> None:
        self._rows = rows
        self._from_end = from_end
        self._known: dict[int, Row] = {0: [0.0] * len(rows[0])}

    def sum(self, bits: int) -> Row:
        missing = []
        while bits not in self._known:
            one = bits.bit_length() - 1 if self._from_end else (bits & -bits).bit_length() - 1
            missing.append(one)
            bits ^= 1 << one
        found = self._known[bits]
        for one in reversed(missing):
            bits |= 1 << one
            found = self._known[bits] = _plus(found, self._rows[one])
        return found


def _cases(question: Question, measured: Sequence[int]) -> list[int]:
    """For each place, the bits of the measured versions that contain it."""
    inside = [question.inside(place) for place in measured]
    if not question.contains:
        every = (1 << len(measured)) - 1
        return [every >> (first := bisect.bisect_left(measured, place)) << first for place in range(question.places)]
    return [
        sum((bits >> place & 1) << number for number, bits in enumerate(inside)) for place in range(question.places)
    ]


def _descendants(question: Question) -> list[int]:
    """For each place something that is the same for those which no version that can be measured tells apart."""
    whole = [place for place in range(question.places) if place not in question.broken or place == question.places - 1]
    return _cases(question, whole)


def _positive(share: float) -> float:
    return share if math.isfinite(share) and share > 0 else 0.0


def _plus(one: Row, other: Row) -> Row:
    return [a + b for a, b in zip(one, other, strict=True)]


def _behind(values: Sequence[float], count: int, offset: int, rising: bool) -> list[float]:
    """For each of so many levels, the first being `offset` behind the first of the values, the sum of the values at
    levels above it, or below it."""
    sums = [0.0, *itertools.accumulate(values)]
    last = len(values)
    if rising:
        return [sums[last] - sums[min(max(number + offset + 1, 0), last)] for number in range(count)]
    return [sums[min(max(number + offset, 0), last)] for number in range(count)]


def _most_telling(question: Question, belief: Belief) -> int | None:
    """The version whose run is expected to tell most. Next to broken versions others are likely to be broken too: the
    more of them stand in a row, the less a neighbour is worth."""
    information = _information(belief)
    sums = question.sums(belief.probabilities)
    best, most = None, 1e-6
    for place in range(1, question.places - 1):
        if place in question.broken:
            continue
        worth = _interpolated(information, sums[place]) * _chance(place, question.broken)
        if worth > most:
            best, most = place, worth
    return best


def _chance(place: int, broken: frozenset[int]) -> float:
    chance = 1.0
    for side in (-1, 1):
        distances = [(other - place) * side for other in broken if (other - place) * side > 0]
        if not distances:
            continue
        distance = min(distances)
        row = 0
        while place + side * (distance + row) in broken:
            row += 1
        chance = min(chance, distance / (distance + 0.5 * (row - 1)))
    return chance


def _information(belief: Belief) -> list[float]:
    """What a run is expected to tell, in bits, where the version is bad with probability 0, 1/_POINTS, … 1."""
    good, bad = _densities(belief)
    return [_mutual(good, bad, point / _POINTS) for point in range(_POINTS + 1)]


def _densities(belief: Belief) -> tuple[list[float], list[float]]:
    """The likeliest noise around both levels, as shares of steps that cover them."""
    low, high = min(0.0, belief.step) - 3 * belief.scale, max(0.0, belief.step) + 6 * belief.scale
    places = [low + (high - low) * (i + 0.5) / (2 * _POINTS) for i in range(2 * _POINTS)]
    found = []
    for level in (0.0, belief.step):
        values = [math.exp(noise.log_density(place - level, belief.scale, belief.shape)) for place in places]
        whole = sum(values)
        found.append([value / whole for value in values])
    return found[0], found[1]


def _mutual(good: Sequence[float], bad: Sequence[float], share: float) -> float:
    """What an amount tells about its side, in bits."""
    total = 0.0
    for g, b in zip(good, bad, strict=True):
        mixed = (1 - share) * g + share * b
        if g > 0 and share < 1:
            total += (1 - share) * g * math.log2(g / mixed)
        if b > 0 and share > 0:
            total += share * b * math.log2(b / mixed)
    return total


def _interpolated(values: Sequence[float], share: float) -> float:
    place = min(max(share, 0.0), 1.0) * (len(values) - 1)
    low = min(int(place), len(values) - 2)
    return values[low] + (values[low + 1] - values[low]) * (place - low)


def _times(belief: Belief, share: float, setup: float) -> int:
    """How often the version is run: so that most is learnt for the runs it takes."""
    good, bad = _densities(belief)
    apart = sum((b - g) * math.log(b / g) for g, b in zip(good, bad, strict=True) if g > 0 and b > 0)

    def worth(times: int) -> float:
        return _told(math.sqrt(apart * times), share) / (times + _turns_of_end(times, belief.drifts) + setup)

    return max(_TIMES, key=lambda times: (worth(times), -times))


def _told(distance: float, share: float) -> float:
    """What a normal amount tells about its side, the sides being so many standard deviations apart."""
    low, high = -4.0, distance + 4.0
    places = [low + (high - low) * (i + 0.5) / _POINTS for i in range(_POINTS)]
    good = [math.exp(-0.5 * place * place) for place in places]
    bad = [math.exp(-0.5 * (place - distance) ** 2) for place in places]
    return _mutual([g / sum(good) for g in good], [b / sum(bad) for b in bad], share)


def _sessions(groups: Sequence[Group], ends: tuple[int, int]) -> tuple[int, int]:
    """Sessions with an end, and without."""
    fresh = {group.session for group in groups if not group.apart}
    paired = {group.session for group in groups if not group.apart and group.place in ends}
    return len(paired), len(fresh - paired)


def _turns_of_end(times: int, drifts: bool) -> int:
    return times if drifts or times > 2 else 1
