"""A verb of `perf fleet` as its parser is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from perfcore.named_tuple import NamedTuple


class Verb(NamedTuple):
    """A function that Typer can read, and the settings of its parser."""

    function: Callable[..., Any]
    settings: Mapping[str, Any] = {}
