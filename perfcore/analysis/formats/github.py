"""Workflow commands of GitHub Actions: lines that become annotations of the run.

What fails the build is an error, another degradation a warning, and what got better, was accepted or could not be
compared a notice. What is worse stands at a line of a file. GitHub shows ten of each kind and step, so the gravest
stand first.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from perfcore.analysis.check_result import CheckResult, Location
from perfcore.analysis.formats import wording
from perfcore.model import Change
from perfcore.text import printable

_LEVELS = ("error", "warning", "notice")


@attrs.frozen
class _Annotation:
    level: str
    title: str
    text: str
    location: Location | None = None


def render(outcome: CheckResult) -> str:
    """The lines, the gravest first; the last one concludes."""
    found = [*_of_changes(outcome), *_of_unpaired(outcome)]
    found.sort(key=lambda each: _LEVELS.index(each.level))
    found.append(_Annotation("notice", "perf check", wording.conclusion(outcome)))
    return "".join(map(_line, found))


def _of_changes(outcome: CheckResult) -> Iterator[_Annotation]:
    """All that people may want to know of."""
    for change in wording.shown(outcome.changes):
        acceptance = outcome.accepted.get(change.id)
        if level := _level(outcome, change):
            location = None if level == "notice" else outcome.locations.get(change)
            parts = [wording.sentence(change), change.evidence and printable(change.evidence)]
            parts += [wording.accepted(acceptance)] if acceptance else [f"change {printable(change.id)}"]
            parts += [f"the place is a hint: {location.why}"] if location and location.why else []
            yield _Annotation(level, wording.title(change), "\n".join(filter(None, parts)), location)


def _of_unpaired(outcome: CheckResult) -> Iterator[_Annotation]:
    for missing in outcome.unpaired:
        level = "error" if outcome.requires_all else "notice"
        yield _Annotation(level, "not compared", wording.unpaired(missing))


def _line(annotation: _Annotation) -> str:
    where = ""
    if (location := annotation.location) is not None:
        where = f",file={_property(printable(location.path))},line={location.line}"
    return f"::{annotation.level} title={_property(annotation.title)}{where}::{_data(annotation.text)}\n"


def _level(outcome: CheckResult, change: Change) -> str:
    if outcome.fails(change):
        return "error"
    if change.id in outcome.accepted or change.kind == "optimization":
        return "notice"
    return "warning" if change.kind == "degradation" else ""


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
