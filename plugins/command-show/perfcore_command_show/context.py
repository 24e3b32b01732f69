"""What views show beside series: which changes somebody decided about, which metrics decide, and which versions are
releases."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec
from perfcore_check_kit.fail_rules import gated_metrics
from perfcore_command_kit import report_text
from perfcore_command_kit.standings import Standings

from perfcore.model import Change
from perfcore.model.decisions import ACCEPTED, Decision
from perfcore.repository.repository import Repository


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """By the id of a change: `accepted` has the reason for each that fails no check by a decision, `words` what was
    decided about each, also where it holds no longer."""

    accepted: Mapping[str, str]
    words: Mapping[str, str]


def decided(
    repository: Repository,
    changes: Collection[Change],
    head: str | None = None,
    measured: Collection[str] | None = None,
) -> Decided:
    """The decisions on these changes as they stand at a version (None: the one that is checked out). `measured` are the
    full ids of the versions in which the changes were looked for; None: the changes are stored ones."""
    standings = Standings.of(repository, head).on(changes, measured)
    return Decided(
        accepted={id: _reason(standing.decision) for id, standing in standings.items() if standing.silences},
        words={id: report_text.decision(standing) for id, standing in standings.items()},
    )


def _reason(decision: Decision) -> str:
    why = decision.why or "without a reason"
    return why if decision.state == ACCEPTED else f"{decision.state}: {why}"


def gated(repository: Repository, changes: Iterable[Change]) -> frozenset[str]:
    """The metrics of these changes that checks of the project judge beside the primary ones."""
    return gated_metrics(repository.config.get("check.fail_on"), {change.metric for change in changes})


def releases(repository: Repository) -> dict[str, tuple[str, ...]]:
    """The tags of versions, by their full ids."""
    tags: Mapping[str, str] = getattr(repository.vcs, "tags", dict)()
    tags_by_version: dict[str, tuple[str, ...]] = {}
    for tag, version in sorted(tags.items()):
        tags_by_version[version] = (*tags_by_version.get(version, ()), tag)
    return tags_by_version
