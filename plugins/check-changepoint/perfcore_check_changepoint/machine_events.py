"""The versions in which the machine changed, as changes: another environment, or a step that many series share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from perfcore.model import Change
from perfcore.model.record import replace
from perfcore_check_changepoint import suite, wording
from perfcore_check_changepoint.located import MachineStep, Places, identity, ratios
from perfcore_check_changepoint.replacement import Continuation

if TYPE_CHECKING:
    from perfcore.model import Series
    from perfcore_check_changepoint import ChangepointSettings

Placed: TypeAlias = tuple[int, Change]  # with the index of its version
_MACHINE = "machine"
_BESIDE = 2  # later versions that a machine measured at least if another came beside it, and did not replace it


def environments(
    series: Series, measured: Sequence[Places], continuations: Sequence[Continuation], confidence: float
) -> list[Placed]:
    """The versions that were the first to be measured in a new environment, or with which it continues another."""
    first: dict[str, str] = {}  # of the machines that have one history, by each of them
    for step in continuations:
        first[step.after] = first.setdefault(step.before, step.before)
    others = [
        (int(history.positions[0]), _environment(series, history.environment, history.base, int(history.positions[0])))
        for history in measured
        if history.base is not None and not _is_compared(first, series.environments[history.base], history.environment)
    ]
    return [*others, *((c.position, _continued(series, c, confidence)) for c in continuations)]


def _is_compared(first: Mapping[str, str], before: str, after: str) -> bool:
    """Whether a machine is told by a continuation, or is the first of the history that the one before it is in."""
    return after in first and (first[after] != after or first.get(before) == after)


def _environment(series: Series, environment: str, base: int, position: int) -> Change:
    before = series.environments[base]
    return replace(
        _event(series, base, position, identity(series, environment, _MACHINE, "")),
        evidence=wording.machine(before, environment, goes_on=_goes_on(series, before, position)),
        environments=(before, environment),
    )


def _goes_on(series: Series, environment: str, position: int) -> bool:
    """Whether an environment measured versions after the one at this position."""
    later = range(position + 1, len(series.versions))
    versions = {series.versions[at] for at in later if series.environments[at] == environment and series.values[at]}
    return len(versions - {series.versions[position]}) >= _BESIDE


def _continued(series: Series, continuation: Continuation, confidence: float) -> Change:
    ratio, low, high = continuation.interval(confidence)
    version = series.versions[continuation.position]
    return replace(
        _environment(series, continuation.after, continuation.base, continuation.position),
        environments=(continuation.before, continuation.after),
        ratio=ratio,
        low=low,
        high=high,
        confidence=confidence,
        evidence=wording.continued(continuation, version, (ratio, low, high), confidence),
    )


def steps(
    series: Series, measured: Sequence[Places], moved: Sequence[MachineStep], settings: ChangepointSettings
) -> list[Placed]:
    """The versions in which the machine changed without saying so, of those that the series was measured around."""
    spans = {history.environment: (int(history.positions[0]), int(history.positions[-1])) for history in measured}
    return [
        (step.located.position, _step(series, step, settings))
        for step in moved
        if (span := spans.get(step.located.history)) and span[0] < step.located.position <= span[1]
    ]


def _step(series: Series, step: MachineStep, settings: ChangepointSettings) -> Change:
    located, (ratio, low, high) = step.located, ratios(step.located.change)
    earliest, latest = (
        series.versions[int(located.positions[i])] for i in (located.change.earliest, located.change.latest)
    )
    event = _event(
        series,
        located.base,
        located.position,
        identity(series, located.environment, _MACHINE, series.versions[located.position]),
    )
    until = located.change.until
    last = event.target if until is None else series.versions[int(located.positions[until])]
    # The code of all grows as slowly as a machine does.
    may_be_code = until is not None or step.measured < suite.SMALL or 2 * step.series <= step.measured
    is_unclear = may_be_code and not step.came_with_session
    return replace(
        event,
        ratio=ratio,
        low=low,
        high=high,
        confidence=settings.confidence if low is not None else None,
        evidence=wording.shared(step, located.change.after / located.change.before, "" if until is None else last),
        reason=wording.either(event.baseline, last) if is_unclear else "",
        earliest=earliest,
        latest=latest,
        moved=step.series,
        measured=step.measured,
        environments=(located.environment, located.environment),
    )


def _event(series: Series, base: int, position: int, id: str) -> Change:
    return Change(
        id=id,
        kind="machine",
        metric=series.metric,
        unit=series.unit,
        resource=series.resource,
        config_id=series.config_id,
        label=series.label,
        baseline=series.versions[base][:10],
        target=series.versions[position][:10],
        primary=False,
        earliest=series.versions[position],
        latest=series.versions[position],
    )
