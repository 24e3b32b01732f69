"""Errors of runs in the trees of versions: they name the version, and a remedy that `compare` and `bisect` have."""

from __future__ import annotations

from pathlib import Path

from perfcore_collect_kit import exit_status

from perfcore.errors import CommandFailedError, PerfError
from perfcore.model import Build, Job

_BUILDS = {
    "Makefile": "make",
    "makefile": "make",
    "GNUmakefile": "make",
    "CMakeLists.txt": "cmake -B build, cmake --build build",
    "meson.build": "meson setup build, meson compile -C build",
    "Cargo.toml": "cargo build --release",
    "go.mod": "go build ./...",
}


def named_error(name: str, error: PerfError, hint: str | None = None) -> PerfError:
    """The error with the name of its program or version."""
    renamed = PerfError(f"{name}: {error}" if name else str(error), hint=hint or error.hint)
    renamed.exit_code = error.exit_code
    return renamed


def run_error(name: str, error: PerfError, job: Job, tree: Path | None, building: Build) -> PerfError:
    """The error of a run in the tree of a version; `tree` is None for the working tree."""
    unbuilt = tree is not None and isinstance(error, CommandFailedError) and _is_missing(job)
    hint = _build_hint(tree, building) if tree is not None and unbuilt else _as_configuration(error.hint, job)
    return named_error(name, error, hint)


def _is_missing(job: Job) -> bool:
    program = job.argv[0]
    # Without a slash the program is looked for in PATH, and a shell finds out itself: neither is a matter of the tree.
    return not job.shell and "/" in program and not (job.cwd / program).exists()


def _build_hint(tree: Path, building: Build) -> str:
    if building.commands:
        return "execute.pre_run builds the tree of each version, and made no such file"
    commands = next((commands for file, commands in _BUILDS.items() if (tree / file).is_file()), "COMMAND")
    return (
        "a version is measured in a tree of its own, which is built by execute.pre_run only: "
        f"perf config set execute.pre_run '[{commands}]'"
    )


def _as_configuration(hint: str | None, job: Job) -> str | None:
    """A hint about an option of the collector as the configuration key: `compare` and `bisect` lack the option."""
    for name, value in exit_status.OPTIONS if hint else ():
        assert hint is not None
        setting = f"perf config set collector.{job.collector.name}.{name} {value or 'VALUE'}"
        hint = hint.replace(exit_status.option(name, value), setting)
    return hint
