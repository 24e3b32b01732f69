"""The difference as a call of the library: `open_repository().diff("0@i", "1@i")`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfcore.library import History, Name
from perfcore.model import EMPTY, Profile
from perfcore_command_diff import engine
from perfcore_command_diff.engine import DiffResult
from perfcore_command_diff.scaling import Scale


def diff(
    history: History,
    *,
    baseline: Name | Profile,
    target: Name | Profile,
    method: str = engine.METHOD,
    scale: str = Scale.RUN,
    options: Mapping[str, Any] = EMPTY,
) -> DiffResult:
    """The difference of two profiles; its `profile` names those of them that are registered as its sources."""
    sides = baseline, target
    profiles = [side if isinstance(side, Profile) else history.profile(side) for side in sides]
    first, second = (None if isinstance(side, Profile) else history.refs(side)[0] for side in sides)
    return engine.diff(
        history.repository, *profiles, method=method, options=options, scale=Scale(scale), refs=(first, second)
    )
