"""Machines by their names, for tables and pages: the host of an environment, or its id where another has this host or
where it is a pool of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from perfcore.analysis import verdict_text
from perfcore.errors import PerfError
from perfcore.model.record import replace
from perfcore.text import clip, printable

if TYPE_CHECKING:
    from perfcore.model import Change, MetricHistory
    from perfcore.repository.repository import Repository

_COLUMNS = 30  # of a name: two stand in a remark of a table, and words take it for no id


def in_changes(repository: Repository, changes: Sequence[Change], versions: Mapping[str, str]) -> tuple[Change, ...]:
    """The changes with names of machines in their words. `versions` has full ids by their first ten characters."""
    environments = {id for change in changes for id in change.environments}
    labels = {label for change in changes if change.environments for label in (change.baseline, change.target)}
    profiles: dict[str, list[str]] = {}
    for version in sorted(versions[label] for label in labels if label in versions):
        for entry in repository.readable_entries(version):
            if entry.environment_id in environments:
                profiles.setdefault(entry.environment_id, []).append(entry.profile)
    names = _names(repository, profiles)
    return tuple(_named(change, names) for change in changes)


def in_histories(repository: Repository, histories: Sequence[MetricHistory]) -> tuple[MetricHistory, ...]:
    """The histories with names of machines in their points and changes. One machine needs none."""
    points = [point for history in histories for point in history.points if point.profiles]
    oldest = {point.environment: point.profiles[0] for point in reversed(points)}
    profiles = {point.environment: [oldest[point.environment], point.profiles[-1]] for point in points}
    names = _names(repository, profiles) if len(profiles) > 1 else {}
    if not names:
        return tuple(histories)
    return tuple(
        replace(
            history,
            points=tuple(replace(p, environment=names.get(p.environment, p.environment)) for p in history.points),
            changes=tuple(_named(change, names) for change in history.changes),
        )
        for history in histories
    )


def _names(repository: Repository, profiles: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The host that measured these profiles of each environment, where it is one, and that of no other environment."""
    hosts = {id: {_host(repository, profile) for profile in profiles[id]} for id in profiles if id}
    counts = Counter(host for of_environment in hosts.values() for host in of_environment)
    names = {id: of_environment.pop() for id, of_environment in hosts.items() if len(of_environment) == 1}
    return {id: host for id, host in names.items() if host and counts[host] == 1}


def _host(repository: Repository, profile: str) -> str:
    try:
        return clip(printable(str(repository.store.load(profile).machine.get("host", ""))), _COLUMNS)
    except PerfError:  # a damaged profile has no name; what reads its runs says so
        return ""


def _named(change: Change, names: Mapping[str, str]) -> Change:
    replaced = [id for id in change.environments if id in names]
    if not replaced:
        return change
    return replace(
        change,
        environments=tuple(names.get(id, id) for id in change.environments),
        reason=_replaced(change.reason, replaced, names),
        evidence=_replaced(change.evidence, replaced, names),
    )


def _replaced(text: str, ids: Iterable[str], names: Mapping[str, str]) -> str:
    for id in ids:
        text = text.replace(verdict_text.environment(id), names[id])
    return text
