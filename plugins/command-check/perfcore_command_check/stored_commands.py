"""Commands that profiles hold, as jobs to measure again.

Profiles may come from a clone or an import, so a command of theirs runs only if the user measured it on this machine.
Nobody is asked: a gate has no terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from perfcore.config.settings import options_of
from perfcore.errors import NotFoundError, UntrustedError
from perfcore.measure import commands
from perfcore.measure.request import working_directory
from perfcore.measure.schedule import split_options
from perfcore.model import Job, Profile, Step
from perfcore.model.record import replace
from perfcore.plugins.drivers import settings_of
from perfcore.repository.repository import Repository
from perfcore.text import printable


@attrs.frozen(kw_only=True)
class StoredCommand:
    """A command as it was measured; `schedule` are the options that do not change what runs."""

    job: Job
    schedule: dict[str, Any]
    config_id: str


def of_configuration(repository: Repository, version: str, config_id: str) -> StoredCommand:
    """The command of the newest profile that a version has of a configuration."""
    for command in of_version(repository, version):
        if command.config_id == config_id:
            return command
    raise NotFoundError(f"version {version[:10]} has no profile whose command could be measured again")


def of_benchmarks(repository: Repository, command: StoredCommand, names: Sequence[str]) -> StoredCommand:
    """The same for these benchmarks alone, where the collector has the option `select`: texts that names contain."""
    step = command.job.collector
    settings = settings_of(repository.plugins.load("collector", step.name)[1])
    selects = settings is not None and any(o.name == "select" and o.many for o in options_of(settings))
    if not selects or not all(names):
        return command
    step = replace(step, params={**step.params, "select": list(names)})
    return attrs.evolve(command, job=replace(command.job, collector=step))


def of_version(repository: Repository, version: str) -> Iterator[StoredCommand]:
    """The command of every configuration of a version, the newest profile first. UntrustedError for one that the user
    has not measured on this machine."""
    seen: set[str] = set()
    for entry in reversed(repository.readable_entries(version)):
        # Postprocessed amounts are not what a run gives, so new runs could not be compared with them.
        if entry.config_id and entry.config_id not in seen and not entry.postprocessors:
            seen.add(entry.config_id)
            yield _command(repository, repository.store.load(entry.profile), entry.config_id)


def _command(repository: Repository, profile: Profile, config_id: str) -> StoredCommand:
    header = profile.header
    if not repository.commands.hold(commands.profile_digest(repository.home, profile)):
        raise UntrustedError(
            f"you have not measured this command on this machine: {printable(profile.label)}",
            hint="measure it yourself once, if you want to run it: perf collect",
        )
    schedule, params = split_options(profile.collector.params)
    job = Job(
        argv=header.argv,
        cmd=header.cmd,
        args=header.args,
        workload=header.workload,
        shell=header.shell,
        cwd=working_directory(repository, Path(commands.folder(header))),
        collector=Step(
            name=profile.collector.name, params={name: param for name, param in params.items() if param is not None}
        ),
    )
    return StoredCommand(job=job, schedule=schedule, config_id=config_id)
