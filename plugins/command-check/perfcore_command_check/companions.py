"""One row for one slow version: metrics that changed together with the one that decides, and metrics of the machine.

A slower program needs more CPU time, more wall time, more user time; each was a row, an annotation and an alert. Such
companions stand beside the change of the primary metric: the same command between the same versions, in the same
direction. Memory that grows while CPU time stays is a row of its own.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TypeAlias

from perfcore.analysis import verdict_text
from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.verdict_text import CHANGED
from perfcore.model import Change
from perfcore.text import percent, printable

_WORSE = {"degradation": True, "drift": True, "optimization": False, "improving drift": False}
DELAY, WALL = "run_delay", "wall"
# What else runs on a machine moves these by tens of percent between runs of one program (the tour in README.md): they
# explain a change, and are none by themselves.
NOISY = frozenset({DELAY, "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults"})
# If waiting for a CPU explains half of the growth of wall time, the rest is within what such runs vary by.
_EXPLAINED = 0.5
# Of a benchmark within a process nobody knows how long it waited. One other process on its CPU doubles its wall time.
_SHARED = 2.0

_Command: TypeAlias = tuple[str, ...]
Key: TypeAlias = tuple[str, tuple[str, ...]]


def reported(result: CheckResult) -> list[Change]:
    """The changes for a report to people: those of primary metrics, of those that the build watches, those that fail
    it, and of the others those that changed by themselves."""
    failing = {change.id for change in result.failing}
    return shown(result.changes, always=failing, metrics=watched(result))


def watched(result: CheckResult) -> set[str]:
    """The metrics that rules name. Whoever lets the build fail for one wants to see that it was looked at, too."""
    return {rule.metric for rule in result.rules if rule.metric}


def shown(changes: Sequence[Change], *, always: Container[str] = (), metrics: Container[str] = ()) -> list[Change]:
    """The same of any changes; those with an id of `always` are among them."""
    leading, delays = leaders(changes), _delays(changes)

    def is_shown(change: Change) -> bool:
        if change.primary or change.id in always or change.metric in metrics:
            return True
        if change.kind not in CHANGED or key(change) in leading or change.metric in NOISY:
            return False
        return not _is_waiting(change, delays) and not _may_be_waiting(change)

    return [change for change in changes if is_shown(change)]


def key(change: Change) -> Key:
    """What tells changes apart: those of several machines between the same two versions share an id."""
    return change.id, change.environments


def leaders(changes: Sequence[Change]) -> dict[Key, Change]:
    """The change of a primary metric that each companion came with, by the key of the companion."""
    primary: dict[_Command, list[Change]] = {}
    for change in changes:
        if change.primary and not change.contract and change.kind in _WORSE:
            primary.setdefault(_command(change), []).append(change)
    return {
        key(change): leader
        for change in changes
        for leader in primary.get(_command(change), ())
        if came_with(change, leader)
    }


def came_with(change: Change, leader: Change) -> bool:
    """Whether a change of another metric is a companion of this one."""
    if change.primary or change.contract or change.kind not in _WORSE or leader.kind not in _WORSE:
        return False
    if _command(change) != _command(leader) or _WORSE[change.kind] != _WORSE[leader.kind]:
        return False
    if not (change.earliest and leader.earliest):
        return (change.baseline, change.target) == (leader.baseline, leader.target)
    # In a history each metric places the change by its own noise: they may differ by some versions.
    return not _versions(change).isdisjoint(_versions(leader))


def beside(leader: Change, leading: Mapping[Key, Change], changes: Sequence[Change]) -> str:
    """The companions of a change in a few words: `with wall +49.0 %, user +71.4 %`; empty where there are none."""
    words = [
        f"{verdict_text.metric(change)} {percent(change.ratio) if change.ratio is not None else change.kind}"
        for change in changes
        if (led := leading.get(key(change))) is not None and key(led) == key(leader)
    ]
    return f"with {', '.join(words)}" if words else ""


def hidden(changes: Sequence[Change], visible: Sequence[Change]) -> str:
    """A line that names the metrics which changed and have no row, nor stand beside one; empty where there are none."""
    leading, ids = leaders(changes), {change.id for change in visible}
    names = dict.fromkeys(
        printable(change.metric)
        for change in changes
        if change.kind in CHANGED and change.id not in ids and key(change) not in leading
    )
    return f"also changed, as on a busy machine: {', '.join(names)} (--all-metrics shows them)" if names else ""


def _command(change: Change) -> _Command:
    return change.config_id, change.label, change.resource, *change.environments


def _versions(change: Change) -> set[str]:
    return {change.target[:10], change.earliest[:10], change.latest[:10]}


def _delays(changes: Sequence[Change]) -> dict[tuple[_Command, str, str], float]:
    """By how much longer the runs of each comparison waited for a CPU."""
    return {
        (_command(change), change.baseline, change.target): growth
        for change, growth in _growths(changes)
        if change.metric == DELAY
    }


def _growths(changes: Sequence[Change]) -> Iterator[tuple[Change, float]]:
    for change in changes:
        if change.baseline_value is not None and change.target_value is not None:
            yield change, change.target_value - change.baseline_value


def _is_waiting(change: Change, delays: Mapping[tuple[_Command, str, str], float]) -> bool:
    """Whether wall time grew because the runs waited for a CPU, which other processes had."""
    delay = delays.get((_command(change), change.baseline, change.target), 0.0)
    growths = [growth for _, growth in _growths([change])]
    return change.metric == WALL and any(0 < growth * _EXPLAINED <= delay for growth in growths)


def _may_be_waiting(change: Change) -> bool:
    """Whether a benchmark within a process took other wall time while its CPU time, which decides, stayed."""
    if change.metric != WALL or change.primary or not change.resource:
        return False
    values = change.baseline_value or 0.0, change.target_value or 0.0
    return max(values) < _SHARED * min(values)
