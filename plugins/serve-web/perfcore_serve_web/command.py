"""`perf serve`: the web interface."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli.console import Console
from perfcore.errors import UsageError
from perfcore.text import printable

DEFAULT_PORT = 8741


def new_app() -> typer.Typer:
    """A new Typer app with the one command."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command()(serve)
    return app


def serve(
    ctx: typer.Context,
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, metavar="N", help="The port; 0 takes a free one."),
    ] = DEFAULT_PORT,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen at, one of this machine only.")
    ] = "127.0.0.1",
    allow_remote: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-remote",
            metavar="NAME",
            help="A name by which browsers of other machines reach this one. Only with it, --host may be any address.",
        ),
    ] = None,
    head: Annotated[
        str | None, typer.Option("--version", "-v", metavar="REV", help="The last version (default: the head).")
    ] = None,
    browse: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    allow_triage: Annotated[
        bool, typer.Option("--allow-triage", help="Let pages write: decisions about changes.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Make every page once, say how many and how large, and end.")
    ] = False,
) -> None:
    """Show the performance history in a browser: is it slower, since when, and what in the code.

    The server listens on this machine only. The address that it prints has a token, which the browser exchanges for a
    cookie; nobody without it sees anything. Pages read, and never write without --allow-triage. Ctrl-C ends the server.
    """
    from perfcore_serve_web.server import Serving, listen, run

    console: Console = ctx.obj
    repository = console.history.repository
    if check:
        from perfcore_serve_web.page_check import check_pages

        console.line(check_pages(repository, head).text)
        return
    repository.version(head)  # refused here, rather than by every page
    options = Serving(host=host, port=port, names=tuple(allow_remote or ()), head=head, writable=allow_triage)
    listener = listen(options)
    try:
        session = options.session(listener.getsockname()[1])
        console.line(session.url)
        console.say(f"serving {printable(str(repository.root))}; Ctrl-C ends it")
        if browse:
            _browse(session.url)
        run(repository, options, session, listener)
    finally:
        listener.close()


def _browse(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        raise UsageError("no browser could be opened", hint="open the address yourself, without --open")
