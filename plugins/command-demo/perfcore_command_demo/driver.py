"""The driver of `perf demo`. The tour is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


class Demo:
    """Try perf on a small real repository."""

    chapter = "Begin"

    def app(self) -> typer.Typer:
        from perfcore_command_demo.command import new_app

        return new_app()
