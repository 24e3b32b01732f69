"""The list of changes, grouped by the versions that they may have come with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perfcore.errors import NotFoundError
from perfcore_site_kit import data, paths, sentences
from perfcore_site_kit.branch import version_path
from perfcore_site_kit.paths import PagePath

if TYPE_CHECKING:
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
            "rows": [change_row(view, item) for item in listed],
            "rest": len(group.changes) - len(listed),
            "link": _version_link(view, group),
        }
        for group in page.groups
        for listed in [once_for_a_machine(group.changes)[:_SERIES]]
    ]
    return {
        "page": page,
        "heading": "Changes: since when?",
        "answer": sentences.changes(page),
        "groups": groups,
        "newer": view.link(_list(page_number - 1)) if page_number > 1 else "",
        "older": view.link(_list(page_number + 1)) if page_number < page.pages else "",
    }


def once_for_a_machine(changes: Sequence[ListedChange]) -> list[ListedChange]:
    """The changes, but of those of a machine one for all series of a metric that it measures."""
    listed: dict[object, ListedChange] = {}
    for at, item in enumerate(changes):
        change = item.change
        listed.setdefault((change.environments, change.metric) if change.kind == "machine" else at, item)
    return list(listed.values())


def change_row(view: View, item: ListedChange) -> Mapping[str, Any]:
    """What a row of a table says of a change."""
    change = item.change
    return {
        "change": change,
        "side": "worse" if change.kind in data.WORSE else "better" if change.kind in data.BETTER else "other",
        "sign": "▲" if change.kind in data.WORSE else "▼" if change.kind in data.BETTER else "◆",
        "title": sentences.title(item.row),
        "series": view.link(item.row.path),
        "link": view.link(PagePath(paths.CHANGE, (paths.part(change.id),))) if change.kind in data.REPORTED else "",
        "size": sentences.size_of(change),
        "interval": sentences.interval(change),
        "state": sentences.status_of(item),
        "settled": bool(item.accepted or change.undone),
    }


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
