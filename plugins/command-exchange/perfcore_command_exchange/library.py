"""Import and export as calls of the library: `open_repository().import_("a.folded")`, and `export`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfcore.errors import UsageError
from perfcore.library import History, Name
from perfcore.model import EMPTY, Profile
from perfcore.model.record import replace
from perfcore_command_exchange.exporting import write_profile
from perfcore_command_exchange.importing import ImportResult, import_profiles


def import_(
    history: History,
    *,
    path: str | Path,
    format: str = "",
    version: str | None = None,
    register: bool = False,
    options: Mapping[str, Any] = EMPTY,
) -> ImportResult:
    """Import all profiles of a file or directory. `version` is a revision."""
    repository = history.repository
    target = None if version is None else history.version(version)
    source = repository.cwd / path
    return ImportResult.of(
        import_profiles(repository, source, format, version=target, register=register, options=options)
    )


def export(
    history: History,
    *,
    name: Name,
    path: str | Path,
    format: str = "perf",
    force: bool = False,
    options: Mapping[str, Any] = EMPTY,
) -> Path:
    """Write a profile to a file; gives its path. UsageError if the file exists, unless `force`."""
    target = history.repository.cwd / path
    if target.exists() and not force:
        raise UsageError(f"{path} is there already", hint="--force replaces it")
    write_profile(history.repository, _with_version(history, name), target, format, options)
    return target


def _with_version(history: History, name: Name) -> Profile:
    """The profile with the version that it is registered with, so that another clone can register it there."""
    profile = history.profile(name)
    if not isinstance(name, str) or profile.origin is not None:
        return profile
    (ref,) = history.refs(name)
    return replace(profile, origin=ref.version)
