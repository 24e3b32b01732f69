"""Comparisons as text, as a page and as SVG."""

from __future__ import annotations

import html
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
from perfcore_view_compare import CompareSettings, CompareView

from perfcore.errors import NotFoundError
from perfcore.library import open_repository
from perfcore.model import Change, ViewData
from perfcore.model.record import replace


def change(number: int, kind: str = "degradation", ratio: float | None = 1.2, **fields: Any) -> Change:
    sized = {"ratio": ratio, "low": ratio and ratio * 0.98, "high": ratio and ratio * 1.02}
    return histories.change(number, kind=kind, resource=f"bench {number}", **sized, **fields)


CHANGES = (
    change(1, ratio=1.05),
    change(2, "same", 1.001),
    change(3, "optimization", 0.5),
    change(4, "cannot tell", 1.01, reason="too few runs: 3 of at least 4", needed=40),
    change(5, ratio=1.3),
    change(6, "degradation", 1.9, primary=False),
    change(7, "cannot tell", None),
)
ACCEPTED = {"01" * 20: "needed for safety"}
CONFIRMED = {"05" * 20: "confirmed by Ann: seen <again>"}


def shown(
    *changes: Change, width: int | None = None, names: tuple[str, ...] = ("v1.0", "v1.1"), **settings: Any
) -> str:
    output = FakeOutput(width=width)
    subject = ViewData(changes=changes, names=names, accepted=ACCEPTED, decided=CONFIRMED)
    CompareView(CompareSettings(**settings)).render(subject, output)
    return output.text


def rows(page: str) -> list[list[str]]:
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    return [
        [html.unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body)
    ]


def test_the_largest_change_comes_first_and_the_inconclusive_last() -> None:
    names = [row[0] for row in rows(shown(*CHANGES, format="html"))]
    assert names == ["bench 3", "bench 5", "bench 1", "bench 2", "bench 4", "bench 7"]


def test_the_first_sentence_counts_the_verdicts() -> None:
    page = shown(*CHANGES, format="html")
    assert (
        "6 comparisons: 1 faster, 2 slower, 1 same, 2 inconclusive; 1 of these accepted." in page.partition("<table")[0]
    )
    assert "<h1>v1.0 → v1.1</h1>" in page


def test_a_false_alarm_is_not_called_accepted() -> None:
    alarm = {"01" * 20: "false alarm by Ann: a backup ran"}
    for form in ("html", "text"):
        output = FakeOutput(width=None)
        subject = ViewData(changes=CHANGES, names=("v1.0", "v1.1"), accepted=ACCEPTED, decided=alarm)
        CompareView(CompareSettings(format=form)).render(subject, output)
        said = re.sub(r"<(script|style)>.*?</\1>", "", output.text, flags=re.DOTALL)
        assert "1 of these a false alarm." in said
        assert "accepted" not in said
        assert len(re.findall("false alarm", said)) == 2


def test_every_metric_is_shown_when_asked() -> None:
    assert len(rows(shown(*CHANGES, format="html", all_metrics=True))) == 7


def test_a_row_has_the_verdict_its_size_and_the_reason() -> None:
    by_name = {row[0]: row for row in rows(shown(*CHANGES, format="html"))}
    assert by_name["bench 5"][1:5] == ["▲\N{NO-BREAK SPACE}slower", "cpu", "+30.0 %", "+27.4 % to +32.6 %"]
    assert by_name["bench 5"][6:8] == ["10 ms", "12 ms"]
    assert by_name["bench 1"][1] == "△\N{NO-BREAK SPACE}slower"
    assert by_name["bench 1"][8] == "accepted: needed for safety"
    assert by_name["bench 5"][8] == "confirmed by Ann: seen <again>"
    assert by_name["bench 4"][8] == "too few runs: 3 of at least 4; about 40 interleaved pairs would tell"
    assert by_name["bench 7"][3] == "-"


def test_the_page_is_self_contained() -> None:
    assert_self_contained(shown(*CHANGES, format="html"))


def test_half_and_double_are_equally_far_and_what_leaves_the_scale_is_an_arrow() -> None:
    page = shown(change(1, ratio=2.0), change(2, "optimization", 0.5), change(3, ratio=900.0), format="html")
    dots = [float(x) for x in re.findall(r'<circle class="[^"]*" cx="([^"]*)"', page)]
    assert sum(dots) == pytest.approx(150)
    assert "▶" in page


def test_a_small_change_looks_small() -> None:
    page = shown(change(1, ratio=1.0001), format="html")
    (x,) = (float(x) for x in re.findall(r'<circle class="[^"]*" cx="([^"]*)"', page))
    assert abs(x - 75) < 4


def test_the_text_fits_the_terminal() -> None:
    text = shown(*CHANGES, width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.splitlines()[1].startswith("faster")
    assert "──●──" in text or "●" in text


def test_the_picture_has_a_row_for_each_and_says_what_it_leaves_out() -> None:
    many = [change(number, ratio=1 + number / 100) for number in range(1, 100)]
    picture = shown(*many, format="svg")
    ElementTree.fromstring(picture)
    assert "and 39 more" in picture


def test_nothing_that_was_compared_is_said() -> None:
    with pytest.raises(NotFoundError, match="nothing that was compared"):
        shown()


@pytest.mark.parametrize("ratio", [0.0, -1.0, float("inf"), float("nan"), 5e-324, 1e308])
def test_ratios_without_a_logarithm_are_shown(ratio: float) -> None:
    for form in ("html", "svg", "text"):
        text = shown(histories.change(1, ratio=ratio, low=ratio, high=ratio), format=form)
        assert "nan" not in text.replace("nanos", "")


def test_names_are_never_markup() -> None:
    for name in hostile.NAMES:
        named = histories.change(1, resource=name, label=name, metric=name, unit=name, reason=name)
        page = shown(named, names=(name, name), format="html")
        assert hostile.unsafe(page) == set()
        assert len(re.findall("<script", page)) == 1


def test_the_command_shows_two_versions(project: Project) -> None:
    history = open_repository(project.path)
    for number, wall in enumerate((10_000_000, 15_000_000)):
        version = project.commit(f"Change {number}")
        history.register(history.save(replace(timed(runs=9, wall=wall), created=CREATED + number)), version)
    done = project.perf("compare", "HEAD~1", "HEAD", "--view", "compare", code=None)
    assert "slower" in done.lines[1]
    project.perf("compare", "HEAD~1", "HEAD", "-o", "page.html", code=None)
    page = (project.path / "page.html").read_text()
    assert "1 comparison: 1 slower." in page
    assert "Change 0" in page
    refused = project.perf("compare", "--view", "compare", "-c", "true", "-c", "true", code=2)
    assert "are for what is stored of two versions" in str(refused)


def test_two_profiles_are_not_told_what_a_check_found_between_others(project: Project) -> None:
    history = open_repository(project.path)
    versions = []
    for number, wall in enumerate((10_000_000, 15_000_000, 15_000_000)):
        versions.append(project.commit(f"Change {number}"))
        history.register(history.save(replace(timed(runs=9, wall=wall), created=CREATED + number)), versions[-1])
    project.perf("check", "HEAD~1", code=1)
    project.perf("check", "HEAD", code=None)
    refused = project.perf("show", "HEAD~2:0@i", "HEAD:0@i", "compare", code=None)
    assert "nothing that was compared" in refused.err
    done = project.perf("show", "HEAD~2:0@i", "HEAD~1:0@i", "compare", "-o", "page.html")
    page = (project.path / "page.html").read_text()
    assert f"<h1>{versions[0][:10]}:0@i → {versions[1][:10]}:0@i</h1>" in page, done.out
    assert "1 comparison: 1 slower." in page


def test_people_sort_and_filter_in_the_browser(window: Any, tmp_path: Path, axe: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(shown(*CHANGES, format="html"), encoding="utf-8")
    names = (
        "Array.from(document.querySelectorAll('tbody tr')).filter((row) => !row.hidden)"
        ".map((row) => row.cells[0].textContent.trim())"
    )
    window.open(path.as_uri(), "th button")
    assert window.run(names)[0] == "bench 3"
    window.run("document.querySelectorAll('th button')[3].click()")
    assert window.run(names) == ["bench 5", "bench 1", "bench 4", "bench 2", "bench 3", "bench 7"]
    window.run("document.querySelectorAll('th button')[3].click()")
    assert window.run(names)[-1] == "bench 7"
    assert window.run("document.querySelectorAll('th')[3].getAttribute('aria-sort')") == "ascending"
    window.run("document.querySelector('input').focus()")
    window.write("bench 4")
    assert window.run(names) == ["bench 4"]
    assert window.run("document.querySelector('[role=status]').textContent") == "1 of 6 rows"
    window.run("new Promise((done) => setTimeout(done, 250))")
    assert window.run("location.hash") == "#filter=bench+4"
    window.run("location.hash = 'show=slower'")
    window.settle(f"({names}).length === 2")
    for scheme, size in (("light", (1200, 800)), ("dark", (400, 700))):
        window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
        window.resize(*size)
        assert violations(window, axe) == []
        assert window.run("document.documentElement.scrollWidth <= innerWidth") is True
    assert window.problems == []
