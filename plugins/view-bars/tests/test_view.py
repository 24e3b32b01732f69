"""Amounts as bars: text, page and SVG."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from perfcore_testing import hostile, profiles
from perfcore_testing.output import FakeOutput
from perfcore_testing.pages import assert_self_contained, violations
from perfcore_view_bars import BarsSettings, BarsView
from perfcore_view_bars.bars import bars
from perfcore_view_kit import form

from perfcore.errors import NotFoundError
from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.profile.table import column, table

FIRST = profiles.suite({"parse": [1e7, 1.1e7, 1.2e7], "sort": [5e7, 5e7, 5e7], "index": [2e6]})
SECOND = profiles.suite({"parse": [2e7, 2.1e7, 2.2e7], "sort": [4e7, 4e7, 4e7]})


def shown(*made: Profile, width: int | None = None, **settings: Any) -> str:
    output = FakeOutput(width=width)
    BarsView(BarsSettings(**settings)).render(profiles.subject(*made), output)
    return output.text


def words(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "|", markup))


def test_the_largest_bar_comes_first_in_every_form() -> None:
    assert [line.split()[0] for line in shown(FIRST, width=80).splitlines()] == ["cpu", "sort", "parse", "index"]
    page = shown(FIRST, SECOND, format="html")
    assert_self_contained(page)
    assert "The largest cpu is 50 ms, of sort." in page.partition("<figure")[0]
    ElementTree.fromstring(shown(FIRST, SECOND, format="svg"))


def test_a_bar_has_its_interval_and_what_is_missing_is_said() -> None:
    text = words(shown(FIRST, SECOND, format="html"))
    assert "parse||11 ms (10 ms to 12 ms)||21 ms (20 ms to 22 ms)" in text
    assert "index||2 ms||not measured" in text


def test_bars_begin_at_zero_and_are_as_long_as_their_amounts() -> None:
    page = shown(profiles.suite({"a": [1e6], "b": [2e6], "c": [4e6]}), format="svg")
    widths = [float(width) for width in re.findall(r'class="series-1" x="[^"]*" y="[^"]*" width="([^"]*)"', page)]
    assert widths == [pytest.approx(4 * widths[2], rel=0.01), pytest.approx(2 * widths[2], rel=0.01), widths[2]]


def test_rows_of_a_run_are_added_up_by_a_column() -> None:
    columns = [
        column("file", ["a.c", "b.c", "a.c", "b.c"]),
        column("run", [0, 0, 1, 1], role="order"),
        column("amount", [1, 2, 3, 5], unit="B", role="value"),
    ]
    made = bars(profiles.subject(profiles.profile({"resources": table("resources", columns)})), None, "file", 10)
    assert made.names == ("b.c", "a.c")
    assert [[amount and amount.median for amount in row] for row in made.amounts] == [[3.5], [2.0]]
    assert made.title == "amount by file"


def test_only_the_largest_are_drawn_and_the_others_counted() -> None:
    text = shown(profiles.suite({f"bench {number}": [float(number)] for number in range(1, 100)}), head=5)
    assert text.splitlines()[-1] == "and 94 more that are smaller"
    assert len(text.splitlines()) == 7


def test_a_column_or_metric_that_is_not_there_is_refused() -> None:
    with pytest.raises(NotFoundError, match="no profile has rows by 'colour'"):
        shown(FIRST, by="colour")
    with pytest.raises(NotFoundError, match="no profile has values of 'wall'"):
        shown(FIRST, metric="wall")


def test_negative_amounts_go_to_the_left() -> None:
    ElementTree.fromstring(shown(profiles.suite({"a": [-5.0], "b": [5.0]}), format="svg"))


def test_names_are_never_markup() -> None:
    for name in hostile.NAMES:
        page = shown(profiles.suite({name: [1.0]}), format="html", title=name)
        assert hostile.unsafe(page) == set()
        assert len(re.findall("<script", page)) == 1


def test_the_page_is_accessible_in_the_browser(window: Any, tmp_path: Path, axe: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(shown(FIRST, SECOND, format="html"), encoding="utf-8")
    for scheme, size in (("light", (1200, 800)), ("dark", (400, 700))):
        window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
        window.resize(*size)
        window.open(path.as_uri(), "th button")
        assert violations(window, axe) == []
        assert window.run("document.documentElement.scrollWidth <= innerWidth") is True
        # Of a picture that is squeezed into 400 pixels the letters had less than 5 pixels.
        assert window.run("document.querySelector('svg.picture').getScreenCTM().a * 11") >= 8
    window.run("document.querySelector('.still').focus()")
    window.press("ArrowRight")
    window.settle("document.querySelector('.still').scrollLeft > 0")
    window.run("document.querySelectorAll('th button')[2].click()")
    assert window.run("document.querySelector('tbody th').textContent") == "sort"
    assert window.problems == []
    assert {url for url in window.requests if url != "about:blank"} == {path.as_uri()}


def test_call_stacks_have_a_bar_for_each_function_and_none_for_what_took_nothing() -> None:
    # The numbers of stacks differ between the profiles, and the second has no `write_1`.
    made = bars(profiles.subject(profiles.sampled(1), profiles.sampled(2)), None, None, 40)
    medians = {
        name: [amount and amount.median for amount in row] for name, row in zip(made.names, made.amounts, strict=True)
    }
    assert made.title == "samples by function"
    assert medians["Parser.parse"] == [25, 50]
    assert medians["main"] == [3, 6]
    assert medians["write_1"] == [71, 0]
    lines = shown(profiles.sampled(1), profiles.sampled(2), width=80).splitlines()
    (at,) = (at for at, line in enumerate(lines) if line.startswith("write_1"))
    assert lines[at + 1].split() == ["2", "0"]


def test_the_largest_is_that_of_all_profiles() -> None:
    first, second = profiles.suite({"parse": [1e7]}), profiles.suite({"parse": [2e7]})
    assert "The largest cpu is 20 ms, of parse." in shown(first, second, format="html")


def test_a_run_without_the_function_took_nothing_in_it() -> None:
    made = profiles.sampled()
    stacks, amounts = [1, 3, 3], [5, 9, 7]
    rows = [
        column("run", [0, 0, 1], role="order"),
        column("stack", stacks),
        column("samples", amounts, role="value"),
    ]
    tables = {**made.tables, "resources": table("resources", rows)}
    drawn = bars(profiles.subject(replace(made, tables=tables)), None, None, 40)
    assert [amount and amount.median for (amount,) in drawn.amounts] == [8, 2.5]


def test_call_stacks_have_a_bar_for_each_file() -> None:
    made = bars(profiles.subject(profiles.sampled(1)), None, "file", 40)
    by_function = bars(profiles.subject(profiles.sampled(1)), None, None, 1000)
    assert made.title == "samples by file"
    assert set(made.names) == {
        form.shown(str(file)) or "(none)" for file in profiles.sampled(1).tables["functions"]["file"]
    }
    totals = [sum(amount.median for (amount,) in each.amounts if amount) for each in (made, by_function)]
    assert totals[0] == totals[1]


def test_an_unknown_column_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(NotFoundError, match="no profile has rows by 'fiel'") as caught:
        bars(profiles.subject(profiles.sampled(1)), None, "fiel", 40)
    assert caught.value.hint == "they have: function, file"
