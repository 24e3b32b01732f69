"""Results of checks, stored as notes on the versions that were checked.

The notes of a version stand in one list with those of all versions whose index keys begin with the same two digits, so
that a listing of a long history reads at most 256 lists, and not one for every version that has none. A note holds what
one check said of the versions of a list. What a check says again is not kept again; where it says something else, the
newest holds: for a version, a configuration and a method. Where stores are joined, so are the lists.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import asdict, astuple

from perfcore.analysis import note_keys
from perfcore.errors import FormatError
from perfcore.model import Change
from perfcore.model.record import Record, defaults
from perfcore.store import notes
from perfcore.store.store import Store
from perfcore.text import encodable

FORMAT = 1  # of notes: a reader refuses a newer one
TYPE = "check"
_TIMES = "checked"  # a space of the read model
_STEPS, _SLOW = ("degradation", "optimization"), ("drift", "improving drift", "variance")
_DEFAULTS = defaults(Change)


class Checked(Record, frozen=True, kw_only=True):
    """The subject of a check: a configuration at a version."""

    version: str
    config_id: str


class Result(Record, frozen=True, kw_only=True):
    """The result of a method for a configuration at a version, and its time (ns since 1970 UTC)."""

    version: str
    config_id: str
    method: str
    time: int
    changes: tuple[Change, ...] = ()


class _Row(Record, frozen=True):
    version: str
    config_id: str
    changes: tuple[Change, ...] = ()


class _Note(Record, frozen=True):
    format: int
    vcs: str
    method: str
    time: int
    results: tuple[_Row, ...]


_Bucket: TypeAlias = dict[str, dict[tuple[str, str], Result]]  # by version, then by configuration and method
_DECODER = msgspec.json.Decoder(_Note)


class Results:
    """The results that a store holds, each list of notes read when it is first asked for."""

    def __init__(self, store: Store, vcs: str) -> None:
        self._store = store
        self._vcs = vcs
        self._read: dict[str, _Bucket] = {}

    def of(self, version: str) -> tuple[Result, ...]:
        """The newest results of every configuration and method for a version, sorted by these."""
        bucket = self._bucket(self._name(version))
        stored = bucket.get(encodable(version)) if bucket else None
        return tuple(stored[key] for key in sorted(stored)) if stored else ()

    def keep(self, method: str, found: Mapping[Checked, Sequence[Change]], time: int) -> int:
        """Write what a method found and is not known yet; gives of how many versions and configurations. That
        nothing was found is written only where something was before."""
        news: dict[str, list[_Row]] = {}
        for checked in sorted(self._said_anew(method, found), key=astuple):
            row = _Row(encodable(checked.version), checked.config_id, tuple(found[checked]))
            news.setdefault(self._name(checked.version), []).append(row)
        for bucket, rows in news.items():
            newest = max((result.time for result in _all(self._read[bucket])), default=0)
            note = _Note(FORMAT, self._vcs, method, max(time, newest + 1), tuple(rows))  # a clock may be set back
            notes.add(self._store, note_keys.of_bucket(bucket), TYPE, _encode(note))
            self._enter(bucket, note)
        return sum(map(len, news.values()))

    def _said_anew(self, method: str, found: Mapping[Checked, Sequence[Change]]) -> Iterator[Checked]:
        """What is not known with these changes. Mostly nothing is known and nothing found."""
        for checked, changes in found.items():
            bucket = self._bucket(self._name(checked.version))
            stored = bucket.get(encodable(checked.version), {}).get((checked.config_id, method)) if bucket else None
            before = stored.changes if stored else ()
            # What a verdict rests on may differ: how sure it has to be depends on how much was checked at once.
            if (before or changes) and [*map(_gist, before)] != [*map(_gist, changes)]:
                yield checked

    def every(self) -> Iterator[Result]:
        """The results of all versions."""
        for name in note_keys.BUCKETS:
            yield from _all(self._bucket(name))

    def _bucket(self, name: str) -> _Bucket:
        if name not in self._read:
            self._read[name] = {}
            # Notes of one time are ordered by their content, so that every reader takes the same one for the newest.
            contents = sorted(note.content for note in notes.read(self._store, note_keys.of_bucket(name)))
            for note in sorted(map(_decode, contents), key=lambda note: note.time):
                self._enter(name, note)
        return self._read[name]

    def _enter(self, bucket: str, note: _Note) -> None:
        if note.vcs != self._vcs:
            return
        for row in note.results:
            result = Result(
                version=row.version, config_id=row.config_id, method=note.method, time=note.time, changes=row.changes
            )
            self._read[bucket].setdefault(row.version, {})[row.config_id, note.method] = result

    def _name(self, version: str) -> str:
        return note_keys.bucket(self._vcs, version)


def remember_check(store: Store, version: str, time: int) -> None:
    """A version was checked at a time (ns since 1970 UTC): a check with the same result as before writes no note."""
    store.read_model.put(_TIMES, {encodable(version): str(time).encode()})


def last_check(store: Store, version: str) -> int:
    """When a version was checked last (ns since 1970 UTC); 0 if that is unknown."""
    time = store.read_model.get(_TIMES, encodable(version)) or b"0"
    return int(time) if time.isdigit() else 0


def headlines(results: Sequence[Result], fail_on: Collection[str] = ()) -> tuple[Change, ...]:
    """What became better, worse or noisier, of primary metrics and those that `fail_on` judges: each once, as the
    newest method says it; then the contracts that are broken. What a later version undid is left out: only a check of
    histories knows it."""
    gated = {word.partition(":")[2] for word in fail_on}
    reported = [change for result in sorted(results, key=lambda result: result.time) for change in result.changes]
    undone = {_what(change) for change in reported if change.undone}
    headline_changes = {
        _what(change): change
        for change in reported
        if (change.primary or change.metric in gated or "any-degradation" in fail_on)
        and change.kind in (*_STEPS, *_SLOW)
        and _what(change) not in undone
    }
    return tuple(sorted(headline_changes.values(), key=lambda change: bool(change.contract)))


def _what(change: Change) -> tuple[str, ...]:
    kind = change.kind if change.kind in _SLOW else ""  # a step may be in the same version
    return (change.id,) if change.contract else (change.config_id, change.metric, change.resource, kind)


def _all(bucket: _Bucket) -> Iterator[Result]:
    return (result for results in bucket.values() for result in results.values())


def _gist(change: Change) -> tuple[object, ...]:
    """What people are shown of it."""
    ratio = change.ratio if change.ratio is not None and math.isfinite(change.ratio) else None
    return change.id, change.kind, change.metric, change.resource, ratio, change.primary, change.undone


def _encode(note: _Note) -> bytes:
    """JSON without fields that have their default values."""
    rows = [{**asdict(row), "changes": [*map(_plain, row.changes)]} for row in note.results]
    return msgspec.json.encode({**asdict(note), "results": rows}, order="deterministic")


def _plain(change: Change) -> dict[str, Any]:
    values = asdict(change).items()
    return {name: _encodable(value) for name, value in values if value != _DEFAULTS.get(name, msgspec.NODEFAULT)}


def _encodable(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_encodable, value))
    return encodable(value) if isinstance(value, str) else value


def _decode(content: bytes) -> _Note:
    try:
        document = _DECODER.decode(content)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"a result of a check cannot be read: {error}") from error
    if document.format != FORMAT:
        raise FormatError(f"a result of a check has the format {document.format}", hint="upgrade perfcore")
    return document
