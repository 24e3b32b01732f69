"""Amounts over a parameter: text, page and SVG."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from perfcore_testing import hostile, profiles
from perfcore_testing.output import FakeOutput
from perfcore_testing.pages import assert_self_contained, violations
from perfcore_view_scatter import ScatterSettings, ScatterView
from perfcore_view_scatter.models import best_fits
from perfcore_view_scatter.scatter import scatter

from perfcore.errors import NotFoundError, UsageError
from perfcore.model import Profile
from perfcore.profile.table import Table, column, table

SIZES = (10, 20, 50, 100, 200)


def suite(
    *names: str, sizes: tuple[int, ...] = SIZES, fits: list[dict[str, Any]] | None = None, repetitions: int = 1
) -> Profile:
    rows = [
        (name, size, run, 1000.0 * (number + 1) * size * (1 + 0.01 * run))
        for number, name in enumerate(names)
        for size in sizes
        for run in range(7)
        for _ in range(repetitions)
    ]
    columns = [
        column("benchmark", [row[0] for row in rows], role="benchmark"),
        column("n", [row[1] for row in rows], role="benchmark"),
        column("run", [row[2] for row in rows], role="order"),
        column("cpu", [row[3] for row in rows], unit="ns", role="value"),
    ]
    tables: dict[str, Table] = {"resources": table("resources", columns)}
    if fits:
        tables["models"] = table("models", [column(key, [fit.get(key) for fit in fits]) for key in fits[0]])
    return profiles.profile(tables)


def fit(model: str, *values: float, group: str = "sort", quality: float = 0.9, **fields: Any) -> dict[str, Any]:
    coefficients = json.dumps([{"name": f"b{number}", "value": value} for number, value in enumerate(values)])
    return {
        "uid": group,
        "model": model,
        "coeffs": coefficients,
        "r_square": quality,
        "x_start": 0,
        "x_end": 500,
        **fields,
    }


def shown(*made: Profile, width: int | None = None, **settings: Any) -> str:
    output = FakeOutput(width=width)
    ScatterView(ScatterSettings(**settings)).render(profiles.subject(*made), output)
    return output.text


def test_repetitions_in_a_run_are_no_larger_amount() -> None:
    assert shown(suite("sort", repetitions=5), width=80) == shown(suite("sort"), width=80)


def test_every_form_has_every_value_of_the_parameter() -> None:
    text = shown(suite("sort"), width=80)
    assert [line.split()[0] for line in text.splitlines()[2:]] == ["10", "20", "50", "100", "200"]
    page = shown(suite("sort", "parse"), format="html")
    assert_self_contained(page)
    assert page.count("<figure") == 1
    assert "cpu of parse goes from 20.6 µs to 412 µs over n 10 to 200." in page.partition("<figure")[0]
    assert page.count("goes from") == 1
    assert shown(suite(*"abcdefgh"), format="html").count("cpu of a goes from") > 1


def test_a_group_with_one_value_of_the_parameter_goes_nowhere() -> None:
    names, sizes = ["large", "large", "small", "small"], [200, 200, 10, 20]
    columns = [
        column("benchmark", names, role="benchmark"),
        column("n", sizes, role="benchmark"),
        column("cpu", [4e6, 4e6, 1e3, 2e3], unit="ns", role="value"),
    ]
    page = shown(profiles.profile({"resources": table("resources", columns)}), format="html")
    assert "cpu of large is 4 ms at n 200." in page.partition("<figure")[0]
    ElementTree.fromstring(shown(suite("sort"), format="svg"))


def test_points_have_their_intervals_and_runs() -> None:
    cells = html.unescape(re.sub("<[^>]*>", "|", shown(suite("sort"), format="html")))
    assert "103 µs, 100 µs to 106 µs, 7 runs" in cells


def test_the_best_fit_of_a_group_is_drawn() -> None:
    profile = suite("sort", fits=[fit("constant", 5.0, quality=0.1), fit("linear", 0.0, 1030.0, quality=0.99)])
    assert "linear fit, R² 0.990" in shown(profile)
    assert shown(profile, format="svg").count('class="level"') == len(SIZES) - 1
    assert shown(suite("sort"), format="svg").count('class="level"') == 0


@pytest.mark.parametrize(
    ("model", "values", "expected"),
    [
        ("constant", (3.0,), 3.0),
        ("linear", (1.0, 2.0), 21.0),
        ("quadratic", (1.0, 2.0, 3.0), 321.0),
        ("logarithmic", (1.0, 2.0), 5.605),
        ("power", (2.0, 3.0), 2000.0),
        ("exponential", (3.0, 2.0), 3072.0),
    ],
)
def test_models_have_their_formulas(model: str, values: tuple[float, ...], expected: float) -> None:
    (made,) = best_fits(suite("sort", fits=[fit(model, *values)])).values()
    assert made(10) == pytest.approx(expected, rel=1e-3)
    assert made(501) is None


@pytest.mark.parametrize(
    "broken",
    [
        {"coeffs": "no json"},
        {"coeffs": "[1, 2]"},
        {"coeffs": "[" * 100_000},
        {"coeffs": '[{"name": "b0", "value": 1}]'},
        {"model": "magic"},
        {"coeffs": '{"b0": 1}'},
    ],
)
def test_rows_that_are_no_model_are_passed_over(broken: dict[str, str]) -> None:
    assert best_fits(suite("sort", fits=[{**fit("linear", 1.0, 2.0), **broken}])) == {}


def test_a_model_without_a_value_at_a_place_has_none() -> None:
    (made,) = best_fits(suite("sort", fits=[fit("logarithmic", 1.0, 2.0)])).values()
    assert made(0) is None
    (made,) = best_fits(suite("sort", fits=[fit("exponential", 1.0, 1e300)])).values()
    assert made(400) is None


def test_many_groups_have_a_chart_each_and_no_svg() -> None:
    many = suite(*(f"bench {number}" for number in range(8)))
    assert shown(many, format="html").count("<figure") == 8
    with pytest.raises(UsageError, match="at most six groups, and there are 8"):
        shown(many, format="svg")


def test_any_column_of_numbers_is_a_parameter() -> None:
    columns = [
        column("uid", ["f", "f", "g", "g"]),
        column("size", [1, 2, 1, 2]),
        column("amount", [10, 20, 5, 6], unit="us", role="value"),
    ]
    made = scatter(profiles.subject(profiles.profile({"resources": table("resources", columns)})), None, "size", "uid")
    assert [(group.name, sorted(group.runs)) for group in made.groups] == [("f", [1.0, 2.0]), ("g", [1.0, 2.0])]


def test_profiles_without_a_parameter_are_refused() -> None:
    with pytest.raises(NotFoundError, match="no column of the profiles is a parameter"):
        shown(profiles.timed())
    with pytest.raises(NotFoundError, match="no profile has numbers of 'cpu' over 'colour'"):
        shown(suite("sort"), over="colour")


def test_names_are_never_markup() -> None:
    for name in hostile.NAMES:
        page = shown(suite(name or "-", fits=[fit("linear", 1.0, 2.0, group=name)]), format="html", title=name)
        assert hostile.unsafe(page) == set()
        assert len(re.findall("<script", page)) == 2


def test_points_are_reached_by_keyboard_in_the_browser(window: Any, tmp_path: Path, axe: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(shown(suite("sort", "parse", fits=[fit("linear", 0.0, 1030.0)]), format="html"), encoding="utf-8")
    for scheme, size in (("light", (1200, 800)), ("dark", (400, 700))):
        window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
        window.resize(*size)
        window.open(path.as_uri(), "figure[data-drawn]")
        window.run("document.querySelector('canvas.plot').focus()")
        window.press("ArrowRight", "ArrowRight", "+")
        assert violations(window, axe) == []
        assert window.run("document.documentElement.scrollWidth <= innerWidth") is True
    assert "sort 20.6 µs, 20 µs to 21.2 µs, 7 runs" in window.run("document.querySelector('p.at').textContent")
    assert window.problems == []


def test_the_numbers_of_stacks_are_no_parameter() -> None:
    with pytest.raises(NotFoundError, match="no column of the profiles is a parameter"):
        scatter(profiles.subject(profiles.sampled()), None, None, None)
