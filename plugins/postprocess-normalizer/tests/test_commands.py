"""The normalizer as a user meets it: `perf postprocess`, `perf run matrix`, `perf show`, in a git repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from perfcore_testing.project import Project

MATRIX = """
cmds: ["git --version"]
collectors: [{name: time, repeat: 3, warmup: 0}]
postprocessors:
  - {name: normalizer, unit: ms}
  - {name: normalizer, to: total, unit: "%", metric: [wall]}
"""


def shown(project: Project, name: str) -> dict[str, tuple[str, list[Any]]]:
    """The unit and the values of every column."""
    (profile,) = project.perf("show", name, "table", "--format", "json").json["profiles"]
    columns = zip(*profile["rows"], strict=True)
    return {
        each["name"]: (each["unit"], list(values)) for each, values in zip(profile["columns"], columns, strict=True)
    }


def test_a_collected_profile_is_normalized_into_a_new_one(project: Project) -> None:
    project.collect("git", "--version")
    before = shown(project, "0@p")
    done = project.perf("postprocess", "0@p", "normalizer", "--to", "total", "--unit", "%")
    assert " -> " in done.err
    unit, values = shown(project, "0@p")["wall"]
    assert unit == "%"
    assert sum(values) == pytest.approx(100)
    assert shown(project, "1@p") == before


def test_a_converted_profile_is_registered(project: Project) -> None:
    project.collect("git", "--version")
    unit, before = shown(project, "0@p")["wall"]
    project.perf("postprocess", "0@p", "normalizer", "--unit", "ms", "--metric", "wall")
    project.perf("add", "0@p")
    assert unit == "ns"
    assert shown(project, "0@i")["wall"] == ("ms", [value / 10**6 for value in before])
    assert "normalizer" in project.perf("log").out


def test_a_matrix_normalizes_what_it_measures(project: Project) -> None:
    project.write("matrix.yml", MATRIX)
    project.perf("run", "matrix", "matrix.yml")
    found = shown(project, "0@p")
    assert (found["wall"][0], found["cpu"][0]) == ("%", "ms")
    assert sum(found["wall"][1]) == pytest.approx(100)


def test_a_unit_that_does_not_convert_is_refused_with_both(project: Project) -> None:
    project.collect("git", "--version")
    done = project.perf("postprocess", "0@p", "normalizer", "--unit", "kg", "--metric", "wall", code=2)
    assert "nothing of this converts to 'kg': wall in 'ns'" in done.err
    assert "Traceback" not in done.err


def test_options_that_make_no_sense_end_a_matrix_before_it_measures(project: Project) -> None:
    wrong = MATRIX.replace("unit: ms", "unit: ms, to: max").replace("git --version", "touch measured")
    project.write("matrix.yml", wrong)
    assert "--to makes proportions" in project.perf("run", "matrix", "matrix.yml", code=2).err
    assert not (project.path / "measured").exists()
