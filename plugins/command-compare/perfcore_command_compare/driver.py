"""The driver of `perf compare`. The command line and the engine are imported when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from perfcore.library import History
    from perfcore_command_compare.result import ComparisonResult
    from perfcore_command_compare.stored import StoredComparison


class Compare:
    """Compare two versions or two programs."""

    chapter = "Inspect"
    contract = "perfcore_command_compare.contract:CompareContract"

    def app(self) -> typer.Typer:
        from perfcore_command_compare.command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> ComparisonResult | StoredComparison:
        """The result of `History.compare(...)`, whose arguments are the fields of `CompareOptions`; with `stored`, two
        versions, that of `History.compare_stored(...)`. UsageError for an unknown one."""
        if "stored" in arguments:
            from perfcore_command_compare.library import compare_stored

            return compare_stored(history, **arguments)
        from perfcore_command_compare.library import compare

        return compare(history, arguments)
