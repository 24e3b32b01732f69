"""What is shown of which table, in every form."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_testing import hostile, profiles
from perfcore_testing.output import FakeOutput
from perfcore_view_table import TableSettings, TableView

from perfcore.errors import NotFoundError, UsageError
from perfcore.model import Header, Profile
from perfcore.model.record import replace
from perfcore.plugins import Plugins
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column, table


def shown(*subjects: Profile, width: int | None = None, color: bool = False, **settings: Any) -> FakeOutput:
    """The output of a view with these settings for these profiles."""
    output = FakeOutput(width=width, color=color)
    names = tuple(f"{number}@p" for number in range(len(subjects)))
    TableView(TableSettings(**settings)).render(profiles.subject(*subjects, names=names), output)
    return output


def of(*columns: Any) -> Profile:
    return profiles.profile({"resources": table("resources", columns)})


def parsed(output: FakeOutput) -> list[list[str]]:
    """The lines of a CSV as a reader of RFC 4180 sees them."""
    return list(csv.reader(io.StringIO(output.text, newline=""), strict=True))


def document(output: FakeOutput) -> Any:
    return json.loads(output.text, parse_constant=pytest.fail)


def numbers(count: int, name: str = "n") -> Profile:
    return of(column(name, list(range(count)), role="value"))


# Choosing


def test_it_is_found_by_its_name_and_takes_options() -> None:
    found, view = Plugins().make("view", "table", {"head": "2", "sort": ["-wall"], "columns": "run,wall"})
    assert found.distribution == "perfcore-view-table"
    output = FakeOutput()
    view.render(profiles.subject(profiles.timed()), output)
    assert output.lines == ["run     wall", "  4  12.4 ms", "  3  12.4 ms"]


def test_an_unknown_table_is_told_with_those_there_are() -> None:
    with pytest.raises(NotFoundError, match="no table 'run'") as raised:
        shown(profiles.timed(), table="run")
    assert raised.value.hint == "did you mean 'runs'?; tables: resources, runs"


def test_profiles_without_the_table_are_named_where_others_have_it() -> None:
    output = shown(profiles.timed(), profiles.traced(), table="runs")
    assert output.said == ["1@p has no table 'runs'"]
    assert "5e55" in output.text


def test_columns_come_once_and_in_the_order_they_are_asked_for() -> None:
    assert parsed(shown(profiles.traced(), columns=("line, uid", "line"), head=1, format="csv")) == [
        ["line", "uid"],
        ["10", "main"],
    ]


def test_a_name_with_a_comma_or_a_hyphen_is_found_as_a_whole() -> None:
    odd = of(column("-a", [2, 1]), column("b,c", [3, 4]))
    assert parsed(shown(odd, columns=("b,c", "-a"), sort=("-a",), format="csv"))[1:] == [["4", "1"], ["3", "2"]]
    assert parsed(shown(odd, sort=("--a",), format="csv"))[1:] == [["2", "3"], ["1", "4"]]


@pytest.mark.parametrize("settings", [{"columns": ("wal",)}, {"sort": ("-wal",)}, {"filter": "wal > 5"}])
def test_an_unknown_column_is_told_with_the_nearest(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="no column 'wal'") as raised:
        shown(profiles.timed(), **settings)
    assert "did you mean 'wall'?" in (raised.value.hint or "")


def test_rows_are_filtered_then_sorted_then_cut() -> None:
    output = shown(
        profiles.traced(), filter="amount > 500us", sort=("-amount",), head=2, columns=("uid",), format="csv"
    )
    assert parsed(output) == [["uid"], ["write_block"], ["crc32"]]


def test_units_of_the_header_count_where_a_column_has_none() -> None:
    profile = profiles.unheard_of()
    assert "0.5 ebit" in shown(profile, table="entanglement").text
    header = Header(type="t", units={"n": "ms"})
    assert shown(replace(numbers(5), header=header), filter="n > 0.003s").lines == ["   n", "4 ms"]


VALUES = st.none() | st.sampled_from([0.0, 1.5, -2.0, math.nan, math.inf, -math.inf])


@given(st.lists(st.tuples(st.none() | st.sampled_from("abA"), VALUES), max_size=12), st.booleans())
def test_sorting_is_stable_and_puts_what_has_no_order_last(rows: list[Any], descending: bool) -> None:
    profile = of(
        column("text", [row[0] for row in rows], dtype="str"),
        column("value", [row[1] for row in rows], dtype="f64", role="value"),
        column("row", list(range(len(rows))), dtype="i64"),
    )
    sign = "-" if descending else ""
    output = document(shown(profile, sort=("text", f"{sign}value"), columns=("row",), format="json"))

    def place(number: int) -> Any:
        text, value = rows[number]
        unordered = value is None or math.isnan(value)
        by_value = (2 if value is None else 1, 0) if unordered else (0, -value if descending else value)
        return (text is None, text or "", *by_value)

    assert [row for (row,) in output["profiles"][0]["rows"]] == sorted(range(len(rows)), key=place)


def test_the_function_that_a_stack_ends_in_stands_beside_it() -> None:
    builder = StackBuilder()
    main, parse = builder.add((Frame("main"),)), builder.add((Frame("main"), Frame("parse;<b>")))
    columns = column("stack", [parse, main, None], dtype="i64"), column("samples", [3, 4, 5], role="value")
    profile = profiles.profile({"resources": table("resources", columns), **builder.tables()})
    assert parsed(shown(profile, format="csv")) == [
        ["stack", "function", "samples"],
        [str(parse), "parse;<b>", "3"],
        [str(main), "main", "4"],
        ["", "", "5"],
    ]
    found = shown(profile, format="csv", filter="function like 'parse%'", columns=("function",))
    assert parsed(found) == [["function"], ["parse;<b>"]]


def test_head_and_tail_together_are_refused() -> None:
    with pytest.raises(UsageError, match="not both"):
        TableSettings(head=1, tail=1)


def test_head_and_tail_may_be_nothing_or_more_than_there_is() -> None:
    assert parsed(shown(numbers(3), head=0, format="csv")) == [["n"]]
    assert parsed(shown(numbers(3), tail=0, format="csv")) == [["n"]]
    assert parsed(shown(numbers(3), tail=2, format="csv")) == [["n"], ["1"], ["2"]]
    assert len(parsed(shown(numbers(3), head=9, format="csv"))) == 4
    assert len(parsed(shown(numbers(3), tail=9, format="csv"))) == 4


# The terminal


def test_the_terminal_shows_a_bounded_number_of_rows_and_how_to_see_all() -> None:
    output = shown(numbers(1000), width=80)
    assert len(output.lines) == 41
    assert output.said == ["0@p: 960 more rows; --head 1000 shows all"]
    everything = shown(numbers(1000), width=80, head=1000)
    assert len(everything.lines) == 1001
    assert everything.said == []


@pytest.mark.parametrize("format", ["csv", "markdown", "json"])
def test_other_forms_hold_every_row(format: str) -> None:
    assert sum("999" in line for line in shown(numbers(1000), format=format).lines) == 1


@pytest.mark.parametrize(("name", "format"), [("a.csv", "csv"), ("A.JSON", "json"), ("a.md", "markdown")])
def test_a_file_has_the_form_of_its_name_and_every_row(tmp_path: Path, name: str, format: str) -> None:
    output = FakeOutput(path=tmp_path / name)
    TableView().render(profiles.subject(numbers(1000), names=("0@p",)), output)
    assert output.text == shown(numbers(1000), format=format).text
    assert output.said == []


@pytest.mark.parametrize("name", ["a.html", "A.HTM", "a.xhtml", "a.svg"])
def test_a_table_is_written_under_no_name_that_a_browser_runs(tmp_path: Path, name: str) -> None:
    output = FakeOutput(path=tmp_path / name)
    with pytest.raises(UsageError, match="a table is no page"):
        TableView().render(profiles.subject(numbers(1)), output)
    assert output.text == ""


def test_no_rows_are_said_to_be_none() -> None:
    assert shown(profiles.empty()).said == ["0@p: the table is empty"]
    assert shown(profiles.timed(), filter="wall < 0").said == ["0@p: no row matches"]
    assert shown(profiles.profile({"resources": table("resources", [])})).said == ["0@p: the table has no columns"]


def test_values_have_fitting_units_and_places_stay_exact() -> None:
    lines = shown(profiles.traced(), columns=("uid", "line", "amount")).lines
    assert lines[3] == "parse_header   120  730 µs"
    raw = shown(profiles.traced(), columns=("uid", "line", "amount"), raw=True).lines
    assert raw[0] == "uid           line  amount (ns)"
    assert raw[3] == "parse_header   120       730000"


def test_several_profiles_have_their_names_as_headings() -> None:
    assert shown(numbers(1), numbers(1, "m")).lines == ["0@p", "n", "0", "", "1@p", "m", "0"]


def test_text_gives_way_to_a_narrow_terminal_and_numbers_do_not() -> None:
    profile = of(
        column("name", ["x" * 90 + "1", "short"]),
        column("file", ["y" * 30 + "2", "z"]),
        column("n", [123456789, 1], role="value"),
    )
    lines = shown(profile, width=40, raw=True).lines
    assert [len(line) for line in lines] == [40, 40, 40]
    name, file, number = lines[1].split()
    assert (name[-1], "…" in name, file[-1], "…" in file) == ("1", True, "2", True), "names of a suite end differently"
    assert number == "123456789"
    assert "short" in lines[2]


def test_without_a_terminal_text_is_whole_and_one_long_name_does_not_widen_every_line() -> None:
    profile = of(column("name", ["x" * 5000, "short"]), column("n", [1, 2], role="value"))
    assert [len(line) for line in shown(profile).lines] == [103, 5003, 103]


def test_columns_for_which_there_is_no_room_are_named() -> None:
    profile = of(*(column(f"value{n}", [10**17 + n], role="value") for n in range(4)))
    output = shown(profile, width=45, raw=True)
    assert output.lines == ["            value0              value1", "100000000000000000  100000000000000001"]
    assert output.said == ["no room for 2 columns: value2, value3; --columns chooses"]


def test_only_the_headings_are_coloured() -> None:
    assert shown(numbers(1), color=True).lines == ["\x1b[1mn\x1b[0m", "0"]


# CSV


def test_csv_follows_rfc_4180_and_tells_the_missing_from_the_empty() -> None:
    profile = of(
        column("text", ["plain", 'say "x"', "a,b", "two\r\nlines", "", None, " "]),
        column("n", [1, None, 2**53 + 1, -1, 0, None, 5], dtype="i64", role="value"),
    )
    output = shown(profile, format="csv")
    assert output.data == (
        b'text,n\r\nplain,1\r\n"say ""x""",\r\n"a,b",9007199254740993\r\n"two\r\nlines",-1\r\n"",0\r\n,\r\n" ",5\r\n'
    )


TEXTS = st.none() | st.text() | st.sampled_from(hostile.NAMES)


@given(st.lists(st.tuples(TEXTS, st.none() | st.integers(-(2**63), 2**63 - 1)), max_size=20))
def test_csv_is_read_back_as_it_was(rows: list[tuple[Any, Any]]) -> None:
    profile = of(
        column("=text", [row[0] for row in rows], dtype="str"),
        column("n", [row[1] for row in rows], dtype="i64", role="value"),
    )
    read = parsed(shown(profile, format="csv", raw_text=True))
    assert read[0] == ["=text", "n"]
    assert read[1:] == [[text or "", "" if n is None else str(n)] for text, n in rows]


def test_csv_begins_no_formula_unless_the_raw_text_is_asked_for() -> None:
    texts = ["=1+1", "+1", "-[Window show]", "@plt", "\tx", "\rx", "a=1"]
    profile = of(column("=n", [-1] * 7, dtype="i64"), column("text", texts))
    read = parsed(shown(profile, format="csv"))
    assert read[0] == ["'=n", "text"]
    assert read[1:] == [["-1", f"'{text}" if text != "a=1" else text] for text in texts]
    raw = parsed(shown(profile, format="csv", raw_text=True))
    assert raw == [["=n", "text"], *(["-1", text] for text in texts)]


def test_csv_of_several_profiles_names_them_and_holds_all_columns() -> None:
    other = of(column("profile", ["own"]), column("n", [7], role="value"))
    assert parsed(shown(numbers(2), other, format="csv")) == [
        ["_profile", "n", "profile"],
        ["0@p", "0", ""],
        ["0@p", "1", ""],
        ["1@p", "7", "own"],
    ]


def test_a_single_missing_value_is_a_line_that_readers_keep() -> None:
    assert parsed(shown(of(column("n", [1, None], dtype="i64")), format="csv")) == [["n"], ["1"], [""]]


def test_csv_shows_control_characters_as_escapes_on_a_terminal_only() -> None:
    profile = of(column("uid", ["\x1b[2J\nx"]))
    assert shown(profile, format="csv", width=80).lines[1] == "\\x1b[2J\\nx\r"
    assert b"\x1b[2J\nx" in shown(profile, format="csv").data


# Markdown


def test_markdown_holds_a_line_of_as_many_cells_for_every_row() -> None:
    output = shown(profiles.hostile(), format="markdown")
    assert len(output.lines) == 2 + len(hostile.NAMES)
    for line in output.lines:
        bare = line.replace("\\\\", "").replace("\\|", "")
        assert bare.count("|") == 5
        assert bare[0] == bare[-1] == "|"


def test_markdown_escapes_what_would_be_markup() -> None:
    profile = of(column("uid", ["a|b", "<b>&", "__init__", "*x*", "`y`", "c:\\d", "[l](u)", "two\nlines"]))
    assert [line[2:-2] for line in shown(profile, format="markdown").lines[2:]] == [
        r"a\|b",
        "&lt;b&gt;&amp;",
        r"\_\_init\_\_",
        r"\*x\*",
        r"\`y\`",
        r"c:\\d",
        r"\[l\](u)",
        r"two\\nlines",
    ]


def test_markdown_mentions_nobody_and_links_to_nothing() -> None:
    names = ["@octocat", "memcpy@@GLIBC_2.2.5", "{lambda(int)#1}", "https://example.org", "www.example.org", "a.b: c"]
    assert [line[2:-2] for line in shown(of(column("uid", names)), format="markdown").lines[2:]] == [
        "@<!-- -->octocat",
        r"memcpy@<!-- -->@<!-- -->GLIBC\_2.2.5",
        "{lambda(int)#<!-- -->1}",
        r"https\://example.org",
        r"www\.example.org",
        "a.b: c",
    ]


# JSON


def test_json_is_one_document_with_columns_and_exact_rows() -> None:
    read = document(shown(profiles.large(), head=3, format="json"))
    assert (read["format"], read["table"]) == (1, "resources")
    (profile,) = read["profiles"]
    assert (profile["profile"], profile["matched"]) == ("0@p", 3000)
    assert profile["columns"][1] == {
        "name": "signed",
        "dtype": "i64",
        "unit": "ns",
        "role": "value",
        "better": "lower",
    }
    assert profile["rows"] == [
        ["function_0", 2**63 - 1, 2**64 - 1, "NaN"],
        ["function_1", -(2**63), 2**63, "Infinity"],
        ["function_2", 2**53 + 1, 2**53 + 1, "-Infinity"],
    ]


@given(st.lists(st.tuples(TEXTS, st.none() | st.floats(), st.none() | st.booleans()), max_size=20))
def test_json_is_read_back_as_it_was(rows: list[tuple[Any, Any, Any]]) -> None:
    dtypes: Any = ("str", "f64", "bool")
    profile = of(*(column(f"c{i}", [row[i] for row in rows], dtype=dtypes[i]) for i in range(3)))
    special = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    output = shown(profile, format="json")
    assert output.text.isascii()
    read = [[row[0], special.get(row[1], row[1]), row[2]] for row in document(output)["profiles"][0]["rows"]]
    assert repr(read) == repr([list(row) for row in rows])


def test_json_holds_several_profiles_one_after_the_other() -> None:
    read = document(shown(numbers(2), profiles.empty(), format="json"))["profiles"]
    assert [(p["profile"], p["matched"], p["rows"]) for p in read] == [("0@p", 2, [[0], [1]]), ("1@p", 0, [])]


# Size


class _Measuring(FakeOutput):
    largest = 0

    def write_bytes(self, data: bytes) -> None:
        self.largest = max(self.largest, len(data))


@pytest.mark.parametrize("format", ["auto", "csv", "markdown", "json"])
def test_a_large_table_is_written_in_parts_of_bounded_size(format: str) -> None:
    sizes = []
    for rows in (10_000, 80_000):
        output = _Measuring()
        profile = of(column("name", [f"f{n % 100:03}" for n in range(rows)]), column("n", [10**9] * rows, role="value"))
        TableView(TableSettings(format=format, head=rows)).render(profiles.subject(profile), output)
        sizes.append(output.largest)
    assert sizes[0] == sizes[1]


def test_a_text_of_many_rows_is_made_ready_once() -> None:
    from perfcore_view_table.cells import Script

    asked: list[str] = []

    def upper(text: str) -> str:
        asked.append(text)
        return text.upper()

    script = Script(text=upper, number=lambda column: repr, missing="-")
    cells = script.cells(column("uid", ["a", "b", None, "a"] * 50))
    assert cells(range(200)) == ["A", "B", "-", "A"] * 50
    assert asked == ["a", "b"]
