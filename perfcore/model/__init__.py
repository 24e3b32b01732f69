"""The things perfcore talks about: frozen, without I/O.

Times are integers: nanoseconds since 1970 UTC where the name ends in `_ns` or is `created`; dates of versions
are seconds since 1970 UTC.

Making a class of attrs takes longer than most functions ever run, and most commands need few: each part is imported
when something of it is first asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfcore.model.changes import RELATIVE, Change, ChangeKind, Judgement, Pairing, Sample, Series, Unpaired
    from perfcore.model.histories import JudgedHistory, MetricHistory, Point
    from perfcore.model.measurements import Attempt, Build, Job, Measured, Plan, Requirement, Source, Step
    from perfcore.model.profiles import Header, Profile, Tool
    from perfcore.model.record import Record, replace
    from perfcore.model.versions import Entry, MajorVersion, MinorVersion, is_tag, usable_tags
    from perfcore.model.views import PairSide, Subject, ViewData

PROFILE_FORMAT = 1  # a greater one is refused; fields that old readers may ignore come without a new one
EMPTY: Mapping[str, Any] = {}


class AttrsFields:
    """The fields of a NamedTuple or Struct, so that `attrs.evolve`, `attrs.asdict` and `attrs.fields` take it too."""

    def __get__(self, instance: object, cls: Any) -> Any:
        return _attrs_fields(cls)


@functools.cache
def _attrs_fields(cls: Any) -> Any:
    import attrs
    import msgspec

    from perfcore.model.record import defaults

    names = getattr(cls, "_fields", ()) or cls.__struct_fields__
    given = cls._field_defaults if hasattr(cls, "_fields") else defaults(cls)
    fields = {}
    for name in names:
        default = given.get(name, msgspec.NODEFAULT)
        if make := getattr(default, "factory", None):  # as for an empty mapping
            default = attrs.Factory(make)
        fields[name] = attrs.field(default=attrs.NOTHING if default is msgspec.NODEFAULT else default, kw_only=True)
    return attrs.fields(attrs.make_class(cls.__name__, fields))


_PARTS = {
    "changes": ("RELATIVE", "Change", "ChangeKind", "Judgement", "Pairing", "Sample", "Series", "Unpaired"),
    "histories": ("JudgedHistory", "MetricHistory", "Point"),
    "measurements": ("Attempt", "Build", "Job", "Measured", "Plan", "Requirement", "Source", "Step"),
    "profiles": ("Header", "Profile", "Tool"),
    "record": ("Record", "replace"),
    "versions": ("Entry", "MajorVersion", "MinorVersion", "is_tag", "usable_tags"),
    "views": ("PairSide", "Subject", "ViewData"),
}

if not TYPE_CHECKING:  # or else every name would have a type

    def __getattr__(name: str) -> Any:
        for part, names in _PARTS.items():
            if name in names:
                from importlib import import_module

                globals().update((export, getattr(import_module(f"{__name__}.{part}"), export)) for export in names)
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["EMPTY", "PROFILE_FORMAT", "AttrsFields"]  # and what is in _PARTS, written out for checkers of types
__all__ += ["RELATIVE", "Change", "ChangeKind", "JudgedHistory", "Judgement", "Pairing", "Sample", "Series", "Unpaired"]
__all__ += ["Attempt", "Build", "Job", "Measured", "MetricHistory", "Plan", "Point", "Requirement", "Source", "Step"]
__all__ += ["Entry", "Header", "MajorVersion", "MinorVersion", "Profile", "Record", "Tool", "is_tag", "replace"]
__all__ += ["PairSide", "Subject", "ViewData", "usable_tags"]
