"""The summary of `pytest --perf`: a line for each test, and what became of the profile."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from perfcore_check_kit.run_values import primary

from perfcore.model import RELATIVE, Change
from perfcore.named_tuple import NamedTuple
from perfcore.profile import benchmarks
from perfcore.text import align, clip, percent, plural, printable, quantity, width

if TYPE_CHECKING:
    from perfcore.model import Profile, Unpaired
    from perfcore_collect_pytest.measurement import SessionResult

_WIDTH = 80  # columns of the narrowest terminals that people use
_SHORTEST_NAME = 16  # columns of a name that is cut
_NUMBERS = (2, 3, 4)  # the columns of the table that are set flush right
_COLLECT = "perf collect pytest -v {} -v HEAD --add ."
_JUDGEMENTS = {
    "degradation": "regression",
    "optimization": "improvement",
    "same": "no change",
    "cannot tell": "inconclusive",
}
_COLORS = {"degradation": "red", "optimization": "green", "cannot tell": "yellow"}


class Line(NamedTuple):
    """A line of the summary, with the name of its colour in pytest."""

    text: str
    color: str = ""


def lines(result: SessionResult, columns: int) -> Iterator[Line]:
    """The summary, for a terminal of so many columns."""
    if result.profile is not None:
        yield from _table(result, result.profile, min(columns, _WIDTH))
        yield from _notes(result, result.profile)
    for message in result.messages:
        yield from _wrapped(message, "yellow")


def _table(result: SessionResult, profile: Profile, columns: int) -> Iterator[Line]:
    changes = {change.resource: change for change in result.check.changes if change.primary} if result.check else {}
    rows: list[tuple[str, ...]] = [("test", "metric", "median", "baseline", "change", "judgement")]
    colors = ["bold"]
    reasons: dict[str, list[Change]] = {}
    for name, part in sorted(benchmarks.split(profile).items()):
        change = changes.get(name)
        rows.append((printable(name), *(_of_change(change) if change is not None else _of_profile(part))))
        colors.append(_COLORS.get(change.kind, "") if change is not None else "")
        if change is not None and change.kind == "cannot tell":
            reasons.setdefault(_reason(change), []).append(change)
    room = columns - max(map(width, align([row[1:] for row in rows], right=(1, 2, 3)))) - 2
    short = [(_shortened(row[0], max(room, _SHORTEST_NAME)), *row[1:]) for row in rows]
    for text, color in zip(align(short, right=_NUMBERS), colors, strict=True):
        yield Line(text, color)
    for reason, doubtful in sorted(reasons.items()):
        yield from _wrapped(f"inconclusive: {reason} ({plural(len(doubtful), 'test')})", "yellow")
    baselines = {change.baseline for doubtful in reasons.values() for change in doubtful}
    if len(baselines) == 1 and result.check is not None and not profile.dirty:
        yield from _wrapped(f"interleaved runs tell more: {_COLLECT.format(min(baselines))}", "yellow")


def _reason(change: Change) -> str:
    """In a few words, in which a run is a process. How many more would tell differs from test to test."""
    reason = (change.reason or change.evidence).partition(":")[0]
    return reason.replace(" runs", " processes").replace(" run", " process")


def _of_change(change: Change) -> tuple[str, ...]:
    ratio = "" if change.ratio is None else percent(change.ratio)
    medians = (quantity(change.target_value, change.unit), quantity(change.baseline_value, change.unit))
    return (printable(change.metric), *medians, ratio, _JUDGEMENTS.get(change.kind, change.kind))


def _of_profile(part: Profile) -> tuple[str, ...]:
    from perfcore.measure.collect_result import summarize

    summaries = {summary.metric: summary for summary in summarize(part)}
    metric = primary(name for name in summaries if name != RELATIVE) or ""  # which only tells beside another one
    return metric, quantity(summaries[metric].median, summaries[metric].unit), "-", "", "no baseline"


def _shortened(name: str, columns: int) -> str:
    """The end of a name that is too long: the path is what can be left out."""
    return name if len(name) <= columns else "…" + clip(name[::-1], columns)[::-1].removeprefix("…")


def _notes(result: SessionResult, profile: Profile) -> Iterator[Line]:
    for note in profile.notes:
        yield from _wrapped(f"note: {note}", "")
    for missing in result.check.unpaired if result.check is not None else ():
        yield from _wrapped(_without_baseline(missing), "")
    if result.saved is not None:
        state = "of uncommitted changes, which cannot be registered" if profile.dirty else ""
        yield from _wrapped(f"pending profile: {result.saved.name} {state}".rstrip(), "")
        if not profile.dirty:
            yield Line(f"register it with its version: perf add {result.saved.name}")


def _without_baseline(missing: Unpaired) -> str:
    name = printable(missing.benchmark)
    return f"no baseline for {name}: {missing.reason}" if name else f"no baseline: {missing.reason}"


def _wrapped(text: str, color: str) -> Iterator[Line]:
    for row in textwrap.wrap(printable(text), _WIDTH, subsequent_indent="  "):
        yield Line(row, color)
