"""`perf show`: profiles in a view."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from perfcore.cli.console import Console
from perfcore.cli.options import run_plugin_command, split_plugin
from perfcore.errors import NotFoundError, UsageError, nearest
from perfcore.plugins.registry import guard
from perfcore.store.lookup import Ref
from perfcore.store.pending import content_name

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
DEFAULT = "table"

Output = Annotated[Optional[Path], typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")]
Browse = Annotated[bool, typer.Option("--open", help="Open the file in a browser; without -o a temporary page.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace the file.")]


@app.command(
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
    }
)
def show(
    ctx: typer.Context,
    output: Output = None,
    force: Force = False,
    browse: Browse = False,
    words: Annotated[
        Optional[list[str]],
        typer.Argument(metavar="PROFILE... [VIEW] [OPTIONS]", help="Profiles, a view (default: table), its options."),
    ] = None,
) -> None:
    """Show profiles in a view. `perf show table --help` lists the options of a view.

    Profiles are named 0@p (pending), 0@i (of this version), REV:0@i, by tag, name, id or path.
    """
    console: Console = ctx.obj
    view, rest = split_plugin(words or [], console.plugins, "view", DEFAULT)

    def render(
        profiles: Annotated[Optional[list[str]], typer.Argument(metavar="PROFILE...", show_default=False)] = None,
        file: Output = output,
        replace: Force = force,
        in_browser: Browse = browse,
        *,
        values: dict[str, Any],
    ) -> None:
        if not profiles:
            raise UsageError("say which profile", hint="`perf status` lists them: 0@p is the first pending one")
        repository = console.repository
        refs = [ref for name in profiles for ref in _find(console, name)]
        found, driver = console.plugins.make("view", view, {**repository.plugin_options("view", view), **values})
        subject = repository.subject(refs)
        if in_browser and file is None:
            file, replace = _page(console, refs[0]), True
        console.output_to(file, force=replace, browse=in_browser)
        with guard(found, "render"):
            driver.render(subject, console)

    run_plugin_command(console.plugins, "view", view, rest, render, f"perf show {view}")


def _page(console: Console, ref: Ref) -> Path:
    """Where a page that is only looked at is written."""
    folder = console.repository.perf / "tmp"
    folder.mkdir(exist_ok=True)
    return folder / f"{content_name(ref.title.encode())}.html"


def _find(console: Console, name: str) -> list[Ref]:
    try:
        return console.find(name)
    except NotFoundError as error:
        view = nearest(name, console.plugins.names("view"))
        hint = f"if it is a view: {view}" if view else error.hint
        if view is None and name.isidentifier():
            hint = f"if it is a view, it is not installed: it may be in perfcore-view-{name}; else {error.hint}"
        raise NotFoundError(error.message, hint=hint) from error
