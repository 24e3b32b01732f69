"""The result of `collect` and `run` on a terminal: a table of metrics for each profile, or a line each for many."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfcore.cli.console import Console
from perfcore.measure.collect_result import SavedProfile, Summary, disturbed, summarize
from perfcore.measure.collection import collect
from perfcore.measure.request import MeasureRequest
from perfcore.repository.repository import Repository
from perfcore.text import align, plural, printable, quantity

_MAX_DETAILED = 3  # tables of several lines; more of them no longer fit a screen
DECISIVE = 6  # runs of each side: all 6 pairs of one sign have p = 2 / 2^6 = 0.031; the check `pair` needs 0.05
_NUMBER = r"[0-9][0-9.,]*"


def measure(
    console: Console, repository: Repository, request: MeasureRequest, *, as_json: bool, dry_run: bool = False
) -> None:
    """Collect, print the result, then raise one error for all failures. A dry run prints what would be measured."""
    if dry_run:
        from perfcore.cli import dry_run_table

        dry_run_table.show(console, repository, request, as_json=as_json)
        return
    result = collect(repository, request, console)
    if as_json:
        console.json(result.as_json())
    else:
        _print(console, result.profiles)
    if not result.profiles and not result.failures:
        reason = "every version has its profiles" if request.versions else "there is no such version"
        console.say(f"nothing to measure: {reason}")
    if (error := result.error(told=True)) is not None:
        raise error


def _print(console: Console, profiles: Sequence[SavedProfile]) -> None:
    if len(profiles) <= _MAX_DETAILED and not any(saved.job.params for saved in profiles):
        for saved in profiles:
            _print_table(console, saved)
    else:
        _print_lines(console, profiles)
    # Notes that differ only in their numbers are printed once, with the numbers of the first profile.
    notes = {re.sub(_NUMBER, "#", note): note for saved in reversed(profiles) for note in reversed(saved.profile.notes)}
    for note in reversed(notes.values()):
        console.say(f"note: {note}")
    counts = [disturbed(saved.profile)[1] for saved in profiles if saved.profile.header.type == "time"]
    if 0 < min(counts, default=0) < DECISIVE and console.repository.config.get("check.note_few_runs"):
        enough = f"{DECISIVE} runs of each version, interleaved"
        console.say(f"note: {plural(min(counts), 'run')}: perf check decides from {enough} (--repeat {DECISIVE})")


def _print_table(console: Console, saved: SavedProfile) -> None:
    bad, counted = disturbed(saved.profile)
    title = printable(saved.profile.label)
    version = f" at {saved.job.version[:10]}" if saved.job.version else ""
    dirty = " with uncommitted changes" if saved.profile.dirty else ""
    console.line(f"{console.paint(title, 'bold')}{version}{dirty}: {plural(counted, 'run')}" + _disturbed(bad))
    rows = [_cells(summary) for summary in summarize(saved.profile)]
    console.write("".join(f"{line}\n" for line in align(rows, right=(1,))))
    console.line(f"  -> {saved.name}" if saved.id is None else f"  -> registered as {saved.id}")


def _print_lines(console: Console, profiles: Sequence[SavedProfile]) -> None:
    """A row for each; one with parameters has a column for each of them, below its name."""
    names = list(dict.fromkeys(name for saved in profiles for name in saved.job.params))
    rows: list[tuple[str, ...]] = [("version", *names)] if names else []
    for saved in profiles:
        bad, counted = disturbed(saved.profile)
        summaries = summarize(saved.profile)
        metrics = [f"{printable(s.metric)} {quantity(s.median, s.unit)} {_spread(s)}" for s in summaries[:2]]
        metrics = [plural(len(summaries), "benchmark")] if any(" of " in s.metric for s in summaries) else metrics
        version = saved.job.version[:10] if saved.job.version else ""
        values = [printable(saved.job.params.get(name, "")) for name in names]
        rows.append(
            (version, *values, *metrics, f"{plural(counted, 'run')}{_disturbed(bad)}", printable(saved.profile.label))
        )
    console.write("".join(f"{line}\n" for line in align(rows)))


def _cells(summary: Summary) -> tuple[str, ...]:
    if summary.runs == 1:
        return f"  {printable(summary.metric)}", quantity(summary.median, summary.unit)
    extremes = f"{quantity(summary.low, summary.unit)} … {quantity(summary.high, summary.unit)}"
    outliers = plural(summary.outliers, "outlier") if summary.outliers else ""
    amount = quantity(summary.median, summary.unit)
    return f"  {printable(summary.metric)}", amount, _spread(summary), extremes, outliers


def _spread(summary: Summary) -> str:
    # Half of the interquartile range to either side of the median.
    return f"± {summary.spread * 50:.1f} %" if summary.spread is not None and summary.runs > 1 else ""


def _disturbed(count: int) -> str:
    return f", {count} disturbed" if count else ""
