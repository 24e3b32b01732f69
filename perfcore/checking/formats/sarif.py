"""SARIF 2.1.0: a rule for every kind of verdict, a result for every change.

What fails the build is of the level error, another degradation a warning; neither better nor unclear is a failure, so
their level is none and their kind says what they are. A change has no place in a file: its location is the logical one,
the command and its metric. The fingerprint is the id of the change, which stays when later data move its estimate; what
was accepted is suppressed, with the reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from perfcore import __version__
from perfcore.checking.formats import wording
from perfcore.checking.outcome import Outcome
from perfcore.checking.pairing import Unpaired
from perfcore.model import Change
from perfcore.text import printable

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RULES: Mapping[str, tuple[str, str]] = {
    "degradation": ("fail", "A metric became worse by more than matters."),
    "optimization": ("informational", "A metric became better by more than matters."),
    "variance": ("review", "A metric has another noise around the same level."),
    "machine": ("informational", "What measured has changed, not the code."),
    "same": ("pass", "A metric changed by less than matters."),
    "cannot tell": ("open", "The runs are too few or too noisy to tell whether a metric changed."),
    "not compared": ("notApplicable", "Nothing that was measured in the same way is there to compare with."),
}


def render(outcome: Outcome) -> str:
    """The document."""
    results = [_of_change(outcome, change) for change in wording.shown(outcome.changes)]
    results += [_of_unpaired(outcome, missing) for missing in outcome.unpaired]
    driver = {"name": "perfcore", "version": __version__, "semanticVersion": __version__, "rules": _rules()}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rules() -> list[dict[str, Any]]:
    return [
        {
            "id": _rule_id(kind),
            "shortDescription": {"text": text},
            "defaultConfiguration": {"level": "error" if kind == "degradation" else "none"},
        }
        for kind, (_, text) in _RULES.items()
    ]


def _of_change(outcome: Outcome, change: Change) -> dict[str, Any]:
    fails, acceptance = outcome.fails(change), outcome.accepted.get(change.id)
    text = wording.sentence(change) + (f". {printable(change.evidence)}" if change.evidence else "")
    result = _result(change.kind, fails, text, change.label, wording.metric(change))
    result["partialFingerprints"] = {"perfcoreChange/v1": printable(change.id)}
    result["properties"] = _properties(change)
    if acceptance:
        justification = wording.accepted(acceptance)
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": justification}]
    return result


def _properties(change: Change) -> dict[str, Any]:
    """The numbers, for programs; JSON has none that is infinite."""
    numbers = {name: getattr(change, name) for name in ("ratio", "low", "high")}
    texts = {name: printable(getattr(change, name)) for name in ("unit", "baseline", "target")}
    return {**texts, **{name: n for name, n in numbers.items() if n is not None and math.isfinite(n)}}


def _of_unpaired(outcome: Outcome, missing: Unpaired) -> dict[str, Any]:
    return _result("not compared", outcome.requires_all, wording.unpaired(missing), missing.label, "")


def _result(kind: str, fails: bool, text: str, label: str, metric: str) -> dict[str, Any]:
    verdict = "fail" if fails else _RULES[kind][0]
    level = "none" if verdict != "fail" else "error" if fails else "warning"
    place = {
        "name": metric or printable(label) or "command",
        "fullyQualifiedName": " / ".join(filter(None, (printable(label), metric))) or "command",
        "kind": "member" if metric else "module",
    }
    return {
        "ruleId": _rule_id(kind),
        "ruleIndex": list(_RULES).index(kind),
        "kind": verdict,
        "level": level,
        "message": {"text": text},
        "locations": [{"logicalLocations": [place]}],
    }


def _rule_id(kind: str) -> str:
    return kind.replace(" ", "-")
