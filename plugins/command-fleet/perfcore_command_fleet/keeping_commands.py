"""The verbs of `perf fleet` that say how long samples are kept, and what is known beside them."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from perfcore.cli.console import Console
from perfcore.cli.options import AsJson
from perfcore.errors import UsageError
from perfcore.text import align, clip, plural, printable
from perfcore_command_fleet import examples, keeping, library, saved, times
from perfcore_command_fleet.query_options import EVERYTHING, Box, Question, Revision, asking
from perfcore_command_fleet.verb import Verb


def pack(ctx: typer.Context, revision: Revision = None, box: Box = "1d") -> None:
    """Fold the receipts of boxes that are over into one record each. Nothing changes for questions."""
    console: Console = ctx.obj
    packed = library.pack(console.repository, revision, times.length("--box", box))
    console.say(f"packed {plural(packed, 'receipt')}")


def expire(
    ctx: typer.Context,
    revision: Revision = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="TIME", help="Boxes that ended before 30d ago, or a date.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="L=V[|V],...", help="But not segments with such samples.")
    ] = None,
    box: Box = "1d",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many segments would go.")] = False,
) -> None:
    """Remove the samples of old boxes. Their totals and top functions stay; `perf gc` frees the space."""
    console: Console = ctx.obj
    moment = times.moment("--before", before, time.time_ns())
    if moment is None:
        raise UsageError("say which boxes", hint="--before 30d")
    conditions = saved.parse_where(keep)
    gone = library.expire(
        console.repository, revision, moment, box=times.length("--box", box), keep=conditions, dry_run=dry_run
    )
    console.say(f"{'would expire' if dry_run else 'expired'} {plural(gone, 'segment')}")


def pin(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    revision: Revision = None,
    question: Question = EVERYTHING,
) -> None:
    """Keep samples of a release whatever their age. A pin is shared by push and pull."""
    console: Console = ctx.obj
    new_pin = keeping.pin(console.repository, name, revision, question.query(console.repository))
    console.say(f"pinned {printable(name)}: {new_pin.version[:10]} {printable(new_pin.query.text)}".rstrip())


def unpin(ctx: typer.Context, name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Let the samples of a pin expire like others."""
    console: Console = ctx.obj
    keeping.unpin(console.repository, name)
    console.say(f"unpinned {printable(name)}")


def pins(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the pins."""
    console: Console = ctx.obj
    listed = keeping.pins(console.repository)
    if as_json:
        rows = [
            {
                "name": row.name,
                "version": row.version,
                "where": row.query.text,
                "since": row.query.since,
                "until": row.query.until,
            }
            for row in listed
        ]
        console.json({"schema": 1, "pins": rows})
        return
    for line in align([(printable(row.name), row.version[:10], printable(row.query.text)) for row in listed]):
        console.line(line.rstrip())
    if not listed:
        console.say("there are no pins: perf fleet pin NAME REV")


def retain(
    ctx: typer.Context,
    revision: Revision = None,
    tier: Annotated[
        list[str] | None,
        typer.Option("--tier", metavar="AGE[:L=V]", help="How long samples live, or those with a label. Repeatable."),
    ] = None,
    keep: Annotated[bool, typer.Option("--save", help="Use these tiers the next time, for all releases.")] = False,
    box: Box = "1d",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many segments would go.")] = False,
) -> None:
    """Let samples expire by tiers of age.

    A segment lives as long as the longest tier that has it, or a pin. Without --tier, the saved tiers count. Totals and
    top functions stay.
    """
    console: Console = ctx.obj
    chosen = list(tier or keeping.tiers(console.repository))
    if not chosen:
        raise UsageError("say how long samples live", hint="--tier 7d --tier 90d:action=checkout --save")
    gone = library.retain(console.repository, revision, chosen, box=times.length("--box", box), dry_run=dry_run)
    if keep:
        keeping.save_tiers(console.repository, chosen)
    console.say(f"{'would expire' if dry_run else 'expired'} {plural(gone, 'segment')}")


def kept(ctx: typer.Context, revision: Revision = None, as_json: AsJson = False) -> None:
    """List the totals and top functions of boxes that have expired."""
    console: Console = ctx.obj
    boxes = library.kept(console.repository, revision)
    if as_json:
        console.json({"schema": 1, "boxes": boxes})
        return
    rows = [("box", "segments", "samples", "top function", "total")]
    for row in boxes:
        top = row["top"][0] if row["top"] else ("", 0, 0)
        share = f"{100 * top[1] / row['samples']:.1f} %" if row["samples"] else ""
        numbers = (f"{row['segments']:,}", f"{row['samples']:,}")
        rows.append((times.shown(row["begin"]), *numbers, clip(printable(top[0]), 40), share))
    for line in align(rows, right=(1, 2, 4)):
        console.line(line.rstrip())
    if not boxes:
        console.say("no box has expired")


def exemplars(
    ctx: typer.Context,
    revision: Revision = None,
    question: Question = EVERYTHING,
    function: Annotated[
        str | None, typer.Option("--function", metavar="NAME", help="Only stacks with this function innermost.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="The number of stacks.")] = 5,
    as_json: AsJson = False,
) -> None:
    """List the stacks with most samples.

    Below each are the segments that have most of them."""
    console: Console = ctx.obj
    query = question.query(console.repository)
    stacks = examples.exemplars(console.repository, revision, query, function, limit)
    if as_json:
        console.json({"schema": 1, "stacks": [row.as_json() for row in stacks]})
        return
    for row in stacks:
        console.line(f"{row.samples:,} samples: {clip(' < '.join(map(printable, row.frames)), 200)}")
        for segment in row.segments:
            where_from = f"{printable(segment.host)}  {printable(segment.stream)}.{segment.number}"
            console.line(f"  {times.shown(segment.time)}  {where_from}  {segment.samples:,}")


def meta(
    ctx: typer.Context,
    values: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="An empty VALUE removes KEY.")
    ] = None,
    named: Annotated[str | None, typer.Option("--query", metavar="NAME", help="Of a saved query.")] = None,
    as_json: AsJson = False,
) -> None:
    """Set or list metadata: of everything, or of a saved query. They are shared by push and pull."""
    console: Console = ctx.obj
    if values:
        saved.set_metadata(console.repository, dict(map(_pair, values)), named)
    current = saved.metadata(console.repository, named)
    if as_json:
        console.json({"schema": 1, "query": named or "", "metadata": current})
        return
    for line in align([(printable(key), printable(value)) for key, value in current.items()]):
        console.line(line)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"metadata are KEY=VALUE, got {text!r}")
    return key, value


VERBS = {
    "pack": Verb(pack),
    "expire": Verb(expire),
    "pin": Verb(asking(pin)),
    "unpin": Verb(unpin),
    "pins": Verb(pins),
    "retain": Verb(retain),
    "kept": Verb(kept),
    "exemplars": Verb(asking(exemplars)),
    "meta": Verb(meta),
}
