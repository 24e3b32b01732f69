"""Comparison as a call of the library: `open_repository().compare("./old", "./new")`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from perfcore.errors import UsageError, nearest
from perfcore.library import History
from perfcore.measure.calls import Command, command_job
from perfcore.measure.commands import in_folder
from perfcore.measure.request import working_directory
from perfcore.model import Job, Step
from perfcore.model.listener import Listener, SilentListener
from perfcore.model.record import replace
from perfcore.repository.repository import Repository
from perfcore_command_compare import engine
from perfcore_command_compare.host import Host
from perfcore_command_compare.request import Budget, CompareRequest
from perfcore_command_compare.result import ComparisonResult
from perfcore_command_compare.stored import StoredComparison, compare_versions


@attrs.frozen(kw_only=True)
class CompareOptions:
    """The arguments of `History.compare`.

    Two commands are compared in the working tree; one command, in two `versions` (None: the working tree). Without a
    command, the versions are names of stored profiles, and nothing is measured. A job is a command with its collector,
    as a profile holds it; its directory and variables are its own. `save` saves the runs as pending
    profiles; `budget` is in seconds; `cpu` is a list of CPUs; `cwd` is a directory below the root of the tree.
    """

    first: Command | Job | None = None
    second: Command | Job | None = None
    versions: tuple[str | None, str | None] = (None, None)
    collector: str = "time"
    metric: str | None = None
    threshold: float | None = None
    max_pairs: int = Budget().pairs
    budget: float = Budget().seconds
    inputs: Sequence[str] = ()
    build: bool = True
    rebuild: bool = False
    again: bool = False
    save: bool = False
    shell: bool = False
    cpu: str | None = None
    env: Mapping[str, str] | None = None
    cwd: str | Path | None = None
    listener: Listener | None = None


def compare(history: History, arguments: Mapping[str, Any]) -> ComparisonResult:
    """The result of a comparison with these arguments."""
    names = [field.name for field in attrs.fields(CompareOptions)]
    for name in arguments:
        if name not in names:
            raise UsageError(f"a comparison has no option {name!r}", hint=nearest(name, names) or ", ".join(names))
    options = CompareOptions(**arguments)
    listener = options.listener or SilentListener()
    if options.first is None:
        return _compare_profiles(history.repository, options, listener)
    return _compare_commands(history.repository, options.first, options, listener)


def compare_stored(
    history: History,
    *,
    stored: tuple[str, str],
    benchmarks: str | None = None,
    metric: str | None = None,
    threshold: float | None = None,
    listener: Listener | None = None,
) -> StoredComparison:
    """Two versions compared by all that is stored of both."""
    return compare_versions(
        history.repository,
        stored,
        listener or SilentListener(),
        benchmarks=benchmarks,
        metric=metric,
        threshold=threshold,
    )


def _compare_profiles(repository: Repository, options: CompareOptions, listener: Listener) -> ComparisonResult:
    names = str(options.versions[0]), str(options.versions[1])
    refs = repository.find(names[0]), repository.find(names[1])
    return engine.compare_profiles(
        Host.of(repository),
        repository,
        names,
        refs,
        listener,
        metric=options.metric,
        threshold=options.threshold,
    )


def _compare_commands(
    repository: Repository, first: Command | Job, options: CompareOptions, listener: Listener
) -> ComparisonResult:
    jobs = _job(repository, first, options), _job(repository, options.second or first, options)
    request = CompareRequest(
        programs=(
            engine.program(repository, jobs[0], options.versions[0]),
            engine.program(repository, jobs[1], options.versions[1]),
        ),
        metric=options.metric,
        threshold=options.threshold,
        budget=Budget(pairs=options.max_pairs, seconds=options.budget),
        inputs=tuple(options.inputs),
        build=options.build,
        rebuild=options.rebuild,
        again=options.again,
        save=options.save,
        cpu=options.cpu,
    )
    return engine.compare(Host.of(repository), request, listener)


def _job(repository: Repository, command: Command | Job, options: CompareOptions) -> Job:
    if isinstance(command, Job):
        return command
    job = replace(
        command_job(command, "", options.shell),
        env=dict(options.env or {}),
        cwd=working_directory(repository, None if options.cwd is None else Path(options.cwd)),
        collector=Step(name=options.collector),
    )
    return in_folder(job)
