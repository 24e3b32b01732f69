"""The driver of `perf run`. The command line and the matrix are imported when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from perfcore.library import History
    from perfcore.measure.collect_result import CollectResult


class Run:
    """Measure the job matrix, for one version or many."""

    chapter = "Measure"
    after = "collect"
    contract = "perfcore_command_run.contract:RunContract"

    def app(self) -> typer.Typer:
        from perfcore_command_run.command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> CollectResult:
        """The result of `History.run(...)`. The arguments are the fields of `RunOptions` and options of the schedule.
        UsageError for an unknown one."""
        from perfcore_command_run.library import run

        return run(history, arguments)
