"""The feed of regressions, in the Atom format (RFC 4287)."""

from __future__ import annotations

import datetime
import re
import uuid
from collections import Counter
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from perfcore_site_kit import data, paths, sentences
from perfcore_site_kit.paths import PagePath
from perfcore_view_kit.form import shown

from perfcore.analysis import verdict_text

if TYPE_CHECKING:
    from perfcore_site_kit.branch import SeriesRow
    from perfcore_site_kit.data import ListedChange
    from perfcore_site_kit.site import Site

    from perfcore.model import Change, MinorVersion

_ATOM = "http://www.w3.org/2005/Atom"
_ENTRIES = 100
_NO_XML = r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"  # beside those of XML 1.0, section 2.2
_SPACE = uuid.UUID("0d5b2a4e-6f7c-5a3f-9a0e-6b6a1f0c7d21")  # of our identities, drawn once
_EARLIEST, _LATEST = 0, 253_402_300_799  # seconds that a date of the feed can have: until the year 9999


def atom(site: Site, url: str, name: str) -> bytes:
    """The regressions and drifts of deciding metrics, the newest first. The identities of the feed and its entries stay
    the same; the time of an entry is that of its version, so that the same history gives the same feed."""
    branch = site.branch
    regressions = [
        data.listed_change(branch, at, change)
        for at, change in branch.changes
        if _is_regression(branch.series[at], change)
    ]
    identities = _identities(reversed(regressions))
    newest = branch.versions[-1].date if branch.versions else 0
    listed = [item for item in regressions if branch.at(item.change) >= 0]
    elements = [
        _element("title", f"{site.title}: regressions of performance"),
        _element("id", _identity("feed", url or site.title, branch.name)),
        _element("updated", _moment(newest)),
        _link("self", "application/atom+xml", f"{url}{name}"),
        _link("alternate", "text/html", f"{url}index.html"),
        _parent("author", [_element("name", site.title)]),
        _element("generator", "perfcore"),
        *(
            _entry(site, url, item, branch.versions[branch.at(item.change)], identities[item.change.id])
            for item in listed[:_ENTRIES]
        ),
    ]
    document = _parent("feed", elements, f' xmlns="{_ATOM}"')
    return f"<?xml version='1.0' encoding='utf-8'?>\n{document}\n".encode()


def _is_regression(row: SeriesRow, change: Change) -> bool:
    return row.decides and change.kind in data.WORSE


def _identities(regressions: Iterable[ListedChange]) -> dict[str, str]:
    """The identity of the entry of each regression, of which the oldest comes first, by the id of the change. That is
    of its method, and the newest version is judged by another than those before it; so a step is known by its version.
    Where a drift began is estimated anew with every version: it is known by its number among those of its series."""
    counts: Counter[tuple[str, ...]] = Counter()
    identities = {}
    for item in regressions:
        row, change = item.row, item.change
        subject = (row.config_id, row.metric, row.resource, "" if change.kind == "drift" else change.target)
        # Machines may show a step at the same version each.
        identities[change.id] = _identity("change", *subject, str(counts[subject]))
        counts[subject] += 1
    return identities


def _entry(site: Site, url: str, item: ListedChange, version: MinorVersion, identity: str) -> str:
    change = item.change
    state = sentences.status_of(item)
    suffix = f"({state})" if state and not item.stands else ""
    verdict = " ".join(filter(None, (verdict_text.word(change), sentences.size_of(change), suffix)))
    page = PagePath(paths.CHANGE, (paths.part(change.id),))
    if not site.has(page):
        page = PagePath(paths.CHANGES)
    interval = f" ({sentences.interval(change)})" if sentences.interval(change) else ""
    lines = (
        f"{sentences.size_of(change)}{interval} since {version.id[:10]} {version.subject}".strip(),
        f"State: {state}." if state else "",
        change.evidence,
    )
    # Readers join the lines of plain text.
    summary = "<br>".join(escape(shown(line, 1000)) for line in lines if line)
    elements = [
        _element("title", f"{sentences.title(item.row)}: {verdict}"),
        _element("id", identity),
        _element("updated", _moment(version.date)),
        _link("alternate", "text/html", f"{url}{page.file}"),
        f'<summary type="html">{_xml(summary)}</summary>',
    ]
    return _parent("entry", elements)


def _parent(name: str, elements: Iterable[str], attributes: str = "") -> str:
    """An element with others, a line each."""
    lines = "".join(f"\n{element}" for element in elements).replace("\n", "\n  ")
    return f"<{name}{attributes}>{lines}\n</{name}>"


def _element(name: str, text: str) -> str:
    return f"<{name}>{_xml(shown(text, 1000))}</{name}>"


def _link(relation: str, kind: str, address: str) -> str:
    return f'<link rel="{relation}" type="{kind}" href="{escape(address)}" />'


def _xml(text: str) -> str:
    """The text as XML, without characters that XML 1.0 cannot hold."""
    if not text.isprintable():  # which nearly every text is: nothing that is has any of them
        text = re.sub(_NO_XML, "?", text)
    return escape(text, quote=False)


def _identity(*names: str) -> str:
    return f"urn:uuid:{uuid.uuid5(_SPACE, ' '.join(names).encode('utf-8', 'backslashreplace').decode())}"


def _moment(seconds: int) -> str:
    moment = datetime.datetime.fromtimestamp(min(max(seconds, _EARLIEST), _LATEST), datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment.year > 999 else "1970-01-01T00:00:00Z"
