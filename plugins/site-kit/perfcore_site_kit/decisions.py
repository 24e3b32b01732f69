"""What people decided about changes, as it stands. What writes decisions is `perf check triage`."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from perfcore_command_kit import decisions

from perfcore.analysis.note_keys import ACCEPTED_FILE

if TYPE_CHECKING:
    from perfcore.model import Change
    from perfcore.model.decisions import Decision
    from perfcore.repository.repository import Repository


def log(repository: Repository, change: Change) -> list[Decision]:
    """Every decision about a change, the newest first, also those from when it seemed to be at another version."""
    newest = decisions.newest(repository.store, repository.config.get("benchmarks.renamed"))
    standing = decisions.of_changes([change], newest)
    ids = {change.id, *(decision.change for decision in standing.values())}
    return [decision for decision in reversed(decisions.every(repository.store)) if decision.change in ids]


def stamp(repository: Repository) -> tuple[str, ...]:
    """What else tells decisions from those before than the store: the file of acceptances, and the day, as decisions
    end."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    try:
        status = (repository.root / ACCEPTED_FILE).stat()
    except OSError:
        return (today,)
    return today, str(status.st_ino), str(status.st_size), str(status.st_mtime_ns)
