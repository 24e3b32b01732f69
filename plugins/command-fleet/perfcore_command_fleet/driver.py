"""The driver of `perf fleet`, whose command line is imported when it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from perfcore.library import History


class FleetCommand:
    """Collect sampled profiles of a release from many hosts, and ask their union."""

    chapter = "Measure"
    contract = "perfcore_command_fleet.contract:FleetCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_fleet.fleet_command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> Any:
        """`action` is `ingest`, `status`, `labels` or `profile`; the others are those of the function of this name in
        `perfcore_command_fleet.library`, `questions` and `profiles`, which gives the result."""
        from perfcore_command_fleet import library, profiles, questions

        actions: Mapping[str, Callable[..., Any]] = {
            "ingest": library.ingest,
            "status": library.status,
            "labels": questions.labels,
            "profile": profiles.profile,
        }
        words = dict(arguments)
        return actions[words.pop("action")](history.repository, **words)
