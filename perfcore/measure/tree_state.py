"""The working tree as a thing to measure: its version, and directories inside a tree."""

from __future__ import annotations

import contextlib
from pathlib import Path

from perfcore.errors import PerfError, UsageError, VersionError
from perfcore.repository.repository import Repository


def tree_state(repository: Repository) -> tuple[str | None, bool]:
    """(version, dirty) of the user's working tree."""
    try:
        return repository.version(), repository.vcs.is_dirty()
    except VersionError as error:
        if not _is_unborn(repository):
            repository.plugins.warn(f"measured for no version: {error}")
        return None, True


def tree_directory(tree: Path, cwd: Path, version: str | None) -> Path:
    """The directory `cwd` of a tree. UsageError if it is outside of the tree or missing."""
    directory = (tree / cwd).resolve()
    if not directory.is_relative_to(tree.resolve()):
        raise UsageError(f"{cwd} is outside the tree that is measured")
    if not directory.is_dir():
        raise UsageError(f"there is no folder {cwd} in {f'version {version[:10]}' if version else tree}")
    return tree / cwd


def _is_unborn(repository: Repository) -> bool:
    """Whether the branch has no version yet: a normal start, which needs no warning."""
    with contextlib.suppress(PerfError):
        return repository.vcs.get_head_major_version().head is None
    return False
