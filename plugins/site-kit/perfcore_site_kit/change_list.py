"""The list of changes, grouped by the versions that they may have come with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perfcore.errors import NotFoundError
from perfcore.model.record import replace
from perfcore.text import plural
from perfcore_site_kit import data, paths, sentences
from perfcore_site_kit.branch import version_path
from perfcore_site_kit.paths import PagePath

if TYPE_CHECKING:
    from perfcore.model import Change
    from perfcore_site_kit.data import ListedChange
    from perfcore_site_kit.renderer import View

_SERIES = 40  # of one group


def changes_page(view: View) -> Mapping[str, Any]:
    page_number = _number(view.path)
    page = data.changes(view.branch, page_number)
    if not 1 <= page_number <= page.pages:
        raise NotFoundError("there is no such page of changes")
    groups = [
        {
            "group": group,
            "words": sentences.group(group.changes),
            "rows": [change_row(view, *alike) for alike in listed[:_SERIES]],
            "rest": sum(map(len, listed[_SERIES:])),
            "link": _version_link(view, group),
        }
        for group in page.groups
        for listed in [once_for_a_machine(group.changes)]
    ]
    return {
        "page": page,
        "heading": "Changes: since when?",
        "answer": sentences.changes(page),
        "groups": groups,
        "newer": view.link(_list(page_number - 1)) if page_number > 1 else "",
        "older": view.link(_list(page_number + 1)) if page_number < page.pages else "",
    }


def once_for_a_machine(changes: Sequence[ListedChange]) -> list[list[ListedChange]]:
    """The changes by the rows that list them: each its own, but those of a machine share one for all series of a metric
    that it measures."""
    listed: dict[object, list[ListedChange]] = {}
    for at, item in enumerate(changes):
        change = item.change
        listed.setdefault((change.environments, change.metric) if change.kind == "machine" else at, []).append(item)
    return list(listed.values())


def change_row(view: View, item: ListedChange, *alike: ListedChange) -> Mapping[str, Any]:
    """What a row of a table says of a change, or of several: how many they are, and what all of them have in common.
    Its reasons are those of the first."""
    change, listed = item.change, (item, *alike)
    noun = "benchmark" if item.row.resource else "command"
    return {
        "change": change,
        "side": "worse" if change.kind in data.WORSE else "better" if change.kind in data.BETTER else "other",
        "sign": "▲" if change.kind in data.WORSE else "▼" if change.kind in data.BETTER else "◆",
        "title": f"{change.metric} of {plural(len(listed), noun)}" if alike else sentences.title(item.row),
        "series": "" if alike else view.link(item.row.path),
        "link": view.link(PagePath(paths.CHANGE, (paths.part(change.id),))) if change.kind in data.REPORTED else "",
        "size": _common(sentences.size_of(one.change) for one in listed),
        "interval": sentences.interval(_spanning([one.change for one in listed])),
        "state": _common(map(sentences.status_of, listed)),
        "settled": all(one.accepted or one.change.undone for one in listed),
    }


def _common(texts: Iterable[str]) -> str:
    """The text that all are; empty where they differ."""
    first, *others = set(texts)
    return "" if others else first


def _spanning(changes: Sequence[Change]) -> Change:
    """The first of some changes, with the interval that holds those of all."""
    lows = [change.low for change in changes if change.low is not None]
    highs = [change.high for change in changes if change.high is not None]
    return replace(changes[0], low=min(lows, default=None), high=max(highs, default=None))


def _version_link(view: View, group: data.ChangeGroup) -> str:
    return view.link(version_path(group.target)) if group.target is not None else ""


def _list(page_number: int) -> PagePath:
    return PagePath(paths.CHANGES, (str(page_number),) if page_number > 1 else ())


def _number(path: PagePath) -> int:
    """The page_number of a page of the list; 0 for what is none."""
    if not path.parts:
        return 1
    text = path.parts[0]
    return int(text) if len(path.parts) == 1 and text != "1" and paths.is_number(text) else 0
