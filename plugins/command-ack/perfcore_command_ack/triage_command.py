"""`perf check triage`: decide about changes, and list what was decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from perfcore_command_kit import report_text

from perfcore.cli import listing
from perfcore.cli.console import Console
from perfcore.errors import UsageError
from perfcore.model.decisions import Decision, Standing
from perfcore.text import align, fitted, printable
from perfcore_command_ack import triage
from perfcore_command_ack.triage import SCHEMA, TriagedChange

_ID = 10  # characters of an id, as `perf check` shows them
_WORDS, _REMARK = 2, 4  # columns that a narrow terminal cuts: never the version
_COLORS = {triage.WITHDRAWN: "red", triage.REOPENED: "red", triage.CONFIRMED: "yellow"}


def new_app() -> typer.Typer:
    """A new Typer app with the one command."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command()(triage_changes)
    return app


def triage_changes(
    ctx: typer.Context,
    change: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CHANGE...]",
            help="The first characters of the id that `perf check` prints, or a version: all that got worse with it. "
            "Without one, list the changes.",
            show_default=False,
        ),
    ] = None,
    state: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="STATE",
            help="confirmed, accepted, fixed, false alarm, environment; or new, which withdraws a decision.",
        ),
    ] = "",
    why: Annotated[
        str, typer.Option("--why", metavar="TEXT", help="The reason, needed where the change is to fail no check.")
    ] = "",
    fixed_in: Annotated[
        str, typer.Option("--by", metavar="VERSION", help="The version that fixes it, for --as fixed.")
    ] = "",
    until: Annotated[
        list[str] | None,
        typer.Option(
            "--until",
            metavar="END",
            help="The end of the decision: a date (2026-12-31), a version, also a future tag, or a size (+8%). "
            "Repeatable.",
        ),
    ] = None,
    author: Annotated[
        str, typer.Option("--author", metavar="NAME", help="Who decides (default: you).", show_default=False)
    ] = "",
    only_open: Annotated[bool, typer.Option("--open", help="List only what somebody has to look at.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Decide about changes, or list the changes of stored checks with what was decided.

    An accepted change, a false alarm and one of the environment are still shown and fail no check. A confirmed change
    fails it, and so does a fixed one until checks see the fix. Every decision is stored with your name, the time and
    the reason, and travels with `perf push`; where two people decide, the later decision counts.

    A change reopens by itself when the decision ends, when its size turns out to be half as much again, or when a later
    version moves the level further. The metrics that changed with it are decided about, too.
    """
    console: Console = ctx.obj
    if not state and (why or fixed_in or until or author):
        raise UsageError("no state is chosen", hint=f"--as STATE, one of {', '.join(triage.STATES)}")
    if state and not change:
        raise UsageError("no change is named", hint="`perf check triage` lists them with their ids")
    if not state:
        _list(console, change or (), only_open=only_open, as_json=as_json)
        return
    result = triage.decide(
        console.history.repository,
        change or (),
        state.replace("-", " "),
        why=why,
        author=author,
        fixed_in=fixed_in,
        until=until or (),
        listener=console,
    )
    if as_json:
        console.json(result.as_json())
        return
    named = [made for made in result.changed if made.change.startswith(tuple(change or ()))]
    for made in named or result.changed:
        console.line(f"{_state_words(made)}: {printable(made.change)} {printable(made.what)}".rstrip())


def _state_words(made: Decision) -> str:
    if made.withdrawn:
        return "new again"
    return f"fixed in {made.fixed_in[:10]}" if made.fixed_in else made.state


def _list(console: Console, prefixes: Sequence[str], *, only_open: bool, as_json: bool) -> None:
    changes = triage.stored_changes(console.history.repository)
    if prefixes:
        listed = {each.change.id: each.change for each in changes}
        ids = triage.named(prefixes, listed, lambda word: triage.find(word, listed))
        changes = tuple(each for each in changes if each.change.id in ids)
    if only_open:
        changes = tuple(each for each in changes if each.is_open)
    if as_json:
        console.json({"schema": SCHEMA, "changes": [each.as_json() for each in changes]})
        return
    if not changes:
        console.say("no change waits for a decision" if only_open else "no stored check has a change: `perf check all`")
    if command := report_text.shared_command([each.change for each in changes]):
        console.line(printable(command))
    rows = fitted([_cells(each, command) for each in changes], console.width, cut=(_REMARK, _WORDS))
    for each, line in zip(changes, align(rows), strict=True):
        console.line(console.paint(line, _COLORS.get(each.state, "dim")))
        for text in map(_log_line, each.log if prefixes else ()):
            console.line(f"  {text}")


def _cells(each: TriagedChange, shared: str) -> tuple[str, ...]:
    target = f"at {each.change.target}"
    words = triage.in_words(each.change).removesuffix(target).rstrip().removesuffix(f" {shared}")
    return each.change.id[:_ID], printable(each.state), printable(words), printable(target), _remark(each)


def _remark(each: TriagedChange) -> str:
    standing = each.standing
    if standing is None:
        return ""
    text = report_text.decision(standing)
    moved = "" if standing.decision.change == each.change.id else f" (as {printable(standing.decision.change[:_ID])})"
    return text.removeprefix(f"{each.state} ") + moved


def _log_line(made: Decision) -> str:
    ends = (
        f"until {made.until_date}" if made.until_date else "",
        f"until {printable(made.until_version)}" if made.until_version else "",
        f"up to {made.limit * 100:.3g} %" if made.limit is not None else "",
    )
    words = "withdrawn" if made.withdrawn else report_text.decision(Standing(made))
    withdrawn = f" by {printable(made.author)}" if made.withdrawn else ""
    return ", ".join(filter(None, (f"{listing.moment(made.time)}  {words}{withdrawn}", *ends)))
