"""The driver of `perf check ack`. The command line and the engine are imported when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from perfcore.library import History
    from perfcore_command_ack.engine import AcceptanceResult


class Acknowledge:
    """Accept a change for good."""

    chapter = "Inspect"
    contract = "perfcore_command_ack.contract:AcknowledgeContract"

    def app(self) -> typer.Typer:
        from perfcore_command_ack.command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> AcceptanceResult:
        """The result of `History.accept(...)`. The arguments are `changes`, `why`, `author`, `undo` and `listener`."""
        from perfcore_command_ack import engine

        fields = dict(arguments)
        if fields.pop("undo"):
            del fields["listener"]
            return engine.take_back(history.repository, **fields)
        return engine.accept(history.repository, **fields)
