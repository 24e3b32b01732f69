"""`perf check --collect`: measures what a check of a version needs and does not have, with its baseline.

The commands are the jobs of the configuration; without any, those that were measured for the nearest ancestor. Both
versions are measured in one session, also if one of them has profiles already: two sessions differ by more than most
changes do.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from perfcore_check_kit import pairing
from perfcore_check_kit.target import CheckTarget, Version, VersionPair

from perfcore.errors import NotFoundError, UsageError
from perfcore.library import History
from perfcore.measure.collection import collect
from perfcore.measure.request import MeasureRequest, configured_build
from perfcore.model import Pairing
from perfcore.model.listener import Listener
from perfcore_command_check import stored_commands
from perfcore_command_check.stored_commands import StoredCommand

# All 6 pairs of one sign have p = 2 / 2^6 = 0.031 by the signed-rank test, and the check `pair` needs 0.05. Commands
# that were measured less often would be inconclusive again.
_DECISIVE = 6
_JOBS = ("bins", "cmds")


def collect_missing(history: History, target: CheckTarget, listener: Listener) -> None:
    """Measure and register the profiles that a check of this target lacks."""
    if not isinstance(target, Version | VersionPair):
        raise UsageError("--collect measures one version, or two", hint="perf check --collect [REV]")
    repository = history.repository
    if isinstance(target, VersionPair):
        versions = target.baseline, target.target
        pairs = list(pairing.of_versions(repository, *versions))
    else:
        versions = _baseline(history, target.id), target.id
        pairs = list(pairing.of_version(repository, target.id))
    complete = bool(pairs) and all(isinstance(pair, Pairing) for pair in pairs)
    if any(history.repository.config.get(key) for key in _JOBS):
        # With `missing`, only what neither was measured with: a job that is new in the configuration.
        history.run(version=list(versions), missing=complete, register=True, listener=listener)
    elif not complete:
        _collect_stored(history, versions, listener)


def _baseline(history: History, version: str) -> str:
    """The nearest measured ancestor along first parents, else the parent."""
    repository = history.repository
    parents = repository.vcs.get_minor_version_info(version).parents
    if not parents:
        raise NotFoundError(f"version {version[:10]} has no parent to compare with")
    ancestors = _first_parents(history, parents[0])
    return next((ancestor for ancestor in ancestors if repository.entries(ancestor)), parents[0])


def _first_parents(history: History, version: str) -> Iterator[str]:
    vcs = history.repository.vcs
    while version:
        yield version
        version = next(iter(vcs.get_minor_version_info(version).parents), "")


def _collect_stored(history: History, versions: tuple[str, str], listener: Listener) -> None:
    repository = history.repository
    commands: dict[str, StoredCommand] = {}
    for version in reversed(versions):
        for command in stored_commands.of_version(repository, version):
            commands.setdefault(command.config_id, command)
    if not commands:
        collector = repository.plugins.usual_collector()
        raise NotFoundError(
            "nothing says what to measure: the configuration has no jobs, and no earlier version was measured",
            hint=f"write bins into .perfcore.yml, or measure once: perf collect {collector} --add -- COMMAND",
        )
    building = configured_build(repository)
    ordered = sorted(commands.values(), key=lambda command: repr(sorted(command.schedule.items())))
    for _, group in groupby(ordered, key=lambda command: repr(sorted(command.schedule.items()))):
        members = list(group)
        schedule = {**members[0].schedule, "repeat": max(_DECISIVE, int(members[0].schedule.get("repeat") or 0))}
        request = MeasureRequest(
            jobs=tuple(command.job for command in members),
            versions=versions,
            schedule={key: setting for key, setting in schedule.items() if setting is not None},
            building=building,
            register=True,
        )
        error = collect(repository, request, listener).error()
        if error is not None:
            raise error
