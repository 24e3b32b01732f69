"""The hint of a program that is missing in the tree of a version, because nobody built it there."""

from __future__ import annotations

from pathlib import Path

from perfcore_collect_kit.command import is_quoted

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


def build_hint(error: PerfError, job: Job, tree: Path, building: Build) -> str | None:
    """What builds the program of a job, which failed with this error in the tree of a version; None where the program
    is there, or would be in no tree."""
    if not (isinstance(error, CommandFailedError) and _is_missing(job)):
        return None
    if building.skipped:
        return "the tree of the version was not built: leave out --no-build, which skips execute.pre_run"
    if building.commands:
        return "execute.pre_run builds the tree of each version, and made no such file"
    commands = next((commands for file, commands in _BUILDS.items() if (tree / file).is_file()), "COMMAND")
    return (
        "a version is measured in a tree of its own, which is built by execute.pre_run only: "
        f"perf config set execute.pre_run '[{commands}]'"
    )


def _is_missing(job: Job) -> bool:
    program = job.argv[0]
    # Without a slash the program is looked for in PATH, and a shell finds out itself: neither is a matter of the tree.
    return not job.shell and "/" in program and not is_quoted(job) and not (job.cwd / program).exists()
