"""The evidence for a verdict, in words a person can act on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from perfcore_check_kit import machine_speed

from perfcore.text import percent, plural, printable, quantity
from perfcore_check_pair.session_spread import BUSY_DRIFT, FEW

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from perfcore_check_pair import PairSettings
    from perfcore_check_pair.inference import Estimate
    from perfcore_check_pair.session_spread import SessionSpread

NO_RATIO = "amounts below zero have no ratio"
ZERO = "amounts of zero have no ratio: measure longer runs"
EXACT_SAME = "every run of both sides has this value"
EXACT_ZERO = "neither side ever varied, and one of them is zero"


SIGNED_RANK, RANK_SUM, SESSIONS = "signed-rank", "rank-sum", "session offsets"


def sizes(baseline: int, target: int, paired: bool, apart: bool) -> str:
    """`12 interleaved pairs`, `12 and 15 runs of different sessions` or `12 and 15 runs, not interleaved`."""
    if paired and baseline == target:
        return plural(baseline, "interleaved pair")
    runs = f"{baseline:,} and {plural(target, 'run')}"
    if apart:
        return f"{runs} of different sessions"
    return runs if paired else f"{runs}, not interleaved: false alarms are likelier"


def sessions(spread: SessionSpread, drift: float) -> str:
    """Where the variance of sessions comes from: `12 sessions differ by 3.1 %`."""
    assumed = f"two sessions are taken to differ by up to {share(drift)}"
    if not spread.differences:
        return f"no other sessions tell how much sessions differ: {assumed}"
    text = f"{plural(spread.sessions, 'session')} differ by {share(math.expm1(spread.sigma))} (standard deviation)"
    return text if spread.differences >= FEW else f"{text}, which so few tell roughly"


def busy(slowness: float) -> str:
    """How it shows that the machine was busy: by the logarithm of what the same work took, else by runs that waited."""
    if slowness >= machine_speed.SLOW:
        return f"beside these runs the machine took up to {100 * math.expm1(slowness):.0f} % longer for the same work"
    return f"most runs waited for a CPU, and on a busy machine two sessions may differ by {100 * BUSY_DRIFT:g} %"


def shared(benchmarks: int) -> str:
    """Of pairs that are not compared as they were measured."""
    return f"change without what the {benchmarks} benchmarks of the suite share in each pair"


def with_suite(needed: int | None) -> str:
    """Why a benchmark that did not change by itself is not called unchanged, for a row of a table."""
    text = "the whole suite may have changed"
    return f"{text}: measure about {needed:,} interleaved pairs" if needed is not None else text


def values(baseline: float | None, target: float | None, unit: str) -> str:
    if baseline is None and target is None:
        return ""
    return f"median {quantity(baseline, unit)} → {quantity(target, unit)}"


def test(p_value: float, name: str) -> str:
    return f"{name} p={p_value:.2g}"


def interval(estimate: Estimate, confidence: float) -> str:
    """`+5.8 % (95 %: +5.1 % to +6.3 %)`."""
    low, high = change(estimate.low), change(estimate.high)
    return f"{change(estimate.center)} ({confidence * 100:g} %: {low} to {high})"


def change(logarithm: float) -> str:
    # exp(709.78) is the largest float; what is above 700 reads as infinite in any case.
    return percent(math.exp(min(logarithm, 700.0)))


def share(threshold: float) -> str:
    return f"{threshold * 100:.3g} %"


def beyond(threshold: float, blocks: bool, alone: bool) -> str:
    if alone:
        return f"more than {share(threshold)}"
    if not blocks:
        return f"all of it more than {share(threshold)}"
    return f"all of it more than {share(threshold)}, which is more than the machine usually drifts"


def within(threshold: float) -> str:
    return f"all of it within {share(threshold)}"


def drift(threshold: float, needed: int | None) -> str:
    """Of runs in blocks that differ by more than the threshold and by less than the machine may have drifted."""
    text = f"all of it within {share(threshold)}, which drift of the machine can cause"
    return f"{text}; {_would_tell(needed)}"


def undecided(threshold: float, needed: int | None) -> str:
    """Why the verdict is inconclusive, and which measurement would decide it."""
    return f"a change of more than {share(threshold)} is neither shown nor excluded; {_would_tell(needed)}"


def _would_tell(needed: int | None) -> str:
    if needed is None:
        return "no reasonable number of runs would tell: choose another threshold or a quieter machine"
    return f"about {needed:,} interleaved pairs would tell"


def too_few(paired: bool, fewest: int, fewest_runs: int, settings: PairSettings) -> str:
    pairs_or_runs = "interleaved pairs" if paired else "runs of each side"
    exceptions = [
        f"{fewest_runs} where every run of one side is far beyond the other's"
        if paired and fewest_runs < fewest
        else "",
        f"{settings.constant_runs} where no value ever varies" if settings.constant_runs < fewest else "",
    ]
    text = f"too few: a change at p<{settings.alpha:g} takes {fewest} {pairs_or_runs} or more"
    listed = ", ".join(filter(None, exceptions))
    return f"{text} ({listed})" if listed else text


def counted(count: int, fewest: int, paired: bool) -> str:
    """`too few interleaved pairs: 5 of at least 6`, for a row of a table."""
    return f"too few {'interleaved pairs' if paired else 'runs'}: {count} of at least {fewest}"


def unclear(needed: int | None, paired: bool, apart: bool, busy: bool) -> str:
    """Why runs that are enough decide nothing, for a row of a table."""
    if paired:
        text = "too much noise"
    elif busy:
        text = machine_speed.BUSY
    else:
        text = "sessions may differ as much" if apart else "the machine may drift as much"
    return f"{text}: measure about {needed:,} interleaved pairs" if needed is not None else text


def separated(threshold: float) -> str:
    return f"all of it more than {share(threshold)}, and every run of one side beyond every run of the other"


def exact(logarithm: float, threshold: float, changed: bool) -> str:
    text = f"neither side ever varied: {change(logarithm)}"
    return f"{text}, {'more than' if changed else 'within'} {share(threshold)}"


def absent(baseline: int, target: int) -> str:
    if baseline or target:
        return f"only the {'baseline' if baseline else 'target'} has amounts of it"
    return "there are no amounts of it"


def without_value(counts: Sequence[int], paired: bool) -> str:
    """Of runs that have no amount of the metric."""
    return f"{_counted(counts, paired)} left out for want of a value" if any(counts) else ""


def disturbed_left_out(counts: Sequence[int], paired: bool) -> str:
    return f"{_counted(counts, paired)} left out that the machine disturbed"


def disturbed_kept(counts: Sequence[int], paired: bool) -> str:
    return f"{_counted(counts, paired)} disturbed by the machine, and too few would be left without"


def doubted(doubt: str) -> str:
    return f"{doubt}, so a difference need not come from the code"


def listing(names: Iterable[str]) -> str:
    return ", ".join(sorted(printable(name) for name in names))


def _counted(counts: Sequence[int], paired: bool) -> str:
    return plural(counts[0], "pair") if paired else f"{counts[0]:,} and {plural(counts[1], 'run')}"
