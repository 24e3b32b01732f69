"""How things are written for people."""

from __future__ import annotations

import json

import pytest

from perfcore.text import align, clip, fitted, printable, printable_json, quantity, width


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (12_345_678, "ns", "12.3 ms"),
        (999, "ns", "999 ns"),
        (0, "ns", "0 ns"),
        (-1_500, "ns", "-1.5 µs"),
        (0.25, "s", "250 ms"),
        (2**20, "B", "1 MiB"),
        (9_999, "", "9999"),
        (70_000, "", "70k"),
        (-70_000, "", "-70k"),
        (5_000_000, "", "5M"),
        (0.5, "", "0.5"),
        (0.5, "1", "0.5"),
        (50, "%", "50 %"),
        (3, "widgets", "3 widgets"),
        (123_456_789_012, "widgets", "123456789012 widgets"),
        (1e308, "ns", "1e+299 s"),
        (-1e308, "", "-1e+296T"),
        (float("nan"), "ns", "nan ns"),
        (None, "ns", "-"),
    ],
)
def test_quantities_are_in_the_unit_that_fits(value: float | None, unit: str, shown: str) -> None:
    assert quantity(value, unit) == shown


def test_a_table_is_cut_to_a_terminal_where_its_names_are_long() -> None:
    rows = [("slower", "m" * 30, "command " * 10, "+5 %"), ("same", "cpu", "short", "-")]
    assert fitted(rows, None, cut=(2, 1)) == [list(row) for row in rows]
    assert fitted(rows, 200, cut=(2, 1)) == [list(row) for row in rows]
    lines = align(fitted(rows, 70, cut=(2, 1)))
    assert [width(lines[0]), "…" in lines[0], "m" * 30 in lines[0]] == [70, True, True]
    lines = align(fitted(rows, 50, cut=(2, 1)))
    assert [width(lines[0]), lines[0].count("…"), "short" in lines[1]] == [50, 2, True]
    assert fitted([], 50, cut=(2,)) == []


def test_a_cut_name_keeps_its_end_which_tells_benchmarks_of_a_suite_apart() -> None:
    names = [f"example.org/mux.BenchmarkPopulateContext/{case}" for case in ("static[2]", "dynamic[2]", "日本語[2]")]
    cells = [name for name, _ in fitted([(name, "1.5 µs") for name in names], 40, cut=(0,))]
    assert cells == [
        "example.o…ulateContext/static[2]",
        "example.o…lateContext/dynamic[2]",
        "example.o…ulateContext/日本語[2]",
    ]
    assert {width(cell) for cell in cells} == {32}


def test_what_moves_the_cursor_is_shown_as_an_escape() -> None:
    assert printable("a\x1b[2J\n\u202eb") == "a\\x1b[2J\\n\\u202eb"
    assert printable("naïve 日本") == "naïve 日本"


def test_clipped_text_fits_and_says_that_it_was_cut() -> None:
    assert clip("function", 8) == "function"
    assert clip("function", 5) == "func…"
    assert width(clip("日本語日本語", 5)) <= 5


def test_columns_are_aligned_by_the_places_that_characters_take() -> None:
    assert align([["日本", "1"], ["abc", "22"]], right=(1,)) == ["日本   1", "abc   22"]


@pytest.mark.parametrize(
    "said", ["\x1b[31m\x7f\n", "\x9b31m", "\u202eB\u2028", "\U000e0041", "naïve 日本 🚀", "\udc80", 'a"\\']
)
def test_json_says_the_same_and_nothing_to_a_terminal(said: str) -> None:
    for indent in (None, 2):
        text = printable_json(json.dumps({said: [said]}, ensure_ascii=False, indent=indent))
        assert json.loads(text) == {said: [said]}
        assert text.replace("\n", "").isprintable()
    assert printable_json('"naïve 日本"') == '"naïve 日本"'
