"""Writing to the target of a transfer: together where its storage can, or else key by key."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import attrs

from perfcore.errors import ConflictError, KeyMissingError, StorageError
from perfcore.store import index as indexes
from perfcore.store import notes
from perfcore.store.index import Index
from perfcore.store.store import Store, key_id, object_key
from perfcore_command_remote.joining import join

_KEYS = 5_000  # written together: so many that the time of a connection no longer matters
_BYTES = 32 << 20  # the same for their bytes, which are held in memory
_TRIES = 1_000  # writers that were faster, before a livelock is reported


def announced(store: Store, keys: Iterable[str] | None) -> contextlib.AbstractContextManager[None]:
    """Tells the storage which keys are written within, None for any, where it keeps a journal of that."""
    if not hasattr(store.storage, "announced"):
        return contextlib.nullcontext()
    announcement: contextlib.AbstractContextManager[None] = store.storage.announced(keys)
    return announcement


@attrs.define
class Writer:
    """Objects first, and then what refers to them. ConflictError where somebody else wrote to the same keys of a
    storage that writes together: nothing of that part is written."""

    store: Store
    waiting: list[tuple[str, bytes, str | None]] = attrs.field(factory=list)
    new_indexes: dict[str, Index] = attrs.field(factory=dict)
    size: int = 0

    @property
    def together(self) -> bool:
        return hasattr(self.store.storage, "write_many")

    def create(self, key: str, data: bytes) -> None:
        """Write an object."""
        self._wait(key, data, None)

    def join_index(self, key: str, incoming: Index, current: Index | None, tag: str | None) -> None:
        """Join an index with the one that is there. `current` and `tag` are what was there when it was listed; a tag
        without anything `current` is that of a damaged one, which is replaced."""
        if self.together or (current is None and tag is not None):
            self.put(key, indexes.encode(join(current, incoming)), tag)
        elif current is None and hasattr(self.store.storage, "create_many"):
            self.new_indexes[key] = join(None, incoming)
        else:
            self._join_now(incoming)

    def join_notes(
        self, key: str, ids: tuple[str, ...], current: tuple[str, ...], tag: str | None, *, is_damaged: bool
    ) -> None:
        """The same for a list of notes."""
        if self.together:
            if not set(ids) <= set(current):
                self._wait(key, notes.encode((*current, *ids)), tag)
            return
        if is_damaged:
            self.put(key, notes.encode(ids), tag)
            return
        storage = self.store.storage
        for _ in range(_TRIES):
            try:
                data, newest = storage.read(key)
                current = notes.decode(data, f"the list of notes {key}")
            except KeyMissingError:
                current, newest = (), None
            if set(ids) <= set(current):
                return
            try:
                storage.replace(key, notes.encode((*current, *ids)), newest)
                return
            except ConflictError:
                continue
        raise StorageError(f"the list of notes {key} keeps changing: {_TRIES} tries to update it failed")

    def put(self, key: str, data: bytes, tag: str | None) -> None:
        """Write bytes in the place of those with this tag, None of none. ConflictError where they have changed."""
        if self.together:
            self._wait(key, data, tag)
        else:
            self.store.storage.replace(key, data, tag)

    def flush(self) -> None:
        """Write what waits."""
        if self.waiting and self.together:
            self.store.storage.write_many(self.waiting)
        elif self.waiting:
            _put_many(self.store, ((key_id(key), data) for key, data, _ in self.waiting))
        self.waiting, self.size = [], 0
        if self.new_indexes:
            encoded = ((key, indexes.encode(index)) for key, index in self.new_indexes.items())
            for key in self.store.storage.create_many(encoded):  # somebody was faster
                self._join_now(self.new_indexes[key])
            self.new_indexes = {}

    def _join_now(self, incoming: Index) -> None:
        self.store.update_index(incoming.vcs, incoming.version, lambda index: join(index, incoming))

    def _wait(self, key: str, data: bytes, tag: str | None) -> None:
        self.waiting.append((key, data, tag))
        self.size += len(data)
        if len(self.waiting) >= _KEYS or self.size >= _BYTES:
            self.flush()


def _put_many(store: Store, stored: Iterable[tuple[str, bytes]]) -> None:
    """Keep objects as they are stored, (id, data), together where the storage can."""
    data_of = dict(stored)
    left = list(data_of)
    if hasattr(store.storage, "create_many"):
        there = store.storage.create_many((object_key(id), data) for id, data in data_of.items())
        left = [key_id(key) for key in there]
    for id in left:
        store.put_stored(id, data_of[id])
