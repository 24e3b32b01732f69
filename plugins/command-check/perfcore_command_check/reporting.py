"""Where results go: the format on standard output, reports in files, and notifiers."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from perfcore_check_kit import machine_names
from perfcore_check_kit.fail_rules import parse_rules

from perfcore import files
from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.fail_on import EMPTY_CHECK, FailRule
from perfcore.cli.console import Console
from perfcore.errors import PerfError, StorageError, UsageError, nearest
from perfcore.hookspecs import NOTIFIER, REPORT, Notifier, Report, Sources
from perfcore.model.record import replace
from perfcore.plugins.drivers import guard
from perfcore.plugins.installed import PluginInfo
from perfcore.repository.repository import Repository
from perfcore.text import brief, printable_json

TABLE, JSON = "table", "json"
STDOUT = "-"
_SHIPPED = dict.fromkeys(("github", "junit", "markdown", "sarif"), "perfcore-report-ci")


@attrs.frozen(kw_only=True)
class Reports:
    """The formats of one command: `format` on standard output, `files` as pairs of a format and a path. `drivers` are
    the plugins of all formats but the table and JSON."""

    format: str
    files: tuple[tuple[str, str], ...]
    drivers: Mapping[str, tuple[PluginInfo, Report]]

    @classmethod
    def of(cls, console: Console, *, format: str | None, as_json: bool, reports: Sequence[str]) -> Reports:
        """The formats that the options name. UsageError before anything is measured or compared."""
        if as_json and format not in (None, JSON):
            raise UsageError(f"--json is --format json; --format {format} is another format")
        chosen = JSON if as_json else format or TABLE
        names = console.plugins.names("report")
        _check_format(chosen, (TABLE, JSON, *names))
        files = tuple(_parse_report(word, (JSON, *names)) for word in reports)
        if chosen != TABLE and any(path == STDOUT for _, path in files):
            raise UsageError(f"standard output gets {chosen} already", hint="write the report to a file")
        formats = {chosen, *(name for name, _ in files)} - {TABLE, JSON}
        return cls(format=chosen, files=files, drivers={name: _driver(console, name) for name in sorted(formats)})

    def print(self, console: Console, result: CheckResult, document: Callable[[], Mapping[str, Any]]) -> None:
        """Write the format to standard output; the table is the caller's."""
        _write_output(console, self._render(console, self.format, result, document))

    def write(
        self, console: Console, result: CheckResult, document: Callable[[], Mapping[str, Any]]
    ) -> Iterator[Callable[[], None]]:
        """A call for each report, which renders and writes it."""
        for name, path in self.files:
            yield functools.partial(self._write, console, name, path, result, document)

    def _write(
        self,
        console: Console,
        name: str,
        path: str,
        result: CheckResult,
        document: Callable[[], Mapping[str, Any]],
    ) -> None:
        content = self._render(console, name, result, document)
        if path == STDOUT:
            _write_output(console, content)
        else:
            _write_file(Path(path), content)

    def _render(
        self, console: Console, name: str, result: CheckResult, document: Callable[[], Mapping[str, Any]]
    ) -> str | bytes:
        if name == JSON:
            return printable_json(json.dumps(document(), indent=2, ensure_ascii=False, default=str)) + "\n"
        plugin, driver = self.drivers[name]
        if (repository := console.repository_if_any) is not None:
            result = replace(result, changes=machine_names.in_changes(repository, result.changes, result.versions))
        with guard(plugin, "render"):
            content: str | bytes = driver.render(result, _sources(console))
        return content


@attrs.frozen(kw_only=True)
class Delivery:
    """Everything that is done with the result of a check. `notifiers` are plugins with their drivers."""

    reports: Reports
    rules: tuple[FailRule, ...]
    notifiers: tuple[tuple[PluginInfo, Any], ...]

    @classmethod
    def of(
        cls,
        console: Console,
        *,
        format: str | None,
        as_json: bool,
        reports: Sequence[str],
        fail_on: Sequence[str],
        notify: Sequence[str],
        allow_empty: bool = False,
    ) -> Delivery:
        """As the options say. UsageError before anything is compared."""
        formats = Reports.of(console, format=format, as_json=as_json, reports=reports)
        repository = console.repository
        rules = parse_rules(fail_on or repository.config.get("check.fail_on"))
        return cls(
            reports=formats,
            rules=tuple(rule for rule in rules if not (allow_empty and rule == EMPTY_CHECK)),
            notifiers=tuple(_notifier(console, name) for name in dict.fromkeys(notify or _configured(repository))),
        )

    def deliver(self, console: Console, result: CheckResult) -> None:
        """Write the reports and call the notifiers. A failure does not stop the others; it is an error, unless the
        check itself fails."""
        calls = [*self.reports.write(console, result, result.as_json), *self._notifications(result)]
        send(console, calls, failing=bool(result.exit_code))

    def _notifications(self, result: CheckResult) -> Iterator[Callable[[], None]]:
        for plugin, driver in self.notifiers:
            yield functools.partial(_notify, plugin, driver, result.as_json())


def send(console: Console, calls: Sequence[Callable[[], None]], *, failing: bool) -> None:
    """Make all calls; then raise the last failure and warn of the others. A command that fails anyway, by its exit
    code, only warns."""
    failures = [error for call in calls if (error := _attempt(call))]
    for error in failures if failing else failures[:-1]:
        console.warn(str(error))
    if failures and not failing:
        raise failures[-1]


def _attempt(call: Callable[[], None]) -> PerfError | None:
    try:
        call()
    except PerfError as error:
        return error
    return None


def _sources(console: Console) -> Sources:
    from perfcore_command_kit.sources import NoSources, VersionSources

    repository = console.repository_if_any
    return NoSources() if repository is None else VersionSources(repository)


def _driver(console: Console, name: str) -> tuple[PluginInfo, Report]:
    repository = console.repository_if_any
    options = {} if repository is None else repository.plugin_options("report", name)
    return console.plugins.make(REPORT, name, options)


def _notify(plugin: PluginInfo, driver: Notifier, report: Mapping[str, Any]) -> None:
    with guard(plugin, "notify"):
        driver.notify(report)


def _notifier(console: Console, name: str) -> tuple[PluginInfo, Notifier]:
    return console.plugins.make(NOTIFIER, name, console.repository.plugin_options("notifier", name))


def _configured(repository: Repository) -> Sequence[str]:
    names: Sequence[str] = repository.trusted("check.notify")
    return names


def _parse_report(word: str, names: Sequence[str]) -> tuple[str, str]:
    name, equals, path = word.partition("=")
    _check_format(name, names)
    if not equals or not path:
        raise UsageError(f"the report {brief(word)} has no file", hint=f"such as --report {name}=report.txt")
    return name, path


def _check_format(name: str, names: Sequence[str]) -> None:
    if name in names:
        return
    hint = nearest(name, names) or f"there are {', '.join(names)};"
    distribution = _SHIPPED.get(name) or (f"perfcore-report-{name}" if name.isidentifier() and name != TABLE else None)
    suggestion = f" {distribution} may bring it" if distribution else ""
    raise UsageError(f"there is no format {brief(name)}", hint=(hint + suggestion).rstrip(";"))


def _write_output(console: Console, content: str | bytes) -> None:
    if isinstance(content, str):
        console.write(content)
    else:
        console.write_bytes(content)


def _write_file(path: Path, content: str | bytes) -> None:
    """Replace the report of an earlier build at once; a device or a pipe is written to."""
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_whole(path, data)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
