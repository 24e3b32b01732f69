"""The verbs of `perf fleet` that ask for samples and their sums, and those of saved queries."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from perfcore.cli.console import Console
from perfcore.cli.options import AsJson
from perfcore.errors import UsageError
from perfcore.text import align, clip, plural, printable, quantity
from perfcore_command_fleet import questions, saved, times
from perfcore_command_fleet.query_options import EVERYTHING, Question, Revision, asking
from perfcore_command_fleet.report import BY, FleetReport, report
from perfcore_command_fleet.verb import Verb


def labels(
    ctx: typer.Context,
    revision: Revision = None,
    question: Question = EVERYTHING,
    as_json: AsJson = False,
) -> None:
    """List the labels with the samples of each value."""
    console: Console = ctx.obj
    totals = questions.labels(console.repository, revision, question.query(console.repository))
    if as_json:
        console.json({"schema": 1, "labels": totals})
        return
    rows = [
        (clip(printable(key), 20), clip(printable(value), 40), f"{amount:,}")
        for key, values in sorted(totals.items())
        for value, amount in sorted(values.items(), key=lambda item: (-item[1], item[0]))
    ]
    for line in align([("label", "value", "samples"), *rows], right=(2,)):
        console.line(line)


def show_report(
    ctx: typer.Context,
    revision: Revision = None,
    question: Question = EVERYTHING,
    by: Annotated[str, typer.Option("--by", metavar="|".join(BY), help="What the rows are.")] = "function",
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="The number of rows.")] = 20,
    keep: Annotated[
        bool, typer.Option("--save", help="Keep the sum as a pending profile, for show, diff and history.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print what took most samples. Each item counts once per sample."""
    console: Console = ctx.obj
    if by not in BY:
        raise UsageError(f"--by wants one of {', '.join(BY)}, got {by!r}")
    query = question.query(console.repository)
    state, selected, counted = questions.counts(console.repository, revision, query, console, (by,))
    hosts = len({each.receipt.host for each in selected})
    metadata = saved.metadata(console.repository, question.named)
    result = report(state.version, query.text, by, counted, hosts, limit, metadata)
    if as_json:
        console.json(result.as_json())
    else:
        _print_report(console, result)
    if keep:
        from perfcore_command_fleet.profiles import profile

        pending = console.repository.save(profile(console.repository, revision, query, question.name, console))
        console.say(f"saved {pending.name}")


def save(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    where: Annotated[str, typer.Argument(metavar="L=V[|V],...", help="As for --where.")],
) -> None:
    """Keep conditions under a name, for --query. They are shared by push and pull."""
    console: Console = ctx.obj
    saved.save_query(console.repository, name, where)
    console.say(f"saved {printable(name)}: {printable(where)}")


def queries(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the saved queries."""
    console: Console = ctx.obj
    by_name = saved.queries(console.repository)
    if as_json:
        console.json({"schema": 1, "queries": by_name})
        return
    for line in align([(printable(name), printable(where)) for name, where in by_name.items()]):
        console.line(line)
    if not by_name:
        console.say("there are no queries: perf fleet save NAME LABEL=VALUE")


def export(
    ctx: typer.Context,
    revision: Revision = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output.")
    ] = None,
    format_name: Annotated[str, typer.Option("--format", metavar="NAME", help="An installed format.")] = "folded",
    question: Question = EVERYTHING,
) -> None:
    """Write the sum of the samples to a file."""
    from perfcore.repository.imports import make_format
    from perfcore_command_fleet.profiles import profile

    console: Console = ctx.obj
    if output is None:
        raise UsageError("say where to write", hint="--output FILE")
    query = question.query(console.repository)
    made = profile(console.repository, revision, query, question.name, console)
    driver = make_format(console.repository, format_name)
    if not hasattr(driver, "write"):
        raise UsageError(f"the format {format_name} can only read")
    if str(output) == "-":
        with tempfile.TemporaryDirectory(prefix="perfcore-") as folder:
            driver.write(made, file := Path(folder, "export"))
            sys.stdout.flush()
            sys.stdout.buffer.write(file.read_bytes())  # which formats with bytes need
        return
    driver.write(made, output)
    console.say(f"wrote {printable(str(output))}")


def _print_report(console: Console, result: FleetReport) -> None:
    rows = [("total", "self", result.by, "defined at" if any(row.place for row in result.rows) else "")]
    for row in result.rows:
        shares = _share(row.inclusive, result), _share(row.exclusive, result)
        rows.append((*shares, printable(row.function or row.name), printable(row.place)))
    width = console.width
    for line in align(rows, right=(0, 1)):
        console.line(line.rstrip() if width is None else clip(line.rstrip(), width))
    console.say(
        f"{result.total:,} samples ({quantity(result.time / times.NS, 's')}) of {plural(result.segments, 'segment')} "
        f"and {plural(result.hosts, 'host')}"
    )
    if result.metadata:
        console.say(", ".join(f"{printable(key)}={printable(value)}" for key, value in result.metadata.items()))


def _share(amount: int | None, result: FleetReport) -> str:
    return "" if amount is None or not result.total else f"{100 * amount / result.total:.1f} %"


VERBS = {
    "labels": Verb(asking(labels)),
    "report": Verb(asking(show_report)),
    "save": Verb(save),
    "queries": Verb(queries),
    "export": Verb(asking(export)),
}
