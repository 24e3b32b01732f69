"""What the versions before were measured with and a version is not: a gate must not pass because a measurement did not
happen.

Only the history tells which commands belong to a gate: those that the last three versions had which this machine
measured in a way that the version was measured in (all, where there are fewer), each time beside the others. A job of
every night or month measures at other times, or not each version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from perfcore.model import Entry, Unpaired
from perfcore.repository.repository import Repository

_VERSIONS = 3
# Jobs of one pipeline end within hours; a nightly job runs seven hours or more after the pushes of a working day.
_BESIDE = 6 * 3600 * 10**9  # ns

_Entries: TypeAlias = dict[tuple[str, str], Entry]


def of_version(repository: Repository, version: str) -> Iterator[Unpaired]:
    """One for each configuration that is missing; not for one that the version has on another machine, or with other
    options: that has no baseline, and is told for that."""
    target = _by_key(repository.entries(version))
    configs, commands = {config_id for config_id, _ in target}, set(map(_command, target.values()))
    newest, usual = "", _Entries()
    for rank, (ancestor, neighbours) in enumerate(_measured_alike(repository, version, target)):
        if rank == _VERSIONS:
            break
        newest = newest or ancestor
        usual = {key: entry for key, entry in (usual if rank else neighbours).items() if key in neighbours}
    for entry in sorted(usual.values(), key=_command):
        if entry.config_id not in configs and _command(entry) not in commands:
            reason = f"it was measured in {newest[:10]}, and is no longer"
            yield Unpaired(
                label=entry.label, config_id=entry.config_id, version=version, reason=reason, side="baseline"
            )


def _measured_alike(repository: Repository, version: str, target: _Entries) -> Iterator[tuple[str, _Entries]]:
    """The earlier versions that a machine measured in a way of the target, newest first, with all that it measured
    beside that."""
    for ancestor, entries in repository.walk(version) if target else ():
        every = _by_key(entries) if ancestor.id != version else {}
        if shared := [entry for key, entry in every.items() if key in target]:
            yield ancestor.id, {key: entry for key, entry in every.items() if _is_beside(entry, shared)}


def _is_beside(entry: Entry, others: Iterable[Entry]) -> bool:
    return any(
        entry.environment_id == other.environment_id and abs(entry.created - other.created) <= _BESIDE
        for other in others
    )


def _by_key(entries: Iterable[Entry]) -> _Entries:
    """The newest entry of each configuration and machine."""
    return {(entry.config_id, entry.environment_id): entry for entry in entries if entry.config_id}


def _command(entry: Entry) -> tuple[str, str]:
    return entry.label, entry.collector
