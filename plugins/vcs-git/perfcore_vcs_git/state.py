"""The user's uncommitted changes, put aside while other versions are checked out in place, and put back.

Everything is written down before anything is touched, so that a process killed at any instant leaves a state
that another one can put back:

    perfcore-state         the journal (JSON): token, head, how far it came. It is replaced, never changed.
    perfcore-state.lock    a kernel lock on it, held by the process whose state it is: free means that it died
    perfcore-state.git     a kernel lock that git inherits: free means that no git is still writing the tree
    perfcore-saved/        the index as it was, and the changed files as they were, byte for byte

all in git's folder of administration of the working tree. git works on an index of its own, which then takes the
place of the user's, so that a killed git leaves no lock that stops the user.

Who copies or unpacks a repository brings these files along, and the next command of any kind puts back what they say:
so nothing of them is an option of git, or a path out of the working tree.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from perfcore import files
from perfcore.errors import PerfError, VersionError
from perfcore.locks import Lock
from perfcore.text import printable
from perfcore_vcs_git import changes, durable
from perfcore_vcs_git.changes import Kept
from perfcore_vcs_git.revisions import is_full_id

if TYPE_CHECKING:
    from perfcore_vcs_git.command import Runner
    from perfcore_vcs_git.discovery import Places
    from perfcore_vcs_git.head import Head

_FORMAT = 1
# Seconds. A command that is being ended puts its tree back first, which takes long in a large one. For the user's own
# git two seconds do: it holds the lock of its index for milliseconds, or was killed with it.
_PATIENCE = 60.0
_GIT_PATIENCE = 2.0
# A split index refers to a second file beside it (git-update-index(1)), which a copy elsewhere would miss.
_WHOLE = ("core.splitIndex=false",)


@attrs.frozen
class Journal:
    """What was put aside. `ref` is the branch that was checked out, None for a detached head at `commit`.
    Unless it is `complete` there is nothing to put back: nothing was touched yet, or all is back. `moving` is the
    version a checkout is on its way to."""

    token: str
    ref: str | None
    commit: str
    pid: int
    complete: bool = False
    moving: str | None = None


class State:
    """Saves and restores the state of one working tree."""

    def __init__(self, runner: Runner, places: Places) -> None:
        self._runner = runner
        self._root = places.root
        self._dir = places.git_dir
        self._path = places.journal
        self._folder = places.git_dir / "perfcore-saved"
        self._index = places.git_dir / "perfcore-index"
        self._owner = Lock(places.git_dir / "perfcore-state.lock")
        self._git = Lock(places.git_dir / "perfcore-state.git")

    def abandoned(self) -> str | None:
        """The token of a state whose process died."""
        if self._owner.held or not self._owner.is_free():
            return None
        journal = self._read()
        return journal.token if journal else None

    def save(self, head: Callable[[], Head]) -> str:
        """Put all changes aside; the tree and the index are those of the head afterwards."""
        with self._told("put the changes aside"):
            self._become_owner()
            try:
                return self._save(head())
            except BaseException:
                self._undo()
                raise

    def checkout(self, version: str, current: str) -> None:
        """Put tree, index and head at a version. Files that git does not track are never overwritten."""
        journal = self._read()
        if journal is None or not self._owner.held:
            raise VersionError("the changes were not put aside before another version is checked out")
        with self._told(f"check out {version[:10]}"), self._working_index() as index:
            self._read_tree(index, "--reset", "-u", current)
            changes.refuse_checkout(self._runner, self._root, current, version)
            # A merge of two trees (git-read-tree(1)) keeps what is local and refuses to overwrite it: found out before
            # anything is touched.
            self._read_tree(index, "-m", "-u", "--dry-run", current, version)
            self._await_git()
            self._write(attrs.evolve(journal, moving=version))
            self._read_tree(index, "-m", "-u", current, version)
            self._install(index)
            self._runner.change("update-ref", "--no-deref", "-m", "perf: measure in place", "HEAD", version)
            self._write(attrs.evolve(journal, moving=None))

    def restore(self, token: str) -> None:
        """Go back to what was saved. It can be killed and done again; where nothing is saved it does nothing."""
        if not self._path.exists():
            self._release()
            return
        hint = f"they are in {self._folder}; to give them up, remove {self._path}"
        with self._told("put the changes back", hint):
            if not self._owner.held:
                self._become_owner(of=token)
            journal = self._read()
            if journal is not None and journal.token == token:
                self._restore(journal)
                return
            self._release()
            if journal is not None:
                raise VersionError(f"the state that was put aside is {journal.token}, not {printable(token)}")

    def _become_owner(self, of: str | None = None) -> None:
        if not self._owner.acquire(_PATIENCE if of else 1.0):
            journal = self._read()
            who = f"process {journal.pid}" if journal else "another process"
            raise VersionError(f"{who} measures versions in this working tree", hint="wait until it is done")
        try:
            journal = self._read()
            if of is None and journal is not None:
                raise VersionError(
                    "changes that a killed command put aside are not back yet", hint="any `perf` command puts them back"
                )
            if not self._git.acquire(_PATIENCE):
                raise VersionError(
                    "a git that a killed command started still writes files", hint="wait until it is done"
                )
            self._remove_own_lock()
        except BaseException:
            self._release()
            raise

    def _save(self, head: Head) -> str:
        commit = head.version()
        self._await_git()
        journal = Journal(token=os.urandom(8).hex(), ref=head.ref, commit=commit, pid=os.getpid())
        self._write(journal)
        self._forget_folder()
        changed_paths = [*changes.changed(self._runner), *changes.overlooked(self._runner)]
        plan = changes.plan(self._root, changed_paths)
        self._keep(plan)
        self._write(attrs.evolve(journal, complete=True))
        if changed_paths:
            with self._working_index() as index:
                self._read_tree(index, "--reset", "-u", commit)
                self._install(index)
        return journal.token

    def _remove_own_lock(self) -> None:
        """Take away the lock on the index of a process of ours that was killed at that instant."""
        lock = self._dir / "index.lock"
        with contextlib.suppress(FileNotFoundError):
            if os.path.samefile(self._index, lock):
                lock.unlink()

    def _keep(self, kept: Mapping[str, Kept]) -> None:
        """Copy the index and the changed files, durably."""
        self._folder.mkdir()
        if (self._dir / "index").exists():
            durable.copy(self._dir / "index", self._folder / "index")
        for name, entry in kept.items():
            changes.copy_out(self._root, name, entry, self._folder)
        listing = json.dumps(dict(kept)).encode()
        files.write_atomically(self._folder / "files.json", listing, locked=True)

    def _restore(self, journal: Journal) -> None:
        if journal.complete:
            saved = self._kept()  # before anything is touched: it may be damaged
            self._clean(journal)
            self._set_head(journal)
            for name in sorted(saved):
                changes.copy_back(self._root, name, saved[name], self._folder)
            self._restore_index()
            self._write(attrs.evolve(journal, complete=False))  # what is kept is of no use any more
        self._forget_folder()
        self._path.unlink()
        files.sync_path(self._dir)
        self._release()

    def _clean(self, journal: Journal) -> None:
        """The tree of the head that was saved, whatever a killed checkout left half done."""
        if journal.moving is not None:
            with self._working_index(empty=True) as index:
                self._read_tree(index, journal.moving)
                self._read_tree(index, "--reset", "-u", journal.commit)
        with self._working_index() as index:
            self._read_tree(index, "--reset", "-u", journal.commit)

    def _set_head(self, journal: Journal) -> None:
        current = (self._dir / "HEAD").read_bytes().strip()
        if journal.ref is not None:
            if current != b"ref: " + os.fsencode(journal.ref):
                self._runner.change("symbolic-ref", "-m", "perf: back from measuring", "HEAD", journal.ref)
        elif current != journal.commit.encode():
            self._runner.change("update-ref", "--no-deref", "-m", "perf: back from measuring", "HEAD", journal.commit)

    def _restore_index(self) -> None:
        saved = self._folder / "index"
        if not saved.exists():
            (self._dir / "index").unlink(missing_ok=True)
            return
        with self._working_index(empty=True) as index:
            durable.copy(saved, index)
            # What git remembers of the files' times is from before; only differences that are real may stay.
            refresh = ("update-index", "-q", "--refresh")
            # 1 is no failure: files differ from the index, which is what was put aside.
            self._runner.change(*refresh, env=self._using(index), ok=(0, 1), pass_fds=self._inherited())
            self._install(index)

    @contextlib.contextmanager
    def _working_index(self, *, empty: bool = False) -> Iterator[Path]:
        """The path of a copy of the index, for git to work on."""
        index = self._index
        for leftover in (index, index.with_name(index.name + ".lock")):
            leftover.unlink(missing_ok=True)
        if not empty and (self._dir / "index").exists():
            durable.copy(self._dir / "index", index)
        try:
            yield index
        finally:
            index.unlink(missing_ok=True)

    def _read_tree(self, index: Path, *words: str) -> None:
        self._runner.change("read-tree", *words, env=self._using(index), config=_WHOLE, pass_fds=self._inherited())

    def _using(self, index: Path) -> dict[str, str]:
        # The tree as well: in a repository of somebody else `core.worktree` may name any folder.
        return {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(self._root)}

    def _inherited(self) -> tuple[int, ...]:
        return () if sys.platform == "win32" else (self._git.fd,)

    def _install(self, index: Path) -> None:
        """Have an index take the place of the user's, under git's own lock."""
        files.sync_path(index)
        lock = self._dir / "index.lock"
        self._until(lambda: _take(lock, index))
        os.replace(lock, self._dir / "index")  # git's own protocol: the lock becomes the index

    def _await_git(self) -> None:
        """Wait while git holds its lock, before anything is touched."""
        self._until(lambda: not (self._dir / "index.lock").exists())

    def _until(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _GIT_PATIENCE
        while not done():
            if time.monotonic() > deadline:
                lock = printable(str(self._dir / "index.lock"))
                raise VersionError(
                    f"another git process is at work in {printable(str(self._root))}",
                    hint=f"wait for it; if there is none, remove {lock}",
                )
            time.sleep(0.05)

    def _undo(self) -> None:
        """After a failure in the middle of saving: as before, or else the journal stays for the next command."""
        journal = self._read()
        with contextlib.suppress(PerfError, OSError):
            if journal is not None and self._git.held:
                self._restore(journal)
        self._release()

    def _release(self) -> None:
        self._git.release()
        self._owner.release()

    def _forget_folder(self) -> None:
        if self._folder.exists():
            shutil.rmtree(self._folder)

    def _read(self) -> Journal | None:
        try:
            content = json.loads(self._path.read_bytes())
            if content.pop("format") != _FORMAT:
                raise VersionError(
                    f"{printable(str(self._path))} was written by a newer perfcore-vcs-git", hint="update it"
                )
            return _checked(Journal(**content))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise VersionError(
                f"{printable(str(self._path))} is damaged",
                hint=f"the changes it tells of are in {printable(str(self._folder))}",
            ) from error

    def _kept(self) -> dict[str, Kept]:
        """The changed files that were put aside, by their paths."""
        listing = self._folder / "files.json"
        try:
            kept = {name: Kept(*entry) for name, entry in json.loads(listing.read_bytes()).items()}
            for name, entry in kept.items():
                changes.refuse_foreign(name, entry)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise VersionError(
                f"{printable(str(listing))} is damaged, and nothing was put back",
                hint=f"what was put aside is beside it; to give it up, remove {printable(str(self._path))}",
            ) from error
        return kept

    def _write(self, journal: Journal) -> None:
        content = json.dumps({"format": _FORMAT, **attrs.asdict(journal)}).encode()
        files.write_atomically(self._path, content, locked=True)

    @contextlib.contextmanager
    def _told(self, doing: str, hint: str | None = None) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            location = f"{printable(os.fsdecode(error.filename))}: " if error.filename else ""
            reason = f"could not {doing}: {location}{error.strerror or error}"
            raise VersionError(reason, hint=printable(hint) if hint else None) from error


def _checked(journal: Journal) -> Journal:
    """A journal as `save` and `checkout` write it, or a ValueError."""
    ids = (journal.commit, *(() if journal.moving is None else (journal.moving,)))
    if not all(map(is_full_id, ids)) or not (journal.ref is None or journal.ref.startswith("refs/")):
        raise ValueError("it has an invalid id or branch")
    return journal


def _take(lock: Path, index: Path) -> bool:
    """Take git's lock file by linking it to the index that will be there, so that it is known for ours."""
    try:
        os.link(index, lock)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        with contextlib.suppress(FileExistsError), open(lock, "xb") as file:
            file.write(index.read_bytes())
            return True
        return False
    return True
