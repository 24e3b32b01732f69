"""Pages as HTML: the templates of this package around the tables, charts and sparklines of perfcore-view-kit.

Every text that a template writes is made harmless for display (`perfcore.text.printable`) and escaped. A page has
relative links only, loads nothing from elsewhere and runs nothing but the script of this package: in pages of a server
it is in the page, allowed by its hash; for files it is a file beside them, so that a thousand pages have it once.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup
from perfcore_check_kit import machine_names
from perfcore_view_kit import chart
from perfcore_view_kit.form import percent, quantity, shown
from perfcore_view_kit.history_chart import history_chart
from perfcore_view_kit.page import digest

from perfcore.analysis import verdict_text
from perfcore.errors import NotFoundError
from perfcore.text import plural
from perfcore_site_kit import paths, sentences
from perfcore_site_kit.compiled import CompiledTemplates
from perfcore_site_kit.page_types import DATA, NO_DRAFT, Draft, Mode, Page
from perfcore_site_kit.pages import PAGES

if TYPE_CHECKING:
    from perfcore_view_kit.chart import ChartData, ChartOptions

    from perfcore.model import Point
    from perfcore_site_kit.branch import SeriesRow
    from perfcore_site_kit.paths import PagePath
    from perfcore_site_kit.site import Site

_PACKAGE = "perfcore_site_kit"
_POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src 'self'; base-uri 'none'; form-action {form}"
)
_NOTHING = "default-src 'none'"
_OWN_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')
_SECTIONS = {
    paths.CHANGE: paths.CHANGES,
    paths.DIFF: paths.CHANGES,
    paths.SERIES: paths.OVERVIEW,
    paths.RANGE: paths.OVERVIEW,
}
NAVIGATION = (
    (paths.OVERVIEW, "Overview"),
    (paths.CHANGES, "Changes"),
    (paths.MEASURE, "Trust"),
    (paths.LIVE, "Live"),
    (paths.CONTRACTS, "Contracts"),
    (paths.PLUGINS, "Plugins"),
)


class Renderer:
    """Makes the pages of a site."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._environment = _environment()

    def render(self, path: PagePath, mode: Mode, draft: Draft = NO_DRAFT) -> Page:
        """A page. NotFoundError where there is none of this path."""
        page = PAGES.get(path.kind)
        if page is None or (page.server_only and mode.links == "files"):
            raise NotFoundError("there is no such page")
        view = View(self, path, mode, draft)
        if not page.template:
            return _document(page.document(view))
        return self._page(view, page.template, page.build(view))

    def waiting(self, path: PagePath, mode: Mode, progress: str) -> Page:
        """What stands for a page while the history is compared for the first time; its script asks for the page."""
        context = {"heading": "Comparing the versions", "answer": sentences.waiting(), "progress": progress}
        return self._page(View(self, path, mode), "waiting.html", context)

    def _page(self, view: View, template: str, context: Mapping[str, Any]) -> Page:
        mode, site, assets = view.mode, self.site, self.site.page_assets
        is_file = mode.links == "files"
        policy = _POLICY.format(
            script="'self'" if is_file else f"'{digest(assets.script)}'",
            style="'self'" if is_file else f"'{digest(assets.style)}'",
            form="'none'" if is_file else "'self'",
        )
        if not is_file:
            policy += "; connect-src 'self'"
        text = self._environment.get_template(template).render(
            view=view,
            site_title=site.title,
            branch=site.branch,
            policy=policy,
            style=Markup(assets.style) if not is_file else None,
            script=Markup(assets.script) if not is_file else None,
            style_link=view.root + assets.style_name,
            script_link=view.root + assets.script_name,
            icon_link=view.root + assets.icon_name,
            navigation=[(word, view.link(paths.PagePath(kind)), kind == view.section) for kind, word in NAVIGATION],
            **context,
        )
        return Page(content=text.encode("utf-8", "backslashreplace"), policy=policy, files=view.files)


class View:
    """One page that is made: where it is, how it links to others, and what its form shall hold."""

    def __init__(self, renderer: Renderer, path: PagePath, mode: Mode, draft: Draft = NO_DRAFT) -> None:
        self._renderer = renderer
        self.site = site = renderer.site
        self.branch = site.branch
        self.path = path
        self.mode = mode
        self.draft = draft
        self.files: dict[str, bytes] = {}

    def runs(self, row: SeriesRow, points: Sequence[Point]) -> ChartData:
        """These versions of a series with all their runs, the changes among them, and links to the versions."""
        branch = self.branch
        targets = {point.version.id[:10] for point in points}
        history = row.history(points, [change for change in row.changes if change.target[:10] in targets])
        return history_chart(
            *machine_names.in_histories(self.site.repository, [history]),
            accepted=branch.accepted,
            decided=branch.decided,
            releases=branch.releases,
            link=f"{self.root}{paths.VERSION}/{{}}" if self.is_served else "",
        )

    def figure(self, data: ChartData, options: ChartOptions) -> Markup:
        """A chart. Pages of files load its data when it comes into sight: as a page is rendered again more often than
        the data of its closed ranges change, these files stay as they are."""
        if self.is_served:
            return Markup(chart.chart(data, options))
        name, content = chart.data_file(data, options)
        self.files[f"{DATA}/{name}"] = content
        return Markup(chart.chart(data, options, link=f"{self.root}{DATA}/{name}"))

    @property
    def root(self) -> str:
        """The address of the root from this page."""
        return "../" * self.path.depth

    @property
    def section(self) -> str:
        """The kind of page in the navigation that this one belongs to."""
        return _SECTIONS.get(self.path.kind, self.path.kind)

    @property
    def is_served(self) -> bool:
        return self.mode.links == "server"

    def link(self, path: PagePath) -> str:
        """The relative address of another page; empty where there is none in this mode."""
        page = PAGES.get(path.kind)
        if page is None:
            return ""
        if self.is_served:
            return (self.root + path.address) or "./"
        return self.root + path.file if self.site.has(path) else ""


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(_PACKAGE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
        auto_reload=False,
    )
    compiled_with = (environment.autoescape, environment.trim_blocks, environment.lstrip_blocks, _harmless.__name__)
    environment.bytecode_cache = CompiledTemplates(compiled_with)
    environment.filters |= {"percent": percent, "day": sentences.day, "short": lambda version: version.id[:10]}
    environment.globals |= {"plural": plural, "quantity": quantity, "word": verdict_text.word, "sentences": sentences}
    return environment


def _harmless(content: Any) -> Any:
    """A text as it may be shown; markup and numbers as they are."""
    return shown(content, 400) if isinstance(content, str) and not isinstance(content, Markup) else content


def _document(text: str) -> Page:
    """A page of another view, with the policy that it names itself."""
    policy = _OWN_POLICY.search(text)
    return Page(
        content=text.encode("utf-8", "backslashreplace"), policy=html.unescape(policy[1]) if policy else _NOTHING
    )
