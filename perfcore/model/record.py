"""Records: the data that nearly every command makes.

A class of attrs compiles its methods, which takes half a millisecond; msgspec makes a class in a fiftieth of that. A
command has thirty of these, once a tenth of its time. What few commands need is declared with attrs.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from perfcore.model import AttrsFields

__all__ = ["Record", "replace"]


class Record(msgspec.Struct, frozen=True):
    """Data that does not change. `replace(record, name=value)` makes another."""

    __attrs_attrs__ = AttrsFields()
