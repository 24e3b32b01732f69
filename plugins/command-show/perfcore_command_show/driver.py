"""The driver of `perf show`. The command line is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


class Show:
    """Show profiles in a view."""

    chapter = "Inspect"
    after = "log"
    contract = "perfcore_command_show.contract:ShowContract"

    def app(self) -> typer.Typer:
        from perfcore_command_show.command import new_app

        return new_app()
