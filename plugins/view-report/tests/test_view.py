"""The document on a change, as a file and in a browser."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing import histories, hostile, profiles
from perfcore_testing.output import FakeOutput
from perfcore_testing.pages import assert_self_contained, violations
from perfcore_testing.profiles import CREATED, timed
from perfcore_testing.project import Project
from perfcore_view_report import ReportSettings, ReportView
from perfcore_view_report.machines import facts, sentence

from perfcore.errors import NotFoundError, UsageError
from perfcore.library import open_repository
from perfcore.model import Profile, ViewData
from perfcore.model.record import replace
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column, table

OTHER = replace(timed(wall=15_000_000), machine={"os": "Linux 6.9", "cpu": "Example 9000", "extra": {"gcc": "14"}})


def subject(**more: Any) -> ViewData:
    facts: dict[str, Any] = {
        "profiles": (timed(), OTHER),
        "names": ("v1.0", "v1.1"),
        "versions": (None, None),
        "series": (histories.steady(), histories.changed()),
        "changes": (histories.change(5, p_value=0.001), histories.change(6, kind="cannot tell", needed=30)),
    }
    return ViewData(**{**facts, **more})


def counted(samples: dict[str, int]) -> Profile:
    """Samples of stacks, which are written as folded ones."""
    builder = StackBuilder()
    rows = [builder.add(Frame(name, "a.py", 2, 1) for name in stack.split(";")) for stack in samples]
    values = column("samples", list(samples.values()), role="value")
    resources = table("resources", [column("stack", rows, dtype="i64"), values])
    return profiles.sampled().replace_tables(resources=resources, **builder.tables())


def shown(data: ViewData, **settings: Any) -> str:
    output = FakeOutput()
    ReportView(ReportSettings(**settings)).render(data, output)
    return output.text


def words(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "|", markup))


def test_it_answers_first_and_has_every_section() -> None:
    page = shown(subject())
    assert_self_contained(page)
    assert (
        "1 of 2 series became worse and stayed so. 2 comparisons: 1 slower, 1 inconclusive." in page.partition("<h2")[0]
    )
    assert re.findall(r"<h2 id=\"(\w+)\"", page) == ["changes", "history", "runs", "machines"]


def test_a_change_that_a_later_version_undid_is_not_counted_as_if_it_stood() -> None:
    undone = histories.change(5, undone="07" * 20)
    page = shown(subject(changes=(undone, histories.change(6, kind="same"))))
    assert "1 slower, 1 same; 1 of these undone in a later version." in page.partition("<h2")[0]
    assert "△\N{NO-BREAK SPACE}slower" in page
    assert "undone in 0707070707" in words(page)


def test_a_verdict_comes_with_its_interval_and_how_sure_it_is() -> None:
    text = words(shown(subject(decided={"05" * 20: "confirmed by Ann: seen again"})))
    assert "the level moved; p 0.001; confirmed by Ann: seen again" in text
    assert "+20.0 % (+18.0 % to +22.0 % at 99 %)" in text
    assert "the level moved; p 0.001" in text
    assert "about 30 interleaved pairs would tell" in text


def test_differences_of_the_machines_come_first_and_are_named() -> None:
    made = facts((timed(), OTHER))
    assert [fact.name for fact in made if fact.differs] == ["os", "cpus", "memory", "extra.gcc"]
    assert sentence(made, 2).startswith("The machines or tools differ in os, cpus, memory, extra.gcc: ")
    assert "are the same in every fact" in sentence(facts((timed(), timed())), 2)
    assert "os||Linux 6.8||Linux 6.9||differs" in words(shown(subject()))


def test_only_what_there_is_has_a_section() -> None:
    page = shown(ViewData(changes=(histories.change(5),), names=("a", "b")))
    assert re.findall(r"<h2 id=\"(\w+)\"", page) == ["changes"]
    assert "No check has compared these profiles" in shown(profiles.subject(timed()))
    with pytest.raises(NotFoundError, match="nothing to report"):
        shown(ViewData())


def test_two_profiles_with_stacks_have_a_difference_in_the_code() -> None:
    before, after = (
        counted({"main;parse;read": 40, "main;write": 400}),
        counted({"main;parse;read": 90, "main;write": 400}),
    )
    page = shown(profiles.subject(before, after, names=("v1", "v2")))
    (picture,) = re.findall(r'<svg class="flame".*?</svg>', page, re.DOTALL)
    boxes = re.findall("<g><title>(.*?)\n", picture)
    assert set(boxes) == {"all", "main a.py:1", "write a.py:1", "parse a.py:1", "read a.py:1"}
    text = words(page)
    assert "samples: 440 → 490, " in text
    assert "read||a.py||40||90||+125.0 %||+50||" in text
    assert "|main||" not in text.partition("Functions that changed most")[2].partition("read||")[0]


def test_a_label_has_the_name_first_and_never_cuts_a_percentage() -> None:
    before = counted({f"main;function_{n}": 1000 for n in range(30)})
    after = counted({f"main;function_{n}": 200 for n in range(30)})
    (picture,) = re.findall(r'<svg class="flame".*?</svg>', shown(profiles.subject(before, after)), re.DOTALL)
    labels = re.findall(r"/><text [^>]*>([^<]*)</text></g>", picture)
    assert labels[:2] == ["all −80%", "main −80%"]
    assert set(labels[2:]) == {"fu…"}


def test_a_change_within_the_noise_of_counting_is_grey_and_said_to_be_so() -> None:
    before, after = counted({"main;read": 40, "main;write": 400}), counted({"main;read": 42, "main;write": 900})
    page = shown(profiles.subject(before, after))
    colors = dict(re.findall(r"<title>(\w+) a.py.*?class=\"change-(\d+)\"", page, re.DOTALL))
    assert colors["read"] == "10"
    assert int(colors["write"]) > 10
    assert re.search(r"read\|\|a.py\|\|[^\n]*?within noise", words(page))
    assert "Grey: changes within the noise of counting samples" in words(page)


def test_a_picture_of_a_large_profile_has_its_widest_boxes() -> None:
    before = counted({f"main;f{n};g{n}": 1000 - n for n in range(300)})
    after = counted({f"main;f{n};g{n}": 500 - n for n in range(300)})
    (picture,) = re.findall(r'<svg class="flame".*?</svg>', shown(profiles.subject(before, after)), re.DOTALL)
    names = re.findall(r"<g><title>(\w+)", picture)
    assert len(names) == 250
    assert {f"f{n}" for n in range(124)} <= set(names)


def test_a_difference_is_reported_with_both_machines(project: Project) -> None:
    history = open_repository(project.path)
    for number in (1, 2):
        version = project.commit(f"Change {number}")
        machine = {"cpu": f"Example {number}"}
        made = replace(profiles.sampled(number), created=CREATED + number, machine=machine)
        history.register(history.save(made), version)
    project.perf("diff", "HEAD~1:0@i", "HEAD:0@i", "--view", "report", "-o", "d.html")
    page = (project.path / "d.html").read_text()
    assert re.findall(r"<h2 id=\"(\w+)\"", page) == ["code", "runs", "machines"]
    assert re.search(r"Fact\|\|\w{10}:0@i\|\|\w{10}:0@i\|\|Same", words(page))
    assert "cpu||Example 1||Example 2||differs" in words(page)
    project.perf("show", "HEAD~1:0@i", "HEAD:0@i", "report", "-o", "e.html")
    assert '<svg class="flame"' in (project.path / "e.html").read_text()


def test_it_is_not_for_a_terminal() -> None:
    with pytest.raises(UsageError, match="a report is not for a terminal"):
        ReportView().render(subject(), FakeOutput(width=80))


def test_how_many_pairs_would_tell_is_said_once() -> None:
    evidence, reason = "6 interleaved pairs; about 30 interleaved pairs would tell", "too much noise"
    said = [
        (evidence, f"{reason}: measure about 30 interleaved pairs", f"|{evidence}; {reason}|"),
        ("6 runs", f"{reason}: measure about 30 interleaved pairs", "|6 runs; too much noise: measure about 30 inter"),
        ("6 runs", reason, "|6 runs; too much noise; about 30 interleaved pairs would tell|"),
    ]
    for evidence, reason, expected in said:
        change = histories.change(6, kind="cannot tell", needed=30, evidence=evidence, reason=reason)
        page = words(shown(subject(changes=(change,))))
        assert expected in page
        assert page.count("30 interleaved pairs") == 1
    change = histories.change(6, kind="cannot tell", evidence="1 run", reason="1 run: measure 3 runs")
    assert "|1 run; 1 run: measure 3 runs|" in words(shown(subject(changes=(change,))))


def test_nested_facts_of_any_depth_are_shown() -> None:
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"inner": deep}
    assert facts((replace(timed(), machine=deep),))


def test_names_are_never_markup() -> None:
    for name in hostile.NAMES:
        strange = replace(timed(), machine={name: {name: name}})
        change = histories.change(5, label=name, evidence=name, reason=name, metric=name)
        page = shown(subject(profiles=(strange, strange), names=(name, name), changes=(change,)), title=name)
        assert hostile.unsafe(page) == set()
        assert len(re.findall("<script", page)) == 3


def test_the_commands_write_it(project: Project) -> None:
    history = open_repository(project.path)
    for number, wall in enumerate((10_000_000, 15_000_000)):
        version = project.commit(f"Change {number}")
        history.register(history.save(replace(timed(runs=9, wall=wall), created=CREATED + number)), version)
    project.perf("show", "HEAD~1:0@i", "HEAD:0@i", "report", "-o", "a.html")
    project.perf("history", "wall", "--view", "report", "-o", "b.html")
    project.perf("compare", "HEAD~1", "HEAD", "--view", "report", "-o", "c.html", code=None)
    texts = [(project.path / name).read_text() for name in ("a.html", "b.html", "c.html")]
    assert [re.findall(r"<h2 id=\"(\w+)\"", text)[:1] for text in texts] == [["history"], ["history"], ["changes"]]


def test_a_metric_that_fails_the_check_is_reported_like_a_primary_one(project: Project) -> None:
    history = open_repository(project.path)
    for number, wall in enumerate((10_000_000, 15_000_000)):
        version = project.commit(f"Change {number}")
        history.register(history.save(replace(timed(runs=9, wall=wall), created=CREATED + number)), version)
    texts = []
    for fail_on in ("degradation", "degradation:wall"):
        project.perf("config", "set", "check.fail_on", fail_on)
        project.perf("check", "HEAD", code=1)
        project.perf("compare", "HEAD~1", "HEAD", "--view", "report", "--force", "-o", "a.html", code=None)
        project.perf("show", "HEAD~1:0@i", "HEAD:0@i", "report", "--force", "-o", "b.html")
        texts += [words((project.path / name).read_text()) for name in ("a.html", "b.html")]
    compared, profiles = "1 comparison: 1 slower.", "1 of 1 series became worse and stayed so. 1 comparison"
    assert [text in page for text, page in zip((compared, profiles), texts[:2], strict=True)] == [True, True]
    compared, profiles = "2 comparisons: 2 slower.", "2 of 2 series became worse and stayed so. 2 comparisons"
    assert [text in page for text, page in zip((compared, profiles), texts[2:], strict=True)] == [True, True]


def test_the_flame_graph_is_accessible_and_dark_where_the_page_is(window: Any, tmp_path: Path, axe: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(shown(profiles.subject(profiles.sampled(1), profiles.sampled(3))), encoding="utf-8")
    fills = []
    for scheme, size in (("light", (1200, 800)), ("dark", (400, 700))):
        window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
        window.resize(*size)
        window.open(path.as_uri(), "svg.flame")
        assert violations(window, axe) == []
        assert window.run("document.documentElement.scrollWidth <= innerWidth") is True
        fills.append(window.run("getComputedStyle(document.querySelector('svg.flame g rect')).fill"))
    assert fills[0] != fills[1]
    assert window.run("document.querySelector('.still:has(svg.flame)').tabIndex") == 0
    assert window.problems == []


def test_it_is_accessible_in_the_browser(window: Any, tmp_path: Path, axe: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(shown(subject()), encoding="utf-8")
    for scheme, size in (("light", (1200, 800)), ("dark", (400, 700))):
        window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
        window.resize(*size)
        window.open(path.as_uri(), "figure[data-drawn]")
        assert violations(window, axe) == []
        assert window.run("document.documentElement.scrollWidth <= innerWidth") is True
    assert window.problems == []
    assert {url for url in window.requests if url != "about:blank"} == {path.as_uri()}
