"""What the last transfer between two stores left, so that the next one reads only what changed since."""

from __future__ import annotations

import contextlib
from pathlib import Path

import attrs
import msgspec

from perfcore import files
from perfcore.store.store import OBJECTS
from perfcore_command_remote.holdings import Holdings

_FORMAT = 1
_ID = 40  # hex digits


class _Stored(msgspec.Struct, array_like=True):
    format: int
    objects: str  # ids one after the other
    joined: dict[str, tuple[str, str]]


@attrs.define
class Memory:
    """A cache: without its file, everything is compared once more. `joined` are the tags in source and target that an
    index or list of notes had when everything in the source was in the target."""

    path: Path | None
    objects: frozenset[str] = frozenset()
    joined: dict[str, tuple[str, str]] = attrs.field(factory=dict)

    @classmethod
    def read(cls, path: Path) -> Memory:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            stored = msgspec.msgpack.decode(files.cached(path) or b"", type=_Stored)
            if stored.format == _FORMAT:
                ids = (stored.objects[at : at + _ID] for at in range(0, len(stored.objects), _ID))
                return cls(path, frozenset(f"{OBJECTS}{id[:2]}/{id[2:]}" for id in ids), stored.joined)
        return cls(path)

    def is_joined(self, key: str, source: Holdings, target: Holdings) -> bool:
        """Whether neither side of an index or list of notes changed since they were joined."""
        tags = self.joined.get(key)
        return tags is not None and tags == (source.tag(key), target.tag(key))

    def remember(self, source: Holdings, target: Holdings, joinable: set[str]) -> None:
        """Keep what is the case after a transfer of everything."""
        if self.path is None:
            return
        objects = "".join(key.removeprefix(OBJECTS).replace("/", "") for key in source.rows if key not in joinable)
        tags = {key: (source.tag(key) or "", target.tag(key) or "") for key in joinable}
        files.cache(self.path, msgspec.msgpack.encode(_Stored(_FORMAT, objects, tags)))
