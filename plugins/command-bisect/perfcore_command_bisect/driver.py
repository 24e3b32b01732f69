"""The driver of `perf bisect`. The command line and the engine are imported when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from perfcore.library import History
    from perfcore_command_bisect.result import BisectResult


class Bisect:
    """Find the version that made it slower."""

    chapter = "Inspect"
    contract = "perfcore_command_bisect.contract:BisectContract"

    def app(self) -> typer.Typer:
        from perfcore_command_bisect.command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> BisectResult:
        """The result of `History.bisect(...)`. The arguments are those of `BisectOptions`, a `listener` and a `search`.
        UsageError for an unknown one."""
        from perfcore_command_bisect.library import bisect

        return bisect(history, arguments)
