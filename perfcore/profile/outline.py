"""The fields of a sealed profile without the machinery of tables, for lists of profiles: where the checksum of a file
fits, it is as it was written, and need not be examined field by field."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from perfcore import files
from perfcore.model import PROFILE_FORMAT, Header, Profile, Tool

if TYPE_CHECKING:
    from perfcore.profile.table import Table

_TABLES = b',"tables":{'


def outline(data: bytes, decode: Callable[[], Profile]) -> Profile | None:
    """A sealed profile whose tables `decode()` brings when they are looked at. None for one that is not sealed, is
    damaged or has a newer format: decoded, it says what is wrong."""
    end = data.find(_TABLES)
    if end < 0 or not files.seal_fits(data):
        return None
    try:
        fields = json.loads(data[:end] + b"}")
        if fields.pop("format") > PROFILE_FORMAT or fields.pop("seal") != files.SEAL:
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

    def __contains__(self, name: object) -> bool:
        return name in self._decoded  # without a look at the table

    def __getattr__(self, name: str) -> Any:
        """What else the tables of a stored profile can: `rows`, `parts`."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._decoded, name)

    def __len__(self) -> int:
        return len(self._decoded)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Pickled decoded: what decodes belongs to this process."""
        return dict, (dict(self),)
