"""The drivers of `perf aggregate` and `perf postprocess`. The command lines and the engines are imported when they are
used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from perfcore.library import History
    from perfcore.model import Profile
    from perfcore.store.pending import Pending


class AggregateCommand:
    """Join several profiles into one."""

    chapter = "Measure"
    contract = "perfcore_command_derive.contract:AggregateCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_derive.aggregate import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> Pending:
        """The result of `History.aggregate(...)`. The arguments are `names`, `by` and `options`."""
        from perfcore_command_derive.library import aggregate

        return aggregate(history, **arguments)


class PostprocessCommand:
    """Make a new profile of an old one."""

    chapter = "Measure"
    contract = "perfcore_command_derive.contract:PostprocessCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_derive.postprocess import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> Profile:
        """The result of `History.postprocess(...)`. The arguments are `name`, `postprocessor` and `options`."""
        from perfcore_command_derive.library import postprocess

        return postprocess(history, **arguments)
