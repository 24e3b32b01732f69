"""From a pairing to a verdict for every metric."""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import asdict, replace
from perfcore_check_kit import machine_speed, run_values

from perfcore.analysis.verdict_text import TIMES
from perfcore.errors import UsageError
from perfcore.model import Change
from perfcore.text import printable
from perfcore_check_pair import clock, comparable, samples, session_spread, steady_quantities, suite_factor, wording
from perfcore_check_pair.selection import Measured, choose
from perfcore_check_pair.verdict import Apart, Question, decide

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfcore.model import Pairing, Series
    from perfcore_check_pair import PairSettings
    from perfcore_check_pair.samples import Flags, Indexes, Metric, Runs
    from perfcore_check_pair.session_spread import SessionSpread
    from perfcore_check_pair.verdict import Verdict

_ALIKE = 1e-9  # below it the shares of sessions differ by rounding
WALL = "wall"


class _Comparison(msgspec.Struct, frozen=True, eq=False):
    """A pairing as it was read: the runs of both sides, which of them are partners, and why they should not be
    compared (`obstacle`) or not be believed (`doubt`)."""

    pairing: Pairing
    settings: PairSettings
    baseline: Runs
    target: Runs
    partners: tuple[Indexes, Indexes] | None
    obstacle: str | None
    doubt: str | None


def compare(pairing: Pairing, settings: PairSettings) -> Sequence[Change]:
    """One change for every metric that either side has, in the order of their columns."""
    baseline, target = suite_factor.sides(pairing)
    comparison = _Comparison(
        pairing,
        settings,
        baseline,
        target,
        samples.pairs(baseline, target, pairing.interleaved),
        comparable.obstacle(pairing),
        comparable.doubt(pairing, baseline, target, settings),
    )
    primary = pairing.metric or _primary(baseline.metrics, target.metrics)
    names = dict.fromkeys((*baseline.metrics, *target.metrics))
    return [_change(comparison, name, name == primary) for name in names]


def _change(comparison: _Comparison, name: str, primary: bool) -> Change:
    pairing, verdict = comparison.pairing, _verdict(comparison, name, primary)
    return Change(
        id=_identity(pairing, name),
        metric=name,
        unit=_unit(comparison, name),
        config_id=pairing.config_id,
        label=pairing.label,
        baseline=pairing.baseline.label,
        target=pairing.target.label,
        primary=primary,
        **asdict(verdict),
    )


def _verdict(comparison: _Comparison, name: str, primary: bool) -> Verdict:
    sides = [side.metrics[name] for side in (comparison.baseline, comparison.target) if name in side.metrics]
    paired, settings = comparison.partners is not None, _settings(comparison, primary)
    chosen = choose(_columns(comparison, name), paired, calm_only=name == WALL, alpha=settings.alpha)
    question = Question(
        comparisons=comparison.pairing.comparisons,
        baseline=chosen.baseline,
        target=chosen.target,
        paired=paired,
        threshold=_threshold(comparison.pairing, name, primary, settings),
        higher_is_better="higher" in sides[0].better,
        unit=_unit(comparison, name),
        obstacle=comparison.obstacle or comparable.different_columns(sides),
        doubt=comparison.doubt or chosen.doubt,
        notes=chosen.notes,
        exact=all(side.exact for side in sides),
        apart=_apart(comparison, name),
    )
    verdict = _decided(question, settings, _shared(comparison, name, chosen.kept))
    if verdict.kind not in ("degradation", "optimization"):
        return verdict
    reason = clock.explanation(comparison.pairing, question.unit, verdict.ratio)
    return replace(verdict, evidence=f"{verdict.evidence}; {reason}") if reason else verdict


def _shared(comparison: _Comparison, name: str, kept: Flags) -> suite_factor.Part | None:
    """What the pairs share with those of the other benchmarks; None where they share nothing."""
    partners, pairing = comparison.partners, comparison.pairing
    if partners is None or not pairing.benchmark:
        return None
    # Half of the error that the suite may have is for what it did as a whole, half for what each benchmark did.
    shared = suite_factor.of_suite(pairing.suite, name, comparison.settings.alpha / 2)
    return shared.part(pairing.benchmark, suite_factor.keys_of(comparison.baseline, partners), kept)


def _decided(question: Question, settings: PairSettings, shared: suite_factor.Part | None) -> Verdict:
    """The verdict on what a benchmark did by itself, beside what its suite did. Whether it changed with its suite, only
    its runs as they were measured tell."""
    if shared is None:
        return decide(question, settings)
    notes = (*question.notes, wording.shared(shared.benchmarks))
    own = decide(
        replace(question, shared=shared.logarithms, notes=notes, comparisons=2 * question.comparisons), settings
    )
    if own.kind == "same" and (whole := decide(question, settings)).kind != "same":
        return replace(own, kind="cannot tell", needed=whole.needed, reason=wording.with_suite(whole.needed))
    return own


def _apart(comparison: _Comparison, name: str) -> Apart | None:
    """How much the sessions of the two sides may differ; None where the sides share their sessions."""
    if comparison.partners is not None or not (comparison.baseline.runs and comparison.target.runs):
        return None
    baseline, target = (
        # Runs that name no session may be of any time: each side gets a session of its own.
        session_spread.shares([run.key[0] if run.key else (side,) for run in runs.runs])
        for side, runs in enumerate((comparison.baseline, comparison.target))
    )
    sessions = session_spread.variance_of_sessions(baseline, target)
    if sessions < _ALIKE:
        return None
    drift = _assumed_drift(comparison, name)
    spread = _spread(comparison, name, drift)
    if not drift or _unit(comparison, name) not in TIMES:
        return Apart(spread, sessions, drift)
    slowness = _slowness(comparison.pairing)
    busy = session_spread.busy_variance(_disturbed(comparison), slowness)
    return Apart(spread, sessions, drift, busy, max(slowness))


def _disturbed(comparison: _Comparison) -> list[float]:
    """The share of the runs of each side that the machine disturbed."""
    return [
        sum(run.disturbed for run in side.runs) / len(side.runs) for side in (comparison.baseline, comparison.target)
    ]


def _slowness(pairing: Pairing) -> tuple[float, float]:
    """By how much the machine was slower beside each side than at its fastest beside either, as logarithms."""
    baseline, target = (machine_speed.of_profiles(side.profiles) for side in (pairing.baseline, pairing.target))
    every = [*baseline, *target]
    return machine_speed.slowness(baseline, every), machine_speed.slowness(target, every)


def _assumed_drift(comparison: _Comparison, name: str) -> float:
    """How much two sessions are taken to differ, by how much the runs of all measurements do."""
    sides = [side.metrics[name].amounts for side in (comparison.baseline, comparison.target) if name in side.metrics]
    stored = (runs for series in _history(comparison, name) for runs in series.values if runs and min(runs) > 0)
    measurements = [*(side[side > 0].tolist() for side in sides), *stored]
    return session_spread.assumed_drift(measurements, _least_drift(comparison, name))


def _least_drift(comparison: _Comparison, name: str) -> float:
    """How much two sessions are taken to differ at least, by what the metric is."""
    settings = comparison.settings
    metrics = [side.metrics[name] for side in (comparison.baseline, comparison.target) if name in side.metrics]
    is_steady = all(steady_quantities.is_steady(name, metric) for metric in metrics)
    return min(settings.size_drift, settings.session_drift) if is_steady else settings.session_drift


def _spread(comparison: _Comparison, name: str, drift: float) -> SessionSpread:
    if drift == 0:
        return session_spread.estimate((), 0.0)
    pairing = comparison.pairing
    environment = pairing.target.profiles[0].environment_id
    differences = [
        difference
        for series in _history(comparison, name)
        for difference in session_spread.differences(series, environment, pairing.target.version)
    ]
    return session_spread.estimate(differences, drift)


def _history(comparison: _Comparison, name: str) -> list[Series]:
    """The metric over the versions before."""
    wanted = name, comparison.pairing.benchmark, _unit(comparison, name)
    every = comparison.pairing.history()
    return [series for series in every if (series.metric, series.resource, series.unit) == wanted]


def _unit(comparison: _Comparison, name: str) -> str:
    side = comparison.target if name in comparison.target.metrics else comparison.baseline
    return min(side.metrics[name].units)


def _columns(comparison: _Comparison, name: str) -> tuple[Measured, Measured]:
    """The metric's amounts on both sides; of partners only, where there are any."""
    return _column(comparison, 0, name), _column(comparison, 1, name)


def _column(comparison: _Comparison, side: int, name: str) -> Measured:
    runs = (comparison.baseline, comparison.target)[side]
    if name not in runs.metrics:
        return Measured(np.zeros(0), np.zeros(0, dtype=bool))
    amounts = runs.metrics[name].amounts
    disturbed = np.array([run.disturbed for run in runs.runs], dtype=bool)
    if comparison.partners is None:
        return Measured(amounts, disturbed)
    chosen = comparison.partners[side]
    return Measured(amounts[chosen], disturbed[chosen])


def _settings(comparison: _Comparison, primary: bool) -> PairSettings:
    """With ten metrics beside the primary one, each has to be surer, or every other history would show one. With
    several looks at the same runs, each of them has to be surer too."""
    settings, share = comparison.settings, comparison.pairing.share
    alpha = settings.alpha if primary else min(settings.alpha, settings.other_alpha)
    return replace(settings, alpha=share * alpha, confidence=1 - share * (1 - settings.confidence))


def _threshold(pairing: Pairing, name: str, primary: bool, settings: PairSettings) -> float:
    """The smallest relative change of this metric that matters."""
    default = settings.threshold if primary and name != WALL else settings.other_threshold
    threshold = pairing.thresholds.get(name, pairing.thresholds.get("", default))
    if not (math.isfinite(threshold) and threshold >= 0):
        raise UsageError(
            f"the threshold of {printable(name)!r} is {threshold}",
            hint="a threshold is a share such as 0.02 for 2 %, and 0 or more",
        )
    return threshold


def _primary(baseline: Mapping[str, Metric], target: Mapping[str, Metric]) -> str | None:
    """The metric that decides, in the order of all analyses, among those that both sides have amounts of; the same one
    when the sides are swapped."""
    shared = [name for name in baseline if name in target]
    # A clock of 10 ms (`time -p`) gives a CPU time of 0 for a short program: then wall time decides.
    usable = [name for name in shared if all((side[name].amounts > 0).any() for side in (baseline, target))]
    places = {side: list(side_metrics) for side, side_metrics in enumerate((baseline, target))}
    return run_values.primary(
        sorted(usable or shared, key=lambda name: (sum(places[i].index(name) for i in (0, 1)), name))
    )


def _identity(pairing: Pairing, metric: str) -> str:
    """The same for the same question, whatever the data answer."""
    # No amounts enter, so that an acceptance of the change still holds when more runs move its estimate.
    sides = [[side.version, side.dirty] for side in (pairing.baseline, pairing.target)]
    question = json.dumps([pairing.config_id, *sides, metric, ""])
    # 80 bits: short enough to type, and the chance that any two of a million changes share an id is below 1e-12.
    return hashlib.sha256(question.encode()).hexdigest()[:20]
