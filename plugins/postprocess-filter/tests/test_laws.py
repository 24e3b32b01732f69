"""Laws of choosing, for tables of any columns and values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_postprocess_filter import Filter, FilterSettings
from perfcore_testing import profiles, strategies

from perfcore.profile.columns import Column
from perfcore.profile.table import Table, column, table

if TYPE_CHECKING:
    from collections.abc import Callable

FLOATS = st.none() | st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 0.1])
INTS = st.none() | st.integers(-3, 30) | st.sampled_from([2**53, 2**53 + 1, 2**63 - 1, -(2**63)])
POSITIVE = st.none() | st.integers(0, 2**62)
TEXTS = st.none() | st.sampled_from(["parse", "parse_all", "naïve 日本語", "<script>", "", "100%"])
EXPRESSIONS = st.sampled_from(
    [
        "<20",
        ">= 9007199254740993",
        "amount >= 20 and uid like 'parse%'",
        "not (amount < 5)",
        "amount is missing or weight = weight",
        "weight > 0.1 or uid in ('<script>', '')",
        "run = 1",
    ]
)


@st.composite
def resources(draw: st.DrawFn, amounts: st.SearchStrategy[Any] = INTS) -> Table:
    count = draw(st.integers(0, 12))

    def drawn(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    return table(
        "resources",
        [
            column("row", list(range(count)), dtype="i64", role="order"),
            column("run", drawn(st.none() | st.integers(0, 2)), dtype="i64", role="order"),
            column("uid", drawn(TEXTS), dtype="str"),
            column("amount", drawn(amounts), dtype="i64", role="value"),
            column("weight", drawn(FLOATS), dtype="f64", role="value"),
            column("hot", drawn(st.none() | st.booleans()), dtype="bool"),
        ],
    )


@st.composite
def settings(draw: st.DrawFn) -> dict[str, Any]:
    """An expression, the top of a metric, or both."""
    chosen: dict[str, Any] = {}
    if draw(st.booleans()):
        chosen["expression"] = draw(EXPRESSIONS)
    if not chosen or draw(st.booleans()):
        chosen |= {"top": draw(st.integers(1, 5)), "by": draw(st.sampled_from([None, "amount", "weight"]))}
        chosen["per"] = draw(st.sampled_from(["whole", "run"]))
    return chosen


def kept(resources: Table, **options: Any) -> Table:
    profile = profiles.profile({"resources": resources})
    return Filter(FilterSettings(**options)).postprocess(profile).tables["resources"]


def rows(table: Table) -> list[int]:
    return [int(row) for row in table["row"]]  # type: ignore[arg-type]


@given(resources(), settings())
def test_filtering_is_idempotent(resources: Table, options: dict[str, Any]) -> None:
    once = kept(resources, **options)
    assert kept(once, **options) == once


@given(resources(), EXPRESSIONS)
def test_dropping_what_is_kept_leaves_nothing(resources: Table, expression: str) -> None:
    assert kept(kept(resources, expression=expression), expression=expression, drop=True).rows == 0


@given(resources(), settings())
def test_kept_and_dropped_rows_are_all_rows_each_once(resources: Table, options: dict[str, Any]) -> None:
    chosen, others = kept(resources, **options), kept(resources, **options, drop=True)
    assert sorted(rows(chosen) + rows(others)) == rows(resources)


@given(resources(), settings(), st.booleans())
def test_rows_stay_as_they_are_and_in_order(resources: Table, options: dict[str, Any], drop: bool) -> None:
    result = kept(resources, **options, drop=drop)
    assert rows(result) == sorted(rows(result))
    assert result == resources.take(rows(result))
    assert [column.spec for column in result.columns] == [column.spec for column in resources.columns]


@given(resources(), EXPRESSIONS, EXPRESSIONS)
def test_two_filters_are_one_with_and(resources: Table, first: str, second: str) -> None:
    assert kept(kept(resources, expression=first), expression=second) == kept(
        resources, expression=f"({first}) and ({second})"
    )


def numbers(column: Column) -> list[float]:
    """What a column has but for missing values and those that are not numbers."""
    return [value for value in column if isinstance(value, int | float) and value == value]


@given(resources(), st.integers(1, 15), st.sampled_from(["amount", "weight"]))
def test_top_has_at_most_n_rows_and_nothing_outside_is_larger(resources: Table, count: int, by: str) -> None:
    chosen, others = kept(resources, top=count, by=by), kept(resources, top=count, by=by, drop=True)
    assert chosen.rows == min(count, len(numbers(resources[by])))
    left = numbers(others[by])
    assert not left or min(numbers(chosen[by])) >= max(left)


@given(resources(), st.integers(1, 4))
def test_top_per_run_is_the_top_of_each_run(resources: Table, count: int) -> None:
    expected = set()
    for run in (0, 1, 2):
        expected |= set(rows(kept(kept(resources, expression=f"run = {run}"), top=count)))
    expected |= set(rows(kept(kept(resources, expression="run is missing"), top=count)))
    assert set(rows(kept(resources, top=count, per="run"))) == expected


@given(resources(POSITIVE), st.integers(0, 100))
def test_a_share_is_the_fewest_rows_that_make_it(resources: Table, percent: int) -> None:
    chosen = sorted((int(value or 0) for value in kept(resources, share=percent)["amount"]), reverse=True)
    total = sum(int(value or 0) for value in resources["amount"])
    assert sum(chosen) * 100 >= total * percent or total == 0
    assert not chosen or sum(chosen[:-1]) * 100 < total * percent


@given(resources(POSITIVE), st.integers(0, 100))
def test_over_is_each_row_above_its_part_of_the_total(resources: Table, percent: int) -> None:
    amounts = [None if value is None else int(value) for value in resources["amount"]]
    total = sum(value or 0 for value in amounts)
    expected = [row for row, value in enumerate(amounts) if value is not None and value * 100 > total * percent]
    assert rows(kept(resources, over=percent)) == expected


@pytest.mark.parametrize("drop", [False, True])
@given(strategies.tables().filter(lambda table: table.columns), st.data())
def test_any_table_is_filtered_by_any_of_its_columns(drop: bool, table: Table, data: st.DataObject) -> None:
    """Whatever columns are called: `amount by <script>`, with quotes, with newlines, with nothing."""
    name = data.draw(st.sampled_from(table.names))
    quoted = "`" + name.replace("`", "``") + "`"
    profile = profiles.profile({"resources": table})
    result = Filter(FilterSettings(expression=f"{quoted} is missing", drop=drop)).postprocess(profile)
    wanted: Callable[[Any], bool] = (lambda value: value is not None) if drop else (lambda value: value is None)
    assert result.tables["resources"] == table.take([row for row, value in enumerate(table[name]) if wanted(value)])
