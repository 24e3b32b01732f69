"""What views show beside series: which changes somebody decided about, and which versions are releases."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from perfcore_command_kit.standings import Standings

from perfcore.model import Change
from perfcore.model.decisions import ACCEPTED, Decision
from perfcore.repository.repository import Repository


def accepted(repository: Repository, changes: Collection[Change]) -> dict[str, str]:
    """The reason for each of these changes that somebody accepted, by its id; also why it is a false alarm, or of the
    environment."""
    decided = {id: each.decision for id, each in Standings.of(repository).on(changes).items() if each.silences}
    return {id: _reason(decision) for id, decision in decided.items()}


def _reason(decision: Decision) -> str:
    why = decision.why or "without a reason"
    return why if decision.state == ACCEPTED else f"{decision.state}: {why}"


def releases(repository: Repository) -> dict[str, tuple[str, ...]]:
    """The tags of versions, by their full ids."""
    tags: Mapping[str, str] = getattr(repository.vcs, "tags", dict)()
    tags_by_version: dict[str, tuple[str, ...]] = {}
    for tag, version in sorted(tags.items()):
        tags_by_version[version] = (*tags_by_version.get(version, ()), tag)
    return tags_by_version
