"""`perf init`: make a performance history."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from perfcore.cli.console import Console
from perfcore.cli.options import variables
from perfcore.errors import UsageError
from perfcore.repository.repository import Repository

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def init(
    ctx: typer.Context,
    vcs: Annotated[
        Optional[str], typer.Option("--vcs", metavar="NAME", help="Use this VCS, not the detected one.")
    ] = None,
    storage: Annotated[
        Optional[str], typer.Option("--storage", metavar="NAME", help="The storage of profiles; `.perf` records it.")
    ] = None,
    storage_option: Annotated[
        Optional[list[str]], typer.Option("--storage-option", metavar="KEY=VALUE", help="An option of the storage.")
    ] = None,
    init_vcs: Annotated[bool, typer.Option("--init-vcs", help="Also make a repository if there is none.")] = False,
    vcs_params: Annotated[
        Optional[list[str]], typer.Option("--init-vcs-params", metavar="KEY=VALUE", help="An option of --init-vcs.")
    ] = None,
) -> None:
    """Make a performance history (.perf) beside the repository of this folder.

    The version control system is detected. A second init changes nothing and is an error.
    """
    console: Console = ctx.obj
    if vcs_params and not init_vcs:
        raise UsageError("--init-vcs-params wants --init-vcs")
    repository = Repository.init(
        console.directory,
        vcs=vcs,
        init_vcs=init_vcs,
        options=variables(vcs_params or (), "--init-vcs-params", "KEY=VALUE"),
        storage=storage,
        storage_options=variables(storage_option or (), "--storage-option", "KEY=VALUE"),
        plugins=console.plugins,
        places=console.places,
    )
    console.say(f"made {repository.perf} for the {repository.vcs_name} repository {repository.root}")
    console.say(f"next: perf collect {console.plugins.usual_collector()} -- COMMAND")
    if hasattr(repository.vcs, "remotes") and "pull" in console.plugins.names("command") and repository.vcs.remotes():
        console.say("or, for profiles that others pushed: perf pull")
