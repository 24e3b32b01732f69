"""The first sentence of each page, which answers its question, and other words that pages share."""

from __future__ import annotations

import datetime
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from perfcore_view_kit import history_chart
from perfcore_view_kit.form import percent, quantity, shown, signed

from perfcore.analysis import verdict_text
from perfcore.model import Change, MinorVersion
from perfcore.model.decisions import SILENT
from perfcore.text import plural
from perfcore_site_kit.branch import SeriesRow
from perfcore_site_kit.data import BETTER, WORSE, Changes, ListedChange, Overview, SeriesState

if TYPE_CHECKING:
    from perfcore_site_kit.code import CodeDifference
    from perfcore_site_kit.comparisons import Comparison

SIGNS: Mapping[str, str] = {
    "slower": "▲",
    "faster": "▼",
    "same": "=",
    "inconclusive": "?",
    "not measured": "○",
}
_MOST = 40  # characters of a name within a sentence


def overview(page: Overview) -> str:
    """Is it slower?"""
    if page.newest is None:
        return "Nothing that can be compared was measured on this branch yet."
    counts, total = page.counts, len(page.deciding)
    # A benchmark with several metrics that decide has a series of each.
    kind = "benchmark" if all(state.row.primary for state in page.deciding) else "series"
    slower = [state for state in page.deciding if state.status == "slower"]
    if slower:
        last = min(slower, key=lambda state: float("inf") if state.since is None else state.since)
        size = size_of(last.change) if last.change is not None else ""
        since = f" since {shown(last.change.target)}" if last.change is not None else ""
        which = ": " if counts["slower"] == 1 else ", the newest "
        newest = f"{which}{shown(last.row.deciding_name, _MOST)} {size}{since}".replace("  ", " ")
        return f"Yes: {counts['slower']} of {_counted(total, kind)} {_be(counts['slower'])} slower{newest}."
    if counts["not measured"] == total:
        return f"That is not known: {_none(total, 'was', 'measured', kind)} at {page.newest.id[:10]}."
    if counts["inconclusive"] + counts["not measured"] == total:
        reasons = dict.fromkeys(shown(state.reason) for state in page.deciding if state.status == "inconclusive")
        others = f"; {plural(count, 'other')} {_was(count)} not measured" if (count := counts["not measured"]) else ""
        untold = _counted(counts["inconclusive"], kind)
        return f"That cannot be told yet of {untold}: {', or '.join(reasons)}{others}."
    faster = f", and {counts['faster']} {_be(counts['faster'])} faster" if counts["faster"] else ""
    undecided = counts["inconclusive"] + counts["not measured"]
    caution = f"; {undecided} cannot be told" if undecided else ""
    return f"No: {_none(total, 'is', 'slower', kind)}{faster}{caution}."


def changes(page: Changes) -> str:
    """Since when?"""
    versions = plural(page.versions, "version")
    if not page.of_code:
        return f"No change {'of the code ' if page.groups else ''}was reported in {versions}."
    count, others = f"of {plural(page.of_code, 'change')} in {versions}", page.standing_others
    if not page.standing and others:
        verb = "does" if others == 1 else "do"
        return f"No regression of a metric that decides stands, but {others} of other metrics {verb}, {count}."
    if not page.standing:
        return f"No regression stands, {count}."
    of_others = f" Of other metrics, {others} more {_stand(others)}." if others else ""
    return f"{plural(page.standing, 'regression')} {_stand(page.standing)}, {count}.{of_others}"


def series(state: SeriesState) -> str:
    """Since when is it slower?"""
    row, change = state.row, state.change
    if row.median is None:
        return "It was not measured yet."
    is_time, amount = row.unit in ("s", "ns"), quantity(row.median, shown(row.unit, 16))
    if state.status == "not measured":
        verb = "took" if is_time else "was"
        return f"It was last measured {plural(state.behind, 'version')} ago, and {verb} {amount} then."
    current = f"it {'takes' if is_time else 'is'} {amount} now"
    if state.status == "inconclusive" and state.reason and not row.is_short:
        size = size_of(state.undecided)
        step = f"{size} since {shown(state.undecided.target)}, " if state.undecided is not None and size else ""
        return f"Not known: {step}{shown(state.reason)}; {current}."
    if change is None:
        reason = (
            "its history is too short to tell" if row.is_short else f"no change in {plural(row.measured, 'version')}"
        )
        return f"{'Not known' if row.is_short else 'No'}: {reason}; {current}."
    answer = {"slower": "Yes", "faster": "No"}.get(state.status, "No")
    accepted = f", which is {SILENT[state.decision]}" if state.decision in SILENT else ""
    return f"{answer}: {verdict_text.word(change)} {size_of(change)} since {shown(change.target)}{accepted}; {current}."


def change(item: ListedChange, version: MinorVersion | None, commits: Sequence[MinorVersion]) -> str:
    """Since when, and why?"""
    moved = item.change
    since = f"since {shown(moved.target)}" + (f" of {day(version.date)}" if version is not None else "")
    size = f" ({size_of(moved)})" if size_of(moved) else ""
    came = ""
    if len(commits) == 1:
        came = f"; it came with this version: {shown(commits[0].subject, 60)}"
    elif commits:
        came = f"; it came with one of {len(commits)} versions"
    ending = f", {status_of(item)}" if item.accepted or moved.undone else ""
    name = item.row.name if item.row.primary else title(item.row)
    sentence = f"{shown(name, _MOST)} is {verdict_text.word(moved)}{size} {since}{ending}{came}"
    return sentence if sentence.endswith(("…", ".")) else f"{sentence}."


def version(compared: Comparison | None, own: Sequence[ListedChange], before: MinorVersion | None) -> str:
    """Is this version slower? What its history shows weighs more than a comparison with one other version."""
    worse = [item for item in own if item.change.kind in WORSE and item.row.decides]
    better = [item for item in own if item.change.kind in BETTER and item.row.decides]
    if worse:
        named = ", ".join(map(_named, worse[:3]))
        remainder = f" and {len(worse) - 3} more" if len(worse) > 3 else ""
        return f"Yes, as its history shows: {named}{remainder}."
    if better:
        return f"No: its history shows {plural(len(better), 'improvement')} here."
    if before is None:
        return "It is the first measured version, so there is nothing to compare it with."
    if compared is None:
        return "Its history shows no change here."  # which is no "No": two versions alone may differ
    return f"{counted(compared)} than the version before."


def _named(item: ListedChange) -> str:
    """`./gzip +4.2 %`, with the decision by which it fails no check."""
    decision = f" ({SILENT[item.decision]})" if item.decision in SILENT else ""
    return f"{shown(item.row.deciding_name, _MOST)} {size_of(item.change)}".strip() + decision


def comparison(compared: Comparison) -> str:
    """What differs?"""
    return f"{counted(compared)}."


def counted(compared: Comparison) -> str:
    """`2 of 20 benchmarks are slower, 1 faster, 3 inconclusive`."""
    kinds = [change.kind for change in compared.deciding]
    kind = "benchmark" if all(change.primary for change in compared.deciding) else "series"
    worse, better = (sum(kind in side for kind in kinds) for side in (WORSE, BETTER))
    undecided = kinds.count("cannot tell")
    if not kinds:
        return "Nothing was measured in both, so nothing is known to be slower"
    total = _counted(len(kinds), kind)
    if undecided == len(kinds):
        return f"It cannot be told whether {total} {_be(undecided)} slower"
    nothing = _none(len(kinds), "is", "slower", kind).capitalize()
    first = f"{worse} of {total} {_be(worse)} slower" if worse else nothing
    counts = ((better, "faster"), (undecided, "inconclusive"))
    return ", ".join([first, *(f"{count} {name}" for count, name in counts if count)])


def code(difference: CodeDifference) -> str:
    """What exactly in the code?"""
    rows = difference.result.table
    ratio = f" ({percent(rows.target / rows.baseline)})" if rows.baseline > 0 < rows.target else ""
    before, after = (quantity(amount, shown(rows.unit, 16)) for amount in (rows.baseline, rows.target))
    total = f"{shown(rows.metric, _MOST)} went from {before} to {after}{ratio}"
    if not rows.rows:
        return f"No function differs: {total}."
    first = rows.rows[0]
    own_change = first.own if first.own is not None else first.change
    size = signed(own_change, shown(rows.unit, 16))
    return f"{shown(first.name, 60)} changed most, by {size} of its own; {total}."


def trust(deciding: Sequence[SeriesRow], noisiest: SeriesRow | None, few: int, machines: int) -> str:
    """Can I trust it?"""
    if not deciding:
        return "Nothing that can be compared was measured on this branch yet."
    on = f"{plural(len(deciding), 'series', 'series')} on {plural(machines, 'environment')}"
    if noisiest is None:
        return f"That is not known yet: {on}, each with fewer than 4 versions."
    enough = f"{few} of them with too few runs for intervals of 95 %" if few else "each with enough runs for intervals"
    middle = statistics.median(row.noise for row in deciding if row.noise is not None)
    worst = f"{shown(noisiest.name, _MOST)} {share(noisiest.noise)}"
    return f"Versions differ by {share(middle)} of noise ({worst} at most): {on}, {enough}."


def waiting() -> str:
    """Why is the page not there?"""
    return "This history is compared for the first time; the page comes by itself when that is done."


def share(ratio: float | None) -> str:
    """`0.6 %`, with two digits where it is small."""
    if ratio is None:
        return "unknown"
    digits = 1 if ratio >= 0.001 or not ratio else min(9, 1 - math.floor(math.log10(100 * ratio)))
    return f"{100 * ratio:.{digits}f} %"


def group(listed: Sequence[ListedChange]) -> str:
    """The changes of one range of versions in a few words."""
    worse = sum(item.change.kind in WORSE for item in listed)
    better = sum(item.change.kind in BETTER for item in listed)
    is_time = {"worse", "better"}.isdisjoint(verdict_text.word(item.change) for item in listed)
    slower, faster = ("slower", "faster") if is_time else ("worse", "better")
    machine = sum(item.change.kind == "machine" for item in listed)
    others = len(listed) - worse - better - machine
    counts = ((worse, slower), (better, faster), (machine, "of the machine"), (others, "other"))
    return ", ".join(f"{count} {name}" for count, name in counts if count)


def size_of(change: Change | None) -> str:
    """Empty where there is no change."""
    return "" if change is None else history_chart.size_of(change)


def interval(change: Change | None) -> str:
    if change is None or change.low is None or change.high is None or change.kind == "variance":
        return ""
    return f"{percent(change.low)} to {percent(change.high)}"


def status_of(listed: ListedChange) -> str:
    """What became of a change."""
    if listed.decided:
        return listed.decided
    if listed.change.undone:
        return f"undone in {listed.change.undone[:10]}"
    return "new" if listed.stands else listed.change.reason if listed.change.kind == "cannot tell" else ""


def title(row: SeriesRow) -> str:
    """`cpu of ./gzip`; of a benchmark `parse: cpu`."""
    return f"{row.resource}: {row.metric}" if row.resource else f"{row.metric} of {row.command}"


def _counted(count: int, kind: str) -> str:
    return plural(count, kind, "series" if kind == "series" else f"{kind}s")


def _none(total: int, verb: str, state: str, kind: str) -> str:
    """`none of 3 benchmarks is slower`; `the only benchmark is not slower`."""
    if total == 1:
        return f"the only {kind} {verb} not {state}"
    return f"none of {_counted(total, kind)} {verb} {state}"


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _stand(count: int) -> str:
    return "stands" if count == 1 else "stand"


def day(seconds: int) -> str:
    """A date of the calendar in UTC; empty for one that it does not have."""
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
