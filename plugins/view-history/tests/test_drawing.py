"""Histories as text and as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from perfcore_testing import histories
from perfcore_testing.output import FakeOutput
from perfcore_view_history import HistorySettings, HistoryView
from perfcore_view_kit.history_chart import change_text, finding

from perfcore.model import MetricHistory, ViewData
from perfcore.model.record import replace
from perfcore.text import width


def shown(*series: MetricHistory, color: bool = False, **settings: Any) -> str:
    output = FakeOutput(width=80, color=color)
    HistoryView(HistorySettings(**settings)).render(histories.data(*series), output)
    return output.text


def test_the_line_has_a_level_for_each_version_and_a_mark_below_each_change() -> None:
    title, line, marks, summary, *rows = shown(histories.changed(), ascii=True).splitlines()
    assert title == "cpu of ./gzip -9 'big file.txt'"
    assert len(line) == 2 + 15
    assert (marks[2 + 5], marks[2 + 10], marks[2 + 12]) == ("^", "v", "|")
    assert summary == "  15 versions, 9 ms to 12 ms, now 9 ms"
    assert [row.split()[1] for row in rows] == ["slower", "faster", "machine"]


def test_a_long_subject_leaves_room_for_the_change() -> None:
    series = histories.history([1e7, 1e7, 2e7, 2e7], changes=(histories.change(2, ratio=2.0, low=1.9, high=2.1),))
    points = tuple(replace(point, version=point.version._replace(subject="測試" * 30)) for point in series.points)
    (line,) = (line for line in shown(replace(series, points=points)).splitlines() if "slower" in line)
    assert width(line) <= 80
    assert "+90.0 % to +110.0 %" in line
    assert "測…測" in line


def test_a_change_of_several_versions_says_between_which_it_came() -> None:
    (line,) = (line for line in shown(histories.changed()).splitlines() if "faster" in line)
    assert line.endswith("came between 0909090909 and 0a0a0a0a0a")


def test_a_step_from_zero_says_its_levels() -> None:
    step = histories.change(2, ratio=None, low=None, high=None, baseline_value=0.0)
    series = histories.history([0.0, 0.0, 1.2e7, 1.2e7], changes=(step,))
    (line,) = (line for line in shown(series).splitlines() if "slower" in line)
    assert "  0 ns → 12 ms  " in line
    assert change_text(step) == "0 ns → 12 ms"
    assert finding(series).startswith("1 regression stands, the last at 0202020202: slower (0 ns → 12 ms).")
    spread = replace(step, kind="variance")
    assert "→" not in shown(replace(series, changes=(spread,))) + change_text(spread)


def test_a_function_names_its_metric_and_versions_without_it_are_counted() -> None:
    text = shown(histories.function(), ascii=True)
    assert text.startswith("Parser.parse: samples of ")
    assert "4 of 5 versions, 25 to 75, now 75" in text
    assert "(undone in 0404040404)" in text


def test_versions_without_any_value_are_said_to_be_so() -> None:
    assert "nothing was measured in 2 versions" in shown(histories.unmeasured())


def test_machines_that_take_turns_make_one_line_on_the_scale_of_the_newest() -> None:
    _, line, _, summary, _ = shown(histories.in_turns(), ascii=True).splitlines()
    (before,), (after,) = set(line[2:17]), set(line[17:])
    assert before != after
    assert summary == "  30 versions, 14.4 ms to 21.6 ms, now 21.6 ms (of 3 machines, as on 3:5a5a5a5a5a)"


def test_a_version_that_several_machines_measured_is_one_version() -> None:
    series = histories.in_turns()
    twice = [replace(point, version=series.points[at // 2].version) for at, point in enumerate(series.points)]
    each = replace(series, points=tuple(twice), changes=())
    assert "  15 versions, 14.4 ms" in shown(each, ascii=True)
    partly = replace(each, points=(*twice[:-2], *(replace(point, values=()) for point in twice[-2:])))
    assert "  14 of 15 versions, " in shown(partly, ascii=True)
    assert finding(each).endswith(", 15 versions.")


def test_several_series_are_apart_by_an_empty_line() -> None:
    assert "\n\ncpu of" in shown(histories.steady(), histories.single())


def test_colours_mark_what_stands() -> None:
    assert "\x1b[31m" in shown(histories.changed(), color=True)
    reverted = histories.history([1e7] * 9, changes=(histories.change(3, undone="05" * 20),))
    assert "\x1b[31m" not in shown(reverted, color=True)


def test_a_decision_is_in_the_row_of_its_change_and_what_fails_no_check_has_no_colour() -> None:
    data = histories.data(histories.history([1e7] * 9, changes=(histories.change(3), histories.change(5))))
    decided = {"03" * 20: "confirmed by Ann: seen\x1b[5m again", "05" * 20: "false alarm by Bo: a backup ran"}
    output = FakeOutput(width=80, color=True)
    subject = ViewData(series=data.series, accepted={"05" * 20: "false alarm: a backup ran"}, decided=decided)
    HistoryView().render(subject, output)
    confirmed, alarm = output.text.splitlines()[-2:]
    assert confirmed.endswith("(confirmed by Ann: seen\\x1b[5m again)\x1b[0m")
    assert alarm.endswith("(false alarm by Bo: a backup ran)")
    assert "\x1b[31m" in confirmed
    assert "\x1b[31m" not in alarm


def test_csv_has_a_row_for_each_version_and_the_id_of_its_change() -> None:
    rows = list(csv.DictReader(io.StringIO(shown(histories.changed(), csv=True))))
    assert len(rows) == 15
    assert [row["id"] for row in rows if row["change"]] == ["05" * 20, "0a" * 20]
    assert (rows[0]["runs"], rows[0]["median"]) == ("3", "10000000.0")
