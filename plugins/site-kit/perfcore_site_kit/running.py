"""What is measured now, or was interrupted: the pending profiles that are not complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict
from perfcore_view_kit.form import shown

from perfcore.store import pending

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """A pending profile. `runs` are those that it has, `planned` those that it will have; None for a budget."""

    name: str
    label: str
    version: str
    collector: str
    runs: int
    planned: int | None
    is_complete: bool

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def running(repository: Repository) -> list[Measurement]:
    """Every pending profile, the newest first."""
    rows = []
    for waiting in reversed(pending.walk(repository.store, outline="profile")):
        profile = waiting.profile
        if profile is None:
            continue
        runs = profile.table("runs")
        repeat = profile.collector.params.get("repeat")
        rows.append(
            Measurement(
                name=shown(waiting.name),
                label=shown(profile.label),
                version=shown((profile.origin or "")[:10]),
                collector=shown(profile.collector.name),
                runs=0 if runs is None else runs.rows,
                planned=repeat if isinstance(repeat, int) and not profile.collector.params.get("budget") else None,
                is_complete=not profile.incomplete,
            )
        )
    return rows
