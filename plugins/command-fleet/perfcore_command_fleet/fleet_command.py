"""`perf fleet`: its command line."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer
from perfcore_command_kit.plugin_options import HANDS_ON
from perfcore_fleet_kit.shares import ShareChange

from perfcore.cli.console import Console
from perfcore.cli.options import AsJson, seconds
from perfcore.errors import CommandFailedError, FormatError, UsageError
from perfcore.repository.imports import make_format
from perfcore.text import align, clip, plural, printable, quantity
from perfcore_command_fleet import library, times
from perfcore_command_fleet.files import candidates
from perfcore_command_fleet.ingest import Ingested
from perfcore_command_fleet.keeping_commands import VERBS
from perfcore_command_fleet.query_options import Question, asking
from perfcore_command_fleet.report import BY, FleetReport, report
from perfcore_command_fleet.sampling import sampled_environment
from perfcore_command_fleet.show_command import show
from perfcore_command_fleet.spool import Spool, watch
from perfcore_command_fleet.status import FleetStatus

Revision = Annotated[
    str | None, typer.Argument(metavar="[REV]", help="The release; default: the head.", show_default=False)
]
Box = Annotated[str, typer.Option("--box", metavar="TIME", help="The length of a box.")]
_SHOWN = 10
_EVERYTHING = Question()


def new_app() -> typer.Typer:
    """A new Typer app with the commands."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)
    app.callback()(fleet)
    app.command(context_settings={"allow_interspersed_args": False})(run)
    app.command()(ingest)
    app.command()(status)
    app.command()(asking(labels))
    app.command(name="report")(asking(show_report))
    app.command(context_settings=HANDS_ON)(show)
    app.command()(asking(compare))
    app.command()(save)
    app.command()(queries)
    app.command()(asking(export))
    app.command()(pack)
    app.command()(expire)
    for verb in VERBS:
        app.command()(verb)
    return app


def fleet() -> None:
    """Collect sampled profiles of a release from many hosts, and ask their union."""


def ingest(
    ctx: typer.Context,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, or folders of files.")],
    release: Annotated[
        str | None, typer.Option("--release", metavar="REV", help="Their version; default: their label `release`.")
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", metavar="NAME", help="Their host; default: the folder below PATH.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option("--label", metavar="L=V", help="A label of all samples. Repeatable.")
    ] = None,
    source: Annotated[str | None, typer.Option("--source", metavar="NAME", help="The source that reads them.")] = None,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="NAME", help="The name of this ingester; default: the host's.")
    ] = None,
    watching: Annotated[
        bool, typer.Option("--watch", help="Go on, and remove files that are stored. PATH is a spool.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="With --watch, remove nothing.")] = False,
    interval: Annotated[
        str, typer.Option("--interval", metavar="TIME", help="With --watch, the time between two looks.")
    ] = "5s",
    limit: Annotated[
        int, typer.Option("--limit", metavar="MB", help="With --watch, the size of PATH/dead-letter.", min=0)
    ] = 1024,
    turns: Annotated[int | None, typer.Option("--turns", min=1, hidden=True)] = None,
    as_json: AsJson = False,
) -> None:
    """Store the samples of files. Files that are stored already count once, whoever brings them.

    A file that is not whole is counted as far as it goes, and replaced when it comes again, longer.
    """
    console: Console = ctx.obj
    ingester = library.ingester(
        console.repository,
        source=source,
        release=release,
        labels=dict(map(_label, label or ())),
        host=host,
        shard=shard,
        listener=console,
    )
    if watching:
        spools = [Spool(path, ingester, console, limit << 20, keep) for path in paths]
        watch(spools, seconds("--interval", interval) or 0.0, lambda result: _tell_turn(console, result), turns)
        return
    result = ingester.ingest(list(candidates(paths)))
    console.clear_progress()
    if as_json:
        console.json(result.as_json())
    else:
        _tell(console, result)
    if any(path not in set(result.open) for path, _ in result.problems):
        raise FormatError(f"{plural(len(result.problems), 'file')} left out or not whole")


def run(
    ctx: typer.Context,
    command: Annotated[list[str], typer.Argument(metavar="-- CMD...", help="The command.", show_default=False)],
    spool: Annotated[
        Path, typer.Option("--spool", metavar="DIR", help="The folder for samples, which `ingest` reads.")
    ] = Path("spool"),
    release: Annotated[
        str | None, typer.Option("--release", metavar="REV", help="The version of the command; default: the head.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option("--label", metavar="L=V", help="A label of all samples. Repeatable.")
    ] = None,
    rate: Annotated[float, typer.Option("--rate", metavar="HZ", help="Samples a second.", min=0.1, max=1000)] = 97.0,
    interval: Annotated[str, typer.Option("--interval", metavar="TIME", help="The time of a file.")] = "1m",
) -> None:
    """Run a command and sample every Python process below it.

    It takes the place of this process, and needs perfcore-fleet-sampler here; the service needs nothing.
    """
    console: Console = ctx.obj
    environment = sampled_environment(
        spool,
        rate=rate,
        interval=seconds("--interval", interval) or 60.0,
        labels={"release": console.repository.version(release), **dict(map(_label, label or ()))},
    )
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        raise CommandFailedError(f"cannot run {printable(command[0])}: {error.strerror}") from error


def status(ctx: typer.Context, revision: Revision = None, box: Box = "1d", as_json: AsJson = False) -> None:
    """List hosts and boxes with their samples, and what is missing."""
    console: Console = ctx.obj
    result = library.status(console.repository, revision, times.length("--box", box))
    if as_json:
        console.json(result.as_json())
        return
    for line in _status_lines(result):
        console.line(line)
    console.say(_status_summary(result))


def labels(
    ctx: typer.Context,
    revision: Revision = None,
    question: Question = _EVERYTHING,
    as_json: AsJson = False,
) -> None:
    """List the labels with the samples of each value."""
    console: Console = ctx.obj
    totals = library.labels(console.repository, revision, question.query(console.repository))
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
    question: Question = _EVERYTHING,
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
    state, selected, counted = library.counts(console.repository, revision, query, console)
    hosts = len({each.receipt.host for each in selected})
    metadata = library.metadata(console.repository, question.named)
    result = report(state.version, query.text, by, counted, hosts, limit, metadata)
    if as_json:
        console.json(result.as_json())
    else:
        _print_report(console, result)
    if keep:
        profile = library.profile(console.repository, revision, query, question.name, console)
        console.saved(console.repository.save(profile).name)


def compare(
    ctx: typer.Context,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The release before.", show_default=False)],
    new: Annotated[
        str | None, typer.Argument(metavar="[NEW]", help="The release after; default: the head.", show_default=False)
    ] = None,
    question: Question = _EVERYTHING,
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
    result = library.compare(
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


def save(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    where: Annotated[str, typer.Argument(metavar="L=V[|V],...", help="As for --where.")],
) -> None:
    """Keep conditions under a name, for --query. They are shared by push and pull."""
    console: Console = ctx.obj
    library.save_query(console.repository, name, where)
    console.say(f"saved {printable(name)}: {printable(where)}")


def queries(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the saved queries."""
    console: Console = ctx.obj
    saved = library.queries(console.repository)
    if as_json:
        console.json({"schema": 1, "queries": saved})
        return
    for line in align([(printable(name), printable(where)) for name, where in saved.items()]):
        console.line(line)
    if not saved:
        console.say("there are no queries: perf fleet save NAME LABEL=VALUE")


def export(
    ctx: typer.Context,
    revision: Revision = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")] = None,
    format_name: Annotated[str, typer.Option("--format", metavar="NAME", help="An installed format.")] = "folded",
    question: Question = _EVERYTHING,
) -> None:
    """Write the sum of the samples to a file."""
    console: Console = ctx.obj
    if output is None:
        raise UsageError("say where to write", hint="--output FILE")
    query = question.query(console.repository)
    profile = library.profile(console.repository, revision, query, question.name, console)
    driver = make_format(console.repository, format_name)
    if not hasattr(driver, "write"):
        raise UsageError(f"the format {format_name} can only read")
    driver.write(profile, output)
    console.say(f"wrote {printable(str(output))}")


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
    conditions = library.parse_where(keep)
    gone = library.expire(
        console.repository, revision, moment, box=times.length("--box", box), keep=conditions, dry_run=dry_run
    )
    console.say(f"{'would expire' if dry_run else 'expired'} {plural(gone, 'segment')}")


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--label wants LABEL=VALUE, got {text!r}")
    return key, value


def _tell(console: Console, result: Ingested) -> None:
    for path, text in result.problems[:_SHOWN]:
        console.say(f"{printable(str(path))}: {printable(text)}")
    if len(result.problems) > _SHOWN:
        console.say(f"… and {len(result.problems) - _SHOWN:,} more")
    console.say(_summary(result))


def _summary(result: Ingested) -> str:
    """`stored 3 segments with 1,200 samples (1 not whole); 2 known`"""
    counts = result.outcomes
    stored = counts["new"] + counts["replaced"]
    text = f"stored {plural(stored, 'segment')} with {result.samples:,} samples"
    text += f" ({result.partial} not whole)" if result.partial else ""
    words = {"known": "known", "expired": "of expired boxes", "conflict": "in conflict with what is stored"}
    return "; ".join([text, *(f"{counts[name]:,} {word}" for name, word in words.items() if counts[name])])


def _tell_turn(console: Console, result: Ingested) -> None:
    """Say nothing of a turn in which nothing happened."""
    if result.outcomes["new"] or result.outcomes["replaced"] or result.problems:
        console.clear_progress()
        _tell(console, result)


def _status_lines(result: FleetStatus) -> list[str]:
    rows = [("box", "host", "segments", "streams", "samples", "time", "")]
    for box in result.boxes:
        remarks = [f"{box.partial} not whole"] if box.partial else []
        remarks += [f"{box.expired} expired"] if box.expired else []
        rows.append(
            (
                times.shown(box.begin),
                clip(printable(box.host), 24),
                f"{box.segments:,}",
                f"{box.streams:,}",
                f"{box.samples:,}",
                quantity(box.time / times.NS, "s"),
                ", ".join(remarks),
            )
        )
    lines = [line.rstrip() for line in align(rows, right=(2, 3, 4, 5))]
    for gap in result.gaps[:_SHOWN]:
        missing = f"{gap.first}" if gap.first == gap.last else f"{gap.first} to {gap.last}"
        lines.append(f"missing: {clip(printable(gap.stream), 30)} of {clip(printable(gap.host), 20)}, {missing}")
    return lines


def _status_summary(result: FleetStatus) -> str:
    hosts = len({box.host for box in result.boxes})
    lag = (time.time_ns() - result.newest) / times.NS if result.newest else None
    text = f"{result.samples:,} samples of {plural(hosts, 'host')}"
    text += f", the newest {quantity(lag, 's')} ago" if lag is not None and lag >= 0 else ""
    text += f", {plural(len(result.gaps), 'gap')}" if result.gaps else ""
    return text + (f", {plural(len(result.problems), 'damaged record')}" if result.problems else "")


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


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _interval(change: ShareChange) -> str:
    """`+2.1 ± 0.4`, in percent of all samples."""
    difference, half = change.after - change.before, (change.high - change.low) / 2
    return f"{100 * difference:+.1f} ± {100 * half:.1f}" if half < 1 else f"{100 * difference:+.1f}"


def _share(amount: int | None, result: FleetReport) -> str:
    return "" if amount is None or not result.total else f"{100 * amount / result.total:.1f} %"
