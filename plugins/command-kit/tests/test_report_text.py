"""Verdicts in words."""

from __future__ import annotations

import pytest
from perfcore_command_kit import report_text

from perfcore.analysis.check_result import CheckResult
from perfcore.model import Change
from perfcore.model.decisions import Decision


def _unclear(target: str, ratio: float | None, **changes: object) -> Change:
    made = {"id": target, "kind": "cannot tell", "metric": "cpu", "baseline": "a", "target": target, "needed": 9}
    return Change(**{**made, "ratio": ratio, **changes})  # type: ignore[arg-type]


def test_the_way_to_decide_is_that_of_the_largest_difference() -> None:
    changes = [_unclear("b", 1.001), _unclear("c", 1.3), _unclear("d", 0.9), _unclear("e", None)]
    assert report_text.way_to_decide(changes).endswith("perf compare a c -- COMMAND")


def test_only_a_regression_that_stands_is_looked_at_first() -> None:
    slower = _unclear("b", 1.3, kind="degradation", needed=None)
    assert report_text.way_to_decide([slower, _unclear("c", 1.1)]) == ""
    undone = _unclear("b", 1.3, kind="degradation", needed=None, undone="f" * 40)
    assert report_text.way_to_decide([undone, _unclear("c", 1.1)]).endswith("perf compare a c -- COMMAND")


def test_uncommitted_changes_are_named_as_perf_compare_takes_them() -> None:
    assert report_text.way_to_decide([_unclear("a+dirty", 1.1)]).endswith("perf compare a -- COMMAND")
    assert report_text.way_to_decide([_unclear("pending", 1.1)]) == ""
    assert report_text.way_to_decide([_unclear("pending", 1.3), _unclear("c", 1.1)]).endswith("compare a c -- COMMAND")


@pytest.mark.parametrize(
    ("label", "collector", "command"),
    [
        ("benchmarks", "bench", "perf compare a c --collector bench -- benchmarks"),
        ("./sort 'big file'", "time", "perf compare a c -- ./sort 'big file'"),
        ("svc/one: ./run", "results", "perf compare a c --collector results --cwd svc/one -- ./run"),
        ("go test -run '^$'", "results", "perf compare a c --collector results -- go test -run '^$'"),
        ("cat x | sort", "time", "perf compare a c -- COMMAND"),  # which only a shell runs
        ("echo '", "time", "perf compare a c -- 'echo '\"'\"''"),
        ("./sort", "", "perf compare a c --collector NAME -- COMMAND"),
    ],
)
def test_the_way_to_decide_can_be_pasted(label: str, collector: str, command: str) -> None:
    change = _unclear("c", 1.1, label=label, config_id="1:x", resource="parse")
    collectors = {"1:x": collector} if collector else {}
    assert report_text.way_to_decide([change], collectors).endswith(f": {command}")


def test_an_accepted_change_is_one_of_those_that_the_conclusion_counts() -> None:
    change = Change(id="1", kind="degradation", metric="cpu", label="./sort")
    decision = Decision(change="1", why="it is safer", author="Ann", time=0)
    result = CheckResult(changes=(change,), accepted={"1": decision}, conclusion="1 series: 1 regression")
    assert report_text.conclusion(result) == "1 series: 1 regression; of these, 1 change accepted"
