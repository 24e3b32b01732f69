"""`perf diff` and `perf aggregate` over profiles with stacks, and without."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from perfcore_testing.profiles import profile

from perfcore.library import History
from perfcore.profile.table import ColumnSpec, TableBuilder
from perfcore.repository import Repository

if TYPE_CHECKING:
    from .conftest import Here

FAST = "main;parse 40\nmain;render 60\nmain 5\n"
SLOW = "main;parse 90\nmain;render 60\nmain;check 7\nmain 5\n"


@pytest.fixture
def two(here: Here, tmp_path: Path) -> Here:
    """Two pending profiles with stacks."""
    for name, text in (("fast", FAST), ("slow", SLOW)):
        (tmp_path / f"{name}.folded").write_text(text)
        here.perf("import", str(tmp_path / f"{name}.folded"))
    return here


def test_diff_says_what_changed_by_function(two: Here) -> None:
    done = two.perf("diff", "0@p", "1@p")
    assert "samples: 105 -> 162 (+54.3 %)" in done.out
    rows = [line.split() for line in done.lines[5:]]
    assert rows == [
        ["+50", "+50", "40", "90", "parse"],
        ["+7", "+7", "0", "7", "check"],
        ["0", "+57", "105", "162", "main"],
    ]


def test_diff_as_json(two: Here) -> None:
    found = two.perf("diff", "0@p", "1@p", "--json").json
    assert (found["schema"], found["baseline"], found["target"]) == (1, 105, 162)
    assert found["places"][0] == {
        "place": "parse", "file": "", "baseline": 40, "target": 90, "own": 50, "change": 50,
    }  # fmt: skip


def test_the_json_of_a_difference_follows_its_schema(
    two: Here, here: Here, follow_schema: Callable[[str, Any], None]
) -> None:
    follow_schema("diff", two.perf("diff", "0@p", "1@p", "--json").json)
    here.collect("true")
    here.collect("true")
    follow_schema("diff", here.perf("diff", "2@p", "3@p", "--json").json)


def test_the_library_gives_the_same_difference(two: Here) -> None:
    history = History(two.repository)
    result = history.diff("0@p", "1@p")
    assert result.as_json() == two.perf("diff", "0@p", "1@p", "--json").json
    assert [row.name for row in result.table.rows] == ["parse", "check", "main"]
    assert "<td>parse</td>" in result._repr_html_()
    saved = history.save(result.profile)
    assert saved.name in [pending.name for pending in history.pending()]


def test_a_view_that_does_not_accept_a_difference_is_refused_and_one_that_does_is_named(two: Here) -> None:
    done = two.perf("diff", "0@p", "1@p", "--view", "history", code=2)
    assert "the view history shows histories, not profiles or two profiles" in done.err
    assert "table" in done.err


def test_a_profile_does_not_differ_from_itself(two: Here) -> None:
    assert two.perf("diff", "0@p", "0@p").lines[-1] == "no difference"


def test_diff_prints_as_many_rows_as_are_wanted(two: Here) -> None:
    done = two.perf("diff", "0@p", "1@p", "--head", "1")
    assert done.lines[-1] == "… and 2 more places (--head 0 prints all)"
    assert "check" in two.perf("diff", "0@p", "1@p", "--head", "0").out


def test_a_difference_can_be_kept_and_shown(two: Here) -> None:
    two.perf("diff", "0@p", "1@p", "--save")
    status = two.perf("status", "--json").json
    assert len(status["pending"]) == 3
    shown = two.perf("show", "2@p", "table", "--format", "json").json
    assert "baseline samples" in json.dumps(shown)


def test_a_difference_in_a_view_and_in_a_file(two: Here, tmp_path: Path) -> None:
    two.perf("diff", "0@p", "1@p", "--view", "table", "-o", str(tmp_path / "out.txt"))
    assert "target samples" in (tmp_path / "out.txt").read_text()
    two.perf("diff", "0@p", "1@p", "-o", str(tmp_path / "out.txt"), code=2)


@pytest.mark.parametrize("names", [[], ["0@p"], ["0@p", "1@p", "0@p"]])
def test_a_difference_is_between_two(two: Here, names: list[str]) -> None:
    done = two.perf("diff", *names, code=2)
    assert "between two profiles" in done.err


def test_profiles_of_different_types_have_no_difference(two: Here) -> None:
    two.collect("true")
    done = two.perf("diff", "0@p", "2@p", code=None)
    assert done.code not in (0, 1, 70), done
    assert "different types: sample, time" in done.err


def test_a_difference_without_stacks(here: Here) -> None:
    here.collect("true")
    here.collect("true")
    done = here.perf("diff", "0@p", "1@p")
    assert done.lines[-2].endswith("all")


def test_a_number_is_told_with_what_it_counts(here: Here) -> None:
    """A bare `0` says nothing, and a missing number is not all of them."""
    for amount in (1, 2):
        table = TableBuilder("resources", (ColumnSpec("cpu", "i64"), ColumnSpec("clock", "i64", "ns", "value")))
        table.add(cpu=0, clock=amount)
        table.add(clock=3 * amount)
        Repository.open(here.path).save(profile({"resources": table.build()}, created=amount))
    found = here.perf("diff", "0@p", "1@p", "--json").json
    assert [(place["place"], place["target"]) for place in found["places"]] == [("cpu unknown", 6), ("cpu 0", 2)]
    assert here.perf("diff", "0@p", "1@p").lines[-2].endswith("  cpu 0")


def test_aggregate_adds_up(two: Here) -> None:
    two.perf("aggregate", "0@p-1@p")
    assert "samples: 105 -> 267" in two.perf("diff", "0@p", "2@p").out
    pending = two.perf("status", "--json").json["pending"][2]
    assert (pending["type"], pending["config_id"]) == ("sample", "")


def test_aggregate_keeps_the_version_that_all_are_of(two: Here) -> None:
    head = two.git("rev-parse", "HEAD").out.strip()
    for number in ("0@p", "1@p"):
        two.perf("add", "--keep", number)
    two.perf("aggregate", "0@i", "1@i")
    pending = two.perf("status", "--json").json["pending"]
    assert [row["origin"] for row in pending][-1] == head


def test_aggregate_needs_profiles(here: Here) -> None:
    assert "say which profiles" in here.perf("aggregate", code=2).err


def test_diff_says_in_what_the_configurations_differ(here: Here) -> None:
    for rate, runs in (("100", 1), ("200", 2)):
        here.perf("collect", "sample", "--tool", "py-spy", "--rate", rate, "--repeat", str(runs), "--", "true")
    told = here.perf("diff", "0@p", "1@p", "--scale", "sum").err
    assert "differ in configuration: true: " in told
    assert "rate 100 and 200" in told
    assert "sums over 1 run and over 2 runs" in told
    assert "note" not in here.perf("diff", "0@p", "0@p").err
