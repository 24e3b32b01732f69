"""Profiles that Node.js writes, and those that it would not."""

from __future__ import annotations

import copy
import gzip
import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from perfcore_format_v8 import V8Format
from perfcore_format_v8.contract import CPU, HEAP, call_frame
from perfcore_sample_kit import Samples
from perfcore_table_kit.functions import by_function
from perfcore_testing.processes import PATIENCE
from perfcore_testing.project import Project

from perfcore.errors import FormatError
from perfcore.model import Profile

PROGRAM = """\
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
function lines(end) {
  let sum = 0
  while (Date.now() < end) {
    sum += Math.sqrt(sum)
  }
  return sum
}
const kept = []
function keep(n) { for (let i = 0; i < n; i++) kept.push({ i, text: 'x'.repeat(100) + i }) }
fib(27); lines(Date.now() + 150); keep(20000)
setTimeout(() => fib(25), 200)
"""


def read(tmp_path: Path, document: Any, name: str = "x.cpuprofile") -> Profile:
    path = tmp_path / name
    path.write_text(json.dumps(document))
    assert V8Format().sniff(path.read_bytes()[:4096], path.name)
    return V8Format().read(path)


def sampled(profile: Profile) -> list[tuple[str, int | None, Any, Any]]:
    """Path of functions, line, time in nanoseconds and first amount of each row."""
    samples = Samples.of(profile)
    paths = ["/".join(samples.stacks.names[each] for each in samples.stacks.path(row)) for row in samples.rows]
    lines = [None if row < 0 else samples.stacks.line(row) for row in samples.rows]
    times: Sequence[Any] = samples.time or [None] * len(paths)
    return list(zip(paths, lines, times, samples.metrics[0], strict=True))


def cpu(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(CPU), **changes}


@pytest.fixture
def node(tmp_path: Path) -> str:
    program = shutil.which("node")
    if program is None:
        pytest.skip("Node.js is not installed, which writes such profiles")
    (tmp_path / "program.js").write_text(PROGRAM)
    return program


def run(node: str, tmp_path: Path, *options: str) -> None:
    done = subprocess.run(
        [node, *options, "program.js"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_sample_lasts_until_the_next_and_idle_time_is_left_out(tmp_path: Path) -> None:
    # The second of two samples in one stack continues its row; the idle sample of 1,000 us is none.
    assert sampled(read(tmp_path, cpu())) == [
        ("main", None, 500_000, 1_000_000),
        ("main/parse", 23, 1_500_000, 2_500_000),
    ]


def test_samples_are_put_in_the_order_of_their_times(tmp_path: Path) -> None:
    profile = read(tmp_path, cpu(samples=[3, 2, 3], timeDeltas=[1000, -400, 1400]))
    assert [row[0::2] for row in sampled(profile)] == [("main", 600_000), ("main/parse", 1_000_000)]
    assert [row[3] for row in sampled(profile)] == [400_000, 4_000_000]


def test_parents_are_read_where_chrome_names_them(tmp_path: Path) -> None:
    document = cpu()
    for each, parent in zip(document["nodes"], (None, 1, 2, 1), strict=True):
        each.pop("children", None)
        if parent:
            each["parent"] = parent
    assert sampled(read(tmp_path, document)) == sampled(read(tmp_path, cpu()))


def test_lines_have_their_shares_of_the_samples(tmp_path: Path) -> None:
    document = cpu(samples=[3] * 8, timeDeltas=[0] + [500] * 7)
    document["nodes"][2]["positionTicks"] = [{"line": 22, "ticks": 6}, {"line": 25, "ticks": 2}]
    samples = read(tmp_path, document).tables["resources"]["samples"]
    assert [(row[1], count) for row, count in zip(sampled(read(tmp_path, document)), samples, strict=True)] == [
        (22, 6),
        (25, 2),
    ]


def test_a_profile_without_a_list_of_samples_has_its_counts(tmp_path: Path) -> None:
    document = cpu()
    del document["samples"], document["timeDeltas"]
    profile = read(tmp_path, document)
    assert [(metric.name, list(metric)) for metric in profile.tables["resources"].values()] == [("samples", [1, 2])]


def test_functions_have_files_and_lines_and_anonymous_ones_are_told_apart(tmp_path: Path) -> None:
    document = cpu()
    document["nodes"][1]["callFrame"] = call_frame("", 4, "file:///srv/my%20app.js")
    document["nodes"][2]["callFrame"] = call_frame("", 20, "node:internal/timers")
    functions = read(tmp_path, document).tables["functions"]
    assert [tuple(functions[name][row] for name in ("name", "file", "line")) for row in range(2)] == [
        ("(anonymous:5)", "/srv/my app.js", 5),
        ("(anonymous:21)", "node:internal/timers", 21),
    ]


def test_a_heap_profile_has_what_each_stack_holds(tmp_path: Path) -> None:
    assert sampled(read(tmp_path, HEAP, "x.heapprofile")) == [("load", None, None, 4096)]


def test_a_compressed_profile_of_any_name_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "profile.json.gz"
    path.write_bytes(gzip.compress(json.dumps(CPU).encode()))
    assert V8Format().sniff(path.read_bytes()[:4096], path.name)
    assert sampled(V8Format().read(path)) == sampled(read(tmp_path, CPU))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"samples": [2, 9], "timeDeltas": [1, 1]}, "there is no node 9"),
        ({"samples": [2], "timeDeltas": []}, "1 samples and 0 times"),
        ({"samples": [], "timeDeltas": []}, "no samples"),
        ({"samples": [4], "timeDeltas": [1]}, "no samples"),
        ({"nodes": {}}, "no profile of V8"),
        ({"samples": ["2"], "timeDeltas": [1]}, "no profile of V8"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(tmp_path, cpu(**changes))


def test_a_node_that_is_its_own_ancestor_is_refused(tmp_path: Path) -> None:
    document = cpu()
    document["nodes"][2]["children"] = [2]
    with pytest.raises(FormatError, match="its own ancestor"):
        read(tmp_path, document)


def test_a_heap_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    inner = json.dumps(HEAP["head"])
    opened = '{"callFrame":{},"selfSize":1,"children":['
    (tmp_path / "x.heapprofile").write_text('{"head":' + opened * 100_000 + inner + "]}" * 100_000 + "}")
    with pytest.raises(FormatError, match="no profile of V8"):
        V8Format().read(tmp_path / "x.heapprofile")


def test_lines_and_ticks_that_are_no_numbers_of_lines_are_left_out(tmp_path: Path) -> None:
    document = cpu()
    document["nodes"][1]["callFrame"]["lineNumber"] = 2**40
    document["nodes"][2]["positionTicks"] = [{"line": -7, "ticks": 1}, {"line": 2**40, "ticks": 1}]
    assert [row[1] for row in sampled(read(tmp_path, document))] == [None, None]
    document["nodes"][2]["positionTicks"] = [{"line": 7, "ticks": -1}]
    assert [row[1] for row in sampled(read(tmp_path, document))] == [None, None]


def test_what_node_writes_is_read(node: str, tmp_path: Path) -> None:
    run(node, tmp_path, "--cpu-prof", "--cpu-prof-name=p.cpuprofile", "--cpu-prof-interval=500")
    with (tmp_path / "p.cpuprofile").open("rb") as file:
        assert V8Format().sniff(file.read(4096), "any name")
    profile = V8Format().read(tmp_path / "p.cpuprofile")
    document = json.loads((tmp_path / "p.cpuprofile").read_text())
    names = {each["id"]: each["callFrame"]["functionName"] for each in document["nodes"]}
    times = Counter(names[number] for number in document["samples"])
    own = {each.name: each.own for each in by_function(profile.tables, "samples")}
    assert own["fib"] == times["fib"] > 0
    assert own["lines"] == times["lines"] > 0
    assert "(idle)" in times
    assert "(idle)" not in own
    samples = Samples.of(profile)
    stacks = samples.stacks
    hot = [row for row in samples.rows if row >= 0 and samples.frame(row).name == "lines"]
    assert {stacks.line(row) for row in hot} <= {2, 3, 4, 5, 6, 7}
    (program,) = {samples.frame(row).file for row in hot}
    assert program == str(tmp_path / "program.js")


def test_a_heap_of_node_is_read(node: str, tmp_path: Path) -> None:
    run(node, tmp_path, "--heap-prof", "--heap-prof-name=p.heapprofile", "--heap-prof-interval=4096")
    profile = V8Format().read(tmp_path / "p.heapprofile")
    document = json.loads((tmp_path / "p.heapprofile").read_text())
    sizes: Counter[str] = Counter()
    pending = [document["head"]]
    while pending:
        call = pending.pop()
        sizes[call["callFrame"]["functionName"]] += call["selfSize"]
        pending += call["children"]
    own: Counter[str] = Counter()
    for each in by_function(profile.tables, "memory"):
        own[each.name] += int(each.own)
    assert own.total() == sizes.total() > 0
    named = [name for name, size in sizes.items() if name and size]
    assert {name: own[name] for name in named} == {name: sizes[name] for name in named}


def test_the_command_line_imports_and_draws(project: Project, tmp_path: Path) -> None:
    (tmp_path / "x.cpuprofile").write_text(json.dumps(CPU))
    project.perf("import", str(tmp_path / "x.cpuprofile"))
    assert "parse" in project.perf("show", "0@p", "table").out
