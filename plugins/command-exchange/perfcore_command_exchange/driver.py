"""The drivers of `perf import` and `perf export`. The command lines and the engines are imported when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from perfcore.library import History
    from perfcore_command_exchange.importing import ImportResult


class ImportCommand:
    """Read profiles from files of other tools."""

    chapter = "Store"
    after = "tag"
    contract = "perfcore_command_exchange.contract:ImportCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_exchange.import_command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> ImportResult:
        """The result of `History.import_(...)`. Its arguments: `path`, `format`, `version`, `register`, `options`."""
        from perfcore_command_exchange.library import import_

        return import_(history, **arguments)


class ExportCommand:
    """Write a profile to a file."""

    chapter = "Store"
    after = "tag"
    contract = "perfcore_command_exchange.contract:ExportCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_exchange.export_command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> Path:
        """The result of `History.export(...)`. The arguments are `name`, `path`, `format`, `force`, `options`."""
        from perfcore_command_exchange.library import export

        return export(history, **arguments)
