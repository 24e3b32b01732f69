"""A list of all keys of a bucket that is remembered, and completed from the journal instead of being asked for anew."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs
import msgspec
from perfcore_storage_kit.parallel import in_parallel

from perfcore import files
from perfcore_storage_object.bucket import Answer, Bucket
from perfcore_storage_object.journal import DAY, Entry, Journal

_FORMAT = 1
_FEWEST = 100  # keys that are always looked at one by one
_SHARE = 30  # of so many keys, looking at one takes as long as listing all, eight requests at a time


class _Known(msgspec.Struct, array_like=True, frozen=True):
    """All keys as they were when the journal ended with the entry `last`, whose tag tells whether it is still that
    journal. `listed` is when they were listed, and `open` when each entry was first seen that had no end yet (both in
    seconds by the clock of this machine)."""

    format: int
    url: str
    listed: float
    last: int
    tag: str
    open: dict[int, float]
    rows: dict[str, tuple[int, int, str]]  # size, time, tag


@attrs.define
class Listing:
    """The remembered list of a bucket, in a file of this machine. It is a cache: without it, all keys are listed."""

    bucket: Bucket
    journal: Journal
    path: Path
    seconds: float
    _last: int | None = None

    @property
    def last(self) -> int | None:
        """The number of the last entry of the journal that was seen; None before the first look."""
        return self._last

    def rows(self) -> Sequence[tuple[str, Answer]]:
        """Every name with what a list says of it."""
        known = self._read()
        updated = self._updated(known) if known is not None else None
        if updated is None:
            return self._listed(known)
        if updated is not known:
            self._keep(updated)
        self._last = updated.last
        return [(name, Answer(tag, size, modified, b"")) for name, (size, modified, tag) in updated.rows.items()]

    def forget(self) -> None:
        """List all keys the next time."""
        files.cache(self.path, b"")

    def _listed(self, known: _Known | None) -> Sequence[tuple[str, Answer]]:
        """All keys by a list. It is remembered where the journal says from when on it holds, and where neither list
        is seen to end too early or to have a name twice."""
        now = time.time()
        journal = self.journal.overview()
        rows = list(self.bucket.list(""))
        self._last = journal.last
        names = {name: (answer.size, answer.modified, answer.tag) for name, answer in rows}
        if journal.last and len(names) == len(rows) and self.journal.tag(journal.last + 1) is None:
            seen = known.open if known is not None else {}
            open = {number: seen.get(number, now) for number in journal.open}
            open = {number: first for number, first in open.items() if now - first < DAY}
            keys = {name: row for name, row in names.items() if not name.startswith("-")}  # no key begins so
            self._keep(_Known(_FORMAT, self.bucket.url, now, journal.last, journal.tag, open, keys))
        return rows

    def _updated(self, known: _Known) -> _Known | None:
        """The list with what changed since; itself where nothing did. None where all keys have to be listed: where it
        is old, the journal is another one or has a gap, any key may have changed, or too many did."""
        now = time.time()
        if not 0 <= now - known.listed < self.seconds or self.journal.tag(known.last) != known.tag:
            return None
        new = self.journal.since(known.last)
        if new is None:
            return None
        watched = [*in_parallel(self.journal.read, known.open), *new]
        entries = [entry for entry in watched if entry is not None and entry.keys is not None]
        keys = {key for entry in entries for key in entry.keys or ()}
        if len(entries) < len(watched) or len(keys) > max(_FEWEST, len(known.rows) // _SHARE):
            return None
        if not entries:
            return known
        # Before its keys are looked at: what an entry changes after that, it would not have come to its end.
        open = {number: known.open.get(number, now) for number in self._unfinished(entries)}
        rows = known.rows | self._looked_up(keys)
        last, tag = (new[-1].number, new[-1].tag) if new else (known.last, known.tag)
        present = {name: row for name, row in rows.items() if row[0] >= 0}
        return msgspec.structs.replace(known, last=last, tag=tag, open=open, rows=present)

    def _unfinished(self, entries: Iterable[Entry]) -> list[int]:
        numbers = [entry.number for entry in entries]
        done = in_parallel(self.journal.is_done, numbers)
        return [number for number, is_done in zip(numbers, done, strict=True) if not is_done]

    def _looked_up(self, keys: Iterable[str]) -> dict[str, tuple[int, int, str]]:
        """What is under each of these; with the size -1 where nothing is."""
        names = sorted(keys)
        found = in_parallel(self.bucket.head, names)
        return {
            name: (-1, 0, "") if answer is None else (answer.size, answer.modified, answer.tag)
            for name, answer in zip(names, found, strict=True)
        }

    def _read(self) -> _Known | None:
        try:
            known = msgspec.msgpack.decode(files.cached(self.path) or b"", type=_Known)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return known if (known.format, known.url) == (_FORMAT, self.bucket.url) else None

    def _keep(self, known: _Known) -> None:
        files.cache(self.path, msgspec.msgpack.encode(known))
