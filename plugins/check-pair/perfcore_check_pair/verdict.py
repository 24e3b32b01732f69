"""The rule: when a difference is a change, when it is none, and when it is inconclusive.

Runs taken in turn: a change is significant, its interval excludes 1, and its estimate exceeds the threshold. Of
many comparisons some look like that by chance: where the change is not significant for all of them together
(Bonferroni), the whole interval has to exceed the threshold.
Runs taken in blocks of one session: the machine drifts between blocks and no test sees that, so the whole interval has
to lie beyond the threshold and beyond what machines drift.
Runs of different sessions: the interval and the p-value include how much the sessions of this history differ, and the
whole interval has to lie beyond the threshold.
`same` means that the whole interval is within the threshold, or within what machines drift where runs were not taken in
turn, and the estimate within the threshold.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace

from perfcore_check_pair import wording
from perfcore_check_pair.inference import (
    compare_few_pairs,
    compare_groups,
    compare_pairs,
    fewest_pairs,
    fewest_runs,
    midmean,
)

if TYPE_CHECKING:
    from perfcore.model import ChangeKind
    from perfcore_check_pair import PairSettings
    from perfcore_check_pair.inference import (
        Estimate,
    )
    from perfcore_check_pair.samples import Array
    from perfcore_check_pair.session_spread import SessionSpread

# Logarithms that differ by less differ by rounding: equal ratios have to tie, and one that is the threshold is
# not beyond it, from either side.
_DECIMALS = 12
_ROUNDING = 1e-9  # ratios that differ by less are one
# Nobody measures more; beyond it an inconclusive verdict names no number of pairs.
_MOST_PAIRS = 10_000

Levels: TypeAlias = "tuple[float | None, float | None]"
"""An amount for the baseline and one for the target."""


class Apart(msgspec.Struct, frozen=True, eq=False):
    """The sides were measured in different sessions: how much sessions differ here, how often the variance of a
    session is in the difference of the sides, and by how much two sessions are taken to differ. `busy` is the variance
    that is added because the machine was busy, and `slowness` the logarithm by which it was slower than it can be."""

    spread: SessionSpread
    sessions: float
    drift: float
    busy: float = 0.0
    slowness: float = 0.0


class Question(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The amounts of one metric on both sides; of `paired` ones, items k of both belong together.

    `obstacle` says why the sides cannot be compared at all, `doubt` why a difference would not be due to the
    code; `notes` are facts about the amounts that the reader should know. `comparisons` are made at once.
    `exact` amounts are the same in every run, so that one run of each side decides. `apart` is set where the sides
    were measured in different sessions. `shared` are the logarithms of what the ratio of each pair shares with those of
    the other benchmarks of its suite; empty where it shares nothing.
    """

    baseline: Array
    target: Array
    paired: bool
    threshold: float
    comparisons: int = 1
    higher_is_better: bool = False
    unit: str = ""
    obstacle: str | None = None
    doubt: str | None = None
    notes: tuple[str, ...] = ()
    exact: bool = False
    apart: Apart | None = None
    shared: Array = msgspec.field(default_factory=lambda: np.zeros(0))

    @property
    def logarithms(self) -> tuple[Array, Array]:
        """Those of both sides, of the target without what its pairs share with others."""
        target = np.log(self.target)
        return np.log(self.baseline), target - self.shared if len(self.shared) else target


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question; the fields are those of a Change."""

    kind: ChangeKind
    evidence: str
    baseline_value: float | None = None
    target_value: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    p_value: float | None = None
    needed: int | None = None
    reason: str = ""


def decide(question: Question, settings: PairSettings) -> Verdict:
    """The verdict, with the evidence for it."""
    if question.obstacle:
        return Verdict(kind="cannot tell", evidence=question.obstacle, reason=question.obstacle)
    verdict = _decide(question, settings)
    values = median(question.baseline), median(question.target)
    parts = [
        wording.sizes(len(question.baseline), len(question.target), question.paired, question.apart is not None),
        *question.notes,
        wording.values(*values, question.unit),
        verdict.evidence,
    ]
    if question.doubt:
        verdict = replace(verdict, kind="cannot tell", reason=question.doubt)
        parts.append(wording.doubted(question.doubt))
    evidence = "; ".join(text for text in parts if text)
    levels = _levels(question, verdict.ratio, values)
    return replace(verdict, evidence=evidence, baseline_value=levels[0], target_value=levels[1])


def _levels(question: Question, ratio: float | None, medians: Levels) -> Levels:
    """The amounts of both sides that a row shows beside the ratio, from the same estimate: the second divided by the
    first is the ratio, which the medians of noisy runs may contradict by several percent."""
    before, after = medians
    if ratio is None or not ratio or not before or after is None or abs(after / before / ratio - 1) < _ROUNDING:
        return medians
    # The level is the midmean of either side, and the ratio is divided evenly, so that swapped sides swap their levels.
    middle = (midmean(np.log(question.baseline)) + midmean(np.log(question.target))) / 2
    half = math.log(ratio) / 2
    return _ratio(middle - half), _ratio(middle + half)


def median(amounts: Array) -> float | None:
    """The median; halves first, so that amounts near the end of the range do not overflow."""
    if not len(amounts):
        return None
    ordered = np.sort(amounts)
    low, high = float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])
    return low if low == high else low / 2 + high / 2


def _decide(question: Question, settings: PairSettings) -> Verdict:
    baseline, target = question.baseline, question.target
    if not (len(baseline) and len(target)):
        absent = wording.absent(len(baseline), len(target))
        return Verdict(kind="cannot tell", evidence=absent, reason=absent)
    if _constant(question, settings):
        return _decide_constants(question)
    least = min(baseline.min(), target.min())
    if least <= 0:
        reason = wording.ZERO if least == 0 else wording.NO_RATIO
        return Verdict(kind="cannot tell", evidence=reason, reason=reason)
    fewest = fewest_pairs(settings.alpha) if question.paired else fewest_runs(settings.alpha)
    count = min(len(baseline), len(target))
    if count >= fewest:
        return _decide_noisy(question, settings)
    return _decide_few(question, settings) or Verdict(
        kind="cannot tell",
        evidence=wording.too_few(question.paired, fewest, fewest_runs(settings.alpha), settings),
        ratio=_ratio(_center(question)),
        needed=fewest_pairs(settings.alpha),
        reason=wording.counted(count, fewest, question.paired),
    )


def _decide_few(question: Question, settings: PairSettings) -> Verdict | None:
    """The verdict on pairs that are too few for their test, where a change is far beyond the noise: every run of one
    side is beyond every run of the other by more than the threshold, and so is the interval of the ratio."""
    baseline, target = question.logarithms
    if not question.paired or len(baseline) < fewest_runs(settings.alpha):
        return None
    gap = max(target.min() - baseline.max(), baseline.min() - target.max())
    estimate = compare_few_pairs(baseline, target, settings.confidence)
    limit = _limit(question.threshold)
    if _round(min(gap, max(estimate.low, -estimate.high))) <= limit or estimate.p_value >= settings.alpha:
        return None
    parts = (
        wording.test(estimate.p_value, wording.RANK_SUM),
        wording.interval(estimate, settings.confidence),
        wording.separated(question.threshold),
    )
    verdict = Verdict(kind=_kind(estimate.center, question), evidence="; ".join(parts), p_value=estimate.p_value)
    return _with_ratio(verdict, estimate, settings)


def _constant(question: Question, settings: PairSettings) -> bool:
    """Whether neither side ever varied, in enough runs to believe it. A column that is declared exact needs one; where
    it varies all the same, the declaration is wrong and the usual test decides."""
    sides = (question.baseline, question.target)
    fewest = 1 if question.exact else settings.constant_runs
    return all(len(side) >= fewest and side.min() == side.max() for side in sides)


def _decide_constants(question: Question) -> Verdict:
    """Exact values need no test."""
    before, after = float(question.baseline[0]), float(question.target[0])
    if before == after:
        return Verdict(kind="same", evidence=wording.EXACT_SAME, ratio=1.0 if before else None)
    if before < 0 or after < 0:
        return Verdict(kind="cannot tell", evidence=wording.NO_RATIO, reason=wording.NO_RATIO)
    if not (before and after):
        return Verdict(kind=_kind(after - before, question), evidence=wording.EXACT_ZERO)
    logarithm = _logarithm(after) - _logarithm(before)
    changed = abs(_round(logarithm)) > _round(math.log1p(question.threshold))
    return Verdict(
        kind=_kind(logarithm, question) if changed else "same",
        evidence=wording.exact(logarithm, question.threshold, changed),
        ratio=_ratio(logarithm),
    )


def _decide_noisy(question: Question, settings: PairSettings) -> Verdict:
    measured = _estimate(question, settings)
    estimate = measured if question.apart is None else _widened(measured, question.apart, settings.confidence)
    needed = _needed(question, settings, measured)
    kind, reason = _rule(question, settings, estimate, needed)
    busy = question.apart is not None and question.apart.busy > 0
    undecided = kind == "cannot tell"
    parts = [
        _sessions(question.apart) if question.apart is not None else "",
        wording.test(estimate.p_value, _test_name(question)),
        wording.interval(estimate, settings.confidence),
        reason,
    ]
    verdict = Verdict(
        kind=kind,
        evidence="; ".join(filter(None, parts)),
        p_value=estimate.p_value,
        needed=needed if undecided else None,
        reason=wording.unclear(needed, question.paired, question.apart is not None, busy) if undecided else "",
    )
    return _with_ratio(verdict, estimate, settings)


def _sessions(apart: Apart) -> str:
    """Why the interval is as wide as it is."""
    spread = wording.sessions(apart.spread, apart.drift)
    return f"{spread}; {wording.busy(apart.slowness)}" if apart.busy else spread


def _with_ratio(verdict: Verdict, estimate: Estimate, settings: PairSettings) -> Verdict:
    low, ratio, high = _ratio(estimate.low), _ratio(estimate.center), _ratio(estimate.high)
    if low is None or ratio is None or high is None:
        return verdict
    return replace(verdict, low=low, ratio=ratio, high=high, confidence=settings.confidence)


def _rule(question: Question, settings: PairSettings, estimate: Estimate, needed: int | None) -> tuple[ChangeKind, str]:
    """The answer and the reason for it."""
    drifting = max(question.threshold, settings.drift)
    band = _limit(question.threshold if question.paired else drifting)
    # How much sessions differ is in their interval; blocks of one session may have drifted besides.
    beyond = _limit(drifting if not question.paired and question.apart is None else question.threshold)
    low, size, high = _round(estimate.low), abs(_round(estimate.center)), _round(estimate.high)
    nearest = max(low, -high)
    # C. E. Bonferroni, 1936: n tests at alpha / n have together one chance of alpha, however they depend on each other.
    significant = question.paired and estimate.p_value < settings.alpha / question.comparisons
    # The bound of the interval that is nearest to "no change" stands for all of it.
    reach = size if significant else nearest
    if estimate.p_value < settings.alpha and nearest > 0 and reach > beyond:
        blocks = not question.paired and question.apart is None
        return _kind(estimate.center, question), wording.beyond(math.expm1(beyond), blocks, significant)
    threshold = math.expm1(band)
    if max(-low, high) > band:
        return "cannot tell", wording.undecided(math.expm1(beyond), needed)
    if size > _limit(question.threshold):
        return "cannot tell", wording.drift(threshold, needed)
    is_close = question.apart is not None and max(-low, high) <= _limit(question.threshold)
    return "same", wording.within(question.threshold if is_close else threshold)


def _widened(estimate: Estimate, apart: Apart, confidence: float) -> Estimate:
    """The estimate with an interval and a p-value that include how much sessions differ."""
    quantile = NormalDist().inv_cdf((1 + confidence) / 2)
    below, above = (((bound - estimate.center) / quantile) ** 2 + apart.busy for bound in (estimate.low, estimate.high))
    return replace(
        estimate,
        low=estimate.center - apart.spread.half_width(apart.sessions, below, confidence),
        high=estimate.center + apart.spread.half_width(apart.sessions, above, confidence),
        p_value=apart.spread.tail(estimate.center, apart.sessions, (below + above) / 2),
    )


def _test_name(question: Question) -> str:
    if question.apart is not None:
        return wording.SESSIONS
    return wording.SIGNED_RANK if question.paired else wording.RANK_SUM


def _estimate(question: Question, settings: PairSettings) -> Estimate:
    baseline, target = question.logarithms
    if question.paired:
        differences = np.round(target - baseline, _DECIMALS)
        return compare_pairs(differences, settings.confidence, settings.resamples)
    return compare_groups(baseline, target, settings.confidence, settings.resamples)


def _center(question: Question) -> float:
    baseline, target = question.logarithms
    return midmean(target - baseline) if question.paired else midmean(target) - midmean(baseline)


def _needed(question: Question, settings: PairSettings, estimate: Estimate) -> int | None:
    """How many pairs would decide, if the interval shrinks with the root of their number: of pairs if their estimate
    stays, else one that is not within half of the threshold around it. None where no reasonable number would."""
    count, matters = min(len(question.baseline), len(question.target)), _limit(question.threshold)
    size, half = abs(estimate.center), max(estimate.high - estimate.center, estimate.center - estimate.low)
    margin = size if size > matters else matters - size
    if not question.paired:  # pairs will show another size: that of sessions or blocks has what the machine did in it
        margin = max(margin, matters / 2)
    # The interval would have to be a hundred times narrower, which takes 10,000 times as many runs.
    if margin <= half / 100:
        return None
    # Never fewer than there are: a quarter more is the least that makes a look worth while.
    additional = count + max(2, count // 4) if question.paired else 0
    needed = max(fewest_pairs(settings.alpha), additional, math.ceil(count * (half / margin) ** 2))
    return needed if needed <= _MOST_PAIRS else None


def _kind(direction: float, question: Question) -> ChangeKind:
    return "degradation" if (direction > 0) != question.higher_is_better else "optimization"


def _limit(threshold: float) -> float:
    return _round(math.log1p(threshold))


def _round(logarithm: float) -> float:
    return round(logarithm, _DECIMALS)


def _logarithm(amount: float) -> float:
    return float(np.log(amount))


def _ratio(logarithm: float) -> float | None:
    """The ratio or amount of a logarithm; None where it is beyond what a float can hold."""
    # The largest float is exp(709.78).
    return math.exp(logarithm) if abs(logarithm) < 700 else None
