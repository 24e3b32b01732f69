"""The fields of a sealed profile without the machinery of tables, for lists of profiles: where the checksum of a file
fits, it is as it was written, and need not be examined field by field."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from perfcore import files
from perfcore.model import EMPTY, PROFILE_FORMAT
from perfcore.named_tuple import NamedTuple

if TYPE_CHECKING:
    from perfcore.model import Profile
    from perfcore.profile.table import Table

_TABLES = b',"tables":{'


class HeaderSummary(NamedTuple):
    """A `perfcore.model.Header` for lists."""

    type: str
    argv: tuple[str, ...] = ()
    cmd: str = ""
    args: str = ""
    workload: str = ""
    shell: bool = False
    units: Mapping[str, str] = EMPTY
    exitcode: int | None = None
    tags: tuple[str, ...] = ()


class ToolSummary(NamedTuple):
    """A `perfcore.model.Tool` for lists."""

    name: str
    version: str = ""
    params: Mapping[str, Any] = EMPTY
    sampling: Mapping[str, Any] = EMPTY


class Summary(NamedTuple):
    """A `perfcore.model.Profile` without tables, for lists: attrs takes longer to import than the rest of a status."""

    header: HeaderSummary
    created: int
    collector: ToolSummary
    postprocessors: tuple[ToolSummary, ...] = ()
    machine: Mapping[str, Any] = EMPTY
    config_id: str = ""
    environment_id: str = ""
    sources: tuple[str, ...] = ()
    origin: str | None = None
    dirty: bool = False
    incomplete: bool = False
    notes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return " ".join(word for word in (self.header.cmd, self.header.args, self.header.workload) if word)


def summary(data: bytes) -> Summary | None:
    """The fields of a sealed profile. None for one that is not sealed, is damaged or has a newer format: decoded, it
    says what is wrong."""
    end = data.find(_TABLES)
    if end < 0 or not files.seal_fits(data):
        return None
    try:
        fields = json.loads(data[:end] + b"}")
        if fields.pop("format") > PROFILE_FORMAT or fields.pop("seal") != files.SEAL:
            return None
        header = HeaderSummary(**_frozen(fields.pop("header")))
        collector = ToolSummary(**fields.pop("collector_info"))
        postprocessors = tuple(ToolSummary(**tool) for tool in fields.pop("postprocessors", ()))
        return Summary(header=header, collector=collector, postprocessors=postprocessors, **_frozen(fields))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):  # another `"tables":{`, or made by hand
        return None


def outline(data: bytes, decode: Callable[[], Profile]) -> Profile | None:
    """The same as a profile whose tables `decode()` brings when they are looked at."""
    from perfcore.model import Header, Profile, Tool

    fields = summary(data)
    if fields is None:
        return None
    parts: dict[str, Any] = {
        "header": Header(**fields.header._asdict()),
        "collector": Tool(**fields.collector._asdict()),
        "postprocessors": tuple(Tool(**tool._asdict()) for tool in fields.postprocessors),
    }
    return Profile(**{**fields._asdict(), **parts}, tables=_Tables(decode))


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
