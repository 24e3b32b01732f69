"""The results of one run, read by a plugin of the kind format: the rows and the status of each benchmark."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from perfcore.errors import FormatError, PluginError, UsageError
from perfcore.hookspecs import FORMAT
from perfcore.model.record import replace
from perfcore.plugins.drivers import guard
from perfcore.profile.table import ColumnSpec, Table, Value

if TYPE_CHECKING:
    from perfcore.hookspecs import Format
    from perfcore.model import Profile, Tool
    from perfcore.plugins.installed import PluginInfo
    from perfcore.plugins.registry import Plugins

_HEAD = 4096  # bytes that the contract of `Format.sniff` names
STATUS = ("status", "message")


@attrs.frozen(kw_only=True)
class Suite:
    """The results of one run. The columns of `specs` are those of the `rows`; `statuses` has the columns that name a
    benchmark, `status` and `message`."""

    harness: Tool
    specs: Sequence[ColumnSpec]
    rows: Mapping[str, Sequence[Value]]
    statuses: Sequence[Mapping[str, Value]]
    notes: Sequence[str]


class Reader:
    """Reads results by the format of a name, or by the first that recognises the first results."""

    def __init__(self, plugins: Plugins, name: str | None) -> None:
        self._plugins = plugins
        self.format = plugins.make(FORMAT, name) if name else None

    def read(self, path: Path) -> Suite:
        """FormatError if no benchmark has a value."""
        if self.format is None:
            self.format = self._recognised(path)
        plugin, driver = self.format
        with guard(plugin, "read"):
            profile = _profile(driver, path)
            return _suite(profile)

    def _recognised(self, path: Path) -> tuple[PluginInfo, Format]:
        names = self._plugins.names("format")
        if path.is_dir():
            raise UsageError("a folder of results needs --format", hint=f"formats: {', '.join(names)}")
        with path.open("rb") as file:
            head = file.read(_HEAD)
        for name in names:
            try:
                plugin, driver = self._plugins.make(FORMAT, name)
                with guard(plugin, "sniff"):
                    recognised = driver.sniff(head, path.name)
            except PluginError as error:  # a broken format does not hide the others
                self._plugins.warn(f"{error} (left out)")
                continue
            if recognised and (hasattr(driver, "read") or hasattr(driver, "read_all")):
                return plugin, driver
        raise FormatError(
            f"no format recognises them ({', '.join(names)})",
            hint="the harness has an option for results that programs read; --format names their format",
        )


def _profile(driver: Format, path: Path) -> Profile:
    if hasattr(driver, "read") and not path.is_dir():
        return driver.read(path)
    if not hasattr(driver, "read_all"):
        return driver.read(path)
    profiles = list(itertools.islice(driver.read_all(path), 2))  # two say that there are several
    for profile in profiles:
        if isinstance(profile, FormatError):
            raise profile
    if len(profiles) != 1 or isinstance(profiles[0], FormatError):
        raise FormatError("they are of several versions or runs" if profiles else "there are none")
    return profiles[0].profile


def _suite(profile: Profile) -> Suite:
    resources = profile.tables.get("resources")
    if resources is None or not _names(resources) or not list(resources.values()):
        raise FormatError("they are of no suite of benchmarks")
    specs: list[ColumnSpec] = []
    rows: dict[str, Sequence[Value]] = {}
    names = _names(resources)
    for column in resources.columns:
        if column.name in names:
            specs.append(replace(column.spec, dtype="str"))  # a parameter may be a number in one run only
            rows[column.name] = [_text(word) for word in column]
        elif column.spec.role == "value":
            specs.append(replace(column.spec, dtype="f64"))
            rows[column.name] = [None if amount is None else float(amount) for amount in column]
    if not resources.rows:
        raise FormatError("no benchmark has a value")
    statuses = profile.tables.get("benchmarks")
    return Suite(
        harness=profile.collector,
        specs=specs,
        rows=rows,
        statuses=[] if statuses is None else list(_statuses(statuses)),
        notes=profile.notes,
    )


def _names(table: Table) -> list[str]:
    return [column.name for column in table.columns if column.spec.role == "benchmark"]


def _statuses(table: Table) -> Iterator[Mapping[str, Value]]:
    names = _names(table)
    for row in table.iter_rows():
        yield {name: _text(row[name]) for name in names} | {name: row.get(name) for name in STATUS}


def _text(word: Value) -> str | None:
    return None if word is None else str(word)
