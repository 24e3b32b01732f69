"""`perf fleet`: its command line."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from perfcore_command_kit.extensible_group import ExtensibleGroup

from perfcore.cli.options import named

_MODULES = {
    "run": "ingest_commands",
    "ingest": "ingest_commands",
    "status": "status_command",
    "labels": "query_commands",
    "report": "query_commands",
    "show": "show_command",
    "compare": "compare_command",
    "save": "query_commands",
    "queries": "query_commands",
    "export": "query_commands",
    "pack": "keeping_commands",
    "expire": "keeping_commands",
    "pin": "keeping_commands",
    "unpin": "keeping_commands",
    "pins": "keeping_commands",
    "retain": "keeping_commands",
    "kept": "keeping_commands",
    "exemplars": "keeping_commands",
    "meta": "keeping_commands",
}
"""The verbs in the order of the help, each with the module that has it in `VERBS`."""


class _Verbs(ExtensibleGroup):
    """The verbs, each imported when it is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: Any, name: str) -> Any:
        if name not in _MODULES:
            return None
        verb = import_module(f"perfcore_command_fleet.{_MODULES[name]}").VERBS[name]
        app = _typer()
        app.command(context_settings=verb.settings)(verb.function)
        return named(app, name)


def new_app() -> typer.Typer:
    """A new Typer app with the commands."""
    app = _typer(cls=_Verbs, no_args_is_help=True)
    app.callback()(fleet)
    return app


def fleet() -> None:
    """Collect sampled profiles of a release from many hosts, and ask their union."""


def _typer(**settings: Any) -> typer.Typer:
    return typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False, **settings)
