"""A job matrix of a file, a mapping or the configuration as a request to measure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfcore.config import documents
from perfcore.config.documents import Source
from perfcore.config.layers import MAX_BYTES, read_bytes
from perfcore.errors import FormatError, NotFoundError, UsageError
from perfcore.measure.request import MeasureRequest, configured_build
from perfcore.model.record import replace
from perfcore.repository.repository import Repository
from perfcore_command_run import matrix
from perfcore_command_run.matrix import KEYS, Matrix
from perfcore_command_run.workloads import Files

_RUNNING_KEYS = ("bins", "cmds", "collectors", "postprocessors", "args", "workloads")


def matrix_of_file(repository: Repository, file: Path) -> Matrix:
    """A matrix that the user named: to name it is the consent to run it."""
    path = repository.cwd / file
    data = _from_pipe(path) if path.is_fifo() else read_bytes(path)
    if data is None:
        raise NotFoundError(f"there is no file {file}")
    values = documents.parse(data, str(file))
    if not isinstance(values, Mapping):
        raise UsageError(f"{file} should hold keys such as bins and collectors", hint=", ".join(KEYS))
    return matrix.parse(values, where=Source(str(file), data))


def _from_pipe(path: Path) -> bytes:
    """What a process writes into a pipe, as in `perf run matrix <(jq ...)`."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise FormatError(f"{path} has more than {MAX_BYTES:,} bytes, which are not read")
    return data


def matrix_of_config(repository: Repository, *, run: bool = True) -> Matrix:
    """The matrix of the configuration. UntrustedError if it is to `run` and the user has not trusted its file."""
    parsed = matrix.from_config(repository.config)
    # A configuration may come with a clone: what would run asks for trust, listing it does not.
    for key in _RUNNING_KEYS if run else ():
        repository.trusted(key)
    return parsed


def load_matrix(repository: Repository, source: Path | Mapping[str, Any] | None) -> Matrix:
    """The matrix of a file, of a mapping, or of the configuration for None."""
    if source is None:
        return matrix_of_config(repository)
    if isinstance(source, Path):
        return matrix_of_file(repository, source)
    return matrix.parse(source, where=Source("the matrix"))


def matrix_request(
    repository: Repository,
    jobs: Matrix,
    files: Files,
    *,
    cwd: Path,
    versions: tuple[str, ...] | None,
    schedule: Mapping[str, Any],
    register: bool = False,
    missing: bool = False,
    build: bool = True,
    rebuild: bool = False,
    resume: bool = False,
    executor: str | None = None,
) -> MeasureRequest:
    """Every job of a matrix, also of each generated file, in the directory `cwd` of each tree, with `schedule` above
    that of the matrix."""
    return MeasureRequest(
        jobs=tuple(replace(job, cwd=cwd) for job in jobs.jobs(files)),
        versions=versions,
        schedule={**jobs.schedule, **schedule},
        building=configured_build(repository, jobs.execute, skip=not build, rebuild=rebuild),
        register=register,
        missing=missing,
        resume=resume,
        executor=executor,
    )
