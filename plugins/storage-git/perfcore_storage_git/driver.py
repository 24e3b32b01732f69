"""The storage `git`: keys are files in the tree of a ref, and every write is a commit that is pushed."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from perfcore_storage_kit.keys import check_prefix

from perfcore.errors import ConflictError, KeyExistsError, KeyMissingError, StorageError
from perfcore.hookspecs import Listed, Stored
from perfcore.named_tuple import NamedTuple
from perfcore_storage_git.keys import Held, check_key
from perfcore_storage_git.mirror import EMPTY, GitError, Mirror, Snapshot, is_long
from perfcore_storage_git.settings import GitStorageSettings

_TRIES = 1_000  # writers that were faster, before a livelock is reported
_WAIT = 0.4  # seconds at most before the next try, so that writers do not stay in step


class _Changes(NamedTuple):
    """What a write makes of the keys: new ones with their bytes (None: those of a blob that is there), and old ones
    that go."""

    puts: Mapping[Held, bytes | None]
    gone: Sequence[Held]


class GitStorage:
    """A store in another git repository. `place` is where the copy of it is kept, `settings.url` where it is."""

    Settings = GitStorageSettings
    contract = "perfcore_storage_git.contract:GitStorageContract"

    def __init__(self, place: Path, settings: GitStorageSettings | None = None) -> None:
        self.place = Path(place)
        self.settings = settings or GitStorageSettings()
        if not self.settings.url or self.settings.url.startswith("-"):
            raise StorageError("the storage git needs the URL of a repository", hint="perf remote add NAME URL")
        self._mirror = Mirror(self.place, self.settings)
        self._snapshot = EMPTY
        self._looked: float | None = None
        self._keeps_history = False  # the server allows no new beginning

    def read(self, key: str) -> Stored:
        """From the copy on this machine, once git has looked whether it is the newest."""
        entry = self._found(key)
        return Stored(self._mirror.content(entry.blob)[1], entry.tag)

    def read_range(self, key: str, offset: int, length: int) -> bytes:
        """git unpacks the whole of it."""
        return self._mirror.content(self._found(key).blob)[1][offset : offset + length]

    def read_many(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Looks at the repository once."""
        snapshot: Snapshot | None = None
        for key in keys:
            check_key(key)
            snapshot = snapshot or self._current()
            if key in snapshot.keys:
                yield key, self._mirror.content(snapshot.keys[key].blob)[1]

    def missing(self, keys: Iterable[str]) -> Iterator[str]:
        """Looks at the repository once."""
        snapshot: Snapshot | None = None
        for key in keys:
            check_key(key)
            snapshot = snapshot or self._current()
            if key not in snapshot.keys:
                yield key

    def list(self, prefix: str) -> Iterator[Listed]:
        """As it was at one moment. A key that somebody put there twice is listed twice."""
        check_prefix(prefix)
        snapshot = self._look()
        held = (*snapshot.keys.values(), *snapshot.older)
        return iter(sorted(each.listed for each in held if each.key.startswith(prefix)))

    def create(self, key: str, data: bytes) -> str:
        """Of several processes, the one whose push is first wins."""
        check_key(key)

        def changes(snapshot: Snapshot) -> _Changes:
            if key in snapshot.keys:
                raise KeyExistsError(f"{key} is there already")
            return _Changes({self._new(snapshot, key, data): data}, ())

        return self._write(changes).keys[key].tag

    def replace(self, key: str, data: bytes, tag: str | None) -> str:
        """Compare and swap, in the other repository."""
        self.write_many([(key, data, tag)])
        return self._snapshot.keys[key].tag

    def write_many(self, writes: Iterable[tuple[str, bytes, str | None]]) -> None:
        """One push for all of them."""
        wanted = {key: (data, tag) for key, data, tag in writes}
        for key in wanted:
            check_key(key)

        def changes(snapshot: Snapshot) -> _Changes:
            puts, gone = {}, []
            for key, (data, tag) in wanted.items():
                entry = snapshot.keys.get(key)
                if (entry is not None) if tag is None else (entry is None or not entry.has(tag)):
                    raise ConflictError(f"{key} was changed by somebody else", hint="read it again and retry")
                if entry is not None:
                    gone.append(entry)
                puts[self._new(snapshot, key, data)] = data
            return _Changes(puts, gone)

        if wanted:
            self._write(changes)

    def delete(self, key: str, tag: str) -> None:
        """The bytes stay in the history of the ref, until it begins anew."""
        check_key(key)

        def changes(snapshot: Snapshot) -> _Changes:
            entry = _there(snapshot, key)
            if not entry.has(tag):
                raise ConflictError(f"{key} was changed by somebody else", hint="read it again and retry")
            return _Changes({}, [entry])

        self._write(changes)

    def state(self) -> str:
        """A text that differs whenever anything in the store does, looked at now."""
        return self._look().commit

    def delete_many(self, keys: Iterable[tuple[str, str]], state: str) -> Sequence[str]:
        """Remove each (key, tag) that still has its tag; gives the keys that were removed. ConflictError unless the
        store is in this `state`. One push, which begins the history anew: the server can forget what was removed."""
        wanted = dict(keys)
        removed: list[str] = []

        def changes(snapshot: Snapshot) -> _Changes:
            if snapshot.commit != state:
                raise ConflictError("somebody wrote to the store meanwhile", hint="try again")
            there = [snapshot.keys[key] for key in wanted if key in snapshot.keys]
            gone = [held for held in there if held.has(wanted[held.key])]
            removed[:] = [held.key for held in gone]
            return _Changes({}, gone)

        if wanted or self._look().length > 1:
            self._write(changes, anew=True)
        return removed

    def rewrite(self, *, touched: Iterable[str], changed: Mapping[str, Callable[[bytes], bytes | None]]) -> None:
        """Touch keys, and give others the bytes that a function makes of theirs; None removes the key. One push."""
        touched = set(touched)

        def changes(snapshot: Snapshot) -> _Changes:
            puts, gone = dict[Held, bytes | None](), []
            for key in touched:
                if (held := snapshot.keys.get(key)) is not None:
                    gone.append(held)
                    puts[_touched(held)] = None
            for key, change in changed.items():
                if (held := snapshot.keys.get(key)) is not None:
                    before = self._mirror.content(held.blob)[1]
                    if (after := change(before)) != before:
                        gone.append(held)
                        if after is not None:
                            puts[self._new(snapshot, key, after)] = after
            return _Changes(puts, gone)

        self._write(changes)

    @property
    def keeps_history(self) -> bool:
        """Whether the server refused to let the history begin anew."""
        return self._keeps_history

    def touch(self, key: str) -> None:
        """Only the name in the tree becomes another."""
        check_key(key)

        def changes(snapshot: Snapshot) -> _Changes:
            entry = _there(snapshot, key)
            return _Changes({_touched(entry): None}, [entry])

        self._write(changes)

    def _look(self) -> Snapshot:
        """The store as it is now in the other repository."""
        head = self._mirror.head()
        if head != self._snapshot.commit:
            self._snapshot = self._mirror.fetch() if head else EMPTY
        self._looked = time.monotonic()
        return self._snapshot

    def _current(self) -> Snapshot:
        """The store as it was at most `hold` seconds ago."""
        held = self._looked is not None and time.monotonic() - self._looked < self.settings.hold
        return self._snapshot if held else self._look()

    def _found(self, key: str) -> Held:
        check_key(key)
        return _there(self._current(), key)

    def _write(self, changes: Callable[[Snapshot], _Changes], *, anew: bool = False) -> Snapshot:
        """Push what `changes` makes of the store, anew each time that somebody else was faster."""
        for attempt in range(_TRIES):
            before = self._look()
            made = changes(before)
            is_new = (anew or is_long(before)) and not self._keeps_history
            after = self._mirror.commit(before, made.puts, made.gone, anew=is_new)
            try:
                pushed = self._mirror.push(before.commit, after.commit)
            except GitError:
                if not is_new:
                    raise
                self._keeps_history, pushed = True, False
            if pushed:
                self._snapshot, self._looked = after, time.monotonic()
                return after
            time.sleep(random.uniform(0, min(_WAIT, 0.01 * 2 ** min(attempt, 10))))
        raise StorageError(f"{self._mirror.shown} keeps changing: {_TRIES} tries to write to it failed")

    def _new(self, snapshot: Snapshot, key: str, data: bytes) -> Held:
        """A key with new bytes. Its time is later than that of the old ones, also if the clocks of two hosts differ."""
        entry = snapshot.keys.get(key)
        now = max(time.time_ns(), entry.touched + 1) if entry is not None else time.time_ns()
        kind = hashlib.sha256 if len(snapshot.commit) == 64 else hashlib.sha1
        blob = kind(b"blob %d\0" % len(data), usedforsecurity=False)
        blob.update(data)
        return Held(key, blob.hexdigest(), len(data), now, now)


def _touched(held: Held) -> Held:
    return held._replace(touched=max(time.time_ns(), held.touched + 1))


def _there(snapshot: Snapshot, key: str) -> Held:
    entry = snapshot.keys.get(key)
    if entry is None:
        raise KeyMissingError(f"there is no {key}")
    return entry
