"""JUnit XML is well formed, complete, and of the shape that its readers want."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from perfcore_check_kit.fail_rules import parse_rules
from perfcore_report_ci import junit
from perfcore_testing import hostile

from perfcore.analysis.check_result import CheckResult
from perfcore.model import Change
from perfcore.model.record import replace

# What the schema of the Jenkins plugin for JUnit allows, as far as it is written: attributes and children, in order.
SHAPE = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped", "time"}, ("testsuite",)),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time"}, ("testcase",)),
    "testcase": ({"name", "classname", "time"}, ("skipped", "error", "failure", "system-out")),
    "failure": ({"type", "message"}, ()),
    "error": ({"type", "message"}, ()),
    "skipped": ({"message"}, ()),
    "system-out": (set(), ()),
}


def read(outcome: CheckResult) -> Element:
    root = ElementTree.fromstring(junit.render(outcome).encode())
    for element in root.iter():
        attributes, children = SHAPE[element.tag]
        assert set(element.attrib) == attributes, element.tag
        places = [children.index(child.tag) for child in element]
        assert places == sorted(places), element.tag
    for group in [root, *root.iter("testsuite")]:
        assert int(group.attrib["tests"]) == len(list(group.iter("testcase")))
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(group.attrib[attribute]) == len(list(group.iter(tag)))
    return root


def test_every_command_is_a_suite_and_every_metric_a_case(every_kind: CheckResult) -> None:
    suites = {suite.attrib["name"]: suite for suite in read(every_kind)}
    assert list(suites) == ["sort big.txt", "sort --safe", "gzip"]
    assert {case.attrib["classname"] for case in suites["sort --safe"]} == {"sort --safe"}
    assert [case.attrib["name"] for case in suites["sort --safe"]] == ["cpu"]


def test_only_what_fails_the_build_is_a_failure(every_kind: CheckResult) -> None:
    root = read(every_kind)
    failure, drift = root.iter("failure")
    assert drift.attrib == {"type": "drift", "message": "cpu drifts: +100.0 %"}
    assert failure.attrib == {"type": "degradation", "message": "cpu slower: +100.0 %"}
    for part in ("sort big.txt", "+90.0 % to +110.0 %", "1 ms at aaaaaaaaaa", "12 pairs", "id of degradation"):
        assert part in (failure.text or "")
    assert [skipped.attrib["message"] for skipped in root.iter("skipped")] == [
        "cpu inconclusive: +100.0 %",
        "not compared: gzip at cccccccccc: none was measured",
    ]
    assert "accepted by Ann: it is safer" in "".join(root.itertext())


def test_what_has_to_be_told_and_is_not_is_an_error(every_kind: CheckResult) -> None:
    root = read(replace(every_kind, rules=parse_rules(["never", "cannot-tell"])))
    assert {error.attrib["type"] for error in root.iter("error")} == {"cannot tell", "not compared"}
    assert list(root.iter("failure")) == []


def test_the_name_of_a_test_stays_from_build_to_build_unless_it_would_be_there_twice(
    change: Callable[..., Change],
) -> None:
    once = read(CheckResult(changes=(change("same", target="1"), change("same", target="1", metric="wall"))))
    assert [case.attrib["name"] for case in once.iter("testcase")] == ["cpu", "wall"]
    twice = read(CheckResult(changes=(change("same", target="1"), change("same", target="2"))))
    assert [case.attrib["name"] for case in twice.iter("testcase")] == ["cpu at 1", "cpu at 2"]


def test_nothing_at_all_is_a_document_too() -> None:
    assert read(CheckResult()).attrib["tests"] == "0"


def test_hostile_names_stay_text(hostile_outcome: CheckResult) -> None:
    root = read(hostile_outcome)
    assert len(list(root.iter("testcase"))) == len(hostile_outcome.changes) + len(hostile_outcome.unpaired)
    assert hostile.unsafe("".join(root.itertext())) == set()
    names = {case.attrib["name"] for case in root.iter("testcase")}
    assert any("<script>alert('x')</script>" in name for name in names)
