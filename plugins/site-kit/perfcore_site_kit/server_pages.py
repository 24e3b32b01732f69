"""Pages that only a server has: a search, what is measured now, the contracts and the plugins."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from markupsafe import Markup
from perfcore_view_kit.form import quantity, shown
from perfcore_view_kit.table import Cell, table

from perfcore.analysis import verdict_text
from perfcore.analysis.stored_results import Results
from perfcore.errors import NotFoundError, PerfError
from perfcore.hookspecs import KINDS
from perfcore.text import plural
from perfcore_site_kit import running, sentences
from perfcore_site_kit.branch import version_path
from perfcore_site_kit.paths import PagePath

if TYPE_CHECKING:
    from perfcore_site_kit.renderer import View

_HITS = 50  # of each kind
_LOOKED = 50  # newest versions that are asked for a verdict on contracts


class Hit(msgspec.Struct, frozen=True):
    """A page that a search finds: its kind, what it is called, and where."""

    kind: str
    text: str
    link: str


def search_page(view: View) -> Mapping[str, Any]:
    text = _query(view.path)
    hits = list(_hits(view, text)) if text else []
    count = plural(len(hits), "page") if len(hits) < _HITS else f"the first {len(hits)} pages"
    if text:
        answer = f"{'Nothing' if not hits else count} for “{shown(text, 80)}”."
    else:
        answer = "Name a benchmark, a command, a metric, a release or a version."
    return {"heading": "Search", "answer": answer, "hits": hits, "text": text}


def _query(path: PagePath) -> str:
    if not path.parts:
        return ""
    try:
        return bytes.fromhex(path.parts[0]).decode() if len(path.parts) == 1 else ""
    except ValueError:
        raise NotFoundError("there is no such search") from None


def _hits(view: View, text: str) -> Iterator[Hit]:
    """Series, releases and versions with all words of a text, each kind with its first few."""
    words = text.lower().split()
    branch = view.branch
    series = (
        Hit("series", sentences.title(row), view.link(row.path))
        for row in sorted(branch.series, key=lambda row: not row.decides)
        if all(word in f"{row.resource} {row.command} {row.metric}".lower() for word in words)
    )
    releases = (
        Hit("release", ", ".join(tags), view.link(version_path(branch.versions[branch.position[version]])))
        for version, tags in branch.releases.items()
        if version in branch.position and any(all(word in tag.lower() for word in words) for tag in tags)
    )
    versions = (
        Hit("version", f"{version.id[:10]} {version.subject}", view.link(version_path(version)))
        for version in reversed(branch.versions)
        if all(version.id.startswith(word) or word in version.subject.lower() for word in words)
    )
    for hits in (series, releases, versions):
        yield from itertools.islice(hits, _HITS)


def live_page(view: View) -> Mapping[str, Any]:
    rows = running.running(view.site.repository)
    incomplete = sum(not row.is_complete for row in rows)
    if not rows:
        answer = "Nothing is measured now, and nothing waits to be registered."
    else:
        verb = "is" if incomplete < 2 else "are"
        answer = f"{incomplete or 'None'} of {plural(len(rows), 'pending profile')} {verb} incomplete."
    return {"heading": "What is measured now?", "answer": answer, "rows": rows, "events": f"{view.root}events"}


def contracts_page(view: View) -> Mapping[str, Any]:
    """The verdicts that the last check stored; nothing is checked for a page."""
    repository = view.site.repository
    results = Results(repository.store, repository.vcs_name)
    for version in itertools.islice(reversed(view.branch.versions), _LOOKED):
        try:
            verdicts = [change for result in results.of(version.id) for change in result.changes if change.contract]
        except PerfError:
            continue
        if verdicts:
            verdicts.sort(key=lambda change: (change.kind == "same", change.contract))
            broken = sum(change.kind == "degradation" for change in verdicts)
            answer = (
                f"{plural(broken, 'contract')} of {len(verdicts)} broken at {version.id[:10]}."
                if broken
                else f"All of {plural(len(verdicts), 'contract')} are kept at {version.id[:10]}."
            )
            head = ("Contract", "Verdict", "Allowed", "Measured", "Why")
            rows: list[list[str | Cell]] = [
                [
                    shown(change.contract, 160),
                    verdict_text.word(change),
                    Cell(quantity(change.baseline_value, shown(change.unit, 16)), change.baseline_value),
                    Cell(quantity(change.target_value, shown(change.unit, 16)), change.target_value),
                    shown(change.reason or change.evidence),
                ]
                for change in verdicts
            ]
            drawn = Markup(table("Verdicts", head, rows, left=(1, 4), sortable=True))
            return {"heading": "Are contracts kept?", "answer": answer, "table": drawn}
    answer = "No verdict on a contract is stored: perf check --store writes it, where .perfcontract.yml has contracts."
    return {"heading": "Are contracts kept?", "answer": answer, "table": None}


def plugins_page(view: View) -> Mapping[str, Any]:
    plugins = view.site.repository.plugins
    rows: list[list[str | Cell]] = [
        [
            shown(info.name),
            kind,
            shown(info.distribution),
            shown(info.version),
            "disabled" if plugins.is_disabled(info) else "",
        ]
        for kind in sorted(KINDS)
        for info in plugins.infos(kind)
    ]
    head = ("Plugin", "Kind", "Distribution", "Version", "State")
    count = len({row[2] for row in rows})
    return {
        "heading": "Plugins",
        "answer": f"{plural(len(rows), 'plugin')} of {plural(count, 'distribution')} are installed.",
        "table": Markup(table("Installed plugins", head, rows, left=(1, 2, 3, 4), sortable=True)),
    }
