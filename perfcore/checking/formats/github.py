"""Workflow commands of GitHub Actions: lines that become annotations of the run.

What fails the build is an error, another degradation a warning, and what got better, was accepted or could not be
compared a notice. GitHub shows ten of each kind and step, so the gravest stand first.
"""

from __future__ import annotations

from collections.abc import Iterator

from perfcore.checking.formats import wording
from perfcore.checking.outcome import Outcome
from perfcore.model import Change
from perfcore.text import printable

_LEVELS = ("error", "warning", "notice")


def render(outcome: Outcome) -> str:
    """The lines, the gravest first; the last one concludes."""
    found = [*_of_changes(outcome), *_of_unpaired(outcome)]
    found.sort(key=lambda each: _LEVELS.index(each[0]))
    found.append(("notice", "perf check", wording.conclusion(outcome)))
    return "".join(f"::{level} title={_property(title)}::{_data(text)}\n" for level, title, text in found)


def _of_changes(outcome: Outcome) -> Iterator[tuple[str, str, str]]:
    """(level, title, message) of all that people may want to know of."""
    for change in wording.shown(outcome.changes):
        acceptance = outcome.accepted.get(change.id)
        if level := _level(outcome, change):
            parts = [wording.sentence(change), change.evidence and printable(change.evidence)]
            parts += [wording.accepted(acceptance)] if acceptance else [f"change {printable(change.id)}"]
            yield level, wording.title(change), "\n".join(filter(None, parts))


def _of_unpaired(outcome: Outcome) -> Iterator[tuple[str, str, str]]:
    for missing in outcome.unpaired:
        yield "error" if outcome.requires_all else "notice", "not compared", wording.unpaired(missing)


def _level(outcome: Outcome, change: Change) -> str:
    if outcome.fails(change):
        return "error"
    if change.id in outcome.accepted or change.kind == "optimization":
        return "notice"
    return "warning" if change.kind == "degradation" else ""


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
