"""The driver of `perf publish`. The command line and the engine are imported when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from perfcore.library import History
    from perfcore_command_publish.engine import PublishResult


class Publish:
    """Write the history as a static site, for any web server or a disk."""

    chapter = "Inspect"
    after = "history"
    contract = "perfcore_command_publish.contract:PublishContract"

    def app(self) -> typer.Typer:
        from perfcore_command_publish.command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> PublishResult:
        """The number of pages that were written. The arguments are those of `engine.publish`: `folder`, and if wanted
        `title`, `url`, `head`, `fresh` and `listener`."""
        from perfcore_command_publish.engine import publish

        return publish(history.repository, **arguments)
