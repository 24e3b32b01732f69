"""`perf fleet compare`: the shares of functions in two releases."""

from __future__ import annotations

from typing import Annotated

import typer
from perfcore_fleet_kit.shares import ShareChange

from perfcore.cli.console import Console
from perfcore.cli.options import AsJson
from perfcore.errors import UsageError
from perfcore.text import align, clip, plural, printable
from perfcore_command_fleet import comparison, times
from perfcore_command_fleet.query_options import EVERYTHING, Box, Question, asking
from perfcore_command_fleet.verb import Verb


def compare(
    ctx: typer.Context,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The release before.", show_default=False)],
    new: Annotated[
        str | None, typer.Argument(metavar="[NEW]", help="The release after; default: the head.", show_default=False)
    ] = None,
    question: Question = EVERYTHING,
    box: Box = "1h",
    threshold: Annotated[
        float, typer.Option("--threshold", metavar="PERCENT", help="The smallest share of all samples that matters.")
    ] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Compare the shares of functions in two releases.

    Hosts and boxes are the replicates. A change that callers, callees or the same file make up for is a shift.
    """
    console: Console = ctx.obj
    if not 0 < threshold < 100:
        raise UsageError("--threshold wants a share between 0 and 100 percent")
    result = comparison.compare(
        console.repository,
        old,
        new,
        question.query(console.repository),
        box=times.length("--box", box),
        threshold=threshold / 100,
    )
    if as_json:
        console.json(result.as_json())
        return
    rows = [("before", "after", "difference", "", "function")]
    for change in result.changes:
        name = printable(change.function)
        if change.moved_to:
            name += f" (with {', '.join(map(printable, change.moved_to[:2]))})"
        rows.append((_percent(change.before), _percent(change.after), _interval(change), change.verdict, name))
    for line in align(rows, right=(0, 1, 2)):
        console.line(line.rstrip() if console.width is None else clip(line.rstrip(), console.width))
    console.say(
        f"{result.samples[0]:,} samples of {plural(result.cells[0], 'cell')} before, "
        f"{result.samples[1]:,} of {plural(result.cells[1], 'cell')} after (a cell: one host in one box)"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _interval(change: ShareChange) -> str:
    """`+2.1 ± 0.4`, in percent of all samples."""
    difference, half = change.after - change.before, (change.high - change.low) / 2
    return f"{100 * difference:+.1f} ± {100 * half:.1f}" if half < 1 else f"{100 * difference:+.1f}"


VERBS = {"compare": Verb(asking(compare))}
