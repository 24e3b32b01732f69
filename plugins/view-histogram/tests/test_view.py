"""Runs beside each other as text, as a page and as SVG."""

from __future__ import annotations

import html
import math
import random
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_testing import histories, hostile, profiles
from perfcore_testing.output import FakeOutput
from perfcore_testing.pages import assert_self_contained, violations
from perfcore_testing.profiles import CREATED, timed
from perfcore_testing.project import Project
from perfcore_view_histogram import HistogramSettings, HistogramView
from perfcore_view_histogram.density import bandwidth, density, thinned
from perfcore_view_histogram.groups import Group

from perfcore.errors import NotFoundError, UsageError
from perfcore.library import open_repository
from perfcore.model import Profile, ViewData
from perfcore.model.record import replace
from perfcore.profile.table import column, table


def of(*values: float, label: str = "./gzip") -> Profile:
    columns = [
        column("run", list(range(len(values))), role="order"),
        column("cpu", [float(value) for value in values], unit="ns", role="value"),
    ]
    profile = profiles.profile({"resources": table("resources", columns)})
    return replace(profile, header=replace(profile.header, cmd=label, args="", workload=""))


def noisy(level: float, count: int = 12, seed: int = 1) -> Profile:
    chance = random.Random(seed)
    return of(*(level * chance.gauss(1, 0.01) for _ in range(count)))


def shown(*made: Profile, width: int | None = None, names: tuple[str, ...] | None = None, **settings: Any) -> str:
    output = FakeOutput(width=width)
    HistogramView(HistogramSettings(**settings)).render(profiles.subject(*made, names=names), output)
    return output.text


def test_both_sides_are_drawn_in_every_form() -> None:
    pair = noisy(1e7), noisy(1.2e7, seed=2)
    text = shown(*pair, width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert [line.split()[0] for line in text.splitlines()[2:4]] == ["12", "12"]
    page = shown(*pair, format="html")
    assert_self_contained(page)
    assert page.count("<circle") == 24
    ElementTree.fromstring(shown(*pair, format="svg"))


def test_the_first_sentence_has_both_medians_and_who_decides() -> None:
    page = shown(of(1e7, 1e7, 1e7), of(1.2e7, 1.2e7, 1.2e7), format="html")
    sentence = "The median went from 10 ms to 12 ms (+20.0 %), of 3 and 3 runs; whether that is more than noise, "
    assert f"{sentence}perf check says." in page.partition("<figure")[0]


def test_the_table_has_the_interval_with_its_coverage() -> None:
    page = html.unescape(re.sub("<[^>]*>", "|", shown(of(1e6, 2e6, 3e6), of(*range(10, 30)), format="html")))
    assert "1 ms to 3 ms at 75 %" in page
    assert "15 ns to 24 ns at 95 %" in page


def test_many_runs_are_thinned_and_the_extremes_stay() -> None:
    page = shown(of(*range(1, 5001)), format="html")
    assert page.count("<circle") == 500
    assert "5,000" in page
    assert thinned(range(5000), 500)[0] == 0
    assert thinned(range(5000), 500)[-1] == 4999


def test_versions_of_a_history_are_groups() -> None:
    output = FakeOutput()
    HistogramView(HistogramSettings(versions=3)).render(histories.data(histories.changed()), output)
    assert [line.split()[-1] for line in output.text.splitlines()[2:5]] == ["0c0c0c0c0c", "0d0d0d0d0d", "0e0e0e0e0e"]


def test_an_unknown_metric_names_those_there_are() -> None:
    with pytest.raises(NotFoundError, match="no profile has values of 'walll'") as raised:
        shown(timed(), metric="walll")
    assert "wall" in str(raised.value.hint)
    assert "ns" not in shown(timed(), metric="switches").partition("\n")[0]


def test_an_svg_is_of_one_benchmark() -> None:
    output = FakeOutput()
    with pytest.raises(UsageError, match="an SVG is of one benchmark, and there are 2"):
        HistogramView(HistogramSettings(format="svg")).render(
            histories.data(histories.changed(), histories.steady()), output
        )
    assert output.data == b""


def test_runs_that_do_not_differ_are_a_line() -> None:
    for form in ("html", "svg", "text"):
        assert shown(of(5.0, 5.0, 5.0), of(5.0), format=form)


@pytest.mark.parametrize("value", [0.0, 1e308, -1e308, 5e-324, math.inf, math.nan, -3.0])
def test_extreme_values_are_shown_or_refused(value: float) -> None:
    for form in ("html", "svg", "text"):
        try:
            text = shown(of(value, 1.0, 2.0), format=form)
        except NotFoundError:
            continue
        assert not re.search(r'["\s]-?(nan|inf)["\s]', text)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_the_density_has_an_integral_of_one(values: list[float]) -> None:
    ordered = sorted(values)
    width = bandwidth(ordered)
    if not width or ordered[-1] - ordered[0] < 1e-3:
        return
    low, high = ordered[0] - 4 * width, ordered[-1] + 4 * width
    count = max(400, math.ceil((high - low) / width * 4))
    if count > 20_000:
        return
    places = [low + (high - low) * (at + 0.5) / count for at in range(count)]
    total = sum(density(ordered, places, width)) * (high - low) / count
    # The kernel is cut at three bandwidths, which leaves out 0.27 %.
    assert total == pytest.approx(1, abs=0.01)


def test_quantiles_are_between_their_neighbours() -> None:
    group = Group("a", (1.0, 2.0, 3.0, 4.0))
    assert [group.quantile(share) for share in (0, 0.25, 0.5, 1)] == [1.0, 1.75, 2.5, 4.0]


def test_names_are_never_markup() -> None:
    for name in hostile.NAMES:
        page = shown(of(1.0, 2.0, label=name), names=(name,), format="html", title=name)
        assert hostile.unsafe(page) == set()
        assert len(re.findall("<script", page)) == 1


def test_the_commands_show_profiles_and_versions(project: Project) -> None:
    history = open_repository(project.path)
    for number, wall in enumerate((10_000_000, 15_000_000)):
        version = project.commit(f"Change {number}")
        history.register(history.save(replace(timed(runs=9, wall=wall), created=CREATED + number)), version)
    assert "runs" in project.perf("show", "HEAD~1:0@i", "HEAD:0@i", "histogram").lines[1]
    project.perf("history", "wall", "--view", "histogram", "-o", "runs.html")
    assert "The median went from" in (project.path / "runs.html").read_text()


def test_the_page_is_accessible_in_the_browser(window: Any, tmp_path: Path, axe: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(shown(noisy(1e7), noisy(1.1e7, seed=2), names=("a", "b"), format="html"), encoding="utf-8")
    for scheme, size in (("light", (1200, 800)), ("dark", (400, 700))):
        window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
        window.resize(*size)
        window.open(path.as_uri(), "figure")
        assert violations(window, axe) == []
        assert window.run("document.documentElement.scrollWidth <= innerWidth") is True
    dark = window.run("getComputedStyle(document.querySelector('svg text')).fill")
    window.run("document.getElementById('theme').click()")
    assert window.run("getComputedStyle(document.querySelector('svg text')).fill") != dark
    assert window.problems == []
    assert {url for url in window.requests if url != "about:blank"} == {path.as_uri()}


def test_no_data_are_refused() -> None:
    with pytest.raises(NotFoundError):
        HistogramView().render(ViewData(), FakeOutput())
