"""Who is told what a check found: the reports that were asked for, notifiers, and the notes of the store."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from perfcore.analysis import formats
from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.fail_on import FailRule, parse_rules
from perfcore.cli.console import Console
from perfcore.config.layers import write_atomically
from perfcore.errors import PerfError, StorageError, UsageError, nearest
from perfcore.plugins.guard import guard
from perfcore.plugins.installed import Found
from perfcore.repository.repository import Repository
from perfcore.text import brief

TABLE = "table"
STDOUT = "-"


@attrs.frozen(kw_only=True)
class Wanted:
    """What is to be done with the outcome: `format` goes to standard output, `reports` are formats with files,
    `notifiers` are plugins with their drivers."""

    format: str
    reports: tuple[tuple[str, str], ...]
    rules: tuple[FailRule, ...]
    notifiers: tuple[tuple[Found, Any], ...]

    @property
    def locates(self) -> bool:
        """Whether a format shows verdicts in files of the repository."""
        return bool(formats.LOCATED & {self.format, *(name for name, _ in self.reports)})

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
    ) -> Wanted:
        """What the words of a command line ask for. UsageError before anything was done."""
        if as_json and format not in (None, "json"):
            raise UsageError(f"--json is --format json; --format {format} is something else")
        chosen = "json" if as_json else format or TABLE
        _check_format(chosen, (TABLE, *formats.FORMATS))
        asked = tuple(map(_report, reports))
        if chosen != TABLE and any(place == STDOUT for _, place in asked):
            raise UsageError(f"standard output gets {chosen} already", hint="write the report to a file")
        repository = console.repository
        return cls(
            format=chosen,
            reports=asked,
            rules=parse_rules(fail_on or repository.config.get("check.fail_on")),
            notifiers=tuple(_notifier(console, name) for name in dict.fromkeys(notify or _configured(repository))),
        )


def deliver(console: Console, outcome: CheckResult, wanted: Wanted) -> None:
    """Write the reports that go beside the table, and tell the notifiers. What cannot be delivered is told, and does
    not keep the others from theirs; it is an error, unless the check itself has found what to fail on."""
    failures = [error for send in _deliveries(console, outcome, wanted) if (error := _tried(send))]
    for error in failures if outcome.exit_code else failures[:-1]:
        console.warn(str(error))
    if failures and not outcome.exit_code:
        raise failures[-1]


def _deliveries(console: Console, outcome: CheckResult, wanted: Wanted) -> Iterator[Callable[[], None]]:
    for name, place in wanted.reports:
        yield functools.partial(_deliver, console, formats.render(name, outcome), place)
    for found, driver in wanted.notifiers:
        yield functools.partial(_notify, found, driver, outcome.as_json())


def _tried(send: Callable[[], None]) -> PerfError | None:
    try:
        send()
    except PerfError as error:
        return error
    return None


def _deliver(console: Console, text: str, place: str) -> None:
    if place == STDOUT:
        console.write(text)
    else:
        _write(Path(place), text.encode("utf-8", "backslashreplace"))


def _notify(found: Found, driver: Any, report: Mapping[str, Any]) -> None:
    with guard(found, "notify"):
        driver.notify(report)


def _notifier(console: Console, name: str) -> tuple[Found, Any]:
    return console.plugins.make("notifier", name, console.repository.plugin_options("notifier", name))


def _configured(repository: Repository) -> Sequence[str]:
    names: Sequence[str] = repository.trusted("check.notify")
    return names


def _report(word: str) -> tuple[str, str]:
    name, equals, place = word.partition("=")
    _check_format(name, tuple(formats.FORMATS))
    if not equals or not place:
        raise UsageError(f"the report {brief(word)} has no file", hint=f"such as --report {name}=report.txt")
    return name, place


def _check_format(name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise UsageError(f"there is no format {brief(name)}", hint=nearest(name, known) or f"one of {', '.join(known)}")


def _write(path: Path, data: bytes) -> None:
    """Replace a report whole, as the build before left one; a device or a pipe is written to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
    write_atomically(path, data)
