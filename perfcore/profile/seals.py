"""JSON with a checksum, such as that of a pending profile, whose name does not vouch for its content.

`"seal":"sha1"` stands near the beginning and says that the last field is `"sha1"`, the SHA-1 of all bytes before it. So
no change of a bit can hide it, and what fits is as it was written: it need not be examined field by field.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from perfcore.errors import FormatError
from perfcore.model import PROFILE_FORMAT, Header, Profile, Tool

if TYPE_CHECKING:
    from perfcore.profile.table import Table

SEAL = "sha1"
_END = rb',"sha1":"([0-9a-f]{40})"\}\s*\Z'
_LENGTH = len(',"sha1":""}') + 40
_SPACE = 16  # white space that an editor may leave at the end
_TABLES = b',"tables":{'


def seal(data: bytes) -> bytes:
    """The JSON of an object that says it is sealed, with its checksum."""
    body = memoryview(data)[:-1]
    return b'%s,"sha1":"%s"}' % (body, _digest(body))


def verify(data: bytes, where: str) -> None:
    """FormatError unless sealed JSON is as it was written."""
    if not _fits(data):
        raise FormatError(
            f"{where} is damaged: its checksum does not fit",
            hint="if it was changed on purpose, take the fields `seal` and `sha1` out of it",
        )


def _fits(data: bytes) -> bool:
    match = re.search(_END, data[-_LENGTH - _SPACE :])
    return match is not None and _digest(memoryview(data)[: match.start() - len(match.string)]) == match[1]


def _digest(data: memoryview) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest().encode()


def outline(data: bytes, decode: Callable[[], Profile]) -> Profile | None:
    """A sealed profile whose tables `decode()` brings when they are looked at. None for one that is not sealed, is
    damaged or has a newer format: decoded, it says what is wrong."""
    end = data.find(_TABLES)
    if end < 0 or not _fits(data):
        return None
    try:
        fields = json.loads(data[:end] + b"}")
        if fields.pop("format") > PROFILE_FORMAT or fields.pop("seal") != SEAL:
            return None
        header = Header(**_frozen(fields.pop("header")))
        collector = Tool(**fields.pop("collector_info"))
        postprocessors = tuple(Tool(**tool) for tool in fields.pop("postprocessors", ()))
        tables = _Tables(decode)
        return Profile(
            header=header, collector=collector, postprocessors=postprocessors, tables=tables, **_frozen(fields)
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):  # another `"tables":{`, or made by hand
        return None


def _frozen(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(field) if isinstance(field, list) else field for name, field in fields.items()}


class _Tables(Mapping[str, "Table"]):
    """The tables of a profile that is decoded when one is looked at."""

    def __init__(self, decode: Callable[[], Profile]) -> None:
        self._decode = decode

    @functools.cached_property
    def _decoded(self) -> Mapping[str, Table]:
        return self._decode().tables

    def __getitem__(self, name: str) -> Table:
        return self._decoded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decoded)

    def __len__(self) -> int:
        return len(self._decoded)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Pickled decoded: what decodes belongs to this process."""
        return dict, (dict(self),)
