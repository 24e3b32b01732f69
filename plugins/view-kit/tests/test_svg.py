"""Pictures as SVG: axes, reduction, sparklines, still charts."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_testing import hostile
from perfcore_view_kit import palette, svg
from perfcore_view_kit.chart import ChartData, Line, sparkline, still
from perfcore_view_kit.colors import contrast
from perfcore_view_kit.page import source

from perfcore.text import quantity

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE, st.integers(0, 20), st.sampled_from(["", "ns", "s", "B", "1", "items"]))
def test_ticks_lie_in_the_range_and_rise(one: float, other: float, most: int, unit: str) -> None:
    low, high = svg.span([one, other])
    made = svg.ticks(low, high, most, unit)
    amounts = [value for value, _ in made]
    assert amounts == sorted(amounts)
    slack = 1e-6 * (high - low)
    assert all(low - slack <= value <= high + slack for value in amounts)


def test_ticks_are_round_and_in_one_unit() -> None:
    assert [text for _, text in svg.ticks(9.4e6, 12.1e6, 3, "ns")] == ["10 ms", "11 ms", "12 ms"]
    assert [text for _, text in svg.ticks(0, 1, 5)] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert [text for _, text in svg.ticks(0, 4 * 2**20, 2, "B")] == ["0 MiB", "2 MiB", "4 MiB"]


@pytest.mark.parametrize("unit", ["", "ns", "s", "B"])
@pytest.mark.parametrize("amount", [1, 7, 1500, 2_000_000, 3_000_000_000, 5e12])
def test_ticks_have_the_units_of_the_terminal(amount: float, unit: str) -> None:
    name = quantity(amount, unit).lstrip("0123456789.e+")
    assert all(text.endswith(name) for _, text in svg.ticks(0, amount, 4, unit))


def test_the_last_label_ends_within_the_picture() -> None:
    frame = svg.frame((0.0, 30.0), (0.0, 1.0))
    last = list(frame.grid("", [(0.0, "0" * 10), (30.0, "9" * 10)]))[-2]
    assert 'text-anchor="end"' in last
    assert float(re.search(r' x="([\d.]+)"', last)[1]) <= frame.width  # type: ignore[index]


@given(st.lists(st.none() | FINITE, max_size=400), st.integers(1, 50))
def test_reduction_keeps_the_extremes_and_the_order(values: list[float | None], width: int) -> None:
    made = svg.columns(values, (), (), width, lambda at: at * width / len(values))
    measured = [value for value in values if value is not None]
    assert len(made) <= width
    assert [column.x for column in made] == sorted({column.x for column in made})
    if measured:
        assert min(column.least for column in made) == min(measured)
        assert max(column.most for column in made) == max(measured)


def test_runs_end_at_gaps() -> None:
    assert [list(run) for run in svg.runs_of([None, 1, 2, None, None, 3])] == [[1, 2], [5]]


@given(st.lists(st.none() | st.floats(), max_size=300))
def test_a_sparkline_is_well_formed_and_holds_numbers_only(values: list[float | None]) -> None:
    text = sparkline(values, title="a <b>")
    ElementTree.fromstring(text)
    assert "nan" not in text
    assert "inf" not in text


def test_a_sparkline_without_a_title_is_decoration() -> None:
    assert 'aria-hidden="true"' in sparkline([1, 2])
    assert 'role="img" aria-label="cpu"' in sparkline([1, 2], title="cpu")


@pytest.mark.parametrize("name", ["changed", "several", "long", "extreme"])
def test_a_still_chart_is_well_formed(charts: Any, name: str) -> None:
    text = still(getattr(charts, name)(), alone=True)
    ElementTree.fromstring(text.encode())
    assert "nan" not in text
    assert not any(word in text for word in (">inf", '"inf', " inf"))


def test_a_long_history_makes_no_long_picture_and_keeps_its_peak(charts: Any) -> None:
    text = still(charts.long())
    assert len(text) < 60_000
    (band,) = re.findall(r'class="band series-1" d="M([^Z]*)Z', text)
    top = min(float(pair.split()[1]) for pair in band.split("L"))
    assert top < 40  # the peak is near the upper edge, which is at 20


def test_nothing_and_a_single_point_are_charts() -> None:
    empty = ChartData(title="cpu", finding="", lines=(), labels=())
    ElementTree.fromstring(still(empty))


@pytest.mark.parametrize("name", hostile.NAMES)
def test_names_stay_text_in_pictures(charts: Any, name: str) -> None:
    plain = ElementTree.fromstring(still(charts.changed()))
    shown = name.encode("ascii", "replace").decode().replace("\x1b", "?").replace("\x07", "?").replace("\x00", "?")
    made = still(charts.data(charts.line([1e7, 2e7], shown), title=shown, finding=shown))
    assert {part.tag for part in ElementTree.fromstring(made).iter()} <= {part.tag for part in plain.iter()} | {"text"}


def test_colours_can_be_seen_on_both_backgrounds() -> None:
    blocks = source("perfcore_view_kit", "base.css").split("}")[:2]
    for colors, block in zip((palette.LIGHT, palette.DARK), blocks, strict=True):
        for name in ("background", "surface"):
            background = block.partition(f"--{name}: ")[2][:7]
            for key, color in colors.items():
                assert contrast(color, background) >= (3 if key.startswith("series") else 4.5)
    assert len(set(palette.LIGHT.values())) == len(palette.LIGHT)


def test_a_range_is_never_empty() -> None:
    for values in ([], [0.0], [5e-324], [1e308, -1e308], [7.0, 7.0], [math.inf]):
        low, high = svg.span(values)
        assert low < high
        assert math.isfinite(high - low)


def test_dots_that_are_drawn_together_are_those_drawn_one_by_one() -> None:
    points = [(1.25, 7.0), (2.35, -0.04), (1e6 / 3, 0.05)]
    assert svg.dots(points, "series-1", color="#123456") == "".join(
        svg.dot(x, y, "series-1", color="#123456") for x, y in points
    )


def test_a_version_that_is_inconclusive_has_a_hollow_dot_among_full_ones() -> None:
    values = [1.0, 2.0, 3.0, 2.0]
    full, hollow = (
        still(ChartData(title="t", finding="f", labels=list("abcd"), lines=[Line(name="n", values=values, hollow=at)]))
        for at in ((), (2,))
    )
    assert full.count("<circle") == hollow.count("<circle") == 4
    assert (full.count("hollow"), hollow.count("hollow")) == (0, 1)
