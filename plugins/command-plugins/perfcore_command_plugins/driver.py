"""The driver of `perf plugins`. The command line is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


class PluginsCommand:
    """List the installed plugins and verify that they work."""

    chapter = "Maintain"
    after = "config"
    contract = "perfcore_command_plugins.contract:PluginsCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_plugins.command import new_app

        return new_app()
