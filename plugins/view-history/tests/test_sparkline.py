"""Series as a line of text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_view_history.sparkline import PLAIN, marks, spark


def test_levels_go_from_the_least_amount_to_the_greatest() -> None:
    assert spark([1, 2, 3, 4, 5, 6, 7, 8], 80) == "▁▂▃▄▅▆▇█"
    assert spark([10, 20], 80, PLAIN) == "_#"


def test_what_never_changes_is_in_the_middle_and_what_is_missing_is_blank() -> None:
    assert spark([5, None, 5], 80) == "▄ ▄"
    assert spark([None], 80) == " "
    assert spark([], 80) == ""


@pytest.mark.parametrize("amounts", [[1e308, -1e308], [float("inf"), 1.0], [0.0, -0.0]])
def test_extreme_amounts_draw_something(amounts: list[float]) -> None:
    assert len(spark(amounts, 80)) == len(amounts)


def test_more_amounts_than_columns_share_them_by_their_median() -> None:
    assert spark([0, 0, 0, 9, 9, 9], 2) == "▁█"
    assert spark([0, 0, 9, 9, 9, 0], 2) == "▁█"


def test_a_mark_stands_below_the_column_of_its_place() -> None:
    assert marks({0: "^", 3: "v"}, 5, 80) == "^  v"
    assert marks({5: "^"}, 6, 2) == " ^"
    assert marks({}, 6, 2) == ""


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), max_size=300), st.integers(1, 50))
def test_the_line_is_never_longer_than_the_columns(amounts: list[float | None], columns: int) -> None:
    line = spark(amounts, columns)
    assert len(line) == min(columns, len(amounts))
    for place in range(len(amounts)):
        assert len(marks({place: "^"}, len(amounts), columns)) <= len(line)
