"""Histories as a page and as SVG, without a browser and in one."""

from __future__ import annotations

import html
import itertools
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from perfcore_testing import histories, hostile
from perfcore_testing.measured import slow_and_steady
from perfcore_testing.output import FakeOutput
from perfcore_testing.pages import assert_self_contained, violations
from perfcore_testing.profiles import CREATED, timed
from perfcore_testing.project import Project
from perfcore_view_history import HistorySettings, HistoryView
from perfcore_view_kit.chart import sparkline
from perfcore_view_kit.history_chart import history_chart
from perfcore_view_kit.still import still

from perfcore.errors import UsageError
from perfcore.library import open_repository
from perfcore.model import MetricHistory, ViewData
from perfcore.model.record import replace

EVERY = (histories.steady(), histories.changed(), histories.drifting(), histories.function(), histories.unmeasured())
ACCEPTED = {"05" * 20: "needed for safety"}
DECIDED = {"05" * 20: "accepted by Ann: needed for safety", "0a" * 20: "confirmed by Bo: seen again"}
RELEASES = {"02" * 20: ("v1.0",)}


def page(*series: MetricHistory, accepted: dict[str, str] | None = None, **settings: Any) -> str:
    output = FakeOutput()
    data = ViewData(series=series, accepted=accepted or {}, releases=RELEASES)
    HistoryView(HistorySettings(format="html", **settings)).render(data, output)
    return output.text


def words(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "|", markup))


def test_the_form_follows_the_name_of_the_file(tmp_path: Path) -> None:
    for name, start in (("a.html", "<!DOCTYPE html>"), ("a.svg", "<?xml"), ("a.txt", "cpu of")):
        output = FakeOutput(path=tmp_path / name)
        HistoryView().render(histories.data(histories.changed()), output)
        assert output.text.startswith(start)


def test_the_page_is_self_contained() -> None:
    assert_self_contained(page(*EVERY))


def test_the_first_sentence_answers_before_any_chart() -> None:
    text = words(page(*EVERY).partition("<table")[0].partition("<body>")[2])
    assert "2 of 5 series became worse and stayed so, 0000000000 to 1313131313." in text
    assert "None of 2 series became worse" in page(histories.steady(), histories.unmeasured())


def test_the_rows_of_a_suite_do_not_repeat_what_all_share() -> None:
    suite = [histories.history([1e7] * 3, resource=name) for name in ("parse", "write", "bench_text.time_words")]
    text = words(page(*suite))
    assert "bench_<wbr>text.<wbr>time_<wbr>words</a></th>" in page(*suite)
    assert f"All series: cpu of {suite[0].command}" in text
    assert re.search(r"\|parse\|.*\|write\|", text)
    assert "parse: cpu of" in text  # above its chart, which stands alone
    assert "All series|" in words(page(*EVERY))


def test_versions_of_one_second_are_told_in_their_order() -> None:
    series = histories.history([1e7] * 3)
    ids = ("c0" * 20, "b0" * 20, "a0" * 20)
    points = tuple(
        replace(point, version=point.version._replace(id=id, date=1_750_000_000))
        for point, id in zip(series.points, ids, strict=True)
    )
    assert ", c0c0c0c0c0 to a0a0a0a0a0." in page(replace(series, points=points))


def test_a_step_that_may_be_the_machine_is_not_called_none() -> None:
    changed = histories.changed()
    step = replace(changed.changes[0], kind="cannot tell", earliest=changed.changes[0].target, undone="")
    doubtful = replace(changed, changes=(step,))
    assert "No change for the worse stands, and one change cannot be told, " in words(page(doubtful))
    assert f"No regression stands; what came with {step.target} cannot be told. Now " in words(page(doubtful))
    assert "None of 2 series became worse and stayed so, and 1 of them cannot be told, " in words(
        page(doubtful, histories.steady())
    )
    assert "cannot be told" not in page(replace(doubtful, changes=(replace(step, undone="1" * 10),)))


def test_a_step_that_may_be_the_machine_has_a_row_and_the_level_ends_at_it() -> None:
    changed = histories.history([1e7] * 5 + [1.2e7] * 5)
    step = histories.change(5, kind="cannot tell", reason="came with a session")
    chart = history_chart(replace(changed, changes=(step,)))
    assert [(level.start, level.end, level.first) for level in chart.lines[0].levels] == [(0, 4, 1e7), (5, 9, 1.2e7)]
    assert [mark.text for mark in chart.marks] == ["+20.0 % (+18.0 % to +22.0 % at 99 %) came with a session"]
    assert "|◆ inconclusive|" in words(page(replace(changed, changes=(step,))))
    several = words(page(replace(changed, changes=(histories.change(2, kind="variance"), step)), histories.steady()))
    assert f"|◆ inconclusive at {step.target}||+20.0 % (+18.0 % to +22.0 % at 99 %) came with a session|" in several
    compared = replace(step, earliest="", latest="")
    assert history_chart(replace(changed, changes=(compared,))).marks == []


def test_a_regression_that_was_accepted_or_reverted_does_not_stand() -> None:
    assert "It became worse and stayed so" in page(histories.changed())
    assert "No change for the worse stands" in page(histories.changed(), accepted=ACCEPTED)
    assert "needed for safety" in page(histories.changed(), accepted=ACCEPTED)
    reverted = histories.history([1e7] * 9, changes=(histories.change(3, undone="05" * 20),))
    assert "No change for the worse stands" in page(reverted)


def test_every_decision_is_in_the_row_and_in_the_chart() -> None:
    series = histories.changed()
    output = FakeOutput()
    data = ViewData(series=(series, histories.steady()), accepted=ACCEPTED, decided=DECIDED)
    HistoryView(HistorySettings(format="html")).render(data, output)
    overview, _, figure = output.text.partition("<figure")
    assert "confirmed by Bo: seen again" in words(overview)
    assert "||accepted by Ann: needed for safety|" in words(figure)
    assert "||confirmed by Bo: seen again|" in words(figure)


def test_series_with_standing_regressions_come_first() -> None:
    titles = re.findall(r"<figcaption><h2[^>]*>([^<]*)", page(*EVERY))
    assert len(titles) == 5
    rows = re.findall(r'class="text"><a href="#([^"]*)"', page(*EVERY))
    figures = re.findall(r'<figure class="chart" id="([^"]*)"', page(*EVERY))
    assert rows == figures
    assert len(set(figures)) == 5
    assert "drifts" in words(page(*EVERY)).partition("Parser.parse")[0]


def test_more_series_than_charts_have_a_row_each() -> None:
    text = page(*EVERY, charts=2)
    assert text.count("<figure") == 2
    assert text.count('<tr><th scope="row" class="text">') >= 5
    assert "3 more series without a chart" in text


def test_releases_machines_and_ranges_are_named() -> None:
    text = words(page(histories.changed()))
    assert "0202020202||release||v1.0" in text
    assert "machine||another environment (e0e0e0e0e0e0 → e1e1e1e1e1e1): not compared" in text
    assert "0909090909 and 0a0a0a0a0a" in text


def test_the_fitted_level_of_a_drift_follows_a_curve() -> None:
    amounts = [1e7 * 1.05**number for number in range(40)]
    drift = histories.change(0, kind="drift", pace=1.05, until=f"{39:02x}" * 20)
    (line,) = history_chart(histories.history(amounts, changes=(drift,))).lines
    assert all(before.last == after.first for before, after in itertools.pairwise(line.levels))
    assert all(before.end + 1 == after.start for before, after in itertools.pairwise(line.levels))
    for level in line.levels:
        for at in range(level.start, level.end + 1):
            fitted = level.first + (level.last - level.first) * (at - level.start) / (level.end - level.start)
            assert fitted == pytest.approx(amounts[at], rel=0.08)
    (straight,) = history_chart(histories.drifting()).lines
    assert [(level.start, level.end) for level in straight.levels] == [(0, 1), (2, 7), (8, 8), (9, 19)]


def test_the_interval_of_a_change_is_within_the_chart_and_that_of_the_noise_is_no_level() -> None:
    wide = history_chart(histories.history([1e7] * 5 + [1.2e7] * 5, changes=(histories.change(5, low=0.5, high=2.0),)))
    ((lowest, highest),) = re.findall(r'class="worse" d="[^"]*M[\d.]+ ([\d.]+)V([\d.]+)M', still(wide))
    assert 20 <= float(highest) < float(lowest) <= 276  # the frame of a chart of 300 pixels
    noise = histories.change(5, kind="variance", low=1.5, high=4.0, ratio=3.0)
    (mark,) = history_chart(histories.history([1e7] * 10, changes=(noise,))).marks
    assert (mark.low, mark.high) == (None, None)


def test_an_environment_that_changes_without_a_verdict_is_a_rule() -> None:
    series = histories.steady()
    points = [replace(point, environment="other") if at > 3 else point for at, point in enumerate(series.points)]
    assert "environment other" in page(replace(series, points=tuple(points)))


@pytest.mark.parametrize("link", ["javascript:alert(1)//{}", "data:text/html,{}", "https://example.org/commit"])
def test_a_link_that_is_no_address_of_a_version_is_refused(link: str) -> None:
    with pytest.raises(UsageError, match="is no address of a version"):
        page(histories.steady(), link=link)


def test_names_are_never_markup() -> None:
    plain = re.findall(r"<\w+", page(*EVERY))
    assert set(re.findall(r"<\w+", page(histories.hostile(), *EVERY))) == set(plain)
    for name in hostile.NAMES:
        series = replace(histories.changed(), command=name, metric=name, resource=name, unit=name)
        assert hostile.unsafe(page(series)) == set()


def test_a_picture_is_of_one_series() -> None:
    output = FakeOutput()
    view = HistoryView(HistorySettings(format="svg", width=500))
    view.render(ViewData(series=(histories.changed(),), accepted=ACCEPTED), output)
    picture = ElementTree.fromstring(output.text)
    assert picture.get("width") == "500"
    assert "△✓" in output.text
    with pytest.raises(UsageError, match="an SVG is of one series, and there are 2"):
        view.render(histories.data(histories.changed(), histories.steady()), FakeOutput())


def test_the_command_writes_a_page_with_acceptances_and_releases(project: Project) -> None:
    history = open_repository(project.path)
    for number in range(12):
        version = project.commit(f"Change {number}")
        cpu = 5_000_000 if number < 7 else 9_000_000
        profile = replace(timed(runs=6, wall=cpu), created=CREATED + number)
        history.register(history.save(profile), version)
        if number == 2:
            project.git("tag", "v1.0")
    assert project.perf("history", "-o", "page.html").lines == []
    text = (project.path / "page.html").read_text()
    assert_self_contained(text)
    assert "became worse and stayed so" in text
    assert '<td class="text short">release</td><td class="text short">v1.0</td>' in text


STATES: tuple[tuple[str, ...], ...] = (
    ("confirmed", "--why", "seen again"),
    ("fixed", "--by", "HEAD", "--why", "seen to"),
    ("accepted", "--why", "it is safer"),
    ("false alarm", "--why", "a backup ran"),
    ("environment", "--why", "a new compiler"),
)


def test_the_command_shows_every_decision_on_the_page_and_on_the_terminal(project: Project) -> None:
    slow_and_steady(project)
    (series,) = project.perf("history", "wall", "-c", "./slow", "--json").json["series"]
    (change,) = series["changes"]
    (plain,) = (line for line in project.perf("history", "wall", "-c", "./slow").lines if "slower" in line)
    assert "(" not in plain
    for state, *options in STATES:
        project.perf("check", "triage", change["id"], "--as", state, *options, "--author", "Ann")
        (row,) = (line for line in project.perf("history", "wall", "-c", "./slow").lines if "slower" in line)
        decision = row.partition("(")[2].rstrip(")")
        assert decision.startswith("reopened" if state == "fixed" else state)
        assert decision.endswith(f"by Ann: {options[-1]}")
        project.perf("history", "wall", "-c", "./slow", "-o", "page.html", "--force")
        assert f"||{decision}|" in words((project.path / "page.html").read_text())


def test_the_browser_draws_every_chart_that_comes_into_sight(window: Any, tmp_path: Path, axe: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(page(*EVERY, accepted=ACCEPTED, link="./versions/{}.html"), encoding="utf-8")
    for scheme, size in (("light", (1200, 800)), ("dark", (400, 700))):
        window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
        window.resize(*size)
        window.open(path.as_uri(), "main figure")
        window.run("document.querySelectorAll('figure')[4].scrollIntoView()")
        window.settle("!!document.querySelectorAll('figure')[4].dataset.drawn")
        window.run("document.querySelectorAll('figure')[1].scrollIntoView()")
        window.settle("!!document.querySelectorAll('figure')[1].dataset.drawn")
        window.run("document.querySelectorAll('canvas.plot')[0].focus()")
        window.press("ArrowDown", "ArrowDown", "+")
        assert violations(window, axe) == []
        assert window.run("document.documentElement.scrollWidth <= innerWidth") is True
    assert window.problems == []
    assert {url for url in window.requests if url != "about:blank"} == {path.as_uri()}
    assert window.run("document.querySelector('p.at a').getAttribute('href')").startswith("./versions/0")


TALLEST = """Math.max(...[...document.querySelectorAll('td.text')].map((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map((line) => line.top)).size;
}))"""
"""How many lines the tallest cell of text has."""


def test_a_size_with_its_interval_stays_low_on_a_narrow_screen(window: Any, tmp_path: Path) -> None:
    path = tmp_path / "history.html"
    path.write_text(page(histories.changed(), histories.drifting()), "utf-8")
    window.resize(400, 700)
    window.open(path.as_uri(), "table.changes")
    assert window.run(TALLEST) <= 3, "a drift has more to tell than a line holds"


def test_the_trend_of_machines_that_take_turns_has_the_step_alone() -> None:
    series = histories.in_turns()
    text = page(series, *EVERY)
    assert sparkline([1.44e7] * 15 + [2.16e7] * 15) in text
    assert sparkline([point.median for point in series.points]) not in text
