"""`perf check ack`: accept a change for good."""

from __future__ import annotations

import getpass
import re
import time
from typing import Annotated, Optional

import attrs
import typer

from perfcore.analysis import acceptance, verdict_text
from perfcore.analysis.acceptance import Acceptance
from perfcore.analysis.stored_results import Results
from perfcore.cli import listing
from perfcore.cli.console import Console
from perfcore.errors import NotFoundError, UsageError
from perfcore.model import Change
from perfcore.repository.repository import Repository
from perfcore.text import align, percent, printable

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
SCHEMA = 1
_WHOLE = re.compile(r"[0-9a-f]{20,64}")


@app.command("ack")
def ack(
    ctx: typer.Context,
    change: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="[CHANGE...]",
            help="The first characters of the id, as `perf check` prints it; none lists what was accepted.",
            show_default=False,
        ),
    ] = None,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason, for whoever asks later.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Take an acceptance back.")] = False,
    author: Annotated[
        Optional[str], typer.Option("--author", metavar="NAME", help="Who accepts it (default: you).")
    ] = None,
    as_list: Annotated[bool, typer.Option("--list", "-l", help="List what was accepted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Accept a change for good: it is still shown, and fails no check any more.

    The reason is kept with your name and the time. The id of a change stays, whatever later runs say of its size.
    """
    console: Console = ctx.obj
    if as_list and change:
        raise UsageError("--list takes no change")
    if not change:
        if why or undo:
            raise UsageError("say which change", hint="`perf check` prints the ids of changes")
        _print_list(console, as_json)
        return
    if not undo and not why.strip():
        raise UsageError("say why it is accepted", hint="--why TEXT: it is kept with the change")
    made = (_taken_back if undo else _accepted)(console, change, why, author or _author(console.repository))
    for each in made:
        acceptance.keep(console.repository.store, each)
    if as_json:
        console.json({"schema": SCHEMA, "changed": [attrs.asdict(each) for each in made]})
    for each in made if not as_json else ():
        what = f" ({printable(each.what)})" if each.what else ""
        console.line(f"{'accepted' if each.accepted else 'no longer accepted:'} {printable(each.change)}{what}")


def _accepted(console: Console, prefixes: list[str], why: str, author: str) -> list[Acceptance]:
    known = _known(console.repository)
    ids = dict.fromkeys(_find(console, prefix, known) for prefix in prefixes)
    now = time.time_ns()
    return [_acceptance(id, known.get(id), why=why, author=author, time=now) for id in ids]


def _acceptance(id: str, change: Change | None, *, why: str, author: str, time: int) -> Acceptance:
    made = Acceptance(change=id, why=why, author=author, time=time)
    if change is None:
        return made
    return attrs.evolve(made, what=_words(change), place=acceptance.place(change))


def _taken_back(console: Console, prefixes: list[str], why: str, author: str) -> list[Acceptance]:
    known = acceptance.accepted(console.repository.store)
    ids = dict.fromkeys(acceptance.find(prefix, known) for prefix in prefixes)
    now = time.time_ns()
    return [
        attrs.evolve(known[id], why=why, author=author, time=max(now, known[id].time + 1), accepted=False) for id in ids
    ]


def _find(console: Console, prefix: str, known: dict[str, Change]) -> str:
    try:
        return acceptance.find(prefix, known)
    except NotFoundError:
        if not _WHOLE.fullmatch(prefix):
            raise
        console.say(f"note: no result that is kept here has the change {prefix}")
        return prefix


def _known(repository: Repository) -> dict[str, Change]:
    """Every change that a kept result has, by its id."""
    results = Results(repository.store, repository.vcs_name).every()
    return {change.id: change for result in results for change in result.changes}


def _words(change: Change) -> str:
    if change.contract:
        return f"{verdict_text.word(change)} {change.contract} {change.label} at {change.target}"
    size = f" {percent(change.ratio)}" if change.ratio is not None else ""
    what = change.metric + (f" of {change.resource}" if change.resource else "")
    return f"{verdict_text.word(change)}{size} {what} {change.label} at {change.target}"


def _print_list(console: Console, as_json: bool) -> None:
    found = sorted(acceptance.accepted(console.repository.store).values(), key=lambda each: (each.time, each.change))
    if as_json:
        console.json({"schema": SCHEMA, "accepted": [attrs.asdict(each) for each in found]})
        return
    if not found:
        console.say("nothing was accepted so far")
    rows = [
        (
            printable(each.change[:10]),
            listing.moment(each.time),
            printable(each.author),
            printable(each.what),
            printable(each.why),
        )
        for each in found
    ]
    console.write("".join(f"{line}\n" for line in align(rows)))


def _author(repository: Repository) -> str:
    """Who works here: as the VCS says, or else the name of the login."""
    named = getattr(repository.vcs, "author", None)
    if named is not None and (said := named()):
        return str(said)
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
