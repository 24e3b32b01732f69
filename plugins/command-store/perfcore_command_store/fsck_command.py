"""`perf fsck`: verify the store."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli.console import Console
from perfcore.errors import FormatError
from perfcore.store.index import UPGRADE
from perfcore.text import plural, printable
from perfcore_command_store.examination import verify


def new_app() -> typer.Typer:
    """A new Typer app with the command."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command()(fsck)
    return app


def fsck(ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Read the whole store and name damaged or missing objects. Changes nothing."""
    console: Console = ctx.obj
    result = verify(console.repository)
    if as_json:
        console.json(result.as_json())
    for finding in result.findings if not as_json else ():
        console.line(f"{finding.level}: {finding.key}: {printable(finding.text)}")
    if result.errors:
        if result.newer == result.errors:
            raise FormatError(f"{plural(result.errors, 'part')} of the store made by a newer perfcore", hint=UPGRADE)
        raise FormatError(
            f"{plural(result.errors, 'part')} of the store damaged or missing; the rest is usable",
            hint="`perf pull --full` brings back what a remote has" if _has_remote(console) else None,
        )
    console.say("OK: nothing is damaged or missing")


def _has_remote(console: Console) -> bool:
    """Whether there is a place to pull from."""
    repository = console.repository
    of_vcs = hasattr(repository.vcs, "remotes") and repository.vcs.remotes()
    return "pull" in console.plugins.names("command") and bool(repository.config.get("remotes") or of_vcs)
