"""Which check the configuration names for what."""

from __future__ import annotations

from typing import Any

import pytest
from perfcore_check_kit import method_rules
from perfcore_check_kit.method_rules import Facts

from perfcore.errors import UsageError

FACTS = Facts("time", "bench parse", "time", ("filter", "normalizer"))


def _methods(*configured: Any, apply: str = "first") -> tuple[str, ...]:
    return method_rules.methods(method_rules.read(configured), FACTS, apply, "pair")


def test_where_no_rule_holds_the_default_does() -> None:
    assert _methods() == ("pair",)
    assert _methods({"collector": "papi", "method": "exact"}) == ("pair",)


@pytest.mark.parametrize(
    "wanted",
    [
        {"collector": "time"},
        {"type": "t*"},
        {"command": "bench *"},
        {"postprocessor": "normalizer"},
        {"command": "bench *", "collector": "time"},
        {},
    ],
)
def test_a_rule_holds_where_all_that_it_names_does(wanted: dict[str, str]) -> None:
    assert _methods({**wanted, "method": "exact"}) == ("exact",)
    assert _methods({**wanted, "method": "exact", "type": "other"}) == ("pair",)


def test_the_first_rule_counts_or_all() -> None:
    two = {"method": "one"}, {"method": "two"}, {"method": "one"}
    assert _methods(*two) == ("one",)
    assert _methods(*two, apply="all") == ("one", "two")


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("pair", "rule 1 of check.rules names no method"),
        ({"collector": "time"}, "names no method"),
        ({"method": "pair", "colector": "time"}, "unknown key"),
        ({"method": "pair", "command": 5}, "is a pattern"),
    ],
)
def test_what_is_no_rule_is_refused(rule: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        method_rules.read([rule])


def test_apply_is_one_of_two_words() -> None:
    with pytest.raises(UsageError, match=r"check\.apply"):
        _methods(apply="some")
