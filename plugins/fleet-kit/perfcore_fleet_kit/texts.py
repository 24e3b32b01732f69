"""What texts of dynamic code are called, and the lines that they say they are of, kept beside the store.

A question needs it of every text, and a thousand texts take longer to read than their samples.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from perfcore import files
from perfcore.errors import FormatError, PerfError
from perfcore.named_tuple import NamedTuple
from perfcore.store.store import Store, key_id, object_key, opened
from perfcore_fleet_kit.dynamic_code import LineRange, line_ranges, named_file

_FORMAT = 1
_MOST = 200_000  # texts in the cache, some 20 MB; the newest stay


class CodeFiles(NamedTuple):
    """The file of each text by the id of its object, and of files whose text says so, the lines of logical files."""

    names: dict[str, str]
    ranges: dict[str, Sequence[LineRange]]


class _Text(NamedTuple):
    file: str
    ranges: list[LineRange]


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    format: int
    texts: dict[str, _Text]


class TextIndex:
    """The texts that are known. `path` is the file of the cache; what cannot be read there is read from the store."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._texts = {} if path is None else _read(path)
        self._has_new = False

    def add(self, id: str, text: str) -> None:
        """Note a text under the id of its object."""
        if id not in self._texts:
            self._texts[id] = _Text(named_file(text), line_ranges(text))
            self._has_new = True

    def files(self, store: Store, ids: Collection[str]) -> CodeFiles:
        """The files of these texts, without those that are missing or damaged."""
        missing = [id for id in ids if id not in self._texts]
        for key, data in store.read_many(map(object_key, missing)):
            with contextlib.suppress(FormatError):
                if not isinstance(data, PerfError):
                    content = opened(key_id(key), data, "code").content
                    self.add(key_id(key), content.decode("utf-8", "surrogatepass"))
        texts = {id: self._texts[id] for id in ids if id in self._texts}
        names = {id: text.file for id, text in texts.items()}
        return CodeFiles(names, {text.file: text.ranges for text in texts.values() if text.ranges})

    def save(self) -> None:
        """Write the cache, if there is something new."""
        if self._path is not None and self._has_new:
            newest = itertools.islice(self._texts.items(), max(0, len(self._texts) - _MOST), None)
            files.cache(self._path, msgspec.msgpack.encode(_Stored(_FORMAT, dict(newest))))
            self._has_new = False


def _read(path: Path) -> dict[str, _Text]:
    data = files.cached(path)
    if data is not None:
        with contextlib.suppress(msgspec.MsgspecError):
            stored = msgspec.msgpack.decode(data, type=_Stored)
            if stored.format == _FORMAT:
                return stored.texts
    return {}
