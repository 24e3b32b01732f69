"""The first sentence of each page, which answers its question, and other words that pages share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfcore_view_kit.form import shown

from perfcore.analysis import verdict_text
from perfcore.model import Change
from perfcore.text import percent, plural, quantity
from perfcore_site_kit.branch import SeriesRow
from perfcore_site_kit.data import BETTER, WORSE, Changes, ListedChange, Overview, SeriesState

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
        return "Nothing was measured on this branch yet."
    counts, total = page.counts, len(page.primary)
    slower = [state for state in page.primary if state.status == "slower"]
    if slower:
        last = min(slower, key=lambda state: float("inf") if state.since is None else state.since)
        size = size_of(last.change) if last.change is not None else ""
        since = f" since {shown(last.change.target)}" if last.change is not None else ""
        newest = f", the newest {shown(last.row.name, _MOST)} {size}{since}".replace("  ", " ")
        return f"Yes: {counts['slower']} of {plural(total, 'benchmark')} {_be(counts['slower'])} slower{newest}."
    if counts["not measured"] == total:
        return f"That is not known: none of {plural(total, 'benchmark')} was measured at {page.newest.id[:10]}."
    if counts["inconclusive"] == total:
        return f"That cannot be told yet: {plural(total, 'benchmark')} with too few versions or runs."
    faster = f", and {counts['faster']} {_be(counts['faster'])} faster" if counts["faster"] else ""
    undecided = counts["inconclusive"] + counts["not measured"]
    caution = f"; {undecided} cannot be told" if undecided else ""
    return f"No: none of {plural(total, 'benchmark')} is slower{faster}{caution}."


def changes(page: Changes) -> str:
    """Since when?"""
    versions = plural(page.versions, "version")
    if not page.total:
        return f"No change was reported in {versions}."
    standing = (
        f"{plural(page.standing, 'regression')} {_stand(page.standing)}" if page.standing else "No regression stands"
    )
    return f"{standing}, of {plural(page.total, 'change')} in {versions}."


def series(state: SeriesState) -> str:
    """Since when is it slower?"""
    row, change = state.row, state.change
    now = (
        f"it takes {quantity(row.median, shown(row.unit, 16))} now"
        if row.unit in ("s", "ns")
        else (f"it is {quantity(row.median, shown(row.unit, 16))} now")
    )
    if row.median is None:
        return "It was not measured yet."
    if state.status == "not measured":
        return f"It was last measured {plural(state.behind, 'version')} ago; then {now.replace(' now', '')}."
    if change is None:
        reason = "its history is too short to tell" if row.is_short else f"no change in {plural(row.points, 'version')}"
        return f"{'Not known' if row.is_short else 'No'}: {reason}; {now}."
    answer = {"slower": "Yes", "faster": "No"}.get(state.status, "No")
    accepted = ", which was accepted" if state.accepted else ""
    return f"{answer}: {verdict_text.word(change)} {size_of(change)} since {shown(change.target)}{accepted}; {now}."


def group(listed: Sequence[ListedChange]) -> str:
    """The changes of one range of versions in a few words."""
    worse = sum(item.change.kind in WORSE for item in listed)
    better = sum(item.change.kind in BETTER for item in listed)
    others = len(listed) - worse - better
    counts = ((worse, "slower"), (better, "faster"), (others, "other"))
    return ", ".join(f"{count} {name}" for count, name in counts if count)


def size_of(change: Change | None) -> str:
    """`+4.2 %`, empty where a change has no size that readers expect."""
    if change is None or change.ratio is None or change.kind == "variance":
        return ""
    return percent(change.ratio)


def interval(change: Change | None) -> str:
    if change is None or change.low is None or change.high is None or change.kind == "variance":
        return ""
    return f"{percent(change.low)} to {percent(change.high)}"


def status_of(listed: ListedChange) -> str:
    """What became of a change."""
    if listed.accepted:
        return f"accepted: {listed.accepted}"
    if listed.change.undone:
        return f"reverted by {listed.change.undone[:10]}"
    return "stands" if listed.stands else ""


def title(row: SeriesRow) -> str:
    """`cpu of ./gzip`; of a benchmark `parse: cpu`."""
    return f"{row.resource}: {row.metric}" if row.resource else f"{row.metric} of {row.command}"


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def _stand(count: int) -> str:
    return "stands" if count == 1 else "stand"
