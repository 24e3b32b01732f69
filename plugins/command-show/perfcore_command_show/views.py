"""Views on the command line: one is made, gets data that it accepts, and draws."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from perfcore.cli.console import Console
from perfcore.digests import sha1
from perfcore.errors import PerfError, UsageError
from perfcore.hookspecs import VIEW, View
from perfcore.model import EMPTY, ViewData
from perfcore.model.record import Record
from perfcore.model.views import DEFAULT_ACCEPTS
from perfcore.plugins.drivers import guard
from perfcore.plugins.installed import PluginInfo
from perfcore.repository.repository import Repository
from perfcore.text import printable

_PAGES = (".html", ".htm", ".svg")  # files that hold one page
_NOUNS = {"profiles": "profiles", "pair": "two profiles", "series": "histories", "changes": "changes"}


class MadeView(Record, frozen=True):
    """A view with its options, ready to draw."""

    plugin: PluginInfo
    driver: View

    def draw(self, console: Console, data: ViewData) -> None:
        with guard(self.plugin, "render"):
            self.driver.render(data, console)

    def draw_to(
        self, console: Console, data: ViewData, path: Path | None, *, force: bool, browse: bool, name: str = "page"
    ) -> None:
        """Draw to a file, or a folder where the view makes one; `browse` opens it, and without a path something
        temporary of this name."""
        is_folder = getattr(self.driver, "folder", False)
        if browse and path is None:
            page = temporary_page(console.repository, name)
            path, force = page.with_suffix("") if is_folder else page, True
        if path is None or not is_folder:
            console.output_to(path, force=force, browse=browse)
            self.draw(console, data)
            return
        if path.suffix.lower() in _PAGES:
            raise UsageError(f"the view {self.plugin.name} makes a folder of pages", hint=f"-o {path.with_suffix('')}")
        console.path, console.width, console.color = path, None, False
        self.draw(console, data)
        if browse:
            _open(console, path / "index.html")


def make(console: Console, name: str, data: ViewData, options: Mapping[str, Any] = EMPTY) -> MadeView:
    """The view of this name with its configured options and these above them. UsageError where it accepts nothing of
    the data."""
    configured = console.repository.plugin_options("view", name)
    plugin, driver = console.plugins.make(VIEW, name, {**configured, **options})
    if not _accepts(type(driver)) & data.contents:
        raise UsageError(
            f"the view {name} shows {_listing(_accepts(type(driver)))}, not {_listing(data.contents)}",
            hint=f"views that fit: {', '.join(_fitting(console, data)) or 'none is installed'}",
        )
    return MadeView(plugin, driver)


def _open(console: Console, page: Path) -> None:
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        console.say(f"there is no browser here that could open {printable(str(page))}")


def temporary_page(repository: Repository, name: str) -> Path:
    """Where a page that is only looked at is written: looking at the same again adds no file."""
    folder = repository.perf / "tmp"
    folder.mkdir(exist_ok=True)
    return folder / f"{sha1(name.encode()).hexdigest()[:10]}.html"


def _accepts(driver: type[Any]) -> frozenset[str]:
    return frozenset(getattr(driver, "accepts", DEFAULT_ACCEPTS))


def _fitting(console: Console, data: ViewData) -> Iterable[str]:
    """The views that accept the data."""
    for name in console.plugins.names("view"):
        with contextlib.suppress(PerfError):  # a view that cannot be loaded is no help here
            if _accepts(console.plugins.load("view", name)[1]) & data.contents:
                yield name


def _listing(contents: Iterable[str]) -> str:
    nouns = [noun for content, noun in _NOUNS.items() if content in contents]
    return " or ".join(nouns) or "nothing"
