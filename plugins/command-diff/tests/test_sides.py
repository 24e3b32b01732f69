"""Amounts of both sides of a difference on one scale, one name for one function, and a header with the runs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from perfcore_command_diff.build_folders import without_build_folders
from perfcore_testing.profiles import CREATED, profile, timed
from perfcore_testing.project import Project

from perfcore.library import History, open_repository
from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.profile.recording import RUNS
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import TableBuilder, column, table


def sampled(samples: Mapping[tuple[str, str], int], runs: int = 1) -> Profile:
    """Samples of functions, by name and file, below one `main`."""
    builder, runs_table = StackBuilder(), TableBuilder("runs", RUNS)
    stacks = [builder.add((Frame("main", "/usr/lib/main.c"), Frame(name, file))) for name, file in samples]
    resources = table(
        "resources",
        [
            column("stack", stacks, dtype="i64"),
            column("samples", [*samples.values()], dtype="i64", role="value"),
        ],
    )
    for run in range(runs):
        runs_table.add(run=run, session="5e55", block=run, started=run, warmup=False, disturbed=False)
    return profile({"resources": resources, "runs": runs_table.build(), **builder.tables()})


def files(sides: tuple[Profile, Profile]) -> list[set[str]]:
    return [{str(file) for file in side.tables["functions"]["file"]} for side in sides]


@pytest.fixture
def history(project: Project) -> History:
    project.commit("First")
    return open_repository(project.path)


def test_amounts_are_those_of_one_run_whatever_the_number_of_runs(history: History) -> None:
    difference = history.diff(timed(5, 10_000_000), timed(10, 10_000_000))
    assert difference.scale == "run"
    assert difference.table.target == pytest.approx(difference.table.baseline, rel=0.01)
    assert difference.table.baseline == pytest.approx(10_000_000, rel=0.02)


def test_samples_of_functions_are_those_of_one_run(history: History) -> None:
    before, after = sampled({("sort", "sort.c"): 20}, runs=2), sampled({("sort", "sort.c"): 60}, runs=4)
    (row,) = [row for row in history.diff(before, after).table.rows if row.name == "sort"]
    assert (row.baseline, row.target) == (10, 15)


def test_sums_and_one_total_are_other_scales(history: History) -> None:
    before = sampled({("sort", "sort.c"): 30, ("parse", "parse.c"): 10}, runs=2)
    after = sampled({("sort", "sort.c"): 60, ("parse", "parse.c"): 60}, runs=4)
    sums = history.diff(before, after, scale="sum").table
    assert (sums.baseline, sums.target) == (40, 120)
    total = history.diff(before, after, scale="total").table
    assert total.target == pytest.approx(total.baseline)
    assert {row.name: row.change for row in total.rows} == pytest.approx({"sort": -5, "parse": 5})


def test_without_a_number_of_runs_amounts_are_sums(history: History) -> None:
    before, after = (sampled({("sort", "sort.c"): amount}) for amount in (20, 60))
    untold = replace(after, tables={name: each for name, each in after.tables.items() if name != "runs"})
    difference = history.diff(before, untold)
    assert (difference.scale, difference.sides[1].runs, difference.table.target) == ("sum", None, 60)


def test_a_function_of_two_build_folders_is_one_row(history: History) -> None:
    before = {("sort", "/tmp/one/src/sort.c"): 5, ("parse", "/tmp/one/src/in/parse.c"): 3, ("old", "/tmp/one/o.c"): 1}
    after = {("sort", "/w/build-2/src/sort.c"): 9, ("parse", "/w/build-2/src/in/parse.c"): 3}
    rows = {row.name: row for row in history.diff(sampled(before), sampled(after)).table.rows}
    assert {name: (row.file, row.baseline, row.target) for name, row in rows.items()} == {
        "sort": ("src/sort.c", 5, 9),
        "old": ("o.c", 1, 0),
        "main": ("/usr/lib/main.c", 9, 12),
    }


def test_a_relative_name_is_that_of_a_file_in_a_build_folder() -> None:
    sides = sampled({("sort", "src/sort.c"): 5}), sampled({("sort", "/w/two/src/sort.c"): 9})
    assert files(without_build_folders(*sides)) == [{"/usr/lib/main.c", "src/sort.c"}] * 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("sort", "/tmp/one/sort.c"), ("sort", "/tmp/two/sort.h")),
        (("sort", "/tmp/one/sort.c"), ("parse", "/tmp/two/sort.c")),
        (("sort", "one/sort.c"), ("sort", "two/sort.c")),
        (("sort", "/sort.c"), ("sort", "/tmp/two/sort.c")),
        (("sort", "in/sort.c"), ("sort", "/tmp/two/sort.c")),
    ],
)
def test_other_functions_keep_their_files(before: tuple[str, str], after: tuple[str, str]) -> None:
    sides = sampled({before: 5}), sampled({after: 9})
    assert files(without_build_folders(*sides)) == files(sides)


def test_the_header_says_which_runs_were_taken(history: History, project: Project) -> None:
    version = history.version()
    for number, runs in enumerate((3, 4)):
        saved = replace(timed(runs), created=CREATED + number, origin=version, dirty=number == 1)
        history.save(saved)
    history.register("0@p", version)
    lines = project.perf("diff", "0@i", "0@p").lines
    assert lines[0].endswith(f", 3 runs of {version[:10]}")
    assert lines[1].endswith(f", 4 runs of {version[:10]} with uncommitted changes")
    assert lines[2].startswith("wall, median of the runs: ")
    baseline, target = project.perf("diff", "0@i", "0@p", "--json").json["sides"]
    assert (baseline["runs"], baseline["version"], baseline["id"]) == (3, version, history.entries()[0].profile)
    assert (target["runs"], target["version"], target["id"], target["dirty"]) == (4, version, None, True)


def test_a_flame_graph_shows_the_same_functions_and_scale(history: History, project: Project) -> None:
    for number, side in enumerate(
        (sampled({("sort", "/tmp/one/sort.c"): 5}, 2), sampled({("sort", "/tmp/two/sort.c"): 9}, 3))
    ):
        history.save(replace(side, created=CREATED + number))
    project.perf("diff", "0@p", "1@p", "--view", "flamegraph", "-o", "diff.html")
    page = (project.path / "diff.html").read_text()
    assert "samples: 2.5 → 3" in page
    assert "/tmp/one" not in page


def test_one_slow_run_moves_no_difference_of_whole_commands(history: History, project: Project) -> None:
    """The mean of the target is three times that of the baseline, its middle run the same."""
    for number, slow in enumerate((1, 11)):
        measured = timed(5)
        resources = measured.table("resources")
        assert resources is not None
        walls = [wall * (slow if run == 4 else 1) for run, wall in enumerate(resources["wall"]) if wall is not None]
        wall = column("wall", walls, dtype="i64", unit="ns", role="value")
        resources = resources.with_columns(wall)
        history.save(replace(measured.replace_tables(resources=resources), created=CREATED + number))
    result = history.diff("0@p", "1@p")
    assert result.medians
    assert result.table.target == result.table.baseline
    assert "amounts are medians of the runs" in result.profile.notes
    assert history.diff("0@p", "1@p", scale="sum").table.target > 2 * result.table.baseline


def test_a_difference_without_stacks_names_what_tells_noise_from_a_change(history: History, project: Project) -> None:
    for number in range(2):
        history.save(replace(timed(), created=CREATED + number))
    done = project.perf("diff", "0@p", "1@p")
    assert done.lines[-1] == "whether this is more than noise: perf check 0@p 1@p, or perf compare"
    history.save(replace(sampled({("f", "a.c"): 1}), created=CREATED + 3))
    assert "noise" not in project.perf("diff", "2@p", "2@p").out
