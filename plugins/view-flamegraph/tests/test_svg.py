"""The SVG for documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from perfcore_diff_amounts import Amounts
from perfcore_testing import hostile, profiles
from perfcore_testing.output import FakeOutput
from perfcore_view_flamegraph import FlamegraphSettings, FlamegraphView
from perfcore_view_flamegraph.svg import EDGE

from perfcore.errors import UsageError
from perfcore.model import Profile
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column, table

SVG = "{http://www.w3.org/2000/svg}"


def text(profile: Profile, **settings: Any) -> str:
    output = FakeOutput()
    FlamegraphView(FlamegraphSettings(format="svg", **settings)).render(profiles.subject(profile), output)
    return output.text


def drawn(profile: Profile, **settings: Any) -> list[ElementTree.Element]:
    """The boxes, each with its title, rectangle and perhaps a label."""
    return list(ElementTree.fromstring(text(profile, **settings)).iter(f"{SVG}g"))


def flat(names: tuple[str, ...], amounts: list[int] | None = None) -> Profile:
    builder = StackBuilder()
    rows = [builder.add([Frame(name, name, 1, 1)]) for name in names]
    values = column("samples", amounts or [1] * len(names), role="value")
    return profiles.sampled().replace_tables(
        resources=table("resources", [column("stack", rows), values]), **builder.tables()
    )


def titles(boxes: list[ElementTree.Element]) -> list[str]:
    return [box.findtext(f"{SVG}title", "") for box in boxes]


def test_the_boxes_of_a_level_are_as_wide_as_their_amounts() -> None:
    boxes = drawn(flat(("a", "b", "c"), [70, 20, 10]), width=1020)
    rows: dict[str, list[float]] = {}
    for box in boxes:
        rectangle = box.find(f"{SVG}rect")
        assert rectangle is not None
        rows.setdefault(rectangle.attrib["y"], []).append(float(rectangle.attrib["width"]) + 1)
    assert sorted(map(sorted, rows.values())) == [[100, 200, 700], [1020 - 2 * EDGE]]


def test_a_box_says_name_place_and_amounts() -> None:
    assert "main app.py:5\nsamples: 100, 98 %, own 3" in titles(drawn(profiles.sampled()))


def test_boxes_below_half_a_pixel_or_the_share_that_is_wanted_are_left_out() -> None:
    profile = flat(tuple(map(str, range(1000))), [999, *[1] * 999])
    assert len(drawn(profile, width=800)) == 2
    assert len(drawn(profile, width=2000)) == 1001
    assert len(drawn(profile, width=2000, min_share=1)) == 2


def test_a_flame_has_its_root_at_the_bottom() -> None:
    def heights(**settings: Any) -> list[float]:
        rectangles = [box.find(f"{SVG}rect") for box in drawn(profiles.sampled(), **settings)]
        return [float(found.attrib["y"]) for found in rectangles if found is not None]

    assert heights()[0] == min(heights())
    assert heights(flame=True)[0] == max(heights(flame=True))


def test_hostile_names_stay_text_and_the_file_is_xml() -> None:
    picture = text(flat(hostile.NAMES), title=hostile.NAMES[0] + hostile.NAMES[5])
    assert hostile.unsafe(picture) == set()
    tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(picture).iter()}
    assert tags == {"svg", "title", "style", "rect", "text", "g"}
    shown = titles(drawn(flat(hostile.NAMES)))
    assert any("<script>alert('x')</script>" in title for title in shown)
    assert any("null\\x00bell\\x07" in title for title in shown)


def test_a_difference_says_its_sides_and_signs() -> None:
    difference = Amounts().diff(
        flat(("a", "b", "c", "e", "f"), [50, 20, 30, 300, 2]), flat(("a", "c", "d", "e", "f"), [75, 30, 40, 299, 40])
    )
    picture = ElementTree.fromstring(text(difference))
    shown = ["".join(element.itertext()) for element in picture.iter(f"{SVG}text")]
    assert {"a +50%", "b gone", "c", "d new", "e −0.3%", "f ×20"} <= set(shown)
    assert {"gone", "less", "the same", "more", "new"} <= set(shown)
    fills = {
        box.findtext(f"{SVG}text"): found.attrib["fill"]
        for box in picture.iter(f"{SVG}g")
        if (found := box.find(f"{SVG}rect")) is not None
    }
    assert len({fills["a +50%"], fills["b gone"], fills["c"], fills["d new"]}) == 4


def test_the_name_of_the_file_says_what_is_written(tmp_path: Path) -> None:
    for name, begin in (("x.svg", b"<?xml"), ("x.SVG", b"<?xml"), ("x.html", b"<!DOCTYPE html>"), ("x", b"<!DOCTYPE")):
        output = FakeOutput(path=tmp_path / name)
        FlamegraphView().render(profiles.subject(profiles.sampled()), output)
        assert (tmp_path / name).read_bytes().startswith(begin)


@pytest.mark.parametrize("form", ["html", "svg"])
def test_a_terminal_is_not_flooded(form: str) -> None:
    with pytest.raises(UsageError, match="not for a terminal") as raised:
        FlamegraphView(FlamegraphSettings(format=form)).render(
            profiles.subject(profiles.sampled()), FakeOutput(width=80)
        )
    assert raised.value.hint == f"-o page.{form} writes it; `perf show` takes --open too"


def test_several_profiles_are_for_a_page() -> None:
    view = FlamegraphView(FlamegraphSettings(format="svg"))
    with pytest.raises(UsageError, match="of one profile, and 2 are named") as raised:
        view.render(profiles.subject(profiles.sampled(), profiles.sampled()), FakeOutput())
    assert "a page shows several" in str(raised.value.hint)


@pytest.mark.parametrize("form", ["html", "svg"])
def test_an_output_that_fails_is_not_passed_over(form: str) -> None:
    class Full(FakeOutput):
        def write_bytes(self, data: bytes) -> None:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        FlamegraphView(FlamegraphSettings(format=form)).render(profiles.subject(profiles.sampled()), Full())
