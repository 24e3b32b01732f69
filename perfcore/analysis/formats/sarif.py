"""SARIF 2.1.0, as GitHub's code scanning and viewers of static analysis read it.

A result is what somebody may have to do something about: what fails the build is of the level error, another
degradation a warning, one that was accepted or did not last a note. What is the same, better or unclear is none, for
GitHub makes an alert of every result, whatever its kind says.

Each has a file of the repository: one result without it, and code scanning refuses the whole document. For a contract
it is the line that states it; for a change it is a hint, and the message says how it was found.
The logical location is the command with its metric. Fingerprints are the id of the change, which stays when later data
move its estimate; GitHub's own name for one is among them, as it would make one of the line, and one alert of all that
stand in it. What was accepted is suppressed, with the reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from perfcore import __version__
from perfcore.analysis import verdict_text
from perfcore.analysis.check_result import CheckResult, Location
from perfcore.analysis.formats import wording
from perfcore.analysis.pairing import Unpaired
from perfcore.model import Change
from perfcore.text import printable

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_RULES: Mapping[str, tuple[str, str]] = {
    "degradation": (
        "A metric became worse by more than matters.",
        "Look at what changed between the two versions: `perf diff` shows in which functions, and `perf bisect` finds "
        "the version. A change that is worth its price is accepted with `perf check ack`.",
    ),
    "broken-contract": (
        "A promise about speed is broken.",
        "Make it as fast as the contract says, change the contract, or accept it for this version with "
        "`perf check ack`.",
    ),
    "cannot-tell": (
        "The runs are too few or too noisy to tell whether a metric changed.",
        "Measure more runs, or on a quieter machine.",
    ),
    "not-compared": (
        "Nothing that was measured in the same way is there to compare with.",
        "Measure the version before as well: `perf collect time --version HEAD~1 --version HEAD --add -- COMMAND`.",
    ),
}


def render(outcome: CheckResult) -> str:
    """The document."""
    driver = {"name": "perfcore", "version": __version__, "semanticVersion": __version__, "rules": _rules()}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "results": [*_results(outcome)],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rules() -> list[dict[str, Any]]:
    return [
        {
            "id": id,
            "shortDescription": {"text": text},
            "fullDescription": {"text": text},
            "help": {"text": help},
            "defaultConfiguration": {"level": "error"},
        }
        for id, (text, help) in _RULES.items()
    ]


def _results(outcome: CheckResult) -> Iterator[dict[str, Any]]:
    for change in wording.shown(outcome.changes):
        if change.kind == "degradation" or outcome.fails(change):
            yield _of_change(outcome, change)
    for missing in outcome.unpaired if outcome.requires_all else ():
        yield _of_unpaired(outcome, missing)


def _of_change(outcome: CheckResult, change: Change) -> dict[str, Any]:
    acceptance = outcome.accepted.get(change.id)
    text = wording.sentence(change) + (f". {printable(change.evidence)}" if change.evidence else "")
    result = {
        **_result(_rule_of(change), _level(outcome, change), text, change.id, outcome.locations.get(change)),
        "properties": _properties(change),
    }
    result["locations"][0]["logicalLocations"] = _logical(change.label, verdict_text.metric(change))
    if acceptance:
        justification = wording.accepted(acceptance)
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": justification}]
    return result


def _rule_of(change: Change) -> str:
    if change.kind != "degradation":
        return "cannot-tell"
    return "broken-contract" if change.contract else "degradation"


def _level(outcome: CheckResult, change: Change) -> str:
    if outcome.fails(change):
        return "error"
    return "note" if change.id in outcome.accepted or change.undone else "warning"


def _properties(change: Change) -> dict[str, Any]:
    """The numbers, for programs; JSON has none that is infinite."""
    numbers = {name: getattr(change, name) for name in ("ratio", "low", "high")}
    texts = {name: printable(getattr(change, name)) for name in ("unit", "baseline", "target")}
    return {**texts, **{name: n for name, n in numbers.items() if n is not None and math.isfinite(n)}}


def _of_unpaired(outcome: CheckResult, missing: Unpaired) -> dict[str, Any]:
    text, id = wording.unpaired(missing), f"{missing.config_id} {missing.version}"
    result = _result("not-compared", "error", text, id, outcome.locations.get(missing))
    result["locations"][0]["logicalLocations"] = _logical(missing.label, "")
    return result


def _result(rule: str, level: str, text: str, id: str, location: Location | None) -> dict[str, Any]:
    hint = f". The place is a hint: {location.why}" if location is not None and location.why else ""
    return {
        "ruleId": rule,
        "ruleIndex": list(_RULES).index(rule),
        "kind": "fail",
        "level": level,
        "message": {"text": text + hint},
        "locations": [{"physicalLocation": _physical(location)} if location is not None else {}],
        "partialFingerprints": {"perfcoreChange/v1": printable(id), "primaryLocationLineHash": printable(id)},
    }


def _physical(location: Location) -> dict[str, Any]:
    """The whole line. The URI is the name in UTF-8 with all but letters, digits, `/`, `_`, `.`, `-` and `~` written
    as %XX."""
    return {
        "artifactLocation": {"uri": quote(location.path, safe="/"), "uriBaseId": _ROOT},
        "region": {
            "startLine": location.line,
            "startColumn": 1,
            "endLine": location.line,
            "endColumn": location.length + 1,
        },
    }


def _logical(label: str, metric: str) -> list[dict[str, str]]:
    return [
        {
            "name": metric or printable(label) or "command",
            "fullyQualifiedName": " / ".join(filter(None, (printable(label), metric))) or "command",
            "kind": "member" if metric else "module",
        }
    ]
