"""The filter as a user meets it: `perf postprocess`, `perf run matrix`, `perf show`, in a git repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfcore_command_exchange.native import PerfFormat
from perfcore_testing import profiles

from perfcore.profile.table import column, table

if TYPE_CHECKING:
    from pathlib import Path

    from perfcore_testing.project import Project

MATRIX = """
cmds: ["git --version"]
collectors: [{name: time, repeat: 3, warmup: 0}]
postprocessors:
  - {name: filter, expression: "<20"}
"""


def shown(project: Project, name: str, table: str = "resources") -> list[dict[str, Any]]:
    document = project.perf("show", name, "table", "--table", table, "--format", "json").json
    (profile,) = document["profiles"]
    names = [each["name"] for each in profile["columns"]]
    return [dict(zip(names, row, strict=True)) for row in profile["rows"]]


def test_a_collected_profile_is_filtered_into_a_new_one(project: Project) -> None:
    project.collect("git", "--version")
    before = shown(project, "0@p")
    done = project.perf("postprocess", "0@p", "filter", "--expression", "run >= 1 and wall > 1ns")
    assert " -> " in done.err
    assert shown(project, "0@p") == before[1:]
    assert shown(project, "1@p") == before
    assert len(shown(project, "0@p", "runs")) == 3


def test_the_top_of_a_metric_is_kept_through_registering(project: Project) -> None:
    project.collect("git", "--version")
    slowest = max(shown(project, "0@p"), key=lambda row: row["wall"])
    project.perf("postprocess", "0@p", "filter", "--top", "1", "--by", "wall")
    project.perf("add", "0@p")
    assert shown(project, "0@i") == [slowest]
    assert "filter" in project.perf("log").out


def test_a_matrix_filters_what_it_measures(project: Project) -> None:
    project.write("matrix.yml", MATRIX)
    done = project.perf("run", "matrix", "matrix.yml")
    assert "filter: 0 of 3 rows of 'resources' are kept" in done.err
    assert shown(project, "0@p") == []
    assert "time+filter" in project.perf("status").out


def test_a_wrong_expression_ends_a_matrix_before_it_measures(project: Project) -> None:
    project.write("matrix.yml", MATRIX.replace("<20", "< <").replace("git --version", "touch measured"))
    done = project.perf("run", "matrix", "matrix.yml", code=2)
    assert "  < <\n    ^" in done.err
    assert not (project.path / "measured").exists()


def test_a_wrong_expression_is_pointed_at(project: Project) -> None:
    project.collect("git", "--version")
    done = project.perf("postprocess", "0@p", "filter", "--expression", "wal < 5", code=2)
    assert "no column 'wal'\n  wal < 5\n  ^" in done.err
    assert "did you mean 'wall'? it has run, cpu, wall" in done.err
    assert "Traceback" not in done.err


def test_a_mistyped_option_is_answered_with_the_nearest(project: Project) -> None:
    project.write("matrix.yml", MATRIX.replace("expression", "expresion"))
    done = project.perf("run", "matrix", "matrix.yml", code=2)
    assert "did you mean 'expression'?" in done.err


def test_what_another_program_wrote_is_filtered_with_its_stacks(project: Project) -> None:
    tables = {
        "resources": [column("stack", [1, 0]), column("amount by <script>", [5, 500], role="value")],
        "stacks": [column("parent", [None, 0]), column("frame", [0, 1])],
        "frames": [column("function", [1, 0])],
        "functions": [column("name", ["parse 日本", "main"])],
    }
    write(project.path / "traced.perf", tables)
    project.perf("postprocess", "traced.perf", "filter", "--expression", "`amount by <script>` > 20")
    assert [row["name"] for row in shown(project, "0@p", "functions")] == ["main"]
    project.perf("postprocess", "traced.perf", "filter", "--stack", "parse%")
    assert [row["stack"] for row in shown(project, "0@p")] == [1]


def write(path: Path, tables: dict[str, Any]) -> None:
    profile = profiles.profile({name: table(name, columns) for name, columns in tables.items()})
    PerfFormat().write(profile, path)
