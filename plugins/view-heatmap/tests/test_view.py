"""Series over versions as a map: text, page and SVG."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from perfcore_testing import histories, hostile
from perfcore_testing.output import FakeOutput
from perfcore_testing.pages import assert_self_contained, violations
from perfcore_testing.profiles import CREATED, timed
from perfcore_testing.project import Project
from perfcore_view_heatmap import HeatmapSettings, HeatmapView
from perfcore_view_heatmap.grid import grid
from perfcore_view_kit import palette
from perfcore_view_kit.colors import contrast, ink

from perfcore.errors import NotFoundError
from perfcore.library import open_repository
from perfcore.model import MetricHistory, MinorVersion
from perfcore.model.record import replace


def series(name: str, *levels: float | None) -> MetricHistory:
    return histories.history(levels, command=name)


EVERY = (
    series("steady", *[1e7] * 8),
    series("slower", *[1e7] * 4, *[1.5e7] * 4),
    series("faster", *[1e7] * 4, None, *[9.5e6] * 3),
)


def shown(*made: MetricHistory, width: int | None = None, **settings: Any) -> str:
    output = FakeOutput(width=width)
    HeatmapView(HeatmapSettings(**settings)).render(histories.data(*made), output)
    return output.text


def test_the_row_that_moved_farthest_comes_first_in_every_form() -> None:
    lines = shown(*EVERY, width=80).splitlines()
    assert [line.split("|")[1] for line in lines[:3]] == ["====####", "==== ---", "========"]
    assert lines[0].endswith("+50.0 %")
    page = shown(*EVERY, format="html")
    assert_self_contained(page)
    assert "cpu of slower moved farthest, +50.0 % from its first value" in page.partition("<figure")[0]
    ElementTree.fromstring(shown(*EVERY, format="svg"))


def test_benchmarks_of_one_suite_are_named_without_what_all_share() -> None:
    suite = [histories.history(levels, resource=f"parse_{at}") for at, levels in enumerate(([1e7, 2e7], [1e7, 1e7]))]
    lines = shown(*suite, width=90).splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["parse_0", "parse_1"]
    assert lines[2].startswith(f"cpu of {suite[0].command}, ")
    head = shown(*suite, format="html").partition("<figure")[0]
    assert "<h1>Map of changes: cpu of ./gzip" in head
    assert "<p>parse_0 moved farthest" in head
    assert "parse_0: cpu of" in shown(suite[0], EVERY[0])


def test_a_ratio_is_to_the_first_version_or_to_the_median() -> None:
    (row, *_) = grid([series("a", 1e7, 2e7, 2e7)], "median").rows
    assert [row.ratio(at) for at in range(3)] == [0.5, 1.0, 1.0]


def test_an_amount_of_zero_is_measured() -> None:
    made = (series("vanishes", 1e7, 1e7, 0.0), series("appears", 0.0, 0.0, 1e7))
    assert [line.partition("  |")[2] for line in shown(*made, width=80).splitlines()[:2]] == [
        "==_|  -100.0 %",
        "__=|  +0.0 %",
    ]
    page = shown(*made, format="html")
    assert "cpu of vanishes moved farthest, −100.0 % from its first value above 0" in page
    cells = re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", page)
    at = cells.index("cpu of vanishes")
    assert cells[at + 1 : at + 5] == ["0 ns", "−100.0 %", "−100.0 %", "+0.0 %"]
    mixed = shown(*made, series("mixed", 1e7, -1e7), series("zero", 0.0, 0.0), format="html")
    assert "2 series with negative values or none above 0 left out." in mixed


def test_the_ends_of_the_colours_are_opposite() -> None:
    assert palette.change_step(2.0, 2.0) == 2 * palette.CHANGE_STEPS
    assert palette.change_step(0.5, 2.0) == 0
    assert palette.change_step(1.0, 2.0) == palette.CHANGE_STEPS
    for name in ("light", "dark"):
        scale = palette.changes(name)
        assert len(set(scale)) == 2 * palette.CHANGE_STEPS + 1
        assert all(contrast(color, ink(color)) >= 4.5 for color in scale)


def test_a_peak_among_many_versions_is_seen() -> None:
    levels = [1e7] * 5000
    levels[1234] = 3e7
    lines = shown(series("peak", *levels), width=80).splitlines()
    assert lines[0].count("#") == 1
    assert len(shown(series("peak", *levels), format="svg")) < 100_000


def test_series_of_other_versions_are_lined_up() -> None:
    late = replace(EVERY[0], points=EVERY[0].points[5:], command="late")
    made = grid([EVERY[1], late], "first")
    by_name = {row.name: row.values for row in made.rows}
    assert [value is None for value in by_name["cpu of late"]] == [True] * 5 + [False] * 3


@pytest.mark.parametrize("level", [0.0, -1.0, 1e308, 5e-324, float("inf")])
def test_series_without_ratios_are_left_out_and_said(level: float) -> None:
    odd = series("odd", level, level)
    assert "1 series with negative values or none above 0 left out" in shown(EVERY[1], odd, format="html")
    with pytest.raises(NotFoundError, match="no series has positive values"):
        shown(odd)


def test_names_are_never_markup() -> None:
    for name in hostile.NAMES:
        page = shown(replace(EVERY[1], command=name, metric=name, unit=name), format="html", title=name)
        assert hostile.unsafe(page) == set()
        assert len(re.findall("<script", page)) == 2


def test_cells_are_reached_by_keyboard_in_the_browser(window: Any, tmp_path: Path, axe: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(shown(*EVERY, format="html"), encoding="utf-8")
    for scheme, size in (("light", (1200, 800)), ("dark", (400, 700))):
        window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
        window.resize(*size)
        window.open(path.as_uri(), "figure[data-drawn]")
        window.run("document.querySelector('canvas.plot').focus()")
        window.press("ArrowDown", "ArrowLeft", "ArrowLeft")
        said = window.run("document.querySelector('figure [role=status]').textContent")
        assert said == "cpu of slower, 0505050505, Change 5, 15 ms, +50.0 %; series 1 of 3"
        window.press("ArrowDown", "ArrowLeft")
        assert "not measured" in window.run("document.querySelector('p.at').textContent")
        window.press("+")
        assert violations(window, axe) == []
        assert window.run("document.documentElement.scrollWidth <= innerWidth") is True
    window.run("new Promise((done) => setTimeout(done, 250))")
    assert window.run("decodeURIComponent(location.hash)").startswith("#at=0404040404&range=")
    window.press("Escape")
    assert window.problems == []
    assert {url for url in window.requests if url != "about:blank"} == {path.as_uri()}


def test_ten_thousand_versions_of_twenty_series_open(window: Any, tmp_path: Path) -> None:
    chance = random.Random(1)
    many = [replace(series(f"bench {number}", 1e7), points=_long(chance)) for number in range(20)]
    path = tmp_path / "page.html"
    path.write_text(shown(*many, format="html"), encoding="utf-8")
    window.open(path.as_uri(), "figure[data-drawn]")
    window.run("document.querySelector('canvas.plot').focus()")
    window.press("ArrowDown", "+", "+", "ArrowLeft", "Escape")
    assert window.problems == []
    assert len(json.loads(re.findall(r'id="data">([^<]*)<', path.read_text())[0])["labels"]) == 10_000


def _long(chance: random.Random) -> tuple[Any, ...]:
    point = EVERY[0].points[0]
    return tuple(
        replace(
            point,
            version=MinorVersion(id=f"{number:040x}", date=number),
            values=(1e7 * chance.gauss(1, 0.02),),
        )
        for number in range(10_000)
    )


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_series_of_two_versions_reach_to_the_newer_one(project: Project, order: tuple[int, int]) -> None:
    history = open_repository(project.path)
    versions = []
    for number, wall in enumerate((10_000_000, 15_000_000)):
        versions.append(project.commit(f"Change {number}"))
        history.register(history.save(replace(timed(wall=wall), created=CREATED + number)), versions[-1])
    text = project.perf("show", *(f"{versions[number]}:0@i" for number in order), "heatmap").out
    assert f"{versions[0][:10]} to {versions[1][:10]}, from the first value" in text


def test_machines_that_take_turns_are_on_the_scale_of_the_newest() -> None:
    made = grid([histories.in_turns(), EVERY[0]], "first")
    row = made.rows[0]
    assert [row.ratio(at) for at in range(30)] == pytest.approx([1.0] * 15 + [1.5] * 15)
    assert "Amounts of 3 machines are as on that of the newest." in shown(histories.in_turns(), format="html")
    assert "3 machines" in shown(histories.in_turns(), width=80)
    assert grid(EVERY, "first").scale == ""
