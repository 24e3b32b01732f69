"""Reads data that Perl's Storable wrote, in network order or that of common machines, and makes nothing but data of it:
no object, no code and no hook.

The format is that of version 2 as `Storable.xs` of Perl 5.8 to 5.40 writes it to files.
"""

from __future__ import annotations

import struct
from typing import Any

from perfcore.errors import FormatError

MAGIC = b"pst0"
_MAJOR = 2
_ORDERS = (b"12345678", b"1234")  # little endian, of 64 and 32 bits
_MAX_DEPTH = 64
_KEY_IS_UTF8, _KEY_IS_VALUE = 1, 8
_REFERENCES = (4, 20, 27, 28)  # plain, to an object with operators, and weak ones of both
_UNDEFINED = (5, 14, 31)


def loads(data: bytes) -> Any:
    """Lists, dicts, texts, numbers and None. FormatError for data that are cut, go on behind, or are no data."""
    reader = _Reader(data)
    try:
        reader.head()
        value = reader.value(0)
    except (IndexError, struct.error):
        raise FormatError("the data of Storable end early") from None
    if reader.at != len(data):
        raise FormatError("there is more behind the data of Storable")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0
        self._number = struct.Struct(">I")
        self._is_portable = True
        self._integer = 8
        self._seen: list[Any] = []

    def head(self) -> None:
        if self._bytes(len(MAGIC)) != MAGIC:
            raise FormatError("these are no data of Storable")
        version, minor = self._byte(), self._byte()
        if version >> 1 != _MAJOR:
            raise FormatError(f"the data are of version {version >> 1} of Storable")
        self._is_portable = bool(version & 1)
        if not self._is_portable:
            order = self._bytes(self._byte())
            sizes = [self._byte() for _ in range(4 if minor >= 2 else 3)]
            if order not in _ORDERS or sizes[0] != 4 or sizes[3:] not in ([], [8]):
                raise FormatError("the data are of a machine of another kind", hint="write them with `nstore`")
            self._number = struct.Struct("<I")
            self._integer = len(order)

    def value(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise FormatError("the data are nested too deeply")
        kind = self._byte()
        if kind == 0:
            return self._shared()
        if kind == 17:  # an object, of which only the data count
            self._text(self._length(self._byte()))
            return self.value(depth + 1)
        if kind == 18:
            self._length(self._byte())
            return self.value(depth + 1)
        place = len(self._seen)
        self._seen.append(None)
        if kind == 2:
            items: list[Any] = []
            self._seen[place] = items
            items.extend(self.value(depth + 1) for _ in range(self._count()))
            return items
        if kind in (3, 25):
            return self._hash(kind == 25, place, depth)
        value = self.value(depth + 1) if kind in _REFERENCES else self._scalar(kind)
        self._seen[place] = value
        return value

    def _hash(self, has_flags: bool, place: int, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        self._seen[place] = values
        if has_flags:
            self._byte()
        for _ in range(self._count()):
            value = self.value(depth + 1)
            flags = self._byte() if has_flags else 0
            if flags & _KEY_IS_VALUE:
                raise FormatError("a key is no text")
            values[self._text(self._count(), bool(flags & _KEY_IS_UTF8))] = value
        return values

    def _scalar(self, kind: int) -> Any:
        if kind in _UNDEFINED:
            return None
        if kind in (15, 34):
            return 1
        if kind in (16, 35):
            return 0
        if kind == 6 and not self._is_portable:
            return int.from_bytes(self._bytes(self._integer), "little", signed=True)
        if kind == 7 and not self._is_portable:
            return struct.unpack("<d", self._bytes(8))[0]
        if kind == 8:
            return self._byte() - 128
        if kind == 9:
            return int.from_bytes(self._bytes(4), "big", signed=True)
        if kind in (10, 23):
            return self._text(self._byte(), kind == 23)
        if kind in (1, 24):
            return self._text(self._count(), kind == 24)
        raise FormatError(f"the data hold something of kind {kind}, which is no data")

    def _shared(self) -> Any:
        place = int.from_bytes(self._bytes(4), "big")
        if place >= len(self._seen):
            raise FormatError("the data refer to something that is not there")
        return self._seen[place]

    def _length(self, first: int) -> int:
        """A length that is one byte where it is short."""
        return self._count() if first & 0x80 else first

    def _count(self) -> int:
        count: int = self._number.unpack(self._bytes(4))[0]
        if count > len(self._data) - self.at:  # each item takes a byte
            raise FormatError("the data of Storable end early")
        return count

    def _text(self, length: int, is_utf8: bool = False) -> str:
        data = self._bytes(length)
        return data.decode("utf-8", "backslashreplace") if is_utf8 else data.decode("latin-1")

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _bytes(self, length: int) -> bytes:
        if length > len(self._data) - self.at:
            raise FormatError("the data of Storable end early")
        self.at += length
        return self._data[self.at - length : self.at]
