"""The tree that is drawn, and where its boxes stand."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfcore_diff_amounts import Amounts
from perfcore_testing import profiles
from perfcore_view_flamegraph import palette
from perfcore_view_flamegraph.calls import ROOT
from perfcore_view_flamegraph.graph import NO_STACK, SMALLER, Graph, culled, graph
from perfcore_view_flamegraph.layout import Box, boxes
from perfcore_view_kit.colors import contrast
from perfcore_view_kit.page import source

from perfcore.errors import NotFoundError, UsageError
from perfcore.model import Profile
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column, table

Stack = tuple[str, ...]


def of(stacks: dict[Stack, Any], name: str = "samples", unit: str = "", **more: list[Any]) -> Profile:
    """A profile of these stacks, outermost first, with their amounts."""
    builder = StackBuilder()
    rows = [builder.add(Frame(name, "a.py", 3, 1) for name in stack) if stack else None for stack in stacks]
    values = [column(name, list(stacks.values()), unit=unit, role="value")]
    values += [column(key, list(amounts), role="value") for key, amounts in more.items()]
    resources = table("resources", [column("stack", rows, dtype="i64"), *values])
    return profiles.sampled().replace_tables(resources=resources, **builder.tables())


def paths(found: Graph) -> dict[Stack, Any]:
    """The total of each node by its names below the root."""
    total = found.totals(found.metrics[0].own)
    names: list[Stack] = [()]
    for node in range(1, len(found)):
        names.append((*names[found.parent[node]], found.frames[found.frame[node]].name))
    return dict(zip(names, total, strict=True))


def placed(profile: Profile, **options: Any) -> list[tuple[str, int, float, float]]:
    found = graph(profile)
    made = boxes(found, found.metrics[0], **{"least": 0.0, **options})
    return [(found.frames[box.frame].name, box.depth, round(box.left, 6), round(box.width, 6)) for box in made]


def test_stacks_become_one_tree() -> None:
    found = graph(of({("a", "b"): 3, ("a", "b", "c"): 4, ("a",): 1, ("d",): 2}))
    assert paths(found) == {(): 10, ("a",): 8, ("a", "b"): 7, ("a", "b", "c"): 4, ("d",): 2}


def test_lines_of_a_function_are_one_box_unless_they_are_wanted() -> None:
    assert len(graph(profiles.sampled())) == 7
    builder = StackBuilder()
    main = Frame("main", "app.py", 5)
    rows = [builder.add((main, Frame("f", "x.py", line))) for line in (12, 30)]
    resources = table("resources", [column("stack", rows), column("samples", [1, 2], role="value")])
    profile = profiles.sampled().replace_tables(resources=resources, **builder.tables())
    merged, apart = graph(profile), graph(profile, lines=True)
    assert [frame.place for frame in merged.frames[:2]] == ["app.py:5", "x.py:12-30"]
    assert (len(merged), len(apart)) == (3, 4)
    assert [frame.place for frame in apart.frames[:3]] == ["app.py:5", "x.py:12", "x.py:30"]


def test_a_function_stands_at_its_first_line_where_that_is_known() -> None:
    places = {frame.name: frame.place for frame in graph(profiles.sampled()).frames}
    assert places["main"] == "app.py:5"
    assert places["Parser.parse"] == "parse.py:20"


def test_amounts_without_a_stack_are_kept_as_a_box() -> None:
    assert paths(graph(of({("a",): 3, (): 2})))[(NO_STACK,)] == 2


def test_what_is_missing_or_endless_has_no_width() -> None:
    found = graph(of({("a",): 1.5, ("b",): None, ("c",): math.nan, ("d",): math.inf, ("e",): 0.0}))
    assert paths(found) == {(): 1.5, ("a",): 1.5}


def test_amounts_below_zero_are_refused_with_the_reason() -> None:
    with pytest.raises(NotFoundError, match="'samples' has amounts below zero"):
        graph(of({("a",): 3, ("b",): -1}))
    with pytest.raises(NotFoundError, match="'samples' amounts to 0"):
        graph(of({("a",): 0}))


def test_a_metric_that_cannot_be_drawn_leaves_the_others() -> None:
    found = graph(of({("a",): 3, ("b",): 1}, left=[-1, 2], bytes=[10, 20]))
    assert [metric.name for metric in found.metrics] == ["samples", "bytes"]


def test_an_unknown_metric_is_told_with_those_there_are() -> None:
    with pytest.raises(UsageError) as raised:
        graph(profiles.sampled()).metric("sampels")
    assert raised.value.hint == "did you mean 'samples'?; it has samples"


def test_a_difference_keeps_what_is_gone_as_wide_as_it_was() -> None:
    difference = Amounts().diff(of({("a",): 10, ("b",): 4}), of({("a",): 5, ("c",): 2}))
    found = graph(difference)
    (metric,) = found.metrics
    assert metric.sides is not None
    made = {found.frames[box.frame].name: box for box in boxes(found, metric, least=0)}
    assert {name: box.sides for name, box in made.items()} == {"all": (14, 7), "a": (10, 5), "b": (4, 0), "c": (0, 2)}
    assert {name: box.total for name, box in made.items()} == {"all": 16, "a": 10, "b": 4, "c": 2}


def test_a_box_of_a_difference_is_never_narrower_than_what_stands_on_it() -> None:
    before, after = of({("m", "a"): 10, ("m", "b"): 1}), of({("m", "a"): 1, ("m", "b"): 10})
    assert paths(graph(Amounts().diff(before, after)))[("m",)] == 20


def test_boxes_stand_side_by_side_the_largest_first() -> None:
    profile = of({("a", "x"): 2, ("a", "y"): 6, ("b",): 2})
    assert placed(profile) == [
        ("all", 0, 0, 1),
        ("b", 1, 0.8, 0.2),
        ("a", 1, 0, 0.8),
        ("x", 2, 0.6, 0.2),
        ("y", 2, 0, 0.6),
    ]
    assert [name for name, depth, left, _ in placed(profile, order="name") if depth == 2 and left == 0] == ["x"]


def test_inverted_the_functions_that_worked_stand_at_the_root() -> None:
    profile = of({("a", "x"): 2, ("b", "x"): 6, ("a",): 2})
    assert sorted(placed(profile, inverted=True)) == [
        ("a", 1, 0.8, 0.2),
        ("a", 2, 0.6, 0.2),
        ("all", 0, 0, 1),
        ("b", 2, 0, 0.6),
        ("x", 1, 0, 0.8),
    ]


def test_ten_thousand_calls_deep_is_no_deeper_than_others() -> None:
    found = graph(of({("f",) * 10_000: 1, ("f", "g"): 1}))
    for inverted in (False, True):
        depths = [box.depth for box in boxes(found, found.metrics[0], least=0, inverted=inverted)]
        assert max(depths) == 10_000


def test_a_node_stands_on_the_one_before_it_far_beyond_what_two_bytes_count() -> None:
    depth = 70_000
    found = graph(of({("f",) * depth: 1, ("g",): 1}))
    assert list(found.parent) == [*range(-1, depth), ROOT]


def test_what_is_small_is_one_box_in_a_culled_tree() -> None:
    found = culled(graph(of({("a", "x"): 1, ("a", "y", "z"): 2, ("a",): 90, ("b",): 7})), 0.05)
    assert paths(found) == {(): 100, ("a",): 93, ("a", SMALLER): 3, ("b",): 7}


names = st.sampled_from("abcd")
LINES = st.tuples(st.sampled_from("abc"), st.sampled_from((1, 2, None)))
drawn = st.dictionaries(st.lists(names, min_size=1, max_size=6).map(tuple), st.integers(1, 100), min_size=1)


@settings(deadline=None)
@given(stacks=drawn)
def test_the_root_is_the_sum_and_a_parent_at_least_its_children(stacks: dict[Stack, int]) -> None:
    found = graph(of(stacks))
    total = found.totals(found.metrics[0].own)
    assert total[ROOT] == sum(stacks.values())
    below: list[float] = [0] * len(found)
    for node in range(1, len(found)):
        assert found.parent[node] < node
        below[found.parent[node]] += total[node]
    assert all(mine == own + rest for mine, own, rest in zip(total, found.metrics[0].own, below, strict=True))


@settings(deadline=None)
@given(samples=st.lists(st.tuples(st.lists(LINES, max_size=5).map(tuple), st.integers(0, 9)), min_size=1))
def test_every_sample_is_in_the_box_of_its_functions_and_subtrees_are_in_one_piece(samples: list[Any]) -> None:
    expected: dict[Stack, int] = {}
    for stack, count in samples:
        path = tuple(name for name, _ in stack) or (NO_STACK,)
        for depth in range(len(path) + 1) if count else ():
            expected[path[:depth]] = expected.get(path[:depth], 0) + count
    if not expected:
        return
    builder = StackBuilder()
    rows = [builder.add(Frame(name, "a.py", line) for name, line in stack) if stack else None for stack, _ in samples]
    resources = table(
        "resources",
        (column("stack", rows, dtype="i64"), column("n", [count for _, count in samples], role="value")),
    )
    found = graph(profiles.sampled().replace_tables(resources=resources, **builder.tables()))
    assert paths(found) == expected
    assert len(found) == len(expected)
    above = [ROOT]
    for node in range(1, len(found)):
        while above[-1] != found.parent[node]:
            above.pop()
        above.append(node)


@settings(deadline=None)
@given(stacks=drawn, inverted=st.booleans(), order=st.sampled_from(("value", "name")))
def test_boxes_lie_within_those_they_stand_on_and_never_overlap(
    stacks: dict[Stack, int], inverted: bool, order: str
) -> None:
    found = graph(of(stacks))
    made = boxes(found, found.metrics[0], least=0, inverted=inverted, order=order)
    for box in made[1:]:
        assert any(_within(box, other) for other in made if other.depth == box.depth - 1)
    for level in range(max(box.depth for box in made) + 1):
        row = sorted((box for box in made if box.depth == level), key=lambda box: box.left)
        assert all(one.left + one.width <= other.left + 1e-9 for one, other in itertools.pairwise(row))


@settings(deadline=None)
@given(stacks=drawn, share=st.floats(0, 1))
def test_culling_keeps_the_amounts(stacks: dict[Stack, int], share: float) -> None:
    whole = graph(of(stacks))
    found = culled(whole, share)
    left, before = paths(found), paths(whole)
    assert left[()] == before[()]
    assert all(before[path] == amount for path, amount in left.items() if SMALLER not in path)


@settings(deadline=None)
@given(stacks=drawn)
def test_inverted_amounts_are_those_of_the_functions_themselves(stacks: dict[Stack, int]) -> None:
    found = graph(of(stacks))
    own: dict[str, int] = {}
    for stack, amount in stacks.items():
        own[stack[-1]] = own.get(stack[-1], 0) + amount
    made = boxes(found, found.metrics[0], least=0, inverted=True)
    assert {found.frames[box.frame].name: box.total for box in made if box.depth == 1} == own


def _within(box: Box, other: Box) -> bool:
    return other.left - 1e-9 <= box.left and box.left + box.width <= other.left + other.width + 1e-9


def test_every_label_can_be_read_on_every_colour() -> None:
    for colors in (palette.LIGHT, palette.DARK):
        assert len(colors.frames) == palette.HUES * palette.TONES
        assert len(colors.changes) == 2 * palette.STEPS + 1
        for color in (*colors.frames, *colors.changes):
            assert contrast(color, colors.text) >= 4.5


def test_every_other_label_on_the_canvas_can_be_read_too() -> None:
    light: dict[str, str] = {}
    dark: dict[str, str] = {}
    for package, name in (("perfcore_view_kit", "base.css"), ("perfcore_view_flamegraph", "page.css")):
        blocks = source(package, name).split("}")
        for colors, block in zip((light, dark), blocks, strict=False):
            colors.update(re.findall(r"--([\w-]+): (#\w{6});", block))
    for colors, palettes in ((light, palette.LIGHT), (dark, palette.DARK)):
        assert contrast(colors["quiet"], colors["quiet-text"]) >= 4.5
        assert contrast(colors["match"], colors["match-text"]) >= 4.5
        assert contrast(colors["root"], palettes.text) >= 4.5


def test_a_file_has_one_hue_wherever_it_is_seen() -> None:
    slots = {palette.slot(name, "app.py:3") // palette.TONES for name in ("main", "parse", "write")}
    assert slots == {palette.slot("main", "app.py:77") // palette.TONES}
    assert palette.slot("std::sort", "") // palette.TONES == palette.slot("std::swap", "") // palette.TONES
