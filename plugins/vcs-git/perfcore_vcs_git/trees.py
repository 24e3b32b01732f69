"""Trees of versions elsewhere: plain ones (`export`) and linked ones (`worktree`).

Both are written by git from an index of their own, so that line endings, filters, modes and symbolic links come
out as in any checkout. Not by `git archive`: it leaves out and rewrites files where attributes tell it to, and
people would measure another tree than the one they have.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import attrs

from perfcore.errors import PerfError, VersionError
from perfcore.text import printable
from perfcore_vcs_git.command import Runner
from perfcore_vcs_git.discovery import Places

_WHOLE = ("core.sparseCheckout=false", "core.splitIndex=false")
_SUBMODULE = b"160000"  # its mode in a tree of git
_HALF_MADE = "/commondir"  # the file of its folder that git writes last
# Seconds between tries, 0.9 together: the other process writes a few small files.
_WAITS = (0.02, 0.05, 0.1, 0.2, 0.5)


@attrs.frozen
class Trees:
    """Makes and removes the trees of one repository's versions."""

    runner: Runner
    places: Places

    def export(self, version: str, directory: Path) -> None:
        """The files of a version in a folder that is empty or not there yet."""
        with _told("fill", directory):
            directory.mkdir(parents=True, exist_ok=True)
            if any(directory.iterdir()):
                raise VersionError(f"{printable(str(directory))} is not empty")
        _write(self.runner, version, directory)
        _add_submodules(self.runner, self.places, version, directory)

    def worktree(self, version: str, directory: Path) -> None:
        """A working tree of a version, linked to the repository as `git worktree` does it."""
        with _told("make", directory):
            if os.path.lexists(directory):
                raise VersionError(f"{printable(str(directory))} is there already")
            directory.parent.mkdir(parents=True, exist_ok=True)
        self._add_worktree(version, directory)
        try:
            _add_submodules(self.runner, self.places, version, directory)
        except BaseException:
            self.remove_worktree(directory)
            raise

    def _add_worktree(self, version: str, directory: Path) -> None:
        """Let git make it. git reads all the others meanwhile, and dies of one that another process has half made."""
        where = os.path.abspath(directory)
        for wait in (*_WAITS, None):
            try:
                self.runner.change(
                    "worktree", "add", "--detach", "--force", "--quiet", "--", where, version, config=_WHOLE
                )
            except PerfError as error:
                if wait is None or _HALF_MADE not in str(error):
                    raise
                self.remove_worktree(directory)
                time.sleep(wait)
            else:
                return

    def remove_worktree(self, directory: Path) -> None:
        """Take away a linked working tree, or what is left of one, and what git remembers of it."""
        whole = Path(os.path.realpath(directory))
        holds_ours = any(place.is_relative_to(whole) for place in self.places)
        if holds_ours or directory.is_symlink() or os.path.isdir(directory / ".git"):
            raise VersionError(f"{printable(str(directory))} is not a tree that was made to be measured")
        entries = list(self._entries_of(whole))
        for entry in entries:
            _refuse_branch(entry, directory)
        with _told("remove", directory):
            for place in (directory, *entries):
                _remove(place)

    def _entries_of(self, directory: Path) -> Iterator[Path]:
        """git's folders of administration for a working tree."""
        try:
            entries = sorted((self.places.common_dir / "worktrees").iterdir())
        except FileNotFoundError:
            return
        for entry in entries:
            with contextlib.suppress(OSError):
                if not (entry / "gitdir").exists():
                    # git writes `locked` first, and calls the folder like the tree, with a number if that is taken
                    is_begun = (entry / "locked").read_bytes().strip() == b"initializing"
                    if is_begun and re.fullmatch(re.escape(directory.name) + "[0-9]*", entry.name):
                        yield entry
                    continue
                marker = os.fsdecode((entry / "gitdir").read_bytes().rstrip(b"\r\n"))
                if os.path.realpath(entry / os.path.dirname(marker)) == str(directory):
                    yield entry


def _write(runner: Runner, version: str, directory: Path) -> None:
    """All files of a version, in one process and from an index that nobody else sees."""
    with tempfile.TemporaryDirectory(prefix="perfcore-git-") as folder:
        env = {"GIT_INDEX_FILE": os.path.join(folder, "index"), "GIT_WORK_TREE": os.path.abspath(directory)}
        runner.change("read-tree", "--reset", "-u", version, env=env, config=_WHOLE)


def _add_submodules(runner: Runner, places: Places, version: str, directory: Path) -> None:
    """The submodules that the user has, at the commits this version names, from what is on this machine. One that
    was never initialised stays the empty folder that it is in the user's tree."""
    for path, (name, commit) in sorted(_submodules(runner, version).items()):
        found = [place for place in _homes_of(places, name, path) if os.path.isfile(place / "HEAD")]
        if not found:
            continue
        for git_dir in found:
            options = (f"--git-dir={git_dir}",)
            inner = runner._replace(folder=git_dir, common_dir=functools.partial(Path, git_dir), options=options)
            if _has(inner, commit):
                _write(inner, commit, directory / path)
                _add_submodules(inner, Places(directory / path, git_dir, git_dir), commit, directory / path)
                break
        else:
            raise VersionError(
                f"version {version[:10]} needs commit {commit[:10]} of its submodule {printable(path)}, "
                "which is not on this machine",
                hint=printable(f"git -C {path} fetch"),
            )


def _submodules(runner: Runner, version: str) -> dict[str, tuple[str, str]]:
    """(name, commit) of a version's submodules by their paths."""
    if not runner.run("ls-tree", "-z", "--full-tree", version, "--", ".gitmodules"):
        return {}
    blob, wanted = f"{version}:.gitmodules", r"^submodule\..*\.path$"
    out = runner.run("config", "--blob", blob, "-z", "--get-regexp", wanted, ok=(0, 1))
    names: dict[bytes, bytes] = {}
    for item in out.split(b"\0")[:-1]:
        key, _, path = item.partition(b"\n")
        if path and b".." not in path.split(b"/") and b".." not in key.split(b"/"):
            names[path] = key[len(b"submodule.") : -len(b".path")]
    paths = [os.fsdecode(path) for path in names]
    listed = runner.run("ls-tree", "-z", "--full-tree", version, "--", *paths) if paths else b""
    found = {}
    for item in listed.split(b"\0")[:-1]:
        head, _, path = item.partition(b"\t")
        mode, _, id = head.split()[:3]
        if mode == _SUBMODULE and path in names:
            found[os.fsdecode(path)] = (os.fsdecode(names[path]), id.decode("ascii"))
    return found


def _homes_of(places: Places, name: str, path: str) -> Iterator[Path]:
    """Where a submodule's repository may be: git's place for it, and inside the tree as git once had it."""
    inside = PurePosixPath(name)
    if not inside.is_absolute():
        yield places.git_dir / "modules" / inside
        yield places.common_dir / "modules" / inside
    yield places.root / path / ".git"


def _has(runner: Runner, commit: str) -> bool:
    out = runner.run("cat-file", "--batch-check", stdin=f"{commit}^{{commit}}\n".encode())
    return out.split()[1:2] == [b"commit"]


def _refuse_branch(entry: Path, directory: Path) -> None:
    """VersionError for a tree with a branch checked out: ours never have one."""
    with contextlib.suppress(FileNotFoundError):
        head = (entry / "HEAD").read_bytes()
        if head.startswith(b"ref: ") and not head.rstrip().endswith(b"/.invalid"):  # which reftable writes there
            branch = printable(os.fsdecode(head[5:].strip()).removeprefix("refs/heads/"))
            raise VersionError(f"{printable(str(directory))} is a working tree of branch {branch}; it stays")


def _remove(path: Path) -> None:
    """A file or a folder with all that is in it, read-only folders too; nothing where nothing is."""
    if not os.path.lexists(path):
        return
    if not path.is_dir():
        path.unlink()
        return
    try:
        shutil.rmtree(path)
    except PermissionError:
        os.chmod(path, stat.S_IRWXU)
        for folder, names, _ in os.walk(path):
            for name in names:
                with contextlib.suppress(OSError):
                    os.chmod(os.path.join(folder, name), stat.S_IRWXU)
        shutil.rmtree(path)


@contextlib.contextmanager
def _told(verb: str, directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise VersionError(f"cannot {verb} {printable(str(directory))}: {error.strerror or error}") from error
