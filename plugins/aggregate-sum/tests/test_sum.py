"""What the sum of profiles says."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_aggregate_sum import Sum
from perfcore_command_derive.aggregation import aggregate
from perfcore_table_kit.functions import by_function
from perfcore_testing import profiles

from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.profile.columns import Value
from perfcore.profile.table import column, table


def rows(profile: Profile) -> list[dict[str, Value]]:
    return list(profile.tables["resources"].iter_rows())


def amounts(values: list[int | None]) -> Profile:
    resources = table(
        "resources",
        [column("uid", ["f"] * len(values), dtype="str"), column("amount", values, dtype="i64", role="value")],
    )
    return profiles.profile({"resources": resources})


def test_rows_of_equal_dimensions_become_one() -> None:
    resources = [
        table("resources", [column("uid", names), column("amount", values, unit="ns", role="value")])
        for names, values in ((["a", "b", "a"], [1, 2, 3]), (["b", "c"], [10, 20]))
    ]
    made = Sum().aggregate([profiles.profile({"resources": each}) for each in resources])
    assert rows(made) == [{"uid": "a", "amount": 4}, {"uid": "b", "amount": 12}, {"uid": "c", "amount": 20}]
    assert made.tables["resources"]["amount"].unit == "ns"


def test_stacks_are_the_same_by_their_functions_and_lines() -> None:
    one, other = profiles.sampled(1), profiles.sampled(2)
    made = Sum().aggregate([one, other])
    total = {function.name: function.total for function in by_function(made.tables, "samples")}
    assert total["main"] == 100 + 200
    assert (total["write_1"], total["write_2"]) == (71, 142)
    assert total["Parser.parse"] == 25 + 50
    assert total["[unknown]"] == 2 + 4
    assert rows(made)[-1]["samples"] is not None


@given(st.lists(st.lists(st.none() | st.integers(-(2**40), 2**40), max_size=5), min_size=1, max_size=4))
def test_the_total_is_that_of_all(groups: list[list[int | None]]) -> None:
    made = Sum().aggregate([amounts(values) for values in groups])
    there = [value for values in groups for value in values if value is not None]
    found = [row["amount"] for row in rows(made)]
    assert found == ([sum(there)] if there else [None] * any(groups))


def test_sums_beyond_64_bits_are_refused() -> None:
    with pytest.raises(FormatError, match="64 bits"):
        Sum().aggregate([amounts([2**63 - 1])] * 3)


def test_different_types_and_columns_are_refused() -> None:
    with pytest.raises(FormatError, match="different types"):
        Sum().aggregate([profiles.timed(), profiles.traced()])
    with pytest.raises(FormatError, match="different columns"):
        Sum().aggregate([profiles.timed(), amounts([1])])


def test_a_sum_is_of_no_configuration_and_the_machine_of_all() -> None:
    made = Sum().aggregate([profiles.timed(), profiles.timed()])
    assert (made.config_id, made.environment_id) == ("", profiles.timed().environment_id)
    assert made.notes == ("the sum of 2 profiles",)


def _functions(seed: int) -> Profile:
    names, values = [f"f{i}" for i in range(1000)], [seed + i for i in range(1000)]
    columns = [column("uid", names, dtype="str"), column("amount", values, dtype="i64", role="value")]
    return profiles.profile({"resources": table("resources", columns)})


def test_five_hundred_profiles_need_the_memory_of_fifty() -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        aggregate(Sum(), (_functions(seed) for seed in range(count)))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(5)  # imports and caches count for nobody
    few = peak(50)
    assert peak(500) < 2 * few, "ten times as much would be all of them"
