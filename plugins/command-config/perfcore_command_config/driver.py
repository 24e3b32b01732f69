"""The driver of `perf config`. The command line is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


class ConfigCommand:
    """Read, change and trust the configuration."""

    chapter = "Maintain"
    after = "fsck"
    contract = "perfcore_command_config.contract:ConfigCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_config.command import new_app

        return new_app()
