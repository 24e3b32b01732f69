"""`perf history`: a metric or a function over the versions of a branch."""

from __future__ import annotations

import fnmatch
import io
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Optional

import attrs
import typer

from perfcore.analysis import history as histories
from perfcore.analysis import machine_changes, sparkline, verdict_text
from perfcore.analysis.history import HistoryCheck, ScannedSeries
from perfcore.analysis.pairing import thresholds_of
from perfcore.analysis.series import ConfigHistory, MeasuredVersion, config_histories
from perfcore.cli.console import Console
from perfcore.errors import NotFoundError, UsageError, nearest
from perfcore.model import Change
from perfcore.text import align, clip, inert, percent, plural, printable, quantity

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
SCHEMA = 1
_NARROWEST, _WIDEST, _INDENT = 20, 100, "  "
_SUBJECT = 50
_MARKS = {"degradation": "^", "optimization": "v", "variance": "~", "machine": "|"}
_COLORS = {"degradation": "red", "optimization": "green"}
_HEADER = (
    *("command", "collector", "metric", "resource", "unit", "version", "date", "subject", "environment"),
    *("runs", "median", "least", "greatest", "change", "id"),
)


@app.command()
def history(
    ctx: typer.Context,
    what: Annotated[
        Optional[str],
        typer.Argument(
            metavar="[METRIC | FUNCTION]",
            help="What to follow (default: CPU time, where there is one).",
            show_default=False,
        ),
    ] = None,
    version: Annotated[
        Optional[str], typer.Option("--version", "-v", metavar="REV", help="Where the branch ends (default: the head).")
    ] = None,
    last: Annotated[
        Optional[int], typer.Option("--last", "-n", min=1, metavar="N", help="Only the last N measured versions.")
    ] = None,
    command: Annotated[
        str, typer.Option("--command", "-c", metavar="PATTERN", help="Only commands like this: 'parse *'.")
    ] = "*",
    metric: Annotated[
        Optional[str], typer.Option("--metric", metavar="NAME", help="The metric of a function.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a line for each version, as CSV.")] = False,
    raw_text: Annotated[
        bool,
        typer.Option("--raw-text", help="CSV: leave text that a spreadsheet would take for a formula as it is."),
    ] = False,
) -> None:
    """Draw a metric, or what a function took with all it called, over the measured versions of a branch.

    A branch is followed along first parents. Below the line, `^` is where it became slower, `v` faster, `~` noisier or
    calmer, and `|` where the machine changed; a change that may have come with several versions says between which
    it came. Levels go from the least amount to the greatest, not from zero.
    """
    console: Console = ctx.obj
    if as_json and as_csv:
        raise UsageError("--json and --csv exclude one another")
    found = [_cut(one, last) for one in _found(console, what, metric, version, command)]
    if as_json:
        console.json({"schema": SCHEMA, "series": [_json(one) for one in found]})
    elif as_csv:
        console.write(_csv(found, printable if raw_text else _cell))
    else:
        for number, one in enumerate(found):
            _draw(console, one, first=number == 0)


def _found(
    console: Console, what: str | None, metric: str | None, version: str | None, command: str
) -> list[ScannedSeries]:
    """What is asked for, with its changes. Those of a metric are found among all commands, so that they are the same
    whichever commands are shown."""
    repository = console.repository
    known = config_histories(repository, repository.version(version))
    if not known:
        raise NotFoundError("no version here has a profile", hint="perf collect time --all --add -- COMMAND")
    chosen = [line for line in known if fnmatch.fnmatchcase(line.label, command)]
    if not chosen:
        raise NotFoundError(f"no command is like {command!r}", hint=nearest(command, {line.label for line in known}))
    shown = {line.config_id for line in chosen}
    every = histories.select_series(repository, known)
    found = [one for one in every if (one.primary if what is None else one.series.metric == what)]
    if asked := [one for one in _scanned(console, found, every) if one.line.config_id in shown]:
        return asked
    if what is not None and (found := histories.select_series(repository, chosen, metric=metric, function=what)):
        return _scanned(console, found)
    names = {one.series.metric for one in every}
    raise NotFoundError(
        f"there is no metric or function {printable(what or '')!r} in these profiles",
        hint=nearest(what or "", names) or f"the metrics are {', '.join(sorted(map(printable, names)))}",
    )


def _scanned(
    console: Console, found: Sequence[ScannedSeries], among: Sequence[ScannedSeries] = ()
) -> list[ScannedSeries]:
    """With their changes, where the check of histories is installed."""
    if not found:
        return []
    repository = console.repository
    name = str(repository.trusted("check.history"))
    if name not in console.plugins.names("check"):
        console.say(f"note: changes are not marked; perfcore-check-{name} would find them")
        return list(found)
    check = HistoryCheck.configured(repository, name)
    if check is None:
        plugin, _ = console.plugins.load("check", name)
        raise UsageError(f"{plugin} does not look at histories", hint="set check.history to one that does")
    scanned = histories.scan_series(repository, found, check, thresholds_of(repository), console.progress, among)
    console.clear_progress()
    return scanned


def _cut(one: ScannedSeries, last: int | None) -> ScannedSeries:
    """The last versions of a series, with their changes."""
    count = len(one.line.versions)
    if last is None or last >= count:
        return one
    start = count - last
    kept = {place.version.id[:10] for place in one.line.versions[start:]}
    series = attrs.evolve(
        one.series,
        versions=one.series.versions[start:],
        environments=one.series.environments[start:],
        values=one.series.values[start:],
        sessions=one.series.sessions[start:],
    )
    return attrs.evolve(
        one,
        line=attrs.evolve(one.line, versions=one.line.versions[start:]),
        series=series,
        changes=tuple(change for change in one.changes if change.target in kept),
    )


def _draw(console: Console, one: ScannedSeries, *, first: bool) -> None:
    if not first:
        console.line()
    series = one.series
    columns = max(_NARROWEST, min(_WIDEST, (console.width or shutil.get_terminal_size().columns) - len(_INDENT)))
    medians = [statistics.median(values) if values else None for values in series.values]
    known = [amount for amount in medians if amount is not None]
    name = printable(f"{series.resource}: {series.metric}" if series.resource else series.metric)
    console.line(console.paint(f"{name} of {printable(one.line.label)}", "bold"))
    levels = sparkline.BLOCKS if _is_unicode() else sparkline.PLAIN
    console.line(_INDENT + sparkline.spark(medians, columns, levels))
    places = _places(one.line.versions, one.changes)
    if below := sparkline.marks(places, len(medians), columns):
        console.line(_INDENT + below)
    console.line(_INDENT + _summary(known, len(medians), series.unit))
    subjects = {place.version.id[:10]: place.version.subject for place in one.line.versions}
    rows = [_row(change, subjects) for change in one.changes]
    for change, text in zip(one.changes, align(rows, right=(3, 4)), strict=True):
        color = _COLORS.get(change.kind) if not change.undone else None
        console.line(_INDENT + (console.paint(text, color) if color else text))


def _summary(known: Sequence[float], places: int, unit: str) -> str:
    if not known:
        return f"nothing was measured of it in {plural(places, 'version')}"
    least, greatest, now = (quantity(amount, unit) for amount in (min(known), max(known), known[-1]))
    count = plural(places, "version") if len(known) == places else f"{len(known)} of {plural(places, 'version')}"
    return f"{count}, {least} to {greatest}, now {now}" if len(known) > 1 else f"{count}, {now}"


def _row(change: Change, subjects: Mapping[str, str]) -> tuple[str, ...]:
    interval = ""
    if change.low is not None and change.high is not None:
        interval = f"{percent(change.low)} to {percent(change.high)}"
    return (
        _MARKS.get(change.kind, ""),
        verdict_text.word(change),
        change.target,
        percent(change.ratio) if change.ratio is not None and change.kind != "variance" else "",
        interval if change.kind != "variance" else "",
        clip(printable(subjects.get(change.target, "")), _SUBJECT),
        _came(change),
        _machine(change) if change.kind == "machine" else "",
        f"(undone in {change.undone[:10]})" if change.undone else "",
    )


def _machine(change: Change) -> str:
    return f"{'' if change.moved is None else machine_changes.affected(change)} {verdict_text.machine(change)}".strip()


def _came(change: Change) -> str:
    """The versions that may have brought a change, where they are several."""
    if change.earliest == change.latest:
        return ""
    return f"came between {change.earliest[:10]} and {change.latest[:10]}"


def _places(places: Sequence[MeasuredVersion], changes: Sequence[Change]) -> dict[int, str]:
    """The mark of each change by the place of the first version that shows it; code before machine."""
    numbers = {place.version.id[:10]: number for number, place in reversed(list(enumerate(places)))}
    order = sorted(changes, key=lambda change: change.kind != "machine")
    return {numbers[change.target]: _MARKS[change.kind] for change in order if change.target in numbers}


def _is_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def _json(one: ScannedSeries) -> dict[str, Any]:
    series = one.series
    return {
        "command": one.line.label,
        "collector": one.line.entry.collector,
        "config_id": series.config_id,
        "metric": series.metric,
        "resource": series.resource,
        "unit": series.unit,
        "better": series.better,
        "points": [
            {
                "version": place.version.id,
                "date": place.version.date,
                "subject": place.version.subject,
                "environment": place.environment,
                "profiles": list(place.profiles),
                "values": list(values),
            }
            for place, values in zip(one.line.versions, series.values, strict=True)
        ],
        "changes": [attrs.asdict(change) for change in one.changes],
    }


def _cell(text: str) -> str:
    return inert(printable(text))


def _csv(found: Sequence[ScannedSeries], cell: Callable[[str], str]) -> str:
    """Rows of one line each: names from outside are printable in them, since a terminal may be what reads them."""
    import csv

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADER)
    for one in found:
        for row in _csv_rows(one.line, one):
            writer.writerow(cell(value) if isinstance(value, str) else value for value in row)
    return text.getvalue()


def _csv_rows(line: ConfigHistory, one: ScannedSeries) -> Iterator[tuple[object, ...]]:
    series = one.series
    first = {change.target: change for change in one.changes if change.kind != "machine"}
    for place, values in zip(line.versions, series.values, strict=True):
        change = first.get(place.version.id[:10])
        amounts = (statistics.median(values), min(values), max(values)) if values else ("", "", "")
        yield (
            *(line.label, line.entry.collector, series.metric, series.resource, series.unit),
            *(place.version.id, place.version.date, place.version.subject, place.environment),
            *(len(values), *amounts),
            *((change.kind, change.id) if change else ("", "")),
        )
