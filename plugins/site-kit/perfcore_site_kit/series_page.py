"""One series: its chart, its changes, and every version of its newest range."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from msgspec.structs import replace
from perfcore_view_kit import machines
from perfcore_view_kit.chart import ChartData, ChartOptions, Line, Mark, Rule
from perfcore_view_kit.form import quantity, shown
from perfcore_view_kit.history_chart import change_text, is_undecided_step

from perfcore.analysis import verdict_text
from perfcore.errors import NotFoundError
from perfcore.model import RELATIVE
from perfcore.text import plural
from perfcore_site_kit import data, levels, paths, sentences
from perfcore_site_kit.branch import RANGE, range_path
from perfcore_site_kit.change_list import change_row
from perfcore_site_kit.derive import ranges

if TYPE_CHECKING:
    from perfcore.model import Change
    from perfcore_site_kit.branch import Branch, SeriesRow
    from perfcore_site_kit.levels import Level
    from perfcore_site_kit.renderer import View

BUCKETS = 1000
"""Most buckets of a chart: as many as a screen has pixels for it."""
_OVERVIEW, _RANGE = "history", "range"


def series_page(view: View) -> Mapping[str, Any]:
    at = _index(view, view.path.parts)
    row = view.branch.series[at]
    state = data.state_of(view.branch, row)
    last = ranges(row) - 1
    return {
        "row": row,
        "state": state,
        "heading": sentences.title(row),
        "answer": sentences.series(state),
        "whole": _whole_chart(view, at) if last else None,
        "chart": _range_chart(view, at, last),
        "facts": _facts(view.branch, state),
        "ranges": _range_links(view, row, last) if last else [],
        "changes": _changes(view, row),
        "command": _command(view.branch, row),
    }


def range_page(view: View) -> Mapping[str, Any]:
    text, *parts = view.path.parts or ("",)
    at = _index(view, tuple(parts))
    row = view.branch.series[at]
    index = int(text) - 1 if paths.is_number(text) else -1
    if not 0 <= index < ranges(row) - 1:  # the page of the series has the newest
        raise NotFoundError("there is no such range")
    positions = view.site.stored_points(at, index).positions
    names = [view.branch.versions[position].id[:10] for position in positions]
    within = [change for change in row.changes if change.target in names]
    return {
        "row": row,
        "heading": f"{sentences.title(row)}, {names[0]} to {names[-1]}",
        "answer": f"{plural(len(within), 'change') if within else 'No change'} in {plural(len(names), 'version')}.",
        "chart": _range_chart(view, at, index),
        "ranges": _range_links(view, row, index),
        "series": view.link(row.path),
    }


def _index(view: View, parts: tuple[str, ...]) -> int:
    at = view.branch.by_parts.get(parts)
    if at is None:
        raise NotFoundError("there is no such series")
    return at


def _range_chart(view: View, at: int, index: int) -> Markup:
    """Every version of a range, with its runs."""
    return view.figure(_range_data(view, at, index), ChartOptions(id=_RANGE, height=320))


def _range_data(view: View, at: int, index: int) -> ChartData:
    points = view.site.points(at, index)
    ends = [shown(points[at].version.id[:10]) for at in (0, -1)]
    return replace(view.runs(view.branch.series[at], points), title=f"Every version from {ends[0]} to {ends[1]}")


def _whole_chart(view: View, at: int) -> Markup:
    """The whole history, in buckets."""
    branch, row = view.branch, view.branch.series[at]
    level = levels.fitting(view.site.levels(at), len(branch.versions), BUCKETS)
    if level is None:
        return Markup("")
    return view.figure(whole_chart(branch, row, level), ChartOptions(id=_OVERVIEW, height=220))


def whole_chart(branch: Branch, row: SeriesRow, level: Level) -> ChartData:
    """A level as a chart: the mean of each bucket, with the least and the greatest of it as a band."""
    band = f"The line is the mean of {level.size} medians; the band is from the least to the greatest of them."
    firsts = [branch.versions[index * level.size] for index in range(len(level.mean))]
    ends = [min((index + 1) * level.size, len(branch.versions)) for index in range(len(firsts))]
    lasts = [branch.versions[end - 1] for end in ends]
    return ChartData(
        title="The whole history",
        finding=f"{plural(row.measured, 'version')} in groups of {level.size}.",
        unit=shown(row.unit, 16),
        axis=f"groups of {level.size} versions",
        labels=[shown(version.id[:10]) for version in firsts],
        notes=[f"{first.id[:10]} to {last.id[:10]}" for first, last in zip(firsts, lasts, strict=True)],
        dates=[version.date for version in firsts],
        lines=[Line(name=shown(row.metric), values=level.mean, low=level.least, high=level.most, counts=level.counts)],
        marks=[_mark(branch, change, level) for change in row.changes if _is_marked(branch, change)],
        rules=list(_releases(branch, level)),
        band=f"{band} {machines.scale_text(len(row.environments))}" if row.takes_turns else band,
    )


def _is_marked(branch: Branch, change: Change) -> bool:
    is_shown = change.kind in data.REPORTED and change.kind != "machine"
    return (is_shown or is_undecided_step(change)) and branch.at(change) >= 0


def _mark(branch: Branch, change: Change, level: Level) -> Mark:
    first, last = data.extent(branch, change)
    return Mark(
        at=branch.at(change) // level.size,
        word=verdict_text.word(change),
        text=f"{change_text(change)}, at {shown(change.target)}",
        worse=True if change.kind in data.WORSE else False if change.kind in data.BETTER else None,
        first=first // level.size,
        last=last // level.size,
        accepted=shown(branch.accepted.get(change.id, "")),
        decided=shown(branch.decided.get(change.id, "")),
    )


def _releases(branch: Branch, level: Level) -> list[Rule]:
    """The releases; where a bucket has several, the newest."""
    by_bucket: dict[int, str] = {}
    for version, tags in branch.releases.items():
        position = branch.position.get(version)
        if position is not None and tags:
            by_bucket[position // level.size] = tags[-1]
    return [Rule(at=at, kind="release", text=shown(tag, 40)) for at, tag in sorted(by_bucket.items())]


def _facts(branch: Branch, state: data.SeriesState) -> list[tuple[str, str]]:
    row = state.row
    measured = f"{row.measured:,} of {len(branch.versions) - row.first:,} versions"
    # It has no unit, and is the number that the overview of a suite shows.
    meaning = ": CPU time as a multiple of that of a fixed loop" if row.metric == RELATIVE else ""
    facts = [
        ("Command", row.command),
        ("Collector", row.collector),
        ("Metric", f"{row.metric}{meaning}, {'lower' if row.better == 'lower' else 'higher'} is better"),
        ("Now", f"{quantity(row.median, shown(row.unit, 16))}, the median of {plural(row.runs, 'run')}"),
        ("Measured", measured),
        ("Noise", _noise(row)),
        ("Environments", plural(len(row.environments), "environment")),
    ]
    return [(word, text) for word, text in facts if text]


def _noise(row: SeriesRow) -> str:
    texts = []
    if row.noise is not None:
        texts.append(f"{sentences.share(row.noise)} from version to version")
    if row.spread is not None:
        texts.append(f"{sentences.share(row.spread)} from run to run")
    return ", ".join(texts)


def _range_links(view: View, row: SeriesRow, current: int) -> list[tuple[str, str, bool]]:
    """(text, address, whether it is the one that is shown) of each range, the newest first. That one grows, and the
    page of the series shows it; pages of the others stay as they are."""
    newest = ranges(row) - 1
    links = [(f"{newest * RANGE + 1:,} and later", view.link(row.path), current == newest)]
    for index in reversed(range(newest)):
        text = f"{index * RANGE + 1:,} to {(index + 1) * RANGE:,}"
        links.append((text, view.link(range_path(row, index)), index == current))
    return links


def _changes(view: View, row: SeriesRow) -> Sequence[Mapping[str, Any]]:
    branch = view.branch
    at = branch.by_parts[row.parts]
    reported = [change for change in reversed(row.changes) if change.kind in data.REPORTED or is_undecided_step(change)]
    return [change_row(view, data.listed_change(branch, at, change)) for change in reported]


def _command(branch: Branch, row: SeriesRow) -> str:
    """What draws the series in a terminal, and no series of another command."""
    words = ["perf", "history", row.resource or row.metric]
    if any(other.command != row.command for other in branch.series):
        words += ["--command", glob.escape(row.command)]
    return shlex.join(words)
