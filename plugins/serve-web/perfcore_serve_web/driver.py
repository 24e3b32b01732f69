"""The driver of `perf serve`. The command line, the server and its libraries are imported when they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


class Serve:
    """Show the history in a browser, from a server on this machine."""

    chapter = "Inspect"
    after = "history"
    contract = "perfcore_serve_web.contract:ServeContract"

    def app(self) -> typer.Typer:
        from perfcore_serve_web.command import new_app

        return new_app()
