"""Errors of what `compare` and `bisect` measure: they say of which version they are, and what these commands can do."""

from __future__ import annotations

from pathlib import Path

from perfcore.errors import CommandFailedError, PerfError
from perfcore.measure.build import Building
from perfcore.model import Job
from perfcore.programs import exit_status

_BUILDS = {
    "Makefile": "make",
    "makefile": "make",
    "GNUmakefile": "make",
    "CMakeLists.txt": "cmake -B build, cmake --build build",
    "meson.build": "meson setup build, meson compile -C build",
    "Cargo.toml": "cargo build --release",
    "go.mod": "go build ./...",
}


def of(name: str, error: PerfError, hint: str | None = None) -> PerfError:
    """The error with the name of what it is of."""
    told = PerfError(f"{name}: {error}" if name else str(error), hint=hint or error.hint)
    told.exit_code = error.exit_code
    return told


def of_run(name: str, error: PerfError, job: Job, tree: Path | None, built: Building) -> PerfError:
    """The error of a run in the tree of a version, or elsewhere for None."""
    unbuilt = tree is not None and isinstance(error, CommandFailedError) and _is_missing(job)
    return of(name, error, _how_to_build(tree, built) if tree is not None and unbuilt else _configured(error.hint, job))


def _is_missing(job: Job) -> bool:
    program = job.argv[0]
    return not job.shell and "/" in program and not (job.cwd / program).exists()


def _how_to_build(tree: Path, built: Building) -> str:
    if built.commands:
        return "execute.pre_run builds the tree of each version, and made no such file"
    commands = next((commands for file, commands in _BUILDS.items() if (tree / file).is_file()), "COMMAND")
    return (
        "a version is measured in a tree of its own, which is built by execute.pre_run only: "
        f"perf config set execute.pre_run '[{commands}]'"
    )


def _configured(hint: str | None, job: Job) -> str | None:
    """These commands have no options of collectors: they are configured."""
    for name, value in exit_status.OPTIONS if hint else ():
        assert hint is not None
        told = f"perf config set collector.{job.collector.name}.{name} {value or 'VALUE'}"
        hint = hint.replace(exit_status.option(name, value), told)
    return hint
