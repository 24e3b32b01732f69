"""Suites of benchmarks in comparisons that measure: each benchmark is decided by itself, and all of them together have
one chance of a false alarm."""

from __future__ import annotations

from collections.abc import Sequence

from perfcore_check_kit.benchmark_pairs import expanded
from perfcore_check_kit.pair_checks import of_benchmark

from perfcore.errors import UsageError
from perfcore.model import Change, Pairing, Unpaired
from perfcore.model.record import replace
from perfcore.plugins.drivers import Phases
from perfcore.profile import benchmarks
from perfcore.text import brief

_WORST_FIRST = ("degradation", "cannot tell", "optimization", "same")


def is_suite(pair: Pairing) -> bool:
    return any(map(benchmarks.is_suite, (*pair.baseline.profiles, *pair.target.profiles)))


def judged(check: Phases, pair: Pairing, smallest: float) -> tuple[list[Change], tuple[Unpaired, ...]]:
    """The changes of all metrics of every benchmark, the worst of those that decide first; and the benchmarks that
    only one side has. `smallest` is the smallest change that matters in a metric that decides. UsageError where no
    benchmark has the metric of the pair."""
    parts = list(expanded([pair]))
    shared = [part for part in parts if isinstance(part, Pairing)]
    changes: list[Change] = []
    for part in shared:
        # The more benchmarks, the likelier one of them looks changed by chance: each has to be surer.
        question = replace(part, comparisons=len(shared))
        metric = pair.metric or _primary(check.call("compare", pairing=question))
        if metric is not None:
            thresholds = {**pair.thresholds, metric: smallest}
            question = replace(question, metric=metric, thresholds=thresholds)
            changes += [of_benchmark(change, part.benchmark) for change in check.call("compare", pairing=question)]
    if changes and not any(change.primary for change in changes):
        names = ", ".join(sorted({brief(change.metric) for change in changes}))
        raise UsageError(f"the metric {brief(str(pair.metric))} was not measured", hint=f"there is {names}")
    return sorted(changes, key=_rank), tuple(part for part in parts if isinstance(part, Unpaired))


def deciding(changes: Sequence[Change]) -> Sequence[Change]:
    """The changes that a comparison is about: the first one, or those of each benchmark of a suite."""
    if not changes or not changes[0].resource:
        return changes[:1]
    return [change for change in changes if change.primary]


def _primary(changes: Sequence[Change]) -> str | None:
    return next((change.metric for change in changes if change.primary), None)


def _rank(change: Change) -> tuple[bool, int, float, str]:
    """Metrics that decide first; of them regressions, what is undecided, improvements; the largest of each first."""
    kind = _WORST_FIRST.index(change.kind) if change.kind in _WORST_FIRST else len(_WORST_FIRST)
    return not change.primary, kind, -max(change.ratio or 1.0, 1 / (change.ratio or 1.0)), change.resource
