"""The programs of a comparison in their built trees."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs
from perfcore_executor_local.build import run_build
from perfcore_executor_local.build_cache import Builder
from perfcore_executor_local.trees import Trees

from perfcore.errors import PerfError
from perfcore.measure.request import configured_build, tree_directory, tree_state
from perfcore.model import Build, Job
from perfcore.model.listener import Listener
from perfcore.model.record import replace
from perfcore.repository.repository import Repository
from perfcore_command_compare.host import Host
from perfcore_command_compare.identity import is_identical
from perfcore_command_compare.request import CompareRequest, Program
from perfcore_command_compare.run_errors import named_error

_HASHED = 5e8  # bytes of a second, as SHA-256 has them on a CPU that helps it; a slower one takes longer


@attrs.frozen(kw_only=True)
class PreparedProgram:
    """A program whose job runs in `tree`, which `building` built. `version` is None for the working tree."""

    program: Program
    job: Job
    tree: Path
    building: Build = attrs.field(factory=Build)

    @property
    def version(self) -> str | None:
        return self.program.version


def prepare(
    host: Host, stack: contextlib.ExitStack, request: CompareRequest, listener: Listener
) -> tuple[PreparedProgram, PreparedProgram]:
    """Both programs in their trees, which stay as long as the stack is open."""
    if host.repository is None:
        tree = host.directory.resolve()
        first, second = (
            PreparedProgram(
                program=program,
                job=replace(program.job, cwd=tree_directory(tree, program.job.cwd, None), dirty=True),
                tree=tree,
            )
            for program in request.programs
        )
        return first, second
    first, second = _prepare_in_repository(host.repository, stack, request, listener)
    return first, second


def _prepare_in_repository(
    repository: Repository, stack: contextlib.ExitStack, request: CompareRequest, listener: Listener
) -> Iterator[PreparedProgram]:
    building = configured_build(repository, skip=not request.build, rebuild=request.rebuild)
    builder = Builder(building, repository.scratch, repository.plugins)
    trees = stack.enter_context(Trees(repository))
    built: dict[str | None, Path] = {}
    activations: dict[str | None, Mapping[str, str]] = {}
    for side, program in enumerate(request.programs):
        version = program.version
        key = version and f"{version} {side}"  # two sides at one version get two trees; the working tree is one
        if key not in built:
            listener.progress(side, len(request.programs), f"preparing {program.name}")
            built[key] = tree = repository.root if version is None else trees.get(version)
            with _errors_of(program):
                active = builder.activated(tree, stack)
                run_build(active.build, tree) if version is None else active.run(tree, version)
                activations[key] = active.build.activation
        origin, dirty = (version, False) if version is not None else tree_state(repository)
        directory = tree_directory(built[key], program.job.cwd, version)
        job = replace(program.job, cwd=directory, version=origin, dirty=dirty, activation=activations[key])
        yield PreparedProgram(program=program, job=job, tree=built[key], building=building)


@contextlib.contextmanager
def _errors_of(program: Program) -> Iterator[None]:
    """Name the program in errors."""
    try:
        yield
    except PerfError as error:
        raise named_error(program.title, error) from error


def programs_are_identical(
    host: Host, programs: tuple[PreparedProgram, PreparedProgram], inputs: tuple[str, ...], seconds: float
) -> bool:
    """Whether both sides run the same command in the same state, as far as at most a tenth of so many seconds tells."""
    first, second = programs
    if _job_in_tree(first) != _job_in_tree(second):
        return False
    vcs = None if host.repository is None else host.repository.vcs
    return is_identical(vcs, (first.version, first.tree), (second.version, second.tree), inputs, seconds / 10 * _HASHED)


def _job_in_tree(prepared: PreparedProgram) -> Job:
    """The job without its version, its directory relative to the tree: equal for equal commands."""
    directory = os.path.relpath(prepared.job.cwd, prepared.tree)
    return replace(prepared.job, cwd=Path(directory), version=None, dirty=False)
