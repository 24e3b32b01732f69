"""Garbage collection: removes the objects that nothing refers to."""

from __future__ import annotations

import contextlib
import functools
import itertools
import shutil
import time
import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs
from perfcore_storage_kit import sets
from perfcore_storage_kit.contents import Contents
from perfcore_storage_kit.parallel import of_each

from perfcore.errors import ConflictError, FormatError, KeyMissingError, PerfError, StorageError
from perfcore.profile import codec
from perfcore.store import index as indexes
from perfcore.store import notes, objects, pending
from perfcore.store.store import OBJECTS, Store, is_object_key, key_id, object_key, opened, table_object
from perfcore.text import plural, quantity
from perfcore_command_store.examination import is_damage

if TYPE_CHECKING:
    from perfcore.hookspecs import Listed
    from perfcore.repository.repository import Repository
    from perfcore.store.pending import Pending

SCHEMA = 1
_PROFILE = b"profile "  # the beginning of such an object
# A driver's unfinished files younger than an hour may belong to a process at work: no write of the store takes longer.
_UNFINISHED = 3_600_000_000_000
_TRIES = 20  # of a storage that removes together, while others write to it
_EARLIER_CACHES = ("amounts", "checked", "fleet", "indexes", "scans", "stacks")


@attrs.frozen(kw_only=True)
class GarbageReport:
    """The objects that a collection of garbage removed, or would remove."""

    removed: tuple[str, ...]
    bytes: int
    kept: int


@attrs.frozen(kw_only=True)
class GcResult:
    """The keys of the removed objects with their bytes, how many objects remain, and how many were `packed` into
    fewer files."""

    dry_run: bool
    removed: tuple[str, ...]
    bytes: int
    kept: int
    packed: int

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/gc.json`."""
        return {"schema": SCHEMA, **attrs.asdict(self), "removed": list(self.removed)}


def remove_garbage(repository: Repository, grace: float | None = None, *, dry_run: bool = False) -> GcResult:
    """Remove objects that nothing refers to and that are older than `grace` seconds (None: `gc.grace`), and keep the
    others in fewer files, where the storage can."""
    seconds = float(repository.config.get("gc.grace")) if grace is None else grace
    before = time.time_ns() - int(seconds * 1e9)
    declared = sets.declared(repository.plugins)
    result = sweep(repository.store, before, declared, dry_run=dry_run)
    if not dry_run:
        _remove_earlier_caches(repository)
    return result


def sweep(store: Store, before: int, declared: Iterable[str] = (), *, dry_run: bool = False) -> GcResult:
    """The same for a store of which there is no repository here; `before` is in ns since 1970 UTC. `declared` are the
    names of the sets that plugins declare."""
    declared = tuple(declared)
    swept = collect_garbage(store, older_than=before, declared=declared, dry_run=dry_run)
    packed = 0
    if not dry_run:
        sets.mark(store, declared)
        if hasattr(store.storage, "prune"):
            store.storage.prune(min(before, time.time_ns() - _UNFINISHED))
        if hasattr(store.storage, "pack"):
            packed = _packed(store.storage, swept)
    return GcResult(dry_run=dry_run, removed=swept.removed, bytes=swept.bytes, kept=swept.kept, packed=packed)


def _packed(storage: Any, swept: GarbageReport) -> int:
    """How many objects the storage packed. Packing needs room, which removing may not have made; what was removed stays
    so."""
    try:
        return int(storage.pack(OBJECTS))
    except StorageError as error:
        if not swept.removed:
            raise
        removed = f"{plural(len(swept.removed), 'object')} ({quantity(swept.bytes, 'B')})"
        raise StorageError(f"removed {removed}, but {error.message}", hint="make room and try again") from error


def _remove_earlier_caches(repository: Repository) -> None:
    """Remove what an earlier perfcore kept in `.perf/cache`."""
    cache = repository.perf / "cache"
    transfers = [path for kind in ("pull", "push*", "told*") for path in (cache / "remotes").glob(f"*.{kind}")]
    for path in (*(cache / name for name in _EARLIER_CACHES), *transfers):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()


def collect_garbage(
    store: Store, *, older_than: int, declared: Iterable[str] = (), dry_run: bool = False
) -> GarbageReport:
    """Remove objects that nothing refers to and that nobody touched since `older_than` (ns since 1970 UTC).

    Nothing is removed that is not called as objects are. FormatError for a damaged index or pending profile, and for a
    list of notes in the place of an index, before anything is removed: what it refers to is not known."""
    declared = tuple(declared)
    for _ in range(_TRIES):
        with contextlib.suppress(ConflictError):
            return _collected(store, older_than, declared, dry_run)
    raise ConflictError(f"others keep writing to the store: {_TRIES} tries failed", hint="try again")


def _collected(store: Store, older_than: int, declared: tuple[str, ...], dry_run: bool) -> GarbageReport:
    state = store.storage.state() if hasattr(store.storage, "state") else ""
    # What might go is listed before the roots are looked for, and they are looked for in a listing of their own.
    # Whoever makes something reachable touches it afterwards: if that was before the first listing, the second one
    # holds the root; if it was later, the tag is not the listed one and `delete` refuses. So no clock decides
    # whether an object is garbage, only how long it stays.
    listed = [row for row in store.storage.list(OBJECTS) if is_object_key(row.key)]
    reachable, lists = _reachable(store, declared)
    unreferred = [row for row in listed if row.key not in lists and key_id(row.key) not in reachable]
    garbage = [row for row in unreferred if row.modified < older_than]
    if garbage:
        _refuse_misplaced(store, unreferred)  # of any age: what it took the place of may have been older
    removed = garbage if dry_run else _removed(store, garbage, state)
    return GarbageReport(
        removed=tuple(row.key for row in removed),
        bytes=sum(row.size for row in removed),
        kept=len(listed) - len(removed),
    )


def _refuse_misplaced(store: Store, unreferred: Iterable[Listed]) -> None:
    """FormatError for a whole object under a key that is not its own: it may have taken the place of an index."""
    for key, data in store.read_many(row.key for row in unreferred):
        if isinstance(data, bytes) and _is_misplaced(key, data):
            raise _unknown(key)


def _is_misplaced(key: str, data: bytes) -> bool:
    try:
        return objects.identify(objects.inflate(data, key)) != key_id(key)
    except FormatError:  # it is damaged, and goes
        return False


def _reachable(store: Store, declared: tuple[str, ...]) -> tuple[set[str], set[str]]:
    """(ids of all that is referred to, keys of indexes and lists of notes)."""
    reachable: set[str] = set()
    lists: set[str] = set()
    profiles: set[str] = set()
    contents = Contents(store)
    rows = (row for row in store.storage.list(OBJECTS) if not _passed_over(row.key))
    for key, data in contents.beginnings(rows, _is_profile):
        if indexes.is_index(data):
            lists.add(key)
            for entry in indexes.decode(data, where=f"index {key}", key=key_id(key)).live:
                profiles.add(entry.profile)
                reachable.update(entry.tables)
        elif notes.is_list(data):
            if store.is_version(key_id(key)):
                raise _unknown(key)
            lists.add(key)
            reachable.update(notes.decode(data, f"list of notes {key}"))
        elif not objects.is_compressed(data):
            raise _unknown(key)
    for waiting in pending.walk(store):
        if waiting.profile is None:
            raise FormatError(waiting.damage, hint=f"repair or remove {waiting.key} first: its references are unknown")
        with contextlib.suppress(KeyMissingError):  # somebody registered or removed it meanwhile
            reachable.update(_held_by(store, waiting))
            profiles.update(waiting.profile.sources)
    for name in sets.held(store, declared):
        for key, stored in store.read_many(row.key for row in store.storage.list(sets.space(name))):
            if isinstance(stored, PerfError):
                raise stored
            reachable.update(sets.decode(stored, key).ids)
    for key, stored in contents.read(map(object_key, profiles)):
        if isinstance(stored, PerfError):
            raise stored
        profile = opened(key_id(key), stored, "profile")
        reachable.update(codec.piece_ids(profile.content, f"profile {key_id(key)}"))
    return reachable | profiles, lists


def _is_profile(key: str, data: bytes) -> bool:
    """Whether an object that was read is a profile, as far as its beginning tells."""
    with contextlib.suppress(zlib.error):
        return zlib.decompressobj().decompress(data, len(_PROFILE)) == _PROFILE
    return False


def _passed_over(key: str) -> bool:
    """Whether a key is no object's. FormatError where it shows that the place of one is taken."""
    if is_object_key(key):
        return False
    if is_damage(key):
        raise _unknown(key)
    return True


def _unknown(key: str) -> FormatError:
    return FormatError(
        f"{key} is damaged, and might have been an index: its references are unknown",
        hint="restore it from a copy, or remove it if it was not an index; `perf fsck` lists what is damaged",
    )


def _held_by(store: Store, waiting: Pending) -> set[str]:
    """Everything that the pending profile refers to, and what it becomes when it is registered."""
    # So nothing of it is missing where the process that registers it is killed before it could look again.
    _, data = pending.read(store, waiting.name)
    tables: set[str] = set()

    def keep(table: str, piece: bytes) -> str:
        id = objects.identify(table_object(table, piece))
        tables.add(id)
        return id

    content, pieces = codec.for_object(data, keep, where=waiting.key)
    assert waiting.profile is not None
    return {*tables, *pieces, objects.identify(objects.Object("profile", waiting.profile.header.type, content))}


def _removed(store: Store, garbage: list[Listed], state: str) -> list[Listed]:
    """Remove these keys, those that somebody used meanwhile excepted. A storage whose writes are dear has methods
    `state` and `delete_many`: nothing is removed, and ConflictError raised, where anything changed since."""
    if hasattr(store.storage, "delete_many"):
        gone = set(store.storage.delete_many([(row.key, row.tag) for row in garbage], state))
        return [row for row in garbage if row.key in gone]
    is_gone = of_each(store.storage, functools.partial(_remove, store), garbage)
    return list(itertools.compress(garbage, is_gone))


def _remove(store: Store, row: Listed) -> bool:
    try:
        store.storage.delete(row.key, row.tag)
    except (ConflictError, KeyMissingError):  # somebody touched or removed it since it was listed
        return False
    return True
