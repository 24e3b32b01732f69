"""What is brought is not always what is kept: a push redacts, and a pull finds what its redacted objects are of."""

from __future__ import annotations

import contextlib
import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import attrs
import msgspec
from perfcore_storage_kit import sets

from perfcore.errors import FormatError, NotFoundError, PerfError
from perfcore.model import Entry
from perfcore.profile import pieces
from perfcore.profile.columns import Column, from_buffer
from perfcore.profile.table import Table
from perfcore.store import index as indexes
from perfcore.store import objects
from perfcore.store.index import Index
from perfcore.store.store import Store, table_object
from perfcore_command_remote.links import Links
from perfcore_command_remote.rules import Rules

_TOLD = ("header", "collector_info", "postprocessors", "notes")  # of a profile: texts of its user
_KEPT = ("type", "units")  # of a header: words of the formats

_ByProfile = Mapping[str, Sequence[Entry]]
SetDriver = Callable[[str, bytes, sets.Rules], bytes | None]
"""`redacted` of a driver of the kind `set`, whose errors name its distribution."""


class Translation(Protocol):
    """How the indexes and notes of a source are to be read for a target."""

    def index(self, incoming: Index, current: Index | None, problems: list[str]) -> Index:
        """An index of the source; `current` is what the target has. What is damaged is left out, and told."""

    def notes(self, ids: tuple[str, ...], problems: list[str]) -> tuple[str, ...]:
        """A list of notes of the source."""

    def record(
        self, key: str, data: bytes, record: sets.Record, problems: list[str]
    ) -> tuple[bytes, tuple[str, ...]] | None:
        """(bytes, ids of its objects) of a record of a set; None for one that is not brought."""

    def original(self, id: str) -> str:
        """The id of the object in the source that an object for the target was made of."""

    def secure(self) -> None:
        """Called before anything is written to the target."""


class AsItIs:
    """What is brought is what is kept."""

    def index(self, incoming: Index, current: Index | None, problems: list[str]) -> Index:
        return incoming

    def notes(self, ids: tuple[str, ...], problems: list[str]) -> tuple[str, ...]:
        return ids

    def record(
        self, key: str, data: bytes, record: sets.Record, problems: list[str]
    ) -> tuple[bytes, tuple[str, ...]] | None:
        return data, record.ids

    def original(self, id: str) -> str:
        return id

    def secure(self) -> None:
        pass


@attrs.define
class Redacting:
    """For a push: profiles and notes are objects of their own after redaction, which the store gets too. What the
    target has unredacted stays as it is: it left the machine before there were rules. Without rules, originals take the
    place of what earlier rules made of them. A `dry` one writes nothing.
    `drivers` gives the driver of a set by its name; without one that knows rules, its records stay here. `withheld`
    counts records that stay."""

    store: Store
    rules: Rules
    links: Links
    dry: bool = False
    drivers: Callable[[str], SetDriver | None] = lambda name: None
    withheld: int = 0
    _moved: dict[tuple[str, ...], list[str]] = attrs.field(factory=dict)
    _profiles: dict[str, tuple[str, tuple[str, ...]]] = attrs.field(factory=dict)

    def index(self, incoming: Index, current: Index | None, problems: list[str]) -> Index:
        there = current.entries if current is not None else ()
        known, buried = _by_profile(there), _by_profile(entry for entry in incoming.entries if entry.tombstone)
        removed = {copy for entries in buried.values() for entry in entries for copy in self._copies_of(entry, known)}
        left = _by_profile(entry for entry in there if not entry.tombstone and entry not in removed)
        ours = {(entry.profile, entry.tags) for entry in incoming.live}
        # An original that was taken off for its copies must not leave once more.
        unredacted = {
            profile
            for profile, entries in known.items()
            if not all(entry.tombstone for entry in entries) or not any(self._copies(profile, left))
        }

        def translated(entry: Entry) -> Entry | None:
            return entry if entry.profile in unredacted else self._entry(entry, problems)

        entries = [entry for profile in buried.keys() & known.keys() for entry in buried[profile]]
        entries += [copy._replace(tombstone=True) for copy in removed]
        for entry in incoming.live:
            if (sent := translated(entry)) is None:
                continue
            # Without them, who takes a tag off there would make what was buried here, and it would be taken for that.
            graves = [grave for old in buried.get(entry.profile, ()) if (grave := translated(old)) is not None]
            if outdated := self._outdated(entry, sent.profile, left):
                tags = {tag for copy in outdated if (entry.profile, copy.tags) not in ours for tag in copy.tags}
                if not tags.issubset(sent.tags):  # somebody tagged a copy, and nobody pulled that yet
                    sent = sent._replace(tags=tuple(sorted(tags.union(sent.tags))))
                # Where earlier rules hold again, it was taken off for what takes its place no longer.
                sent = indexes.unburied(sent, incoming._replace(entries=(*there, *graves)))
            elif entry.profile not in unredacted and self._is_removed(entry, known):
                continue
            entries += [sent, *graves, *(copy._replace(tombstone=True) for copy in outdated)]
        return indexes.merge(incoming._replace(entries=()), incoming._replace(entries=tuple(entries)))

    def notes(self, ids: tuple[str, ...], problems: list[str]) -> tuple[str, ...]:
        return tuple(redacted for id in ids if (redacted := self._tried(id, self._note, problems)) is not None)

    def record(
        self, key: str, data: bytes, record: sets.Record, problems: list[str]
    ) -> tuple[bytes, tuple[str, ...]] | None:
        if not self.rules:
            return data, record.ids
        driver = self.drivers(key.partition("/")[0])
        try:
            redacted = driver(key, data, _Rules(self)) if driver is not None else None
            if redacted is None:
                self.withheld += 1
                return None
            ids = sets.decode(redacted, f"{key} after redaction").ids
        except PerfError as error:
            problems.append(str(error))  # which names a plugin
            return None
        if redacted != data:
            self.links.keep(_digest(redacted), _digest(data))
        return redacted, ids

    def original(self, id: str) -> str:
        return self.links.originals.get(id, id)

    def secure(self) -> None:
        self.links.write()

    def _copies_of(self, entry: Entry, there: _ByProfile) -> Iterator[Entry]:
        """What the target has of just this entry. One that came back was moved, and is another."""
        for copy in self._copies(entry.profile, there):
            if not copy.tombstone and (copy.created, copy.tags) == (entry.created, entry.tags):
                yield copy

    def _outdated(self, entry: Entry, newest: str, left: _ByProfile) -> list[Entry]:
        """What other rules made of an entry's profile, among what is left there."""
        return [copy for copy in self._copies(entry.profile, left) if copy.profile != newest]

    def _is_removed(self, entry: Entry, there: _ByProfile) -> bool:
        """Whether somebody removed what the target had of an entry, by whatever rules it was made."""
        same = [copy for copy in self._copies(entry.profile, there) if copy.tags == entry.tags]
        return all(copy.tombstone for copy in same) and any(copy.created == entry.created for copy in same)

    def _copies(self, profile: str, entries: _ByProfile) -> Iterator[Entry]:
        """Those entries that rules made of a profile."""
        return (copy for id in self.links.redacted(profile) for copy in entries.get(id, ()))

    def _entry(self, entry: Entry, problems: list[str]) -> Entry | None:
        if not self.rules:
            return entry
        redacted = self._tried(entry.profile, self._profile, problems)
        if redacted is None:
            return None
        id, tables = redacted
        text = self.rules.text
        return entry._replace(
            profile=id,
            tables=tables,
            name=text(entry.name),
            cmd=text(entry.cmd),
            args=text(entry.args),
            workload=text(entry.workload),
        )

    def _tried(self, id: str, redact: Callable[[str, objects.Object], Any], problems: list[str]) -> Any:
        """What becomes of an object; None, and a problem, where it is damaged or missing."""
        try:
            return redact(id, self.store.get(id))
        except (FormatError, NotFoundError) as error:
            problems.append(error.message)
            return None

    def _profile(self, id: str, item: objects.Object) -> tuple[str, tuple[str, ...]]:
        """(id, ids of the pieces of its tables) after redaction."""
        document = _decoded(item.content, f"profile {id}")
        header = document.get("header", {})
        new = {**document, **{key: self.rules.value(document[key]) for key in _TOLD if key in document}}
        new["header"] = {**new.get("header", {}), **{key: header[key] for key in _KEPT if key in header}}
        if "machine" in document:
            new["machine"] = self.rules.facts(document["machine"])
        new["tables"] = {name: self._table(name, table) for name, table in document.get("tables", {}).items()}
        tables = new["tables"].values()
        ids = tuple(dict.fromkeys(id for t in tables for id in (*(t.get("pieces") or ()), *t.get("beside", ()))))
        if new == {**document, "tables": document.get("tables", {})}:
            return id, ids
        return self._put(item._replace(content=msgspec.json.encode(new)), id), ids

    def profile(self, id: str) -> tuple[str, tuple[str, ...]]:
        """(id, ids of the pieces of its tables) of a stored profile after redaction. FormatError where it is damaged,
        NotFoundError where it is missing."""
        if id not in self._profiles:
            self._profiles[id] = self._profile(id, self.store.get(id, "profile"))
        return self._profiles[id]

    def code(self, id: str) -> str:
        """The id of a text that is an object of its own after redaction."""
        item = self.store.get(id, "code")
        text = self.rules.text(item.content.decode("utf-8", "surrogatepass"))
        new = item._replace(content=text.encode("utf-8", "surrogatepass"))
        return id if new == item else self._put(new)

    def _table(self, name: str, table: Mapping[str, Any]) -> dict[str, Any]:
        new = dict(table)
        if table.get("columns"):
            new["columns"] = [
                {**column, "values": self.rules.value(column["values"])} if column["dtype"] == "str" else column
                for column in table["columns"]
            ]
        for key in ("pieces", "beside"):
            if table.get(key):
                new[key] = self._pieces(name, table[key])
        return new

    def _pieces(self, name: str, ids: Iterable[str]) -> list[str]:
        """The pieces of a table, each of which may continue the one before it."""
        ids = tuple(ids)
        if ids in self._moved:  # the profiles of a fleet share their stacks
            return self._moved[ids]
        moved: dict[str, str] = {}
        for id in ids:
            raw = self.store.get_piece(id)
            piece, base = pieces.decode(raw, f"table {name!r}, object {id}")
            new = self._texts(piece)
            new_base = pieces.Base(moved.get(base.id, base.id), base.rows) if base is not None else None
            unchanged = new is piece and (base is None or new_base == base)
            moved[id] = id if unchanged else self._put(table_object(name, pieces.encode(new, new_base)))
        self._moved[ids] = list(moved.values())
        return self._moved[ids]

    def _texts(self, table: Table) -> Table:
        changed = [new for column in table.columns if (new := self._column(column)) is not column]
        return table.with_columns(*changed) if changed else table

    def _column(self, column: Column) -> Column:
        texts = [self.rules.text(text) for text in column.dictionary]
        if tuple(texts) == column.dictionary:
            return column
        code = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        codes = array("I", [code[texts[old]] for old in column.data])
        return from_buffer(column.spec, codes, column.valid, tuple(code))

    def _note(self, id: str, item: objects.Object) -> str:
        note = _decoded(item.content, f"note {id}")
        new = self.rules.value(note)
        return id if new == note else self._put(item._replace(content=msgspec.json.encode(new)), id)

    def _put(self, item: objects.Object, original: str | None = None) -> str:
        id = objects.identify(item) if self.dry else self.store.put(item)
        if original is not None:
            self.links.keep(id, original)
        return id


@attrs.frozen
class _Rules:
    """What records of sets need of the rules."""

    redacting: Redacting

    @property
    def omit(self) -> frozenset[str]:
        return self.redacting.rules.omit

    def text(self, text: str) -> str:
        return self.redacting.rules.text(text)

    def profile(self, id: str) -> tuple[str, tuple[str, ...]]:
        return self.redacting.profile(id)

    def code(self, id: str) -> str:
        return self.redacting.code(id)


@attrs.define
class Restoring:
    """For a pull: what was redacted here is what it was made of."""

    links: Links

    def index(self, incoming: Index, current: Index | None, problems: list[str]) -> Index:
        here = {entry.profile: entry for entry in (current.entries if current is not None else ())}
        restored = dict.fromkeys(self._entry(entry, here) for entry in incoming.entries)
        # What other rules replaced was taken off there, and is there once more.
        replaced = {entry._replace(tombstone=True) for entry in restored if not entry.tombstone}
        return incoming._replace(entries=tuple(entry for entry in restored if entry not in replaced))

    def notes(self, ids: tuple[str, ...], problems: list[str]) -> tuple[str, ...]:
        return tuple(map(self.original, ids))

    def record(
        self, key: str, data: bytes, record: sets.Record, problems: list[str]
    ) -> tuple[bytes, tuple[str, ...]] | None:
        # A receipt that was packed here after it was sent would come back, redacted.
        return None if _digest(data) in self.links.originals else (data, record.ids)

    def original(self, id: str) -> str:
        return self.links.originals.get(id, id)

    def secure(self) -> None:
        pass

    def _entry(self, entry: Entry, here: Mapping[str, Entry]) -> Entry:
        original = here.get(self.original(entry.profile))
        if original is None:
            return entry
        return original._replace(created=entry.created, tags=entry.tags, tombstone=entry.tombstone)


def _by_profile(entries: Iterable[Entry]) -> _ByProfile:
    by_profile: dict[str, list[Entry]] = {}
    for entry in entries:
        by_profile.setdefault(entry.profile, []).append(entry)
    return by_profile


def _digest(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def _decoded(content: bytes, where: str) -> Any:
    with contextlib.suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return msgspec.json.decode(content)
    raise FormatError(f"{where} is no JSON")
