"""How long a remote keeps profiles: those made before a time are taken off it, and stay off, while clones keep theirs.

The key `retention/expired` of a store says the time, as JSON: `{"format": 1, "before": NANOSECONDS}`. It is written
before anything is taken off, so that a push that begins later brings nothing back.
"""

from __future__ import annotations

import time
from typing import Any

import attrs
import msgspec

from perfcore.errors import ConflictError, FormatError, KeyMissingError
from perfcore.model import Entry
from perfcore.store.index import Index
from perfcore.store.store import Store

KEY = "retention/expired"
_FORMAT = 1
_TRIES = 100


class _Document(msgspec.Struct):
    format: int
    before: int


@attrs.frozen
class Cutoff:
    """Profiles made earlier (ns since 1970 UTC) are not kept, unless they have a tag; 0 keeps all."""

    before: int = 0

    @property
    def date(self) -> str:
        try:
            return time.strftime("%Y-%m-%d", time.gmtime(self.before / 1e9))
        except (OverflowError, ValueError, OSError):
            return f"{self.before} ns"

    def covers(self, entry: Entry) -> bool:
        return entry.created < self.before and not entry.tags

    def kept(self, incoming: Index, current: Index | None) -> Index:
        """An index that is to be joined with `current`, without what is not kept there any more."""
        there = set(current.entries) if current is not None else set()
        entries = tuple(entry for entry in incoming.entries if not self.covers(entry) or entry in there)
        return incoming._replace(entries=entries)


EVERYTHING = Cutoff()


def read(store: Store) -> Cutoff:
    """The cutoff of a store. FormatError where it is damaged."""
    return _read(store)[0]


def extend(store: Store, cutoff: Cutoff) -> Cutoff:
    """Write the later one of this cutoff and that which is there; gives it."""
    for _ in range(_TRIES):
        there, tag = _read(store)
        if there.before >= cutoff.before:
            return there
        try:
            store.storage.replace(KEY, msgspec.json.encode(_Document(_FORMAT, cutoff.before)), tag)
            return cutoff
        except ConflictError:
            continue
    raise ConflictError(f"{KEY} keeps changing: {_TRIES} tries failed", hint="try again")


def _read(store: Store) -> tuple[Cutoff, str | None]:
    try:
        stored = store.storage.read(KEY)
    except KeyMissingError:
        return Cutoff(), None
    document: Any = None
    try:
        document = msgspec.json.decode(stored.data, type=_Document)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"{KEY} of the remote is damaged: {error}", hint="perf remote gc --expire TIME") from error
    if document.format != _FORMAT:
        raise FormatError(f"{KEY} of the remote has format {document.format}", hint="upgrade perfcore")
    return Cutoff(document.before), stored.tag
