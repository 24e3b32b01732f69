"""Records: the data that nearly every command makes.

A class of attrs compiles its methods, which takes half a millisecond; msgspec makes a class in a fiftieth of that. A
command has thirty of these, once a tenth of its time. What few commands need is declared with attrs.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from perfcore.model import AttrsFields

__all__ = ["Record", "defaults", "replace"]


class Record(msgspec.Struct, frozen=True):
    """Data that does not change. `replace(record, name=value)` makes another."""

    __attrs_attrs__ = AttrsFields()


def defaults(record: type[msgspec.Struct]) -> dict[str, Any]:
    """The defaults of a Struct by field, as msgspec keeps them: those of its last fields, without names."""
    names, values = record.__struct_fields__, record.__struct_defaults__
    return dict(zip(names[len(names) - len(values) :], values, strict=True))
