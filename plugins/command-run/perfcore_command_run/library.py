"""The matrix as a call of the library: `open_repository().run("matrix.yml")`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from perfcore.library import History
from perfcore.measure.collect_result import CollectResult
from perfcore.measure.collection import collect
from perfcore.measure.request import select_versions, working_directory
from perfcore.model.listener import Listener, SilentListener
from perfcore_command_run.request import load_matrix, matrix_request
from perfcore_command_run.workloads import generated


@attrs.frozen(kw_only=True)
class RunOptions:
    """The arguments of `History.run`, besides the options of the schedule, which outweigh those of the matrix.

    `matrix` is a file, a mapping, or None for the configuration. The others are those of `History.collect`.
    """

    matrix: str | Path | Mapping[str, Any] | None = None
    version: str | Sequence[str] | None = None
    since: str | None = None
    until: str | None = None
    tags: str | None = None
    every: bool = False
    last: int | None = None
    step: int = 1
    missing: bool = False
    register: bool = False
    build: bool = True
    rebuild: bool = False
    resume: bool = False
    executor: str | None = None
    strict: bool = True
    listener: Listener | None = None


def run(history: History, arguments: Mapping[str, Any]) -> CollectResult:
    """The saved profiles of every job of a matrix."""
    names = {field.name for field in attrs.fields(RunOptions)}
    options = RunOptions(**{name: value for name, value in arguments.items() if name in names})
    repository = history.repository
    matrix = Path(options.matrix) if isinstance(options.matrix, str) else options.matrix
    jobs = load_matrix(repository, matrix)
    listener = options.listener or SilentListener()
    with generated(repository, jobs.generators, listener) as files:
        request = matrix_request(
            repository,
            jobs,
            files,
            cwd=Path() if matrix is None else working_directory(repository),
            versions=select_versions(
                repository,
                options.version,
                options.since,
                options.every,
                options.until,
                options.tags,
                last=options.last,
                step=options.step,
            ),
            schedule={name: value for name, value in arguments.items() if name not in names},
            register=options.register,
            missing=options.missing,
            build=options.build,
            rebuild=options.rebuild,
            resume=options.resume,
            executor=options.executor,
        )
        result = collect(repository, request, listener)
    error = result.error()
    if options.strict and error is not None:
        raise error
    return result
