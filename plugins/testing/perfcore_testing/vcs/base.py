"""The capabilities of a version control system, and the fixtures that its laws share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_vcs_kit.completed import CompletedVcs, completed

from perfcore_testing.vcs.script import Script

if TYPE_CHECKING:
    from perfcore.hookspecs import Vcs


class VcsLaws:
    """Flags and fixtures. Laws of files, changes and trees hold for `complete`: the driver with the methods that the
    core builds on the required ones.

    `private` are the names at the top of a working tree that belong to the system; `has_branches`, that there
    can be several lines; `has_merges`, that a version can have two parents; `has_untracked`, that a new file is
    not part of the next version by itself; `has_messages`, that a version keeps the text it was committed with;
    `has_modes` and `has_links`, that executable files and symbolic links are versioned; `has_worktree` and
    `has_trigger`, that the optional methods are there; `has_state`, that a working tree can be put at other
    versions and back (a driver without it refuses with VersionError, and has `export`); `has_line_breaks`, that
    names of files may have them.
    """

    private: tuple[str, ...] = ()
    has_branches = True
    has_merges = True
    has_untracked = True
    has_messages = True
    has_modes = sys.platform != "win32"
    has_links = sys.platform != "win32"
    has_worktree = True
    has_trigger = True
    has_state = True
    has_line_breaks = sys.platform != "win32"

    @pytest.fixture
    def script(self, tmp_path: Path) -> Script:
        """A user in an empty repository. To be overridden."""
        raise NotImplementedError

    @pytest.fixture
    def driver(self, script: Script) -> Vcs:
        """The driver at `script.root`. To be overridden."""
        raise NotImplementedError

    @pytest.fixture
    def opened(self, driver: Vcs) -> Callable[[Path], Vcs]:
        """Opens another working tree, or the same again."""
        return type(driver)

    @pytest.fixture
    def complete(self, driver: Vcs, script: Script, opened: Callable[[Path], Vcs], tmp_path: Path) -> Iterator[Vcs]:
        """The driver as the core uses it. What it leaves on the disk is its private copy, which goes when it is
        closed."""
        copies = tmp_path / "private copies"
        complete = completed(driver, script.root, opened, copies)
        yield complete
        if isinstance(complete, CompletedVcs):
            complete.close()
            assert [path for path in copies.glob("*") if path.suffix != ".lock"] == []

    @pytest.fixture
    def elsewhere(self, tmp_path: Path) -> Path:
        """A folder outside the repository."""
        folder = tmp_path / "else where"
        folder.mkdir()
        return folder
