"""What fails a build."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from perfcore_check_kit import conclusions
from perfcore_check_kit.fail_rules import parse_rules
from perfcore_check_kit.thresholds import combined

from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.fail_on import DEFAULT
from perfcore.errors import UsageError
from perfcore.model import Change, Unpaired
from perfcore.model.decisions import Decision

KINDS = ("degradation", "optimization", "drift", "improving drift", "variance", "machine", "same", "cannot tell")


def code(rules: str, *changes: Change) -> int:
    return CheckResult(changes=changes, rules=parse_rules(rules.split()), compared=1).exit_code


def test_a_check_that_compared_nothing_fails_unless_that_is_allowed(change: Callable[..., Change]) -> None:
    """A gate that looked at nothing must not pass: a new machine or a renamed command would switch it off."""
    assert CheckResult().exit_code == CheckResult(changes=(change("same", primary=False),)).exit_code == 9
    assert CheckResult(changes=(change("same"),)).exit_code == 0
    assert CheckResult(rules=parse_rules(["never"])).exit_code == 0
    assert CheckResult(rules=parse_rules(["never", "degradation"])).exit_code == 0
    assert CheckResult(rules=parse_rules(["never", "nothing-compared"])).exit_code == 9
    assert CheckResult().requires_all
    assert not CheckResult(compared=1).requires_all


def test_by_default_only_a_degradation_or_a_drift_of_a_primary_metric_fails(change: Callable[..., Change]) -> None:
    assert parse_rules(["degradation"]) == parse_rules([]) == DEFAULT
    assert code("degradation", change("degradation")) == 1
    assert code("degradation", change("degradation", primary=False)) == 0
    assert code("degradation", *(change(kind) for kind in KINDS[1:] if kind != "drift")) == 0
    assert code("degradation") == 0


def test_any_degradation_is_one_of_any_metric(change: Callable[..., Change]) -> None:
    assert code("any-degradation", change("degradation", primary=False)) == 1
    assert code("any-degradation", change("optimization")) == 0


def test_a_metric_can_be_named_and_then_counts_wherever_it_is(change: Callable[..., Change]) -> None:
    assert code("degradation:wall", change("degradation", metric="wall", primary=False)) == 1
    assert code("never degradation:wall", change("degradation", metric="cpu")) == 0
    assert code("degradation:wall", change("degradation", metric="cpu")) == 1, "it adds to the default"
    assert code("degradation:std::sort", change("degradation", metric="std::sort")) == 1


def test_what_cannot_be_told_has_an_exit_code_of_its_own(change: Callable[..., Change]) -> None:
    assert code("cannot-tell", change("cannot tell")) == 8
    assert code("cannot-tell", change("same"), change("cannot tell", primary=False)) == 0
    undecided = CheckResult(
        changes=(change("cannot tell", primary=False),), rules=parse_rules(["never", "cannot-tell"])
    )
    assert undecided.exit_code == 8, "nothing that decides was compared"
    assert code("cannot-tell:wall", change("cannot tell", metric="wall", primary=False)) == 8
    assert code("cannot-tell", change("same")) == 0
    assert code("cannot-tell", change("cannot tell"), change("degradation")) == 1
    assert code("cannot-tell", change("degradation")) == 1
    assert code("never cannot-tell", change("cannot tell"), change("degradation")) == 8


def test_a_change_of_the_machine_that_may_be_the_code_is_inconclusive(change: Callable[..., Change]) -> None:
    either = change("machine", primary=False, reason="the machine or the code")
    assert code("cannot-tell", change("same"), either) == 8
    assert code("cannot-tell", change("same"), change("machine", primary=False)) == 0
    assert code("degradation", either) == code("any-degradation", either) == 0
    assert code("cannot-tell:wall", either) == 0, "it is of another metric"


def test_a_broken_contract_fails_whatever_else_does(change: Callable[..., Change]) -> None:
    broken = change("degradation", contract="cpu <= 2 ms")
    assert code("cannot-tell", broken) == code("degradation:wall", broken) == 1
    assert code("never cannot-tell", broken) == 0


def test_a_metric_that_nothing_has_is_known_where_something_was_compared() -> None:
    rules = parse_rules(["degradation:cpuu", "cannot-tell:wall"])
    assert CheckResult(rules=rules, metrics=frozenset({"cpu", "wall"})).unmatched_metrics == ("cpuu",)
    assert CheckResult(rules=rules).unmatched_metrics == ()


def test_what_could_not_be_compared_cannot_be_told(change: Callable[..., Change], gap: Callable[..., Unpaired]) -> None:
    rules = parse_rules(["never", "cannot-tell"])
    assert CheckResult(changes=(change("same"),), unpaired=(gap(),), rules=rules).exit_code == 8
    assert CheckResult(rules=rules).exit_code == 8, "nothing was compared at all"
    assert CheckResult(changes=(change("same"),), unpaired=(gap(),)).exit_code == 0


def test_what_was_not_compared_has_an_exit_code_of_its_own(
    change: Callable[..., Change], gap: Callable[..., Unpaired]
) -> None:
    rules = parse_rules(["not-compared"])
    assert CheckResult(rules=rules).exit_code == 9, "nothing was compared"
    assert CheckResult(changes=(change("same"),), unpaired=(gap(),), rules=rules).exit_code == 9
    assert CheckResult(changes=(change("cannot tell"),), rules=rules).exit_code == 0, "that is doubt, not a gap"
    assert CheckResult(changes=(change("degradation"),), unpaired=(gap(),), rules=rules).exit_code == 1
    both = parse_rules(["not-compared", "cannot-tell"])
    assert CheckResult(unpaired=(gap(),), rules=both).exit_code == 9
    assert CheckResult(changes=(change("cannot tell"),), rules=both).exit_code == 8


def test_the_conclusion_counts_what_became_worse_beside_primary_metrics(change: Callable[..., Change]) -> None:
    changes = [change("same"), change("degradation", metric="faults", primary=False)]
    assert conclusions.of_comparisons(changes).endswith(
        "0 regressions, 0 improvements, 1 unchanged, 1 other metric worse"
    )


def test_never_is_never(change: Callable[..., Change]) -> None:
    assert code("never", *map(change, KINDS)) == 0


def test_what_was_accepted_never_fails(change: Callable[..., Change], accept: Callable[..., Decision]) -> None:
    slower = change("degradation")
    accepted = {slower.id: accept(slower.id)}
    assert CheckResult(changes=(slower,), accepted=accepted).exit_code == 0
    assert CheckResult(changes=(slower, change("degradation", id="other")), accepted=accepted).exit_code == 1


def test_what_was_taken_back_fails_no_more(change: Callable[..., Change]) -> None:
    assert code("degradation any-degradation", change("degradation", undone="d" * 40)) == 0


@pytest.mark.parametrize(
    ("words", "says", "hint"),
    [
        (["degradations"], "cannot fail on 'degradations'", "did you mean 'degradation'?"),
        (["slower"], "cannot fail on 'slower'", "one of"),
        (["optimization"], "cannot fail on 'optimization'", None),
        (["degradation:"], "names no metric", "degradation:wall"),
        (["any-degradation:wall"], "names no metric", "degradation:wall"),
        (["\x1b[31m"], r"'\x1b[31m'", None),
    ],
)
def test_wrong_rules_are_errors(words: list[str], says: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        parse_rules(words)
    assert says in caught.value.message
    assert hint is None or hint in (caught.value.hint or "")


def test_a_threshold_for_all_outweighs_the_configuration_and_one_of_a_metric_adds_to_it() -> None:
    configured = {"": 0.1, "wall": 0.2}
    assert combined(configured, {"": 0.5}) == {"": 0.5}
    assert combined(configured, {"cpu": 0.5}) == {"": 0.1, "wall": 0.2, "cpu": 0.5}
    assert combined(configured, {}) == configured


def test_the_report_says_what_fails_and_what_was_accepted(
    change: Callable[..., Change], accept: Callable[..., Decision], gap: Callable[..., Unpaired]
) -> None:
    slower, worse = change("degradation"), change("degradation", id="other")
    made = CheckResult(changes=(slower, worse), unpaired=(gap(),), accepted={slower.id: accept(slower.id)}).as_json()
    assert (made["schema"], made["degraded"], made["fail_on"]) == (
        1,
        True,
        ["degradation", "drift", "nothing-compared"],
    )
    assert [each["fails"] for each in made["changes"]] == [False, True]
    assert made["changes"][0]["accepted"] == {"author": "Ann", "why": "it is safer", "time": 1}
    assert made["changes"][1]["accepted"] is None
    assert made["changes"][0]["ratio"] == 2.0
    assert made["unpaired"][0]["label"] == "gzip"


@pytest.mark.parametrize(
    ("words", "kind", "fields", "code"),
    [
        ([], "drift", {}, 1),
        ([], "drift", {"primary": False}, 0),
        ([], "drift", {"undone": "f" * 40}, 0),
        ([], "improving drift", {}, 0),
        (["never"], "drift", {}, 0),
        (["never", "degradation"], "drift", {}, 0),
        (["never", "drift"], "degradation", {}, 0),
        (["drift:cpu"], "drift", {"primary": False}, 1),
        (["any-degradation"], "drift", {"primary": False}, 1),
        ([], "variance", {"ratio": 5.0}, 0),
        (["noise"], "variance", {"ratio": 5.0}, 1),
        (["noise"], "variance", {"ratio": 0.2}, 0),
        (["noise"], "variance", {"ratio": 5.0, "primary": False}, 0),
        (["noise:cpu"], "variance", {"ratio": 5.0, "primary": False}, 1),
    ],
)
def test_drifts_fail_as_regressions_do_and_noise_on_demand(
    change: Callable[..., Change], words: list[str], kind: str, fields: dict[str, Any], code: int
) -> None:
    result = CheckResult(changes=(change(kind, **{"metric": "cpu", **fields}),), rules=parse_rules(words), compared=1)
    assert result.exit_code == code
