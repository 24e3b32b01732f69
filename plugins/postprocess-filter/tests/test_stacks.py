"""Rows chosen by their stacks, and stacks, frames and functions that follow the rows that are left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_postprocess_filter import Filter, FilterSettings
from perfcore_table_kit.wildcards import matcher
from perfcore_testing import hostile, profiles

from perfcore.errors import FormatError, NotFoundError, UsageError
from perfcore.profile.table import column, table

if TYPE_CHECKING:
    from perfcore.model import Profile

    Path = tuple[int | str | None, ...]

NAMES = ["main", "parse", "parse_header", "naïve 日本語", "<script>"]
FILES = ["a.c", "b c.c", None]


def profile_of(
    amounts: list[Any],
    stacks: list[int | None],
    parents: list[int | None],
    frames: list[int | None],
    functions: list[int | None],
    /,
    **others: Any,
) -> Profile:
    """A profile of these references; function i has the name and file of that number, over and over."""
    names = [NAMES[i % len(NAMES)] for i in range(max([0, *(f for f in functions if f is not None)]) + 1)]
    tables = {
        "resources": [
            column("stack", stacks, dtype="i64"),
            column("amount", amounts, dtype="i64", role="value"),
        ],
        "stacks": [column("parent", parents, dtype="i64"), column("frame", frames, dtype="u64")],
        "frames": [column("function", functions, dtype="i64"), column("line", list(range(len(functions))))],
        "functions": [column("name", names), column("file", [FILES[i % 3] for i in range(len(names))], dtype="str")],
        **others,
    }
    return profiles.profile({name: table(name, columns) for name, columns in tables.items()})


@st.composite
def trees(draw: st.DrawFn) -> Profile:
    """Any forest of stacks, whose rows stand in any order, with references missing here and there."""
    count, frames, functions = draw(st.integers(1, 8)), draw(st.integers(1, 5)), draw(st.integers(1, 5))
    order = draw(st.permutations(range(count)))
    parents: list[int | None] = [None] * count
    for place, stack in enumerate(order[1:], 1):
        parents[stack] = draw(st.none() | st.sampled_from(order[:place]))

    def drawn(rows: int, size: int) -> list[int | None]:
        return draw(st.lists(st.none() | st.integers(0, rows - 1), min_size=size, max_size=size))

    amounts = draw(st.lists(st.none() | st.integers(0, 40), max_size=8))
    return profile_of(amounts, drawn(count, len(amounts)), parents, drawn(frames, count), drawn(functions, frames))


def filtered(profile: Profile, **options: Any) -> Profile:
    driver = Filter(FilterSettings(**options))
    driver.before(profile)
    return driver.postprocess(profile)


def at(profile: Profile, name: str, column: str, row: int) -> Any:
    return profile.tables[name][column][row]


def path(profile: Profile, stack: int | None) -> Path:
    """The names, files and lines on a stack, innermost first."""
    found: list[Any] = []
    while stack is not None:
        frame = at(profile, "stacks", "frame", stack)
        function = None if frame is None else at(profile, "frames", "function", frame)
        if frame is not None:
            found.append(at(profile, "frames", "line", frame))
        if function is not None:
            found += [at(profile, "functions", each, function) for each in ("name", "file")]
        stack = at(profile, "stacks", "parent", stack)
    return tuple(found)


def seen(profile: Profile) -> list[tuple[Any, Path]]:
    """The amount and the stack of every row."""
    resources = profile.tables["resources"]
    rows: Iterator[dict[str, Any]] = resources.iter_rows()
    return [(row["amount"], path(profile, row["stack"])) for row in rows]


def used(profile: Profile, source: str, name: str) -> set[Any]:
    return set(profile.tables[source][name]) - {None}


def rows(profile: Profile, name: str) -> set[int]:
    return set(range(profile.tables[name].rows))


@given(trees(), st.integers(0, 40))
def test_rows_that_are_left_keep_their_stacks(profile: Profile, bound: int) -> None:
    expected = [row for row in seen(profile) if row[0] is not None and row[0] < bound]
    assert seen(filtered(profile, expression=f"<{bound}")) == expected


@given(trees(), st.integers(0, 40))
def test_every_stack_frame_and_function_that_is_left_is_in_use(profile: Profile, bound: int) -> None:
    result = filtered(profile, expression=f"<{bound}")
    if result.tables["resources"].rows == profile.tables["resources"].rows:
        assert dict(result.tables) == dict(profile.tables)
        return
    reached = used(result, "resources", "stack")
    for _ in rows(result, "stacks"):
        reached |= {at(result, "stacks", "parent", stack) for stack in reached} - {None}
    assert reached == rows(result, "stacks")
    assert used(result, "stacks", "frame") == rows(result, "frames")
    assert used(result, "frames", "function") == rows(result, "functions")


@given(trees(), st.integers(0, 40))
def test_filtering_twice_is_filtering_once(profile: Profile, bound: int) -> None:
    once = filtered(profile, expression=f"<{bound}")
    assert dict(filtered(once, expression=f"<{bound}").tables) == dict(once.tables)


@given(trees(), st.sampled_from(["parse%", "%", "a.c", "<script>", "%日本%", "nothing"]), st.booleans())
def test_a_stack_is_chosen_by_any_function_on_it(profile: Profile, pattern: str, drop: bool) -> None:
    matches = matcher(pattern)

    def wanted(path: Path) -> bool:
        return any(isinstance(text, str) and matches(text) for text in path)

    expected = [row for row in seen(profile) if wanted(row[1]) != drop]
    assert seen(filtered(profile, stack=pattern, drop=drop)) == expected


def test_the_result_is_stored_like_any_profile() -> None:
    profile = profile_of([1, 50], [1, 0], [None, 0], [0, 1], [0, 1])
    result = filtered(profiles.stored(profile), expression=">20")
    assert profiles.stored(result) == result
    assert seen(result) == [(50, (0, "main", "a.c"))]
    assert [result.tables[name].rows for name in ("stacks", "frames", "functions")] == [1, 1, 1]


def test_no_row_left_leaves_no_stacks() -> None:
    result = filtered(profile_of([1], [0], [None], [0], [0]), expression=">20")
    assert [result.tables[name].rows for name in ("resources", "stacks", "frames", "functions")] == [0, 0, 0, 0]


def test_what_other_tables_refer_to_stays() -> None:
    waits = [column("stack", [2], dtype="i64"), column("function", [None], dtype="i64")]
    profile = profile_of([1, 50, 60], [0, 1, 2], [None] * 3, [0, 1, 2], [0, 1, 2], waits=waits)
    result = filtered(profile, expression="= 50")
    assert seen(result) == [(50, (1, "parse", "b c.c"))]
    (stack,) = result.tables["waits"]["stack"]
    assert isinstance(stack, int)
    assert path(result, stack) == (2, "parse_header", None)
    assert result.tables["stacks"].rows == 2


def test_a_column_of_texts_that_is_called_stack_refers_to_nothing() -> None:
    columns = [column("stack", ["a;b", "a;c"]), column("amount", [1, 2], role="value")]
    profile = profiles.profile({"resources": table("resources", columns)})
    assert list(filtered(profile, top=1).tables["resources"]["stack"]) == ["a;c"]


def test_deep_stacks_are_followed() -> None:
    depth = 50_000
    profile = profile_of([1, 2], [depth - 1, 0], [None, *range(depth - 1)], [0] * depth, [0])
    assert filtered(profile, top=1).tables["stacks"].rows == 1
    assert filtered(profile, expression="= 1").tables["stacks"].rows == depth
    assert filtered(profile, stack="main").tables["resources"].rows == 2


@pytest.mark.parametrize("broken", [7, -1, 2**63 - 1])
def test_a_reference_to_nothing_is_named_and_the_stacks_stay(broken: int) -> None:
    profile = profile_of([1, 50], [broken, 0], [None, 0], [0, 0], [0])
    result = filtered(profile, expression="<20")
    assert list(result.tables["resources"]["stack"]) == [broken]
    assert result.tables["stacks"] == profile.tables["stacks"]
    what = "table 'resources' refers to rows that 'stacks' does not have"
    assert result.notes[-1] == f"filter: all stacks are kept: {what}"
    with pytest.raises(FormatError, match=what):
        filtered(profile, stack="main")


def test_a_stack_that_is_its_own_ancestor_is_damage() -> None:
    profile = profile_of([1, 50], [0, 1], [1, 0], [0, 0], [0])
    assert filtered(profile, expression="<20").tables["resources"].rows == 1
    with pytest.raises(FormatError, match="its own ancestor"):
        filtered(profile, stack="main")


def test_a_profile_without_stacks_has_none_to_choose_by() -> None:
    with pytest.raises(NotFoundError, match="no table 'stacks', so there is nothing for --stack"):
        filtered(profiles.traced(), stack="main")


def test_functions_without_names_cannot_be_found() -> None:
    nameless = {"functions": [column("line", [1])]}
    with pytest.raises(UsageError, match="have no names"):
        filtered(profile_of([1], [0], [None], [0], [0], **nameless), stack="main")


def test_resources_without_stacks_cannot_be_followed() -> None:
    stackless = {"resources": [column("amount", [1], role="value")]}
    with pytest.raises(FormatError, match="'resources' has no column 'stack' of whole numbers"):
        filtered(profile_of([], [], [None], [0], [0], **stackless), stack="main")


@pytest.mark.parametrize("name", hostile.NAMES)
def test_hostile_functions_are_found_by_their_names(name: str) -> None:
    functions = {"functions": [column("name", [name, "other"])]}
    profile = profile_of([1, 2], [0, 1], [None, None], [0, 1], [0, 1], **functions)
    pattern = name.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    result = filtered(profile, stack=pattern)
    assert list(result.tables["functions"]["name"]) == [name]


def test_columns_that_should_refer_and_hold_texts_are_refused() -> None:
    texts = {"frames": [column("function", ["main"])]}
    profile = profile_of([1, 50], [0, 0], [None], [0], [0], **texts)
    assert filtered(profile, expression="<20").tables["resources"].rows == 1
    with pytest.raises(FormatError, match="'frames' has no column 'function' of whole numbers"):
        filtered(profile, stack="main")
