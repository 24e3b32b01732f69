"""`perf check ack`: accept a change for good."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec.structs import asdict

from perfcore.cli import listing
from perfcore.cli.console import Console
from perfcore.errors import UsageError
from perfcore.text import align, printable
from perfcore_command_ack import engine, triage


def new_app() -> typer.Typer:
    """A new Typer app with the one command."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command()(ack)
    return app


def ack(
    ctx: typer.Context,
    change: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CHANGE...]",
            help="The first characters of the id that `perf check` prints, or a version: all that got worse with it. "
            "Without one, list the accepted changes.",
            show_default=False,
        ),
    ] = None,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason. It is stored with the change.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Withdraw an acceptance.")] = False,
    until: Annotated[
        list[str] | None,
        typer.Option("--until", metavar="END", help="The end: a date, a version, or a size such as +8%. Repeatable."),
    ] = None,
    in_repository: Annotated[
        bool,
        typer.Option("--in-repository", help="Write it into .perf-accepted.yml, which is committed with the code."),
    ] = False,
    author: Annotated[
        str | None, typer.Option("--author", metavar="NAME", help="Who accepts the change (default: you).")
    ] = None,
    as_list: Annotated[bool, typer.Option("--list", "-l", help="List the accepted changes.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Accept a change for good: it is still shown, but no longer fails a check.

    The reason is stored with your name and the time. The id of a change stays the same when later runs change its size.
    The other metrics that changed with it are accepted, and withdrawn, too.

    With --in-repository it becomes an entry of the file .perf-accepted.yml, for reviewers and for CI. An entry holds
    for changes up to its limit that came with it: after a version whose own file lacks it.
    """
    console: Console = ctx.obj
    if as_list and change:
        raise UsageError("--list takes no change")
    if not change:
        if why or undo:
            raise UsageError("no change is named", hint="`perf check` prints the ids of changes")
        _print_list(console, as_json)
        return
    if not undo and not why.strip():
        raise UsageError("an acceptance needs a reason", hint="--why TEXT: it is stored with the change")
    if until and (undo or in_repository):
        raise UsageError(f"--until does not go with {'--undo' if undo else '--in-repository'}")
    repository = console.history.repository
    who = author or triage.user(repository)
    if in_repository:
        result = (
            engine.take_back_in_file(repository, change)
            if undo
            else engine.accept_in_file(repository, change, why, who)
        )
    elif undo:
        result = triage.withdraw(repository, change, why=why, author=who)
    else:
        result = triage.decide(
            repository, change, triage.ACCEPTED, why=why, author=who, until=until or (), listener=console
        )
    if as_json:
        console.json(result.as_json())
        return
    if in_repository and not result.changed:
        console.say("its entry is there already")
    # The metrics that changed with it stand in the row of `perf check`, and in the list.
    for entry in (entry for entry in result.changed if entry.change.startswith(tuple(change))):
        words = f" ({printable(entry.what)})" if entry.what else ""
        console.line(f"{'accepted' if entry.accepted else 'no longer accepted:'} {printable(entry.change)}{words}")


def _print_list(console: Console, as_json: bool) -> None:
    ordered = engine.current(console.history.repository)
    if as_json:
        console.json({"schema": engine.SCHEMA, "accepted": [asdict(each) for each in ordered]})
        return
    if not ordered:
        console.say("no change is accepted")
    rows = [
        (
            printable(each.change[:10]),
            listing.moment(each.time) if each.time else "",
            printable(each.author),
            printable(each.what),
            printable(each.why),
        )
        for each in ordered
    ]
    console.write("".join(f"{line}\n" for line in align(rows)))
