"""Changes of the machine for reports: each of them once, though every series shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from perfcore.analysis import verdict_text
from perfcore.model import Change
from perfcore.model.record import replace
from perfcore.text import plural

_Event: TypeAlias = tuple[object, ...]


def merge(changes: Iterable[Change], numbers: Mapping[str, int]) -> list[Change]:
    """The changes with those of the machine once, for all commands or benchmarks that they are of. Another metric's is
    the same where it may have come with the same version. `numbers` has the place of every version in the branch."""
    ordered = list(changes)
    events: dict[_Event, list[Change]] = {}
    for change in ordered:
        if change.kind == "machine":
            events.setdefault(_event(change), []).append(change)
    merged: list[Change] = []
    for event in events.values():
        if not any(_are_one(event[0], earlier_change, numbers) for earlier_change in merged):
            merged.append(_joined(event, numbers))
    return [change for change in ordered if change.kind != "machine"] + merged


def affected(change: Change) -> str:
    """The commands that changed with a machine, `8 of 10 commands`, or the benchmarks of suites."""
    if change.measured is None:
        return change.label
    subjects = plural(change.measured, "benchmark" if change.resource else "command")
    return subjects if change.moved is None else f"{change.moved} of {subjects}"


def _event(change: Change) -> _Event:
    if change.moved is None:  # the environment itself is another, for every metric alike
        return change.environments or (change.baseline, change.target)
    return change.environments, change.metric, change.unit, change.earliest, change.moved


def _are_one(change: Change, other: Change, numbers: Mapping[str, int]) -> bool:
    if change.environments != other.environments or (change.moved is None) != (other.moved is None):
        return False
    first, last = _span(change, numbers)
    begun, ended = _span(other, numbers)
    return first <= ended and begun <= last


def _span(change: Change, numbers: Mapping[str, int]) -> tuple[int, int]:
    return numbers[change.earliest], numbers[change.latest]


def _joined(some: Sequence[Change], numbers: Mapping[str, int]) -> Change:
    """The change at the first version that shows it, for all commands and benchmarks."""
    first = min(some, key=lambda change: numbers[change.latest])
    subjects = _subjects(some)
    joined = replace(_with_factors(first, some), measured=first.measured or len(subjects), config_id="")
    label = affected(replace(joined, resource=first.resource))
    return replace(joined, label=label, resource=first.resource if len(subjects) == 1 else "")


def _subjects(some: Iterable[Change]) -> set[tuple[str, str]]:
    """The commands, and the benchmarks of suites."""
    return {(change.config_id, change.resource) for change in some}


def _with_factors(first: Change, some: Sequence[Change]) -> Change:
    """The change with the factors between the machines, where they have one history: one factor, or the span of all, as
    every series has its own. Those of other metrics are others again, and have no place here."""
    continued = [change for change in some if change.moved is None and change.ratio is not None]
    if not continued:
        return first
    metric = continued[0].metric
    alike = [change for change in continued if change.metric == metric]
    apart = len(_subjects(some) - _subjects(continued))
    subject = "other benchmark" if any(change.resource for change in some) else "other command"
    note = f"; {plural(apart, subject)} not compared" if apart else ""
    if len(alike) == 1:
        return replace(alike[0], evidence=alike[0].evidence + note)
    before, after = map(verdict_text.environment, first.environments)
    factors = sorted(change.ratio or 0.0 for change in alike)
    return replace(
        first,
        metric=metric,
        unit=alike[0].unit,
        resource="",
        primary=alike[0].primary,
        ratio=None,
        low=min(change.low or 0.0 for change in alike),
        high=max(change.high or 0.0 for change in alike),
        confidence=alike[0].confidence,
        evidence=(
            f"machines {before} and {after} differ by factors of {factors[0]:.4g} to {factors[-1]:.4g}, one for each "
            f"of {plural(len(alike), 'series', 'series')}{note}"
        ),
    )
