"""The Bayesian search: which of many versions changed a value, how sure that is, and what to measure next.

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

import math
from collections.abc import Sequence
from typing import Literal

import attrs

from perfcore_command_bisect import drift
from perfcore_command_bisect.adjacent import effect_of
from perfcore_command_bisect.drift import Group, Settled
from perfcore_command_bisect.information import best_runs, most_informative, runs_of_end
from perfcore_command_bisect.posterior import LEAST, PRIOR_NOTHING, Levels, Posterior
from perfcore_command_bisect.search import FIRST_RUNS, Belief, Measurement, Observation, Question, answer

MORE_RUNS = 2  # at least, of each end, when the ends are run again
SMALLEST = 0.01  # the smallest relative change that matters: the default of `check.threshold`
SURE = 0.95  # as the confidence of every interval that perfcore prints
# Versions that are on one side with this doubt or less tell the levels: with more, a wrong side would shift a level
_DOUBT = 0.05
# The probability of a drift below which its account is not computed. It takes as long as the account without one, and
# mixed in with 15 % it moves no answer across 95 %.
_UNHEARD = 0.15
# The probability that the ends differ from which on versions between them are measured. Of an answer it is asked to be
# as sure as that; until then runs of versions tell as much. With 65 %, bisections of versions that take the same took
# half as many runs again.
_WORTH_A_SEARCH = 0.8
# Sessions without an end for each with one, while nothing suggests a drift. With one instead of four, four of ten runs
# were of the ends, and under heavy-tailed noise fewer searches ended within their runs.
_UNPAIRED = 4
# The probability that the version's own effect is larger than what matters. Less than what is asked of the answer: the
# prior of further changes is in it, and a version that changed nothing is hardly ever likely enough to get here.
_EFFECT = 0.8
# The probability of a version from which on its own effect is estimated: with less it is not the answer to anything
_SUSPECTED = 0.75
# The share of all runs for finding out whether the ends differ at all; the other half finds the version
_ENDS_SHARE = 0.5


class BayesianSearch:
    """The search of `perf bisect`: measures the version whose run is expected to tell most, until one is sure."""

    def believe(self, question: Question, evidence: Sequence[Observation], smallest: float = SMALLEST) -> Belief:
        return believe(question, evidence, smallest)

    def choose(
        self, question: Question, belief: Belief, setup: float = 0.0, confidence: float = SURE
    ) -> Measurement | None:
        return choose(question, belief, setup, confidence)

    def verdict(
        self, question: Question, belief: Belief, max_runs: int, confidence: float = SURE
    ) -> Literal["found", "same"] | None:
        if alike(belief, max_runs, confidence):
            return "same"
        return "found" if found(question, belief, confidence) else None


def believe(question: Question, evidence: Sequence[Observation], smallest: float = SMALLEST) -> Belief:
    """What the evidence says, whatever its order. Amounts that are no finite numbers are no evidence; `smallest` is the
    smallest relative change that matters."""
    shares = question.shares()
    groups, unit = _groups(evidence)
    logarithmic = unit is None
    ends = 0, question.places - 1
    if not any(shares):
        return Belief(probabilities=tuple(shares), nothing=1.0, logarithmic=logarithmic)
    if any(not any(group.place == end for group in groups) for end in ends):
        prior_change = 1 - PRIOR_NOTHING
        return Belief(
            probabilities=tuple(prior_change * p for p in shares), nothing=PRIOR_NOTHING, logarithmic=logarithmic
        )
    levels = Levels.of(groups, {0: 0.0, ends[1]: 1.0})
    belief = _of_settled(question, drift.still(groups), smallest, logarithmic)
    observed_drift = drift.seen(groups, drift.Endpoints(ends, levels.centres, levels.scale))
    if observed_drift.probability > _UNHEARD:
        moving = _of_settled(question, drift.settle(groups, observed_drift), smallest, logarithmic)
        belief = _mixed(belief, moving, observed_drift.probability)
    belief = attrs.evolve(
        belief, drift=observed_drift.probability, runs=_counts(groups, ends), sessions=_sessions(groups, ends)
    )
    suspects = answer(question, belief)
    if suspects.probability > _SUSPECTED and belief.gap is not None:
        settled = drift.settle(groups, observed_drift) if belief.drifts else drift.still(groups)
        belief = attrs.evolve(belief, effect=effect_of(settled, question, suspects, belief.gap.smallest))
    return belief if unit is None else _in_unit(belief, unit)


def _of_settled(question: Question, settled: Settled, smallest: float, logarithmic: bool) -> Belief:
    """What groups say whose sessions do not differ any more."""
    shares, ends = question.shares(), (0, question.places - 1)
    sides = {0: 0.0, ends[1]: 1.0}
    levels = Levels.of(settled.groups, sides)
    # Levels tell which versions are sure, and these tell the levels. The second round uses what the first found;
    # without a bound the two could alternate for ever.
    for _ in range(2):
        posterior = Posterior.of(settled, levels, question)
        probabilities, nothing = posterior.probabilities(shares)
        remaining = max(1 - nothing, LEAST)
        bad = [p / remaining for p in question.sums(probabilities)]
        sides = {index: p for index, p in enumerate(bad) if not _DOUBT < p < 1 - _DOUBT} | {0: 0.0, ends[1]: 1.0}
        updated_levels = Levels.of(settled.groups, sides)
        if updated_levels == levels:
            break
        levels = updated_levels
    return attrs.evolve(posterior.belief(shares), gap=posterior.gap(smallest, logarithmic))


def _mixed(still: Belief, moving: Belief, share: float) -> Belief:
    """Of two beliefs, the second of which has this probability."""
    assert still.gap is not None
    assert moving.gap is not None
    # Sizes are taken from the likelier account and not averaged: a mean of two levels is a level that neither has.
    likelier = moving if share > 0.5 else still
    p_exceeds_threshold = (1 - share) * still.gap.p_exceeds_threshold + share * moving.gap.p_exceeds_threshold
    pairs = zip(still.probabilities, moving.probabilities, strict=True)
    return attrs.evolve(
        likelier,
        probabilities=tuple((1 - share) * stationary + share * drifting for stationary, drifting in pairs),
        nothing=(1 - share) * still.nothing + share * moving.nothing,
        gap=attrs.evolve(moving.gap if share > 0.5 else still.gap, p_exceeds_threshold=p_exceeds_threshold),
    )


def _in_unit(belief: Belief, unit: float) -> Belief:
    sizes = {name: getattr(belief, name) * unit for name in ("good", "step", "low", "high", "scale")}
    gap, effect = (difference and difference.scaled(unit) for difference in (belief.gap, belief.effect))
    return attrs.evolve(belief, logarithmic=False, gap=gap, effect=effect, **sizes)


def alike(belief: Belief, most: int, sure: float = SURE) -> bool:
    """Whether the ends hardly differ, or so many runs, of which they may have half, will not tell that they do."""
    runs, gap = min(belief.runs[:2]), belief.gap
    if gap is None or runs < FIRST_RUNS:
        return False
    # Halved again, as two ends share these runs.
    return gap.negligible or (gap.p_exceeds_threshold < sure and gap.hopeless(runs, int(most * _ENDS_SHARE / 2), sure))


def found(question: Question, belief: Belief, sure: float = SURE) -> bool:
    """Whether the likeliest answer is sure, and that there is anything to answer."""
    if belief.gap is None or min(belief.runs[:2]) < FIRST_RUNS:
        return False
    is_sure = belief.gap.p_exceeds_threshold >= sure and answer(question, belief).probability >= sure
    return is_sure and (belief.effect is None or belief.effect.p_exceeds_threshold >= min(sure, _EFFECT))


def choose(question: Question, belief: Belief, setup: float = 0.0, sure: float = SURE) -> Measurement | None:
    """What tells most for what it costs; None where nothing can tell more. `setup` is what it costs to get ready for
    another version, in runs."""
    ends = 0, question.places - 1
    if min(belief.runs[0], belief.runs[1]) < FIRST_RUNS:
        return Measurement(0, FIRST_RUNS, ends[1], FIRST_RUNS)
    # A third more each time: looks at the ends become rarer as their number grows, since each moves the belief less.
    extra_runs = max(MORE_RUNS, min(belief.runs[:2]) // 3)
    # A probability that does for a search does not for an answer: without more runs of the ends there is none.
    required = sure if answer(question, belief).probability >= sure else min(sure, _WORTH_A_SEARCH)
    if belief.gap is None or belief.gap.p_exceeds_threshold < required:
        return Measurement(0, extra_runs, ends[1], extra_runs)
    if belief.effect is not None and answer(question, belief).probability >= sure:
        return _at_the_change(question, belief)
    index = most_informative(question, belief)
    if index is None:
        others = 1 - belief.nothing - answer(question, belief).probability
        # What is left of the doubt is whether anything changed at all: only the ends tell that.
        return Measurement(0, extra_runs, ends[1], extra_runs) if belief.nothing > max(others, 1e-6) else None
    # The end that is known less: the error of the difference is smallest with equally many runs of both.
    end = ends[0] if belief.runs[0] <= belief.runs[1] else ends[1]
    share = question.sums(belief.probabilities)[index]
    paired, unpaired = belief.sessions
    # Only after sessions that would have shown a drift, and where the ends surely differ. Some sessions with an end go
    # on, so that a drift that begins later is seen.
    steady = belief.drift <= drift.PRIOR and belief.gap.p_exceeds_threshold >= sure
    is_free = steady and unpaired < _UNPAIRED * (paired + 1 - drift.FEWEST)
    if is_free and best_runs(belief, share, setup, paired=False) == 1:
        return Measurement(index, 1, end, 0)
    times = best_runs(belief, share, setup)
    return Measurement(index, times, end, runs_of_end(times, belief.drifts))


def _at_the_change(question: Question, belief: Belief) -> Measurement | None:
    """More runs of the version that is the answer, and of the one before it, whose difference is its effect; None where
    that is known to be too small."""
    assert belief.effect is not None
    if belief.effect.negligible:
        return None
    suspects, last = answer(question, belief).places, question.places - 1
    before = max(index for index in range(suspects[0]) if index == 0 or index not in question.broken)
    # In turn, beginning with the version before: of it there are mostly fewer runs, as it is less likely to be named.
    index = before if sum(belief.runs) % 2 else suspects[-1]
    if index in (0, last):
        index = suspects[-1] + before - index
    if index in (0, last):
        return Measurement(0, MORE_RUNS, last, MORE_RUNS)
    return Measurement(index, MORE_RUNS, 0 if belief.runs[0] <= belief.runs[1] else last, 1)


def _groups(evidence: Sequence[Observation]) -> tuple[list[Group], float | None]:
    """The evidence in one order. Amounts are logarithms now, or else in this unit."""
    finite = [(e, tuple(a for a in e.amounts if math.isfinite(a))) for e in evidence]
    # One order, so that sums of floats, and with them the answer, do not depend on the order of the measurements.
    ordered = sorted((e.place, e.session, sorted(amounts), e.apart) for e, amounts in finite if amounts)
    # Noise of times is about proportional to the level: logarithms give both sides the same scale.
    logarithmic = all(amount > 0 for _, _, amounts, _ in ordered for amount in amounts)
    unit = None if logarithmic else max(abs(amount) for _, _, amounts, _ in ordered for amount in amounts) or 1.0
    groups = [
        Group(index, session, tuple(math.log(a) if unit is None else a / unit for a in amounts), apart)
        for index, session, amounts, apart in ordered
    ]
    return groups, unit


def _counts(groups: Sequence[Group], ends: tuple[int, int]) -> tuple[int, int, int]:
    """Runs of the good end, of the bad end, and of all versions; those of earlier profiles do not count."""
    fresh = [(group.place, len(group.amounts)) for group in groups if not group.apart]
    good, bad = (sum(count for index, count in fresh if index == end) for end in ends)
    return good, bad, sum(count for _, count in fresh)


def _sessions(groups: Sequence[Group], ends: tuple[int, int]) -> tuple[int, int]:
    """Sessions with an end, and without."""
    fresh = {group.session for group in groups if not group.apart}
    paired = {group.session for group in groups if not group.apart and group.place in ends}
    return len(paired), len(fresh - paired)
