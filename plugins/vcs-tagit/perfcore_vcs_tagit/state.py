"""Putting a working tree at other versions, so that a process killed at any instant leaves what it takes to put it
back: all that was there is in the packs, and the journal says so, before a file is touched."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs

from perfcore import files
from perfcore.errors import PerfError, VersionError
from perfcore.locks import Lock
from perfcore.text import plural, printable
from perfcore_vcs_tagit import cache, journal, line, tree, working
from perfcore_vcs_tagit.cache import Cache, Seen, believed
from perfcore_vcs_tagit.failures import told
from perfcore_vcs_tagit.journal import Journal
from perfcore_vcs_tagit.line import Refs
from perfcore_vcs_tagit.objects import Writer
from perfcore_vcs_tagit.repository import Repository
from perfcore_vcs_tagit.scan import Scan

# Seconds: whoever holds the lock is putting a whole working tree back.
_PATIENCE = 60.0


class State:
    """What was put aside in one working tree. Whoever holds the lock of the owner may put the tree elsewhere."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._places = repository.places
        self._owner = Lock(repository.places.folder / "state.lock")

    def abandoned(self) -> str | None:
        """The token of a state whose process died."""
        if self._owner.held or not self._places.journal.exists() or not self._owner.is_free():
            return None
        saved = journal.read(self._places.journal)
        return saved.token if saved is not None else None

    def save(self) -> str:
        """Put all changes aside; the tree is that of the head afterwards."""
        with self._repository.writing(), told("put the changes aside"):
            head = self._repository.head()
            self._become_owner()
            with self._undone():
                snapshot, pack = self._look()
                state = self._write(snapshot, pack)
                self._go(snapshot, self._repository.tree_of(head))
        return state.token

    def checkout(self, version: str) -> None:
        """Put the tree at a version, with no line. What is ignored is never overwritten."""
        with self._repository.writing(), told("check out a version"):
            state = journal.read(self._places.journal)
            if state is None or not self._owner.held:
                raise VersionError("the changes were not put aside before another version is checked out")
            target = self._repository.tree_of(version)
            snapshot = self._repository.look()
            move = self._move(snapshot, target)
            move.look()
            journal.write(self._places.journal, attrs.evolve(state, moving=version))
            written = move.go()
            self._set_head(None, version)
            journal.write(self._places.journal, state)
            self._remember(snapshot, move, written)

    def restore(self, token: str) -> None:
        """Go back to what was put aside. It can be killed and done again; where there is nothing, so it stays."""
        if not self._places.journal.exists():
            self._owner.release()
            return
        if not self._owner.held and not self._owner.acquire(_PATIENCE):
            raise VersionError("another process puts the changes back", hint="try again when it is done")
        try:
            with self._repository.writing(), told("put the changes back"):
                state = journal.read(self._places.journal)
                if state is not None:
                    self._restore(state, token)
        finally:
            self._owner.release()

    def recover(self) -> bool:
        """Put back what a dead process left, if there is such."""
        token = self.abandoned()
        if token is not None:
            self.restore(token)
        return token is not None

    def move(self, name: str | None, version: str, *, force: bool = False) -> int:
        """Go to a version for good: to the end of a line, or without one. Gives how many paths changed.
        VersionError where that would lose changes, unless they are to be lost."""
        with self._owned("check out a version"):
            snapshot, pack = self._look(keep=force)
            if not force:
                self._refuse_dirt(snapshot)
            target = self._repository.tree_of(version)
            return self._move_for_good(snapshot, pack, version, target, lambda: self._set_head(name, version))

    def refuse_changes(self) -> None:
        """VersionError where the working tree is not as the head has it."""
        self._refuse_dirt(self._repository.scan())

    def adopt(self, version: str, target: str, advance: Callable[[], None]) -> int:
        """Put the tree at a version that is about to be the head; `advance` makes it so."""
        with self._owned("put the working tree at the new version"):
            snapshot, _ = self._look(keep=False)
            self._refuse_dirt(snapshot)
            return self._move_for_good(snapshot, None, version, target, advance)

    @contextlib.contextmanager
    def _owned(self, doing: str) -> Iterator[None]:
        with self._repository.writing(), told(doing):
            self._become_owner()
            with self._undone():
                try:
                    yield
                finally:
                    if not self._places.journal.exists():
                        self._owner.release()

    def _move_for_good(
        self, seen: Scan, pack: Path | None, version: str, target: str, finish: Callable[[], None]
    ) -> int:
        move = self._move(seen, target)
        move.look()
        state = self._write(seen, pack, goal=version, moving=version)
        written = move.go()
        finish()
        self._forget(state)
        self._remember(seen, move, written)
        return len(move.changes)

    def _restore(self, state: Journal, token: str) -> None:
        if state.token != token:
            raise VersionError(f"the state that was put aside is {state.token}, not {printable(token)}")
        # The head is set last: where it is at the goal, all files were written, and only the journal is left.
        if state.goal is None or state.goal != self._repository.refs().head:
            snapshot = self._repository.look()
            move = self._move(snapshot, state.tree)
            move.look()
            written = move.go()
            working.sync(self._places.root, written)
            self._set_head(state.line, state.at)
            self._forget(state)
            self._remember(snapshot, move, written)
        else:
            self._forget(state)

    def _become_owner(self) -> None:
        state = journal.read(self._places.journal)
        if self._owner.held and state is None:
            return
        if self._owner.held or not self._owner.acquire(1.0):
            who = f"process {state.pid}" if state else "another process"
            raise VersionError(f"{who} puts this working tree at other versions", hint="wait until it is done")
        if state is not None:
            self._owner.release()
            raise VersionError(
                "files that a killed process put aside are not back yet", hint="any `perf` or `tagit` command does it"
            )

    def _look(self, keep: bool = True) -> tuple[Scan, Path | None]:
        """The tree as it is, with all that is in it in the packs if it is to be kept."""
        if not keep:
            return self._repository.look(), None
        with Writer(self._repository.objects) as writer:
            snapshot = self._repository.look(writer)
            return snapshot, writer.finish()

    def _refuse_dirt(self, seen: Scan) -> None:
        head = self._repository.tree_of(self._repository.refs().head)
        changes = self._repository.compare(head, seen.tree, seen) if seen.tree != head else []
        if changes:
            listed = ", ".join(change.shown for change in changes[:5])
            ending = f" and {len(changes) - 5} more" if len(changes) > 5 else ""
            raise VersionError(
                f"{plural(len(changes), 'change')} would be lost: {listed}{ending}",
                hint="save them, ignore them, or move them away",
            )

    def _write(self, seen: Scan, pack: Path | None, goal: str | None = None, moving: str | None = None) -> Journal:
        refs = self._repository.refs()
        state = Journal(
            token=os.urandom(8).hex(),
            pid=os.getpid(),
            line=refs.line,
            at=refs.at,
            tree=seen.tree,
            pack=pack.name if pack is not None else None,
            moving=moving,
            goal=goal,
        )
        journal.write(self._places.journal, state)
        return state

    def _go(self, seen: Scan, target: str) -> None:
        move = self._move(seen, target)
        move.look()
        self._remember(seen, move, move.go())

    def _move(self, seen: Scan, target: str) -> working.Move:
        repository = self._repository
        get = tree.reader(repository.objects, seen.trees)
        return working.Move(
            self._places.root, repository.objects, get, repository.compare(seen.tree, target, seen), target
        )

    def _remember(self, seen: Scan, move: working.Move, written: dict[bytes, Seen]) -> None:
        """Keep in the cache what the files are now."""
        moved = {change.path for change in move.changes}
        files = {
            path: record for path, record in seen.files.items() if path not in moved and believed(record, seen.begun)
        }
        files |= written
        cache.write(self._places.cache, Cache(cache.begin_after(self._places.cache, written), files))

    def _set_head(self, name: str | None, at: str | None) -> None:
        refs: Refs = self._repository.refs()
        line.write(self._places.refs, attrs.evolve(refs, line=name, at=None if name is not None else at))

    def _forget(self, state: Journal) -> None:
        self._places.journal.unlink()
        files.sync_path(self._places.folder)
        if state.pack is not None:
            (self._places.packs / state.pack).unlink(missing_ok=True)
            self._repository.objects.forget()

    @contextlib.contextmanager
    def _undone(self) -> Iterator[None]:
        """Put everything back after a failure; where that fails too, the journal stays for the next command."""
        try:
            yield
        except BaseException:
            with contextlib.suppress(PerfError, OSError):
                state = journal.read(self._places.journal)
                if state is not None:
                    self._restore(state, state.token)
            self._owner.release()
            raise
