"""SARIF 2.1.0, as GitHub's code scanning and viewers of static analysis read it.

A result is a change that somebody may have to act on: an error where it fails the build, a warning for another
regression, a note for one that was accepted or reverted. Unchanged, improved and inconclusive metrics are left out,
because GitHub makes an alert of every result, whatever its kind.

Each has a file of the repository, because code scanning refuses the whole document for one result without a file. For a
contract it is the line of the contract; for a change it is a hint, and the message explains the choice.
The logical location is the command with its metric. Fingerprints are the id of the change, which stays when later data
move its estimate; GitHub's own name for one is among them, as it would make one of the line, and one alert of all that
stand in it. What was accepted is suppressed, with the reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from perfcore_command_check import companions
from perfcore_command_kit import report_text

from perfcore import __version__
from perfcore.analysis import verdict_text
from perfcore.analysis.check_result import CheckResult
from perfcore.model import Change, Unpaired
from perfcore.text import printable
from perfcore_report_ci.locations import Location, Locator

if TYPE_CHECKING:
    from perfcore.hookspecs import Sources

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"  # the name that GitHub resolves to the root of the checkout
_RULES: Mapping[str, tuple[str, str]] = {
    "degradation": (
        "A metric became worse by more than matters.",
        "Look at what changed between the two versions: `perf diff` shows in which functions, and `perf bisect` finds "
        "the version. A change that is worth its price is accepted with `perf check ack`.",
    ),
    "drift": (
        "A metric became worse slowly, a little in each of many versions.",
        "No single version made it: compare profiles of the first and the last with `perf diff`. Growth that is worth "
        "its price is accepted with `perf check ack`.",
    ),
    "noise": (
        "The values of a metric vary by more than before.",
        "Look at what waits, caches or allocates since then; where the machine was busy, measure again.",
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
        "Measure it in both versions: `perf check --collect` measures a version with its baseline.",
    ),
}


_Locate: TypeAlias = Callable[[Change | Unpaired], Location | None]


class SarifReport:
    """SARIF 2.1.0, as GitHub's code scanning reads it."""

    def render(self, result: CheckResult, sources: Sources) -> str:
        return render(result, Locator(sources).locate)


def render(result: CheckResult, locate: _Locate) -> str:
    """The document."""
    driver = {"name": "perfcore", "version": __version__, "semanticVersion": __version__, "rules": _rules()}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",  # `Location.length` counts these, not UTF-16 units as by default
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "results": [*_results(result, locate)],
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


def _results(result: CheckResult, locate: _Locate) -> Iterator[dict[str, Any]]:
    for change in companions.reported(result):
        if change.kind in ("degradation", "drift") or result.fails(change):
            yield _of_change(result, change, locate(change))
    for missing in result.unpaired if result.requires_all else ():
        yield _of_unpaired(missing, locate(missing))


def _of_change(result: CheckResult, change: Change, location: Location | None) -> dict[str, Any]:
    decided = report_text.decided(result, change)
    text = report_text.sentence(change) + (f". {printable(change.evidence)}" if change.evidence else "")
    alert = {
        **_result(_rule_of(change), _level(result, change), text, change.id + report_text.on_machine(change), location),
        "properties": _properties(change),
    }
    alert["locations"][0]["logicalLocations"] = _logical(
        change.label, verdict_text.metric(change) + report_text.on_machine(change)
    )
    if change.id in result.accepted:
        alert["suppressions"] = [{"kind": "external", "status": "accepted", "justification": decided}]
    elif decided:
        alert["message"]["text"] += f". {decided}"
    return alert


def _rule_of(change: Change) -> str:
    if change.contract and change.kind == "degradation":
        return "broken-contract"
    return {"degradation": "degradation", "drift": "drift", "variance": "noise"}.get(change.kind, "cannot-tell")


def _level(result: CheckResult, change: Change) -> str:
    if result.fails(change):
        return "error"
    return "note" if change.id in result.accepted or change.undone else "warning"


def _properties(change: Change) -> dict[str, Any]:
    """The numbers, for programs; JSON has none that is infinite."""
    numbers = {name: getattr(change, name) for name in ("ratio", "low", "high")}
    texts = {name: printable(getattr(change, name)) for name in ("unit", "baseline", "target")}
    return {**texts, **{name: n for name, n in numbers.items() if n is not None and math.isfinite(n)}}


def _of_unpaired(missing: Unpaired, location: Location | None) -> dict[str, Any]:
    text, id = report_text.unpaired(missing), f"{missing.config_id} {missing.version}"
    alert = _result("not-compared", "error", text, id, location)
    alert["locations"][0]["logicalLocations"] = _logical(missing.label, "")
    return alert


def _result(rule: str, level: str, text: str, id: str, location: Location | None) -> dict[str, Any]:
    hint = f". The location is a hint: {location.why}" if location is not None and location.why else ""
    return {
        "ruleId": rule,
        "ruleIndex": list(_RULES).index(rule),
        "kind": "fail",  # GitHub makes an alert of any kind, so there is no other
        "level": level,
        "message": {"text": text + hint},
        "locations": [{"physicalLocation": _physical(location)} if location is not None else {}],
        # The second is the name that GitHub itself computes; given, it does not merge the alerts of a line.
        "partialFingerprints": {"perfcoreChange/v1": printable(id), "primaryLocationLineHash": printable(id)},
    }


def _physical(location: Location) -> dict[str, Any]:
    """The whole line. The URI is the name in UTF-8 with all but letters, digits, `/`, `_`, `.`, `-` and `~` written
    as %XX."""
    return {
        # A URI reference has neither blanks nor letters beyond ASCII (RFC 3986).
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
