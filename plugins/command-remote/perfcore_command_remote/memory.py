"""What the last transfer between two stores left in the read model, so that the next reads only what changed since."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import msgspec

from perfcore.store.read_model import ReadModel
from perfcore.store.store import OBJECTS
from perfcore_command_remote.holdings import Holdings

_SPACE = "transfers"
_FOLDERS = [f"{number:02x}" for number in range(256)]
_NAME = 38  # hex digits of a key behind its folder


class _Folder(msgspec.Struct, array_like=True):
    """A row: names of objects one after the other, and the tags of what was joined by name."""

    objects: str
    joined: dict[str, tuple[str, str]]


@attrs.define
class Memory:
    """A cache: without its rows, everything is compared once more. `joined` are the tags in source and target that an
    index or list of notes had when everything in the source was in the target; the tag of a key that is not there is
    empty."""

    model: ReadModel
    group: str = ""
    objects: frozenset[str] = frozenset()
    joined: dict[str, tuple[str, str]] = attrs.field(factory=dict)
    _rows: dict[str, bytes] = attrs.field(factory=dict)

    @classmethod
    def read(cls, model: ReadModel, group: str) -> Memory:
        """That of the transfers of this name."""
        rows = model.many(_SPACE, _FOLDERS, group)
        folders = {name: folder for name, data in rows.items() if (folder := _decoded(data)) is not None}
        objects = (f"{OBJECTS}{name}/{tail}" for name, folder in folders.items() for tail in _tails(folder.objects))
        joined = {
            f"{OBJECTS}{name}/{tail}": tags for name, folder in folders.items() for tail, tags in folder.joined.items()
        }
        return cls(model, group, frozenset(objects), joined, rows)

    def is_joined(self, key: str, source: Holdings, target: Holdings) -> bool:
        """Whether neither side of an index or list of notes changed since they were joined."""
        tags = self.joined.get(key)
        return tags is not None and tags == (source.tag(key) or "", target.tag(key) or "")

    def remember(self, source: Holdings, target: Holdings, joinable: set[str]) -> None:
        """Keep what is the case after a transfer of everything."""
        tails: dict[str, list[str]] = {name: [] for name in _FOLDERS}
        joined: dict[str, dict[str, tuple[str, str]]] = {name: {} for name in _FOLDERS}
        for key in source.rows:
            name, _, tail = key.removeprefix(OBJECTS).partition("/")
            if key in joinable:
                joined[name][tail] = (source.tag(key) or "", target.tag(key) or "")
            else:
                tails[name].append(tail)
        rows = {
            name: msgspec.msgpack.encode(_Folder("".join(sorted(tails[name])), joined[name]), order="sorted")
            for name in _FOLDERS
        }
        self.model.put(_SPACE, {name: data for name, data in rows.items() if self._rows.get(name) != data}, self.group)


def is_told(model: ReadModel, group: str) -> bool:
    """Whether `keep_told` was called for this name."""
    return model.get(_SPACE, "told", group) is not None


def keep_told(model: ReadModel, group: str) -> None:
    """Remember that what leaves was told."""
    model.put(_SPACE, {"told": b""}, group)


def _decoded(data: bytes) -> _Folder | None:
    try:
        return msgspec.msgpack.decode(data, type=_Folder)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _tails(names: str) -> Iterator[str]:
    return (names[at : at + _NAME] for at in range(0, len(names), _NAME))
