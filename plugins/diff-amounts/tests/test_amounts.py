"""What the difference of two profiles says."""

from __future__ import annotations

import math

from perfcore_diff_amounts import Amounts
from perfcore_table_kit.functions import by_function
from perfcore_testing import profiles

from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.profile.table import column, table


def amounts(**values: float | None) -> Profile:
    given = list(values.values())
    resources = table("resources", [column("uid", list(values)), column("amount", given, unit="s", role="value")])
    return profiles.profile({"resources": resources})


def said(profile: Profile) -> dict[object, tuple[object, ...]]:
    return {
        row["uid"]: (row["amount"], row["baseline amount"], row["target amount"])
        for row in profile.tables["resources"].iter_rows()
    }


def test_what_is_on_one_side_only_counts_as_nothing_on_the_other() -> None:
    found = said(Amounts().diff(amounts(a=1, gone=5), amounts(a=4, new=7)))
    assert found == {"a": (3, 1, 4), "gone": (-5, 5, None), "new": (7, None, 7)}


def test_what_is_infinite_on_both_sides_does_not_differ() -> None:
    found = said(Amounts().diff(amounts(a=math.inf, b=math.nan), amounts(a=math.inf, b=math.nan)))
    assert [amount for amount, _, _ in found.values()] == [0.0, 0.0]


def test_functions_that_only_moved_do_not_differ() -> None:
    made = Amounts().diff(profiles.sampled(1), profiles.sampled(2))
    total = {function.name: function.total for function in by_function(made.tables, "samples")}
    assert total["main"] == 100
    assert (total["write_1"], total["write_2"]) == (-71, 142)
    lines = dict(zip(made.tables["functions"]["name"], made.tables["functions"]["line"], strict=True))
    assert lines["main"] == 6  # as it is in the target


def test_a_profile_without_a_sample_has_nothing_of_each_function() -> None:
    """As of a command that ended before the first one."""
    resources = table(
        "resources",
        [
            column("stack", [None], dtype="i64"),
            column("samples", [0], dtype="i64", role="value"),
        ],
    )
    sampled = profiles.sampled(1)
    empty = replace(sampled, tables={"resources": resources})
    (whole,) = (function.total for function in by_function(sampled.tables, "samples") if function.name == "main")
    for made, sign in ((Amounts().diff(sampled, empty), -1), (Amounts().diff(empty, sampled), 1)):
        total = {function.name: function.total for function in by_function(made.tables, "samples")}
        assert total["main"] == sign * whole


def test_the_result_says_that_it_is_a_difference() -> None:
    made = Amounts().diff(profiles.timed(), profiles.timed())
    assert made.notes == ("amounts are differences: target minus baseline",)
    assert made.config_id == ""
