"""Workflow commands of GitHub Actions: lines that become annotations of the run.

A change that fails the build is an error, another regression a warning; an improvement, a change that was accepted or
undone and a configuration that was not compared are notices. Errors and warnings stand at a line of a file. GitHub
shows ten of each level and step, so errors come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import attrs
from perfcore_command_check import companions
from perfcore_command_kit import report_text

from perfcore.analysis.check_result import CheckResult
from perfcore.model import Change
from perfcore.text import printable
from perfcore_report_ci.locations import Location, Locator

if TYPE_CHECKING:
    from perfcore.hookspecs import Sources

# In the order of gravity, since GitHub drops what exceeds ten annotations of a level.
_LEVELS = ("error", "warning", "notice")


@attrs.frozen
class _Annotation:
    level: str
    title: str
    text: str
    location: Location | None = None


class GithubReport:
    """Workflow commands, which GitHub Actions shows as annotations."""

    def render(self, result: CheckResult, sources: Sources) -> str:
        return render(result, Locator(sources).locate)


def render(result: CheckResult, locate: Callable[[Change], Location | None]) -> str:
    """The lines, errors first; the last line is the conclusion."""
    annotations = [*_of_changes(result, locate), *_of_unpaired(result)]
    annotations.sort(key=lambda annotation: _LEVELS.index(annotation.level))
    annotations.append(_Annotation("notice", "perf check", report_text.conclusion(result)))
    return "".join(map(_line, annotations))


def _of_changes(result: CheckResult, locate: Callable[[Change], Location | None]) -> Iterator[_Annotation]:
    """Every change that a reader may want to know."""
    leading = companions.leaders(result.changes)
    for change in companions.reported(result):
        if level := _level(result, change):
            location = None if level == "notice" else locate(change)
            beside = companions.beside(change, leading, result.changes)
            parts = [report_text.sentence(change), beside, change.evidence and printable(change.evidence)]
            decided = report_text.decided(result, change)
            parts += [decided] if decided else []
            parts += [] if change.id in result.accepted else [f"change {printable(change.id)}"]
            parts += [f"the location is a hint: {location.why}"] if location and location.why else []
            yield _Annotation(level, report_text.title(change), "\n".join(filter(None, parts)), location)


def _of_unpaired(result: CheckResult) -> Iterator[_Annotation]:
    for missing in result.unpaired:
        level = "error" if result.requires_all else "notice"
        yield _Annotation(level, "not compared", report_text.unpaired(missing))


def _line(annotation: _Annotation) -> str:
    position = ""
    if (location := annotation.location) is not None:
        position = f",file={_property(printable(location.path))},line={location.line}"
    return f"::{annotation.level} title={_property(annotation.title)}{position}::{_data(annotation.text)}\n"


def _level(result: CheckResult, change: Change) -> str:
    if result.fails(change):
        return "error"
    if change.id in result.accepted or change.kind in ("optimization", "improving drift"):
        return "notice"
    if change.kind in ("degradation", "drift"):
        return "notice" if change.undone else "warning"
    return ""


def _data(text: str) -> str:
    # The escapes of the runner: actions/toolkit, packages/core/src/command.ts.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    # In a property a comma begins the next one, and two colons end them all.
    return _data(text).replace(":", "%3A").replace(",", "%2C")
