"""What pages derive from the store, kept in the read model for the next server and the next site.

A row begins with the state that it was derived from, and is believed only for that one. Rows of an earlier state are
overwritten, so that a branch never has more than one set of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import msgspec

from perfcore import __version__
from perfcore.model import MinorVersion
from perfcore_site_kit.branch import Branch, SeriesRow
from perfcore_site_kit.levels import Level

if TYPE_CHECKING:
    from perfcore.store.read_model import ReadModel

T = TypeVar("T")
_FORMAT = 5  # of the rows; another one makes all of them unread
_SPACE = "site"
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, ValueError)


class StoredPoints(msgspec.Struct, frozen=True, array_like=True):
    """A range of a series: for each point its position, its environment, its profiles and its runs."""

    positions: tuple[int, ...]
    environments: tuple[str, ...]
    profiles: tuple[tuple[str, ...], ...]
    values: tuple[tuple[float, ...], ...]


class _Document(msgspec.Struct, frozen=True, array_like=True):
    """A branch without its state."""

    head: str
    name: str
    versions: tuple[MinorVersion, ...]
    series: tuple[SeriesRow, ...]
    accepted: dict[str, str]
    decided: dict[str, str]
    notes: tuple[str, ...]


_ENCODER = msgspec.msgpack.Encoder()
_DOCUMENT = msgspec.msgpack.Decoder(_Document)
_POINTS = msgspec.msgpack.Decoder(StoredPoints)
_LEVELS = msgspec.msgpack.Decoder(dict[int, Level])


class BranchRows:
    """The rows of the branch of one name, or of the version where it ends."""

    def __init__(self, model: ReadModel, name: str) -> None:
        self._model = model
        self._group = hashlib.sha1(name.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()

    def read(self, state: str, releases: Mapping[str, tuple[str, ...]]) -> Branch | None:
        """The branch as it was derived from a state; None where that is not kept."""
        document = self._decoded("branch", state, _DOCUMENT)
        if document is None:
            return None
        return Branch(
            state=state,
            head=document.head,
            name=document.name,
            versions=document.versions,
            series=document.series,
            accepted=document.accepted,
            decided=document.decided,
            releases=releases,
            notes=document.notes,
        )

    def write(
        self, branch: Branch, points: Mapping[str, StoredPoints], levels: Mapping[str, Mapping[int, Level]]
    ) -> None:
        """Keep a branch with the points and levels of its series, by their keys."""
        document = _Document(
            branch.head,
            branch.name,
            branch.versions,
            branch.series,
            dict(branch.accepted),
            dict(branch.decided),
            branch.notes,
        )
        head = _head(branch.state)
        try:
            rows = {key: head + _ENCODER.encode(stored) for key, stored in points.items()}
            rows |= {key: head + _ENCODER.encode(dict(level)) for key, level in levels.items()}
            rows["branch"] = head + _ENCODER.encode(document)
        except UnicodeEncodeError:  # a name that is no Unicode has no row: it is derived each time
            return
        self._model.put(_SPACE, rows, self._group)

    def points(self, state: str, key: str) -> StoredPoints | None:
        return self._decoded(key, state, _POINTS)

    def levels(self, state: str, key: str) -> Mapping[int, Level] | None:
        return self._decoded(key, state, _LEVELS)

    def _decoded(self, key: str, state: str, decoder: msgspec.msgpack.Decoder[T]) -> T | None:
        data, head = self._model.get(_SPACE, key, self._group), _head(state)
        if data is None or not data.startswith(head):
            return None
        try:
            return decoder.decode(memoryview(data)[len(head) :])
        except _UNREADABLE:
            return None


def points_key(series: int, number: int) -> str:
    return f"points {series} {number}"


def levels_key(series: int) -> str:
    return f"levels {series}"


def _head(state: str) -> bytes:
    return f"site {_FORMAT} {__version__} {state}\n".encode()
