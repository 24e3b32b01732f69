"""What a store holds, by the keys of its storage: indexes and lists of notes, which are joined, and objects, which are
the same everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import attrs
from perfcore_storage_kit.contents import Contents

from perfcore.errors import FormatError, PerfError
from perfcore.hookspecs import Listed
from perfcore.store import index as indexes
from perfcore.store import notes, objects
from perfcore.store.index import UPGRADE, Index
from perfcore.store.store import (
    OBJECTS,
    Store,
    hidden_key,
    is_object_key,
    key_id,
    object_key,
    too_large,
)


@attrs.frozen
class Holdings:
    """A store with its keys as they were listed. `refused` says of each key that was left out why nothing can be kept
    there, and which were listed twice. `damaged` are the ids of what was read and is not whole: of objects, indexes and
    lists of notes. `contents` are bytes that were read and are needed again."""

    store: Store
    rows: Mapping[str, Listed]
    refused: tuple[str, ...] = ()
    damaged: frozenset[str] = frozenset()
    contents: Contents = attrs.field(default=attrs.Factory(lambda self: Contents(self.store), takes_self=True))

    @classmethod
    def of(cls, store: Store, *, verify: bool = False) -> Holdings:
        """What is listed; to `verify`, everything is read. A list of notes in the place of an index is damage."""
        listed = list(store.storage.list(OBJECTS))
        rows = {row.key: row for row in listed if is_object_key(row.key)}
        refused = {key: text for key, row in rows.items() if (text := too_large(row))}
        counted = Counter(row.key for row in listed)
        twice = tuple(f"{key} is listed twice: one of them may be old" for key, times in counted.items() if times > 1)
        refused |= {key: objects.folder_in_place(key) for row in listed if (key := hidden_key(row.key))}
        rows = {key: row for key, row in rows.items() if key not in refused}
        contents = Contents(store)
        damaged = frozenset(map(key_id, _damaged(contents, rows))) if verify else frozenset[str]()
        return cls(store, rows, (*refused.values(), *twice), damaged, contents)

    def has(self, id: str) -> bool:
        """Whether there is an object of this id, which is whole as far as is known."""
        return object_key(id) in self.rows and id not in self.damaged

    def is_damaged(self, key: str) -> bool:
        return key_id(key) in self.damaged

    def tag(self, key: str) -> str | None:
        """The tag of a key; None where nothing is there."""
        row = self.rows.get(key)
        return None if row is None else row.tag

    def joinable(
        self,
        known: Collection[str],
        joined: Collection[str],
        is_wanted: Callable[[str, bytes], bool],
        pass_over: Callable[[str], object],
    ) -> Iterator[tuple[str, bytes]]:
        """The indexes and lists of notes with their bytes, in the order of their keys, and what is not even an object
        and so may have been one of them; the keys of what begins as objects do are given to `pass_over`. `known` are
        keys of objects, which never change and need not be read; nor need what is `joined` already. Objects that are
        wanted later are held."""
        unknown = (row for key, row in self.rows.items() if key not in joined and key not in known)
        for key, data in self.contents.beginnings(unknown, is_wanted):
            if objects.is_compressed(data):
                pass_over(key)
            else:
                yield key, data


def _damaged(contents: Contents, keys: Iterable[str]) -> Iterator[str]:
    """The keys of what is not whole. Indexes and lists of notes are held: they are joined next. One that a newer
    perfcore wrote is no damage. The error of what cannot be read is raised: where a network broke, an index may be
    whole, and made anew it would lack what others entered."""
    for key, data in contents.read(keys):
        try:
            if isinstance(data, PerfError):
                raise data
            if indexes.is_index(data):
                decode_index(key, data)
            elif notes.is_list(data):
                contents.store.check_list(key)
                notes.decode(data, key)
            else:
                verified(key, data)
                continue
        except FormatError as error:
            if error.hint != UPGRADE:
                yield key
            continue
        contents.hold(key, data)


def described(error: PerfError) -> str:
    """An error in one sentence, with what helps against it where that is another perfcore."""
    return f"{error.message}: {error.hint}" if error.hint == UPGRADE else error.message


def decode_index(key: str, data: bytes) -> Index:
    """The index under a key. FormatError where it is damaged, belongs under another key, or is none."""
    if not indexes.is_index(data):
        raise FormatError(objects.not_stored(key))
    id = key_id(key)
    return indexes.decode(data, where=f"the index {key}", version=id, key=id)  # version 1 leaves it out


def verified(key: str, data: bytes | PerfError) -> bytes:
    """The stored bytes of an object, if its content has its id. FormatError where it is damaged or cannot be read."""
    if isinstance(data, PerfError):
        raise FormatError(data.message)
    objects.decode(data, key_id(key))
    return data
