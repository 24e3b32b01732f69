"""Copies of frozen objects with other values in some fields."""

from __future__ import annotations

import functools
from operator import attrgetter
from typing import Any, TypeVar

import attrs

T = TypeVar("T", bound=attrs.AttrsInstance)


def evolved(instance: T, **values: object) -> T:
    """The same as `attrs.evolve`, in a third of the time, where all fields of the class are arguments of its
    constructor by their own names."""
    names, current = _fields(type(instance))
    return type(instance)(**{**dict(zip(names, current(instance), strict=True)), **values})


@functools.cache
def _fields(kind: type[attrs.AttrsInstance]) -> tuple[tuple[str, ...], Any]:
    names = tuple(field.name for field in attrs.fields(kind))
    return names, attrgetter(*names)
