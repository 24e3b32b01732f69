"""Views on the command line: one is made, gets data that it accepts, and draws."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from perfcore.cli.console import Console
from perfcore.errors import PerfError, UsageError
from perfcore.hookspecs import VIEW, View
from perfcore.model import EMPTY, ViewData
from perfcore.model.views import DEFAULT_ACCEPTS
from perfcore.plugins.drivers import guard
from perfcore.plugins.installed import PluginInfo
from perfcore.repository.repository import Repository

_NOUNS = {"profiles": "profiles", "pair": "two profiles", "series": "histories", "changes": "changes"}


@attrs.frozen
class MadeView:
    """A view with its options, ready to draw."""

    plugin: PluginInfo
    driver: View

    def draw(self, console: Console, data: ViewData) -> None:
        with guard(self.plugin, "render"):
            self.driver.render(data, console)


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


def temporary_page(repository: Repository, name: str) -> Path:
    """Where a page that is only looked at is written: looking at the same again adds no file."""
    folder = repository.perf / "tmp"
    folder.mkdir(exist_ok=True)
    return folder / f"{hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()[:10]}.html"


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
