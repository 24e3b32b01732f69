"""Derived profiles as calls of the library: `open_repository().aggregate("0@p", "1@p")`, and `postprocess`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfcore.library import History, Name
from perfcore.model import EMPTY, Profile
from perfcore.store.lookup import sources
from perfcore.store.pending import Pending
from perfcore_command_derive.aggregation import aggregate_profiles
from perfcore_command_derive.derivation import derive


def aggregate(
    history: History, *, names: Sequence[Name], by: str = "sum", options: Mapping[str, Any] = EMPTY
) -> Pending:
    """The profiles of the names as one pending profile."""
    return aggregate_profiles(history.repository, history.refs(*names), by, options)


def postprocess(
    history: History, *, name: Name | Profile, postprocessor: str, options: Mapping[str, Any] = EMPTY
) -> Profile:
    """A derived profile, which is not saved. It names its source if that is registered."""
    if isinstance(name, Profile):
        return derive(history.repository, name, postprocessor, options)
    profile, ids = history.profile(name), sources(history.refs(name))
    return derive(history.repository, profile, postprocessor, options, sources=ids)
