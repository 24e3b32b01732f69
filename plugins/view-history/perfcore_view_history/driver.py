"""The driver of `perf history`. The command line and the engine are imported when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from perfcore.library import History
    from perfcore.profile.table import Table
    from perfcore_view_history.result import HistoryResult


class HistoryCommand:
    """Draw a metric or a function over the versions."""

    chapter = "Inspect"
    after = "log"
    contract = "perfcore_view_history.contract:HistoryCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_view_history.command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> HistoryResult | Table:
        """The result of `History.history(...)`. The arguments are the fields of `HistoryQuery`, and a `listener`; with
        `runs_of`, a metric, the table of `History.series(...)`."""
        if "runs_of" in arguments:
            from perfcore_view_history.run_table import run_table

            return run_table(history.repository, **arguments)
        from perfcore_view_history.query import HistoryQuery
        from perfcore_view_history.query import history as engine

        fields = dict(arguments)
        listener = fields.pop("listener", None)
        return engine(history.repository, HistoryQuery(**fields), listener)
