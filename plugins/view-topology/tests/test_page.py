"""The file of the page, without a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing import hostile, profiles
from perfcore_testing.output import FakeOutput
from perfcore_testing.pages import assert_self_contained
from perfcore_view_kit.colors import contrast, ink
from perfcore_view_topology import TopologySettings, TopologyView, palette

from perfcore.model import Profile
from perfcore.text import clip, printable


def written(*found: Profile, **settings: Any) -> str:
    output = FakeOutput()
    TopologyView(TopologySettings(format="html", **settings)).render(profiles.subject(*found), output)
    return output.text


def data(page: str) -> Any:
    """What the page's script reads."""
    found = re.search(r'id="data">([^<]*)<', page)
    assert found is not None
    return json.loads(found[1])


def test_the_form_follows_the_name_of_the_file(tmp_path: Path) -> None:
    for name, start in (
        ("a.html", "<!DOCTYPE html>"),
        ("a.HTM", "<!DOCTYPE html>"),
        ("a.json", "{"),
        ("a.txt", "./gzip"),
    ):
        output = FakeOutput(path=tmp_path / name)
        TopologyView().render(profiles.subject(profiles.counted()), output)
        assert output.text.startswith(start)


def test_the_data_are_the_machine_and_its_values() -> None:
    found = data(written(profiles.counted(), metric="task-clock"))
    (side,) = found["sides"]
    assert found["metrics"][found["start"]]["name"] == "task-clock"
    assert [side["boxes"][at]["label"] for at in side["outer"]] == [
        "package 0 · NUMA 0 · L3 #0",
        "package 1 · NUMA 1 · L3 #1",
    ]
    assert side["threads"][3]["values"] == [None] * 4
    assert side["threads"][0]["values"][found["start"]] == [57.5, 55, 60, 2, pytest.approx(5 / 18035, rel=1e-6)]
    assert [side["threads"][at]["label"] for at in side["unknown"]] == ["no CPU known"]


def test_only_what_the_page_brings_may_run() -> None:
    assert_self_contained(written(profiles.counted()))


@pytest.mark.parametrize("name", hostile.NAMES)
def test_names_are_never_markup(machines: Any, name: str) -> None:
    cpus = [type(cpu)(cpu=cpu.cpu, core=cpu.core, l3=name, kind=name) for cpu in machines.regular()]
    plain = machines.counted(cpus, command=name)
    page = written(plain, title=name)
    assert hostile.unsafe(page) == set()
    ours = written(machines.counted(machines.regular()))
    assert len(re.findall(r"<\w", page)) == len(re.findall(r"<\w", ours))
    assert data(page)["sides"][0]["command"] == clip(printable(name).strip(), 200)


@pytest.mark.parametrize("colors", [palette.LIGHT, palette.DARK])
def test_text_can_be_read_on_every_colour(colors: palette.Palette) -> None:
    for color in (*colors.amounts, *colors.changes):
        assert contrast(color, ink(color)) >= 4.5


def test_neighbouring_steps_differ_and_amounts_go_one_way() -> None:
    for colors in (palette.LIGHT, palette.DARK):
        assert len(set(colors.amounts)) == len(colors.amounts)
        assert len(colors.changes) == 2 * len(colors.amounts) - 1
        against = [contrast(color, "#000000") for color in colors.amounts]
        assert against == sorted(against, reverse=colors is palette.LIGHT)
