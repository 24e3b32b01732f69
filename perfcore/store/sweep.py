"""What is reachable, what is not, and what is damaged: garbage collection and `fsck`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import attrs

from perfcore.errors import ConflictError, FormatError, KeyMissingError, NotFoundError
from perfcore.hookspecs import Listed
from perfcore.profile import codec, pieces
from perfcore.store import index as indexes
from perfcore.store import notes, objects, pending
from perfcore.store.store import OBJECTS, Store


@attrs.frozen(kw_only=True)
class Swept:
    """What a collection of garbage did, or would do: keys and bytes."""

    removed: tuple[str, ...]
    bytes: int
    kept: int


@attrs.frozen(kw_only=True)
class Finding:
    """Something `fsck` says of one key. An `error` is a loss or a damage, a `note` is not."""

    key: str
    level: Literal["error", "note"]
    text: str


def collect_garbage(store: Store, *, older_than: int, dry_run: bool = False) -> Swept:
    """Remove objects that nothing refers to and that nobody touched since `older_than` (ns since 1970 UTC).

    The keys are listed before the roots are read: whatever becomes reachable in between was touched after it
    was listed, and `delete` refuses it. A damaged index or pending profile stops everything: what it refers to
    is not known.
    """
    listed = list(store.storage.list(OBJECTS))
    reachable, lists = _reachable(store, listed)
    garbage = [
        row for row in listed if row.key not in lists and _id(row) not in reachable and row.modified < older_than
    ]
    removed = []
    for row in garbage:
        if dry_run or _remove(store, row):
            removed.append(row)
    return Swept(
        removed=tuple(row.key for row in removed),
        bytes=sum(row.size for row in removed),
        kept=len(listed) - len(removed),
    )


def examine(store: Store) -> Iterator[Finding]:
    """Everything that is wrong with a store, key by key; all of it is read."""
    present: dict[str, str] = {}
    wanted: list[tuple[str, str, str]] = []
    for row in store.storage.list(OBJECTS):
        data = store.read_key(row.key)
        if data is None:
            continue
        try:
            _examine_key(store, row.key, data, present, wanted)
        except FormatError as error:
            yield Finding(key=row.key, level="error", text=error.message)
    for waiting in pending.walk(store):
        if waiting.profile is None:
            yield Finding(key=waiting.key, level="error", text=waiting.damage)
            continue
        data = store.read_key(waiting.key)
        if data is not None:
            wanted += [(id, "table", waiting.key) for id in codec.piece_ids(data, waiting.key)]
    for id, kind, by in dict.fromkeys(wanted):
        if id not in present:
            yield Finding(key=by, level="error", text=f"{kind} {id} is missing or damaged")
        elif present[id] != kind:
            yield Finding(key=by, level="error", text=f"{id} should be a {kind} and is a {present[id]}")


def _examine_key(
    store: Store, key: str, data: bytes, present: dict[str, str], wanted: list[tuple[str, str, str]]
) -> None:
    id = _key_id(key)
    if indexes.is_index(data):
        index = indexes.decode(data, where=f"index {key}")
        if index.version and indexes.key_name(index.vcs, index.version) != id:
            raise FormatError(f"the index {key} belongs to another version, {index.version}")
        for entry in index.live:
            wanted.append((entry.profile, "profile", key))
            wanted.extend((table, "table", key) for table in entry.tables)
        return
    if notes.is_list(data):
        wanted += [(note, "note", key) for note in notes.decode(data, f"list of notes {key}")]
        return
    item = objects.decode(data, id)
    if item.kind == "profile":
        wanted += [(piece, "table", key) for piece in codec.piece_ids(item.content, f"profile {id}")]
    elif item.kind == "table":
        pieces.decode(item.content, f"object {id}")
    present[id] = item.kind


def _reachable(store: Store, listed: list[Listed]) -> tuple[set[str], set[str]]:
    """(ids of all that is referred to, keys of indexes and lists of notes)."""
    found: set[str] = set()
    lists: set[str] = set()
    profiles: set[str] = set()
    for row in listed:
        data = store.read_key(row.key)
        if data is None:
            continue
        if indexes.is_index(data):
            lists.add(row.key)
            for entry in indexes.decode(data, where=f"index {row.key}").live:
                profiles.add(entry.profile)
                found.update(entry.tables)
        elif notes.is_list(data):
            lists.add(row.key)
            found.update(notes.decode(data, f"list of notes {row.key}"))
        elif not objects.is_compressed(data):
            raise FormatError(
                f"{row.key} is damaged, and might have been an index: what it refers to is not known",
                hint="bring it back from a copy, or remove it if it was none; `perf fsck` lists what is damaged",
            )
    for waiting in pending.walk(store):
        if waiting.profile is None:
            raise FormatError(
                waiting.damage, hint=f"mend or remove {waiting.key} first: what it refers to is not known"
            )
        try:
            _, data = pending.read(store, waiting.name)
        except KeyMissingError:
            continue
        found.update(codec.piece_ids(data, waiting.key))
        profiles.update(waiting.profile.sources)
    for id in profiles:
        found.update(_pieces_of(store, id))
    return found | profiles, lists


def _pieces_of(store: Store, id: str) -> tuple[str, ...]:
    try:
        return codec.piece_ids(store.get(id, "profile").content, f"profile {id}")
    except NotFoundError:
        return ()


def _remove(store: Store, row: Listed) -> bool:
    try:
        store.storage.delete(row.key, row.tag)
    except (ConflictError, KeyMissingError):
        return False
    return True


def _id(row: Listed) -> str:
    return _key_id(row.key)


def _key_id(key: str) -> str:
    return key.removeprefix(OBJECTS).replace("/", "")
