"""SARIF 2.1.0 as its specification wants it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from perfcore.checking import formats
from perfcore.checking.gate import parse_rules
from perfcore.checking.outcome import Outcome
from perfcore.model import Change
from perfcore.testing import hostile

LEVELS = {"none", "note", "warning", "error"}
VERDICTS = {"notApplicable", "pass", "fail", "review", "open", "informational"}


def read(outcome: Outcome) -> dict[str, Any]:
    """The one run of a document, held against the rules of the specification that the text of it can break."""
    document = json.loads(formats.render("sarif", outcome))
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "perfcore"
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    assert all(rule["shortDescription"]["text"].endswith(".") for rule in driver["rules"])
    assert {rule["defaultConfiguration"]["level"] for rule in driver["rules"]} <= LEVELS
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["kind"] in VERDICTS
        assert result["level"] in LEVELS
        assert (result["level"] == "none") == (result["kind"] != "fail"), "3.27.10: only a failure has a level"
        assert result["message"]["text"]
        (location,) = result["locations"]
        assert all(place["name"] and place["fullyQualifiedName"] for place in location["logicalLocations"])
        for suppression in result.get("suppressions", ()):
            assert suppression["kind"] in {"inSource", "external"}
            assert suppression["status"] == "accepted"
    return dict(run)


def test_every_kind_of_verdict_has_a_rule_and_a_kind(every_kind: Outcome) -> None:
    found = {result["ruleId"]: (result["kind"], result["level"]) for result in read(every_kind)["results"][:-2]}
    assert found == {
        "degradation": ("fail", "error"),
        "optimization": ("informational", "none"),
        "variance": ("review", "none"),
        "machine": ("informational", "none"),
        "same": ("pass", "none"),
        "cannot-tell": ("open", "none"),
    }


def test_a_result_says_where_and_how_much(every_kind: Outcome) -> None:
    result = read(every_kind)["results"][0]
    assert result["message"]["text"].startswith("sort big.txt: cpu slower, +100.0 %")
    assert result["locations"][0]["logicalLocations"] == [
        {"name": "cpu", "fullyQualifiedName": "sort big.txt / cpu", "kind": "member"}
    ]
    assert result["partialFingerprints"] == {"perfcoreChange/v1": "id of degradation"}
    assert result["properties"]["ratio"] == 2.0


def test_what_was_accepted_is_suppressed_with_the_reason(every_kind: Outcome) -> None:
    (suppressed,) = (result for result in read(every_kind)["results"] if "suppressions" in result)
    assert suppressed["level"] == "warning"
    assert suppressed["suppressions"][0]["justification"] == "accepted by Ann: it is safer"


def test_a_degradation_that_fails_nothing_is_a_warning(change: Callable[..., Change]) -> None:
    (result,) = read(Outcome(changes=(change("degradation", primary=False),)))["results"]
    assert result["level"] == "warning"


def test_what_was_not_compared_is_an_error_where_it_has_to_be(every_kind: Outcome) -> None:
    assert read(every_kind)["results"][-1]["kind"] == "notApplicable"
    strict = attrs.evolve(every_kind, rules=parse_rules(["cannot-tell"]))
    assert read(strict)["results"][-1]["level"] == "error"
    assert {r["ruleId"] for r in read(strict)["results"] if r["level"] == "error"} == {"cannot-tell", "not-compared"}


def test_numbers_that_json_has_not_are_left_out(change: Callable[..., Change]) -> None:
    text = formats.render("sarif", Outcome(changes=(change(ratio=float("inf"), low=float("nan"), high=3.0),)))
    (result,) = json.loads(text, parse_constant=pytest.fail)["runs"][0]["results"]
    assert {name for name in ("ratio", "low", "high") if name in result["properties"]} == {"high"}


def test_hostile_names_stay_text(hostile_outcome: Outcome) -> None:
    run = read(hostile_outcome)
    assert len(run["results"]) == len(hostile_outcome.changes) + len(hostile_outcome.unpaired)
    messages = "".join(result["message"]["text"] for result in run["results"])
    assert hostile.unsafe(messages) == set()
