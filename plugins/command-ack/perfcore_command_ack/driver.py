"""The drivers of `perf check ack` and `perf check triage`. The command lines and the engine are imported when they are
used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from perfcore.library import History
    from perfcore_command_ack.triage import TriagedChange, TriageResult


class Acknowledge:
    """Accept a change for good."""

    chapter = "Inspect"
    contract = "perfcore_command_ack.contract:AcknowledgeContract"

    def app(self) -> typer.Typer:
        from perfcore_command_ack.command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> TriageResult:
        """The result of `History.accept(...)`. The arguments are `changes`, `why`, `author`, `undo` and `listener`."""
        from perfcore_command_ack import triage

        fields = dict(arguments)
        if fields.pop("undo"):
            del fields["listener"]
            return triage.withdraw(history.repository, **fields)
        return triage.decide(history.repository, state=triage.ACCEPTED, **fields)


class Triage:
    """Decide about changes: confirmed, accepted, fixed, a false alarm."""

    chapter = "Inspect"
    after = "check.ack"
    contract = "perfcore_command_ack.contract:TriageContract"

    def app(self) -> typer.Typer:
        from perfcore_command_ack.triage_command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> TriageResult | tuple[TriagedChange, ...]:
        """The decisions that were written. The arguments are those of `triage.decide`; without any, all changes of
        stored results with what was decided."""
        from perfcore_command_ack import triage

        if not arguments:
            return triage.stored_changes(history.repository)
        return triage.decide(history.repository, **arguments)
