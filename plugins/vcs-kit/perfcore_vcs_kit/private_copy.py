"""A private copy of a repository, where versions are checked out instead of the user's tree.

It stands among the trees that are measured, in a directory that a lock protects: the next command that needs a copy
removes the copy of a killed command. It is made when a version is asked for, once per command, and made again when the
repository got a version since.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from perfcore.errors import StorageError, VersionError
from perfcore.repository.scratch import LockedDirs
from perfcore.text import printable

if TYPE_CHECKING:
    from perfcore.hookspecs import Vcs

_NEVER_COPIED = frozenset({".perf"})  # the store is ours, and may be large
# Files after which a note says what takes so long: a disk copies some 2,000 to 10,000 small files a second.
_MANY_FILES = 10_000
# Bytes of a file that only points to a repository elsewhere, as `.git` of a linked tree does: the longest path of
# Linux (PATH_MAX). A checkout in a copy of such a file would write to the repository it points to.
_LARGEST_POINTER = 4096


class PrivateCopy:
    """The copy of one repository, and the tree of the version that was asked for last."""

    def __init__(
        self, root: Path, open_at: Callable[[Path], Vcs], directory: Path, note: Callable[[str], None]
    ) -> None:
        self.root = root
        self.own_names: frozenset[str] = frozenset()
        self._open_at = open_at
        self._directory = directory
        self._note = note
        self._guard: LockedDirs | None = None
        self._base = root
        self._driver: Vcs | None = None
        self._version: str | None = None

    def close(self) -> None:
        """Remove the copy."""
        guard, self._guard = self._guard, None
        self._driver = self._version = None
        if guard is not None:
            guard.__exit__()

    def exported(self, version: str, export: Callable[[str, Path], None]) -> Path:
        """The tree of a version as the driver itself exports it."""
        tree = self._new_base() / "tree"
        if self._version != version:
            self._version = None
            _remove(tree)
            tree.mkdir()
            export(version, tree)
            self._version = version
        return tree

    def checked_out(self, version: str) -> Path:
        """The tree of a version in the copy."""
        if self._version != version or self._driver is None:
            fresh = self._driver is None
            try:
                self._checkout(version)
            except VersionError:
                if fresh and self._driver is None:
                    raise
                self._forget()  # the copy is older than the repository, or was made while somebody committed
                self._checkout(version)
        return self._new_base() / "tree"

    def _checkout(self, version: str) -> None:
        if self._driver is None:
            self._driver = self._copy()
        self._version = None
        self._driver.checkout(version)
        self._version = version

    def _forget(self) -> None:
        self._driver = self._version = None

    def _new_base(self) -> Path:
        """The directory of this command."""
        if self._guard is None:
            guard = LockedDirs(self._directory, "vcs")
            guard.__enter__()
            self._base = guard.acquire()
            self._base.mkdir()
            self._guard = guard
        return self._base

    def _copy(self) -> Vcs:
        """A driver in a new copy, whose tree is clean."""
        tree = self._new_base() / "tree"
        try:
            _remove(tree)
            self.own_names = self._find_own_names()
            tree.mkdir()
            copying = _Copying(self.root, lambda: self._note(self._long()))
            for name in sorted(self.own_names):
                copying.copy(self.root / name, tree / name)
        except OSError as error:
            raise StorageError(f"cannot copy the repository {printable(str(self.root))}: {error}") from error
        driver = self._open_at(tree)
        driver.save_state()  # which leaves a clean tree of the head
        return driver

    def _find_own_names(self) -> frozenset[str]:
        """The names at the top of the tree that belong to the VCS: without any of them, `detect` finds none."""
        probe = self._base / "probe"
        _remove(probe)
        probe.mkdir()
        # Directories with links to their entries are enough to ask `detect`, so that no working tree is copied.
        names = sorted(name for name in os.listdir(self.root) if name not in _NEVER_COPIED)
        for name in names:
            _imitate(self.root / name, probe / name)
        is_detected = self._is_detected(probe)
        own_names = frozenset(name for name in names if is_detected and self._is_needed(probe, name))
        _remove(probe)
        if not own_names:
            raise self._impossible("nothing at its top belongs to the version control system alone")
        for name in own_names:
            path = self.root / name
            if not path.is_dir() and path.stat().st_size <= _LARGEST_POINTER:
                raise self._impossible(f"{printable(name)} points to a repository elsewhere")
        return own_names

    def _is_needed(self, probe: Path, name: str) -> bool:
        aside = self._base / "aside"
        (probe / name).rename(aside)  # to see whether it can be moved
        is_needed = not self._is_detected(probe)
        aside.rename(probe / name)
        return is_needed

    def _is_detected(self, probe: Path) -> bool:
        root = type(self._open_at(self.root)).detect(probe)
        return root is not None and os.path.samefile(root, probe)

    def _impossible(self, reason: str) -> VersionError:
        return VersionError(
            f"no private copy can be made of {printable(str(self.root))}: {reason}",
            hint="the plugin of this version control system needs the method `export`",
        )

    def _long(self) -> str:
        return (
            f"copies the repository {printable(str(self.root))}, which takes a while: "
            "the plugin of its version control system cannot export versions"
        )


class _Copying:
    """Copies files, directories and links. A link that leads out of the repository becomes a copy of its target, so
    that nothing in the copy writes to the original; pipes, sockets and devices are left out."""

    def __init__(self, root: Path, long: Callable[[], None]) -> None:
        self._root = Path(os.path.realpath(root))
        self._long = long
        self._count = 0

    def copy(self, source: Path, target: Path, above: frozenset[str] = frozenset()) -> None:
        """Copy anything. `above` are the real paths of the directories that contain it."""
        if source.is_symlink() and self._leads_inside(source):
            target.symlink_to(os.readlink(source))
        elif source.is_dir():
            real = os.path.realpath(source)
            if real in above:  # a loop of links
                return
            target.mkdir()
            for entry in sorted(os.listdir(source)):
                self.copy(source / entry, target / entry, above | {real})
        elif source.exists() and stat.S_ISREG(source.stat().st_mode):
            self._copy_file(source, target)

    def _leads_inside(self, link: Path) -> bool:
        """Whether a link means the same in the copy: it is relative, and its target is a file of the VCS."""
        own = self._root / link.relative_to(self._root).parts[0] if link.is_relative_to(self._root) else None
        real = Path(os.path.realpath(link))
        return own is not None and not os.path.isabs(os.readlink(link)) and own in real.parents

    def _copy_file(self, source: Path, target: Path) -> None:
        try:
            shutil.copy2(source, target)
        except FileNotFoundError:  # a temporary file of a command of the VCS that just ended
            return
        self._count += 1
        if self._count == _MANY_FILES:
            self._long()


def _imitate(source: Path, target: Path) -> None:
    """Something that a look at it takes for the source."""
    # A link in the place of a directory is not enough: drivers may refuse a repository that stands elsewhere.
    if source.is_dir() and not source.is_symlink():
        target.mkdir()
        for entry in os.listdir(source):
            (target / entry).symlink_to(source / entry)
    elif source.is_file() and source.stat().st_size <= _LARGEST_POINTER:
        shutil.copyfile(source, target)
    else:
        target.symlink_to(source)


def _remove(path: Path) -> None:
    """Remove a tree, also directories that cannot be written to."""
    if not path.exists():
        return
    for folder, _, _ in os.walk(path):
        if not os.access(folder, os.W_OK | os.X_OK):
            os.chmod(folder, stat.S_IRWXU)  # Go, for one, makes the folders of its module cache read-only
    shutil.rmtree(path)
