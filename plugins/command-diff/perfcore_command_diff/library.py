"""The difference as a call of the library: `open_repository().diff("0@i", "1@i")`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfcore.library import History, Name
from perfcore.model import EMPTY, Profile
from perfcore.store.lookup import sources
from perfcore_command_diff import engine
from perfcore_command_diff.engine import DiffResult


def diff(
    history: History,
    *,
    baseline: Name | Profile,
    target: Name | Profile,
    method: str = engine.METHOD,
    options: Mapping[str, Any] = EMPTY,
) -> DiffResult:
    """The difference of two profiles; its `profile` names those of them that are registered as its sources."""
    sides = baseline, target
    profiles = [side if isinstance(side, Profile) else history.profile(side) for side in sides]
    ids = sources(history.refs(*(side for side in sides if not isinstance(side, Profile))))
    return engine.diff(history.repository, *profiles, method=method, options=options, sources=ids)
