"""Suites of benchmarks in comparisons: each benchmark is decided by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from perfcore_command_compare.batches import stop_reason
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore.model import Change
from perfcore.model.record import replace

from .test_stored import suite

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "compare.json"
BEFORE = {"parse": 5e6, "sort": 9e6, "load": 3e6, "gone": 1e6}
AFTER = {"parse": 6e6, "sort": 6e6, "load": 3e6, "new": 1e6}
SAME = Change(id="1", kind="same", metric="cpu", resource="load", ratio=1.0, low=0.995, high=1.005)
SLOWER = replace(SAME, kind="degradation", resource="parse", ratio=1.2, low=1.18, high=1.22)
UNKNOWN = replace(SAME, kind="cannot tell", resource="sort", low=0.9, high=1.1, needed=500)
ASIDE = replace(UNKNOWN, metric="wall", primary=False)
HOPELESS = replace(UNKNOWN, ratio=None, needed=None)


@pytest.fixture
def saved(project: Project) -> Project:
    """Two pending suites, whose runs were taken in turn."""
    history = open_repository(project.path)
    for number, cpu in enumerate((BEFORE, AFTER)):
        history.save(replace(suite(cpu, number), created=number))
    return project


@pytest.mark.parametrize(
    ("changes", "late", "last", "why"),
    [
        ([SLOWER, SAME], False, False, "decided"),
        ([SLOWER, UNKNOWN, SAME], False, False, None),
        ([SLOWER, UNKNOWN, SAME], False, True, "pairs"),
        ([SLOWER, UNKNOWN, SAME], True, True, "budget"),
        ([SLOWER, SAME, ASIDE], False, False, "decided"),
        ([HOPELESS, SAME], False, False, None),
        ([HOPELESS, HOPELESS], False, False, "hopeless"),
    ],
)
def test_a_suite_is_measured_until_each_benchmark_is_decided(
    changes: list[Change], late: bool, last: bool, why: str | None
) -> None:
    assert stop_reason(changes, 0.02, late=late, last=last) == why


def test_the_worst_benchmark_is_the_answer_and_each_has_its_interval(saved: Project) -> None:
    done = saved.perf("compare", "0@p", "1@p", code=1)
    rows = [line.split() for line in done.lines if line.startswith(("slower", "faster"))]
    assert [(row[0], row[-1]) for row in rows] == [("slower", "parse"), ("faster", "sort")]
    assert "1 unchanged (--verbose lists them)" in done.out
    assert done.out.count("only in A: 1") == done.out.count("only in B: 1") == 1
    assert done.lines[-1].startswith("B is slower in 1, B is faster in 1 of 3 benchmarks; 20 pairs")
    assert "cpu of load" in saved.perf("compare", "0@p", "1@p", "--verbose", code=1).out


def test_the_document_has_each_benchmark(saved: Project) -> None:
    document = saved.perf("compare", "0@p", "1@p", "--json", code=1).json
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document)
    kinds = {change["resource"]: change["kind"] for change in document["changes"] if change["primary"]}
    assert kinds == {"parse": "degradation", "sort": "optimization", "load": "same"}
    assert document["answer"] == "slower"
    assert document["unpaired"] == [{"benchmark": "new", "side": "target"}, {"benchmark": "gone", "side": "baseline"}]


def test_a_metric_that_no_benchmark_has_is_an_error(saved: Project) -> None:
    assert "there is 'cpu'" in saved.perf("compare", "0@p", "1@p", "--metric", "speed", code=2).err


def test_two_versions_of_a_suite_are_measured(project: Project) -> None:
    """Nothing here is about how long anything takes: a count is exact, whatever the machine does."""
    pytest.importorskip("perfcore_collect_bench")
    project.write("benchmarks/bench_size.py", "def track_size(): return 3\ndef track_rows(): return 5\n")
    project.commit("one")
    project.write("benchmarks/bench_size.py", "def track_size(): return 4\ndef track_rows(): return 5\n")
    project.commit("two")
    words = ["--collector", "bench", "--max-pairs", "4", "--json", "--", "benchmarks"]
    document = project.perf("compare", "HEAD~1", "HEAD", *words, code=1).json
    kinds = {change["resource"]: change["kind"] for change in document["changes"]}
    assert kinds == {"bench_size.track_size": "degradation", "bench_size.track_rows": "same"}
    assert document["pairs"] == 4
