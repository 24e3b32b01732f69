"""The upkeep of a remote: profiles past a retention are taken off, and what nothing refers to is removed."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import attrs
from perfcore_command_store.garbage import GcResult, sweep
from perfcore_storage_kit import sets
from perfcore_storage_kit.parallel import of_each

from perfcore.errors import ConflictError, FormatError, KeyMissingError, PerfError, UsageError
from perfcore.model import Entry
from perfcore.model.listener import Listener, SilentListener
from perfcore.profile import codec
from perfcore.store import index as indexes
from perfcore.store.index import Index
from perfcore.store.store import OBJECTS, Store, is_object_key, key_id, object_key, opened
from perfcore_command_remote import remotes, retention
from perfcore_command_remote.retention import Cutoff
from perfcore_command_remote.writer import announced

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository

SCHEMA = 1
DAY = 86_400.0  # seconds: clocks of hosts may differ by hours, and a push takes no day
_TRIES = 100


@attrs.frozen(kw_only=True)
class Kept:
    """What was done: (version, entry) of each profile that was taken off, and what a collection of garbage removed."""

    expired: tuple[tuple[str, Entry], ...]
    garbage: GcResult

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/remote-gc.json`."""
        rows = [{"version": version, "profile": e.profile, "label": e.label} for version, e in self.expired]
        return {**self.garbage.as_json(), "schema": SCHEMA, "expired": rows}


def collect(
    repository: Repository,
    remote: str | None = None,
    *,
    expire: float | None = None,
    grace: float | None = None,
    alone: bool = False,
    dry_run: bool = False,
    listener: Listener | None = None,
) -> Kept:
    """Take profiles off a remote that were made more than `expire` seconds ago and have no tag, and remove what nothing
    refers to and nobody used for `grace` seconds (None: `gc.grace`). UsageError for a shorter time than a day, unless
    nobody else pushes or pulls meanwhile."""
    grace = float(repository.config.get("gc.grace")) if grace is None else grace
    for name, seconds in (("--grace", grace), ("--expire", DAY if expire is None else expire)):
        if seconds < DAY and not alone:
            raise UsageError(
                f"{name} is under a day, in which somebody may be pushing or pulling, by a clock that is hours off",
                hint="--alone, if nobody is",
            )
    place = remotes.named(repository, remote)
    remotes.check_not_lost(repository, place)
    store = remotes.opened(repository, place)
    listener = listener or SilentListener()
    expired: list[tuple[str, Entry]] = []
    with contextlib.nullcontext() if dry_run else announced(store, None):
        if expire is not None:
            cutoff = max(Cutoff(time.time_ns() - int(expire * 1e9)), retention.read(store), key=lambda c: c.before)
            # All is read before the cutoff is in force: a command that fails changes nothing.
            outdated = _outdated(store, cutoff)
            expired = [(i.version, e) for i in outdated.values() for e in i.live if cutoff.covers(e)]
            if not dry_run:
                needed = sorted(_needed(store, {entry for _, entry in expired}))
                _expire(store, outdated, needed, retention.extend(store, cutoff), listener)
        listener.progress(0, 0, "looking for garbage")
        declared = sets.declared(repository.plugins)
        swept = sweep(store, time.time_ns() - int(grace * 1e9), declared, dry_run=dry_run)
    if not dry_run and getattr(store.storage, "keeps_history", False):
        listener.note(
            f"the server of {place.name} allows no new history of its ref: what was removed stays in the old one"
        )
    return Kept(expired=tuple(expired), garbage=swept)


def _outdated(store: Store, cutoff: Cutoff) -> dict[str, Index]:
    """The indexes with anything that the cutoff covers. FormatError for a damaged one."""
    outdated: dict[str, Index] = {}
    for key, index in store.indexes():
        if isinstance(index, FormatError):
            raise index
        if any(map(cutoff.covers, index.entries)):
            outdated[key] = index
    return outdated


def _expire(
    store: Store, outdated: Collection[str], needed: Collection[str], cutoff: Cutoff, listener: Listener
) -> None:
    """Take what the cutoff covers off the outdated indexes. `needed` are the ids of all objects of its profiles."""
    if not outdated:
        return
    # Their grace begins now: who is reading or joining these indexes at this moment still refers to them.
    listener.progress(0, len(needed), "objects")
    if hasattr(store.storage, "rewrite"):
        keys = [object_key(id) for id in needed]
        store.storage.rewrite(touched=keys, changed=dict.fromkeys(outdated, lambda data: _without(data, cutoff)))
    else:
        for done, _ in enumerate(of_each(store.storage, functools.partial(_touch, store), needed), 1):
            listener.progress(done, len(needed), "objects")
        for done, _ in enumerate(of_each(store.storage, functools.partial(_change, store, cutoff), outdated), 1):
            listener.progress(done, len(outdated), "indexes")


def _needed(store: Store, entries: Iterable[Entry]) -> set[str]:
    """The ids of all objects of profiles, as far as they are there. Of a damaged profile it is itself alone."""
    listed = {key_id(row.key) for row in store.storage.list(OBJECTS) if is_object_key(row.key)}
    ids = {id for entry in entries for id in (entry.profile, *entry.tables)}
    for key, data in store.read_many(object_key(id) for id in {entry.profile for entry in entries} & listed):
        try:
            if isinstance(data, PerfError):
                raise data  # what it needs is unknown, and would be collected at once
            content = opened(key_id(key), data, "profile").content
            ids.update(codec.piece_ids(content, f"profile {key_id(key)}"))
        except FormatError:
            continue
    return ids & listed


def _without(data: bytes, cutoff: Cutoff) -> bytes | None:
    """The bytes of an index without what the cutoff covers; None where nothing is left."""
    index = indexes.decode(data, where="an index of the remote")
    left = tuple(entry for entry in index.entries if not cutoff.covers(entry))
    if left == index.entries:
        return data
    return indexes.encode(index._replace(entries=left)) if left else None


def _touch(store: Store, id: str) -> None:
    with contextlib.suppress(KeyMissingError):
        store.touch((id,))


def _change(store: Store, cutoff: Cutoff, key: str) -> None:
    for _ in range(_TRIES):
        try:
            stored = store.storage.read(key)
            data = _without(stored.data, cutoff)
            if data is None:
                store.storage.delete(key, stored.tag)
            elif data != stored.data:
                store.storage.replace(key, data, stored.tag)
            return
        except KeyMissingError:
            return
        except ConflictError:
            continue
    raise ConflictError(f"{key} keeps changing: {_TRIES} tries failed", hint="try again")
