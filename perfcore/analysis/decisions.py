"""Where the engine of decisions is: in a distribution that is imported once a repository has decisions."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from perfcore.analysis import note_keys
from perfcore.errors import PluginError
from perfcore.repository.repository import Repository
from perfcore.store import notes


def exist(repository: Repository) -> bool:
    """Whether there may be decisions on changes; most projects have none, and import nothing."""
    return (repository.root / note_keys.ACCEPTED_FILE).exists() or notes.exist(repository.store, note_keys.ACCEPTED)


def standings(repository: Repository, head: str | None = None) -> Any:
    """`perfcore_command_kit.standings.Standings` of a repository. A gate without it would pass what it must not, or
    fail what was accepted, so PluginError where perfcore-command-kit is not installed."""
    try:
        engine = import_module("perfcore_command_kit.standings")
    except ImportError as error:
        raise PluginError("decisions on changes cannot be read", hint="pip install perfcore-command-kit") from error
    return engine.Standings.of(repository, head)
