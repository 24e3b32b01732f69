"""What people decided about changes, as it stands. What writes decisions is `perf check triage`."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import attrs
from perfcore_command_kit import decisions, report_text
from perfcore_command_kit.standings import Standings
from perfcore_command_show import context

from perfcore.analysis.note_keys import ACCEPTED_FILE

if TYPE_CHECKING:
    from perfcore.model import Change
    from perfcore.model.decisions import Decision
    from perfcore.repository.repository import Repository


@attrs.frozen(kw_only=True)
class Decided:
    """By the id of a change: `accepted` has the reasons for those that fail no check, `words` what was decided about
    each, also where it holds no longer."""

    accepted: Mapping[str, str]
    words: Mapping[str, str]


def decided(repository: Repository, changes: Collection[Change], head: str, measured: Collection[str]) -> Decided:
    """The decisions on all changes of a branch, as they stand at its head."""
    standings = Standings.of(repository, head).on(changes, measured)
    return Decided(
        accepted=context.accepted(repository, changes),
        words={change: report_text.decision(standing) for change, standing in standings.items()},
    )


def log(repository: Repository, change: str) -> list[Decision]:
    """Every decision about a change, the newest first."""
    return [decision for decision in reversed(decisions.every(repository.store)) if decision.change == change]


def stamp(repository: Repository) -> tuple[str, ...]:
    """What else tells decisions from those before than the store: the file of acceptances, and the day, as decisions
    end."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    try:
        status = (repository.root / ACCEPTED_FILE).stat()
    except OSError:
        return (today,)
    return today, str(status.st_ino), str(status.st_size), str(status.st_mtime_ns)
