"""One change: the commits it may have come with, what moved with it, and what differs in the code."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from msgspec.structs import asdict, replace
from perfcore_check_kit import labels, machine_names
from perfcore_view_kit import history_chart
from perfcore_view_kit.chart import ChartOptions
from perfcore_view_kit.form import with_minus

from perfcore.errors import NotFoundError, PerfError
from perfcore.model import MinorVersion, Point
from perfcore.model.decisions import ACCEPTED, CONFIRMED, ENVIRONMENT, FALSE_ALARM, FIXED, WITHDRAWN
from perfcore_site_kit import data, decisions, paths, sentences
from perfcore_site_kit.branch import RANGE, version_path
from perfcore_site_kit.change_list import change_row
from perfcore_site_kit.derive import ranges
from perfcore_site_kit.paths import PagePath
from perfcore_site_kit.stacked import configurations

if TYPE_CHECKING:
    from perfcore.model import Change
    from perfcore.model.decisions import Decision
    from perfcore_site_kit.branch import SeriesRow
    from perfcore_site_kit.renderer import View

STATES = (CONFIRMED, ACCEPTED, FIXED, FALSE_ALARM, ENVIRONMENT, WITHDRAWN)
_COMMITS = 60
_COMPANIONS = 40
_AROUND = 60  # points before and after the change in its chart


def change_page(view: View) -> Mapping[str, Any]:
    branch = view.branch
    listed = branch.by_change.get(view.path.parts[0]) if len(view.path.parts) == 1 else None
    if listed is None:
        raise NotFoundError("there is no such change on this branch")
    at, change = listed
    row = branch.series[at]
    begin, end = data.extent(branch, change)
    before = branch.versions[begin - 1] if begin > 0 else None
    commits = data.chain(branch, change, begin, end)[: _COMMITS + 1] or _commits(view, change, before)
    moved = data.companions(branch, change)
    item = data.listed_change(branch, at, change)
    version = branch.versions[branch.at(change)] if branch.at(change) >= 0 else None
    after = branch.versions[end] if end >= 0 else None
    return {
        "change": change,
        "row": row,
        "item": item,
        "heading": f"{sentences.title(row)} at {change.target}",
        "answer": sentences.change(item, version, commits),
        "facts": _facts(view, change, item),
        "commits": [{"version": commit, "link": _version_link(view, commit)} for commit in commits[:_COMMITS]],
        "is_cut": len(commits) > _COMMITS,
        "moved": [change_row(view, companion) for companion in moved[:_COMPANIONS]],
        "more": max(0, len(moved) - _COMPANIONS),
        "chart": _chart(view, at, change),
        "series": view.link(row.path),
        "code": _code(view, before, after, row.config_id),
        "compare": _compare(view, before, after),
        "command": _command(view, row, before, change, len(commits)),
        "log": [_log_entry(decision) for decision in decisions.log(view.site.repository, change)],
        "triage": _form(view, change) if view.mode.writable else None,
    }


def _commits(view: View, change: Change, before: MinorVersion | None) -> list[MinorVersion]:
    """The versions that it may have come with, measured or not, newest first: one more than a page lists, if there are
    more. As far as the VCS knows them."""
    latest = change.latest or change.target
    vcs = view.site.repository.vcs
    newest = getattr(vcs, "newest_minor_versions", None)
    try:
        walk = vcs.walk_minor_versions(latest) if newest is None else newest(latest, _COMMITS + 2)
        ancestors = () if before is None else {before.id}
        return list(
            itertools.islice(itertools.takewhile(lambda version: version.id not in ancestors, walk), _COMMITS + 1)
        )
    except PerfError:
        return []


def _chart(view: View, at: int, change: Change) -> Markup | None:
    """The series around the change."""
    branch, row = view.branch, view.branch.series[at]
    position = branch.at(change)
    if position < 0:
        return None
    points: list[Point] = []
    for index in range(ranges(row)):
        stored = view.site.points(at, index)
        if stored and branch.position[stored[-1].version.id] >= position - RANGE // 2:
            points += stored
        if stored and branch.position[stored[-1].version.id] >= position + _AROUND:
            break
    middle = next((at for at, point in enumerate(points) if branch.position[point.version.id] >= position), 0)
    drawn = view.runs(row, points[max(0, middle - _AROUND) : middle + _AROUND + 1])
    return view.figure(replace(drawn, title="Around the change"), ChartOptions(id="around", height=240))


def _facts(view: View, change: Change, item: data.ListedChange) -> list[tuple[str, str]]:
    if change.environments:
        versions = {version.id[:10]: version.id for version in view.branch.versions}
        (change,) = machine_names.in_changes(view.site.repository, [change], versions)
    level = f" at {100 * change.confidence:.3g} %" if change.confidence else ""
    facts = [
        ("Size", sentences.size_of(change)),
        ("Interval", f"{sentences.interval(change)}{level}" if sentences.interval(change) else ""),
        ("Levels", history_chart.levels_of(change)),
        ("State", sentences.status_of(item)),
        ("Evidence", with_minus(change.evidence)),
        ("Reason", change.reason),
        ("Id", change.id),
    ]
    return [(name, text) for name, text in facts if text]


def _form(view: View, change: Change) -> Mapping[str, Any]:
    """The form by which people decide, with what was sent where it could not be written."""
    return {"token": view.mode.token, "change": change.id, "states": STATES, **asdict(view.draft)}


def _log_entry(decision: Decision) -> Mapping[str, str]:
    ends = [
        f"until {decision.until_date}" if decision.until_date else "",
        f"until {decision.until_version[:10]}" if decision.until_version else "",
        f"up to {100 * decision.limit:.3g} %" if decision.limit is not None else "",
        f"in {decision.fixed_in[:10]}" if decision.fixed_in else "",
    ]
    return {
        "day": sentences.day(decision.time // 10**9),
        "author": decision.author,
        "state": " ".join(filter(None, ["withdrawn" if decision.withdrawn else decision.state, *ends])),
        "why": decision.why,
    }


def _version_link(view: View, version: MinorVersion) -> str:
    return view.link(version_path(version)) if version.id in view.branch.position else ""


def _code(view: View, before: MinorVersion | None, after: MinorVersion | None, config_id: str) -> Any:
    """The functions that changed most, where both versions have profiles with call stacks: of the same configuration,
    or else of any."""
    if before is None or after is None:
        return None
    try:
        entries = configurations(view.site.repository, before.id, after.id)
    except PerfError:
        return None
    links = []
    for entry in sorted(entries, key=lambda entry: entry.config_id != config_id):
        path = PagePath(paths.DIFF, (paths.pair(before.id, after.id), paths.part(entry.config_id)))
        if link := view.link(path):
            links.append((entry.label or entry.name, entry.collector, link))
    return {"links": links} if links else None


def _compare(view: View, before: MinorVersion | None, after: MinorVersion | None) -> str:
    if before is None or after is None:
        return ""
    return view.link(PagePath(paths.COMPARE, (paths.pair(before.id, after.id),)))


def _command(view: View, row: SeriesRow, before: MinorVersion | None, change: Change, commits: int) -> str:
    """The command that narrows the range, or that measures both versions again where the range is one version. Empty
    for what no collector here measures, as for imported results."""
    if before is None or row.collector not in view.site.repository.plugins.names("collector"):
        return ""
    verb = "bisect" if commits > 1 else "compare"
    options = [] if row.primary else ["--metric", row.metric]
    if verb == "bisect" and row.resource and row.resource.isprintable():
        options += ["--benchmark", row.resource]
    latest = (change.latest or change.target)[:10]
    return f"perf {verb} {before.id[:10]} {shlex.quote(latest)} {labels.arguments(row.command, row.collector, options)}"
