"""`perf init`: make a performance history."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from perfcore.cli.console import Console
from perfcore.repository.repository import Repository

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def init(
    ctx: typer.Context,
    vcs: Annotated[
        Optional[str], typer.Option("--vcs", metavar="NAME", help="Use this VCS, not the one found.")
    ] = None,
    init_vcs: Annotated[bool, typer.Option("--init-vcs", help="Make a repository too where there is none.")] = False,
) -> None:
    """Make a performance history (.perf) beside the repository of this folder.

    The version control system is found by itself. A second init changes nothing and is an error.
    """
    console: Console = ctx.obj
    repository = Repository.init(
        console.directory, vcs=vcs, init_vcs=init_vcs, plugins=console.plugins, places=console.places
    )
    console.say(f"made {repository.perf} for the {repository.vcs_name} repository {repository.root}")
    console.say("next: perf collect time -- COMMAND")
