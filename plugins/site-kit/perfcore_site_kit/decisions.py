"""What people decided about changes. Acceptances are read here; what writes decisions is a plugin's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfcore_command_show import context

from perfcore.analysis.note_keys import ACCEPTED_FILE

if TYPE_CHECKING:
    from perfcore.model import Change
    from perfcore.repository.repository import Repository


def accepted(repository: Repository, changes: Sequence[Change]) -> dict[str, str]:
    """The reason for each of these changes that somebody accepted, by its id: in the store, or in the file that is
    committed with the code."""
    return context.accepted(repository, changes)


def stamp(repository: Repository) -> tuple[int, ...]:
    """What tells a changed file of acceptances from the one before."""
    try:
        status = (repository.root / ACCEPTED_FILE).stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns
