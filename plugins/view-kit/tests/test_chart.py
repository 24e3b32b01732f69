"""The figure of a chart as markup, without a browser."""

from __future__ import annotations

import base64
import html
import json
import random
import re
import zlib
from typing import Any

import pytest
from msgspec.structs import replace
from perfcore_testing import hostile
from perfcore_testing.pages import assert_self_contained
from perfcore_view_kit.chart import ChartOptions, as_json, chart, scripts, styles
from perfcore_view_kit.page import page


def stored(figure: str) -> Any:
    """The data as the script reads them."""
    match = re.search(r'<script type="([^"]*)" class="data">([^<]*)</script>', figure)
    assert match is not None
    kind, text = match.groups()
    return json.loads(text) if kind == "application/json" else unpacked(zlib.decompress(base64.b64decode(text)))


def unpacked(data: bytes) -> Any:
    """A document with columns behind it, as the page reads them."""
    begin = 4 + int.from_bytes(data[:4], "little")
    head, planes = json.loads(data[4:begin]), data[begin:]

    def column(values: Any) -> Any:
        nonlocal planes
        if isinstance(values, list):
            return values
        rows, width, least = values["packed"]
        items = [int.from_bytes(planes[row : rows * width : rows], "little") for row in range(rows)]
        planes = planes[rows * width :]
        return [item - 1 + least if item else None for item in items]

    for line in head["lines"]:
        line |= {key: column(line[key]) for key in ("values", "below", "above", "counts")}
    head["dates"] = column(head["dates"])
    assert planes == b""
    return head


def test_a_page_with_charts_is_self_contained(charts: Any) -> None:
    assert_self_contained(page("Charts", chart(charts.changed()), scripts(), styles=styles()))


@pytest.mark.parametrize("name", ["changed", "several", "long", "extreme"])
def test_the_data_are_those_of_the_json(charts: Any, name: str) -> None:
    data = getattr(charts, name)()
    assert stored(chart(data)) == json.loads(json.dumps(as_json(data)))


def test_values_come_back_to_six_digits(charts: Any) -> None:
    (line,) = as_json(charts.data(charts.line([1.234567e7, None, 3e-3])))["lines"]
    restored = [None if value is None else value * line["step"] for value in line["values"]]
    assert restored == [pytest.approx(1.234567e7, rel=1e-5), None, pytest.approx(0, abs=50)]
    assert (line["values"][0] + line["above"][0]) * line["step"] == pytest.approx(1.01 * 1.234567e7, rel=1e-5)


def test_a_large_chart_keeps_the_digits_that_noise_leaves(charts: Any) -> None:
    chance = random.Random(1)
    noisy = [1e7 * chance.gauss(1, 0.01) for _ in range(1000)]
    exact = [1e7 + at % 2 for at in range(1000)]
    for values, step in ((noisy, 1000), (exact, 100)):
        data = charts.data(charts.line([*values, None]))
        (line,) = stored(chart(data))["lines"]
        assert line["step"] == step
        assert line["values"] == [*(round(value / step) for value in values), None]
    noise = replace(charts.data(*(charts.line(noisy) for _ in range(3))), notes=())
    assert len(chart(noise)) < 3 * 1000 * 40


def test_changes_and_values_are_tables_without_a_script(charts: Any) -> None:
    figure = chart(charts.changed())
    text = html.unescape(re.sub(r"<[^>]*>", "|", figure))
    assert "0a0a0a0a0a||▲ slower||+20.0 %||0909090909 and 0a0a0a0a0a|" in text
    assert "agreed <b>" in text
    assert "|machine||another environment|" in text
    assert "10 ms, 9.9 ms to 10.1 ms, 5 runs, inconclusive" in text
    assert "Change 4||not measured" in text
    assert figure.count("<tr>") == 1 + 4 + 1 + 20


def test_decisions_are_in_the_picture_the_signs_the_table_and_the_data(charts: Any) -> None:
    figure = chart(charts.decided())
    text = html.unescape(re.sub(r"<[^>]*>", "|", figure))
    assert re.findall(r">([▲△]\S?)</text>", figure) == ["▲", "▲✎", "△✓"]
    assert "|✎ decided|" in text
    assert "|hollow with ✓: decided, fails no check|" in text
    assert "||Decision|" in text
    assert "+20.0 %||||confirmed by Ann: seen again <b>|" in text
    marks = [(mark["accepted"], mark["badge"], mark["decided"]) for mark in stored(figure)["marks"]]
    assert marks == [
        (False, "", ""),
        (False, "✎", "confirmed by Ann: seen again <b>"),
        (True, "✓", "false alarm by Bo: a backup ran"),
    ]


def test_the_figure_comes_with_the_finding_before_the_chart(charts: Any) -> None:
    figure = chart(charts.changed(), ChartOptions(id="cpu", heading=3))
    assert '<h3 id="cpu-title">cpu of parse</h3><p>1 regression stands.</p>' in figure.partition("<svg")[0]


@pytest.mark.parametrize("name", hostile.NAMES)
def test_names_are_never_markup(charts: Any, name: str) -> None:
    data = charts.changed()
    named = replace(
        data,
        title=name,
        finding=name,
        unit=name,
        labels=[name] * 20,
        notes=[name] * 20,
        band=name,
        link=name,
        axis=name,
        lines=[replace(data.lines[0], name=name)],
        marks=[replace(mark, text=name, word=name, decided=name) for mark in data.marks],
        rules=[replace(rule, text=name) for rule in data.rules],
    )
    ours, theirs = (re.findall(r"<\w+", chart(each, ChartOptions(id="x"))) for each in (data, named))
    varying = ("<text", "<path", "<li", "<wbr")  # where it may be broken, a name is
    assert [tag for tag in theirs if tag not in varying] == [tag for tag in ours if tag not in varying]


def test_more_lines_than_there_are_colours_are_refused(charts: Any) -> None:
    with pytest.raises(ValueError, match="at most 6 lines, not 7"):
        charts.several(7)


def test_a_long_history_stays_below_the_size_of_a_page(charts: Any) -> None:
    text = page("History", chart(charts.long()), scripts(), styles=styles())
    assert len(text) < 300_000
