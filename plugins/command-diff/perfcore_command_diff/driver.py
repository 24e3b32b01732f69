"""The driver of `perf diff`. The command line and the engine are imported when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from perfcore.library import History
    from perfcore_command_diff.engine import DiffResult


class Diff:
    """Show the difference of two profiles, by function."""

    chapter = "Inspect"
    after = "show"
    contract = "perfcore_command_diff.contract:DiffContract"

    def app(self) -> typer.Typer:
        from perfcore_command_diff.command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> DiffResult:
        """The result of `History.diff(...)`. The arguments are `baseline`, `target`, `method`, `scale`
        and `options`."""
        from perfcore_command_diff.library import diff

        return diff(history, **arguments)
