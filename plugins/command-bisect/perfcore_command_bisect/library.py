"""Bisection as a call of the library: `open_repository().bisect("v1.0", "HEAD", "./sort large.txt")`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from perfcore.errors import UsageError, nearest
from perfcore.library import History
from perfcore.model.listener import Listener, SilentListener
from perfcore_command_bisect.engine import bisection
from perfcore_command_bisect.options import BisectOptions
from perfcore_command_bisect.result import BisectResult
from perfcore_command_bisect.search import Search


def bisect(history: History, arguments: Mapping[str, Any]) -> BisectResult:
    """The result of a bisection with these options; `listener` hears its progress and `search` replaces the search."""
    options = dict(arguments)
    listener: Listener = options.pop("listener", None) or SilentListener()
    search: Search | None = options.pop("search", None)
    names = [field.name for field in attrs.fields(BisectOptions)]
    for name in options:
        if name not in names:
            raise UsageError(f"a bisection has no option {name!r}", hint=nearest(name, names) or ", ".join(names))
    with bisection(history.repository, BisectOptions(**options), listener, search=search) as ready:
        return ready.run()
