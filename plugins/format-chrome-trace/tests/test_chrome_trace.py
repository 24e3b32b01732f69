"""Traces that Node.js writes, those that other tools write, and what none should."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from perfcore_format_chrome_trace import ChromeTraceFormat
from perfcore_format_chrome_trace.contract import TRACE
from perfcore_sample_kit import Samples
from perfcore_testing.processes import PATIENCE
from perfcore_testing.project import Project

from perfcore.errors import FormatError
from perfcore.model import Profile

PROGRAM = "const end = Date.now() + 120; let kept = []; while (Date.now() < end) kept = kept.slice(-1e4).concat([{}])\n"


def event(ph: str, ts: float, name: str = "", **fields: Any) -> dict[str, Any]:
    return {"ph": ph, "ts": ts, "name": name, "pid": 1, "tid": 1, **fields}


def whole(name: str, ts: float, dur: float, **fields: Any) -> dict[str, Any]:
    return event("X", ts, name, dur=dur, **fields)


def read(tmp_path: Path, document: Any, name: str = "x.json") -> Profile:
    path = tmp_path / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return ChromeTraceFormat().read(path)


def rows(profile: Profile) -> list[tuple[str, int, int]]:
    """Path of calls, begin and duration in nanoseconds of each row."""
    samples = Samples.of(profile)
    paths = ["/".join(samples.stacks.names[each] for each in samples.stacks.path(row)) for row in samples.rows]
    assert samples.time is not None
    return [
        (path, int(time), int(took or 0))
        for path, time, took in zip(paths, samples.time, *samples.metrics, strict=True)
    ]


def test_each_moment_belongs_to_the_innermost_call(tmp_path: Path) -> None:
    profile = read(tmp_path, TRACE)
    assert rows(profile) == [("build", 0, 1500), ("build/parse", 1500, 4000), ("build", 5500, 4500)]
    functions = profile.tables["functions"]
    assert [(functions["name"][1], functions["file"][1], functions["line"][1])] == [("parse", "src/parse.py", 12)]
    assert set(profile.tables["resources"]["thread"]) == {"main"}


def test_events_in_any_order_make_the_same_calls(tmp_path: Path) -> None:
    calls = [whole("a", 0, 10), whole("b", 0, 4), whole("c", 4, 6), whole("d", 5, 1)]
    expected = [("a/b", 0, 4000), ("a/c", 4000, 1000), ("a/c/d", 5000, 1000), ("a/c", 6000, 4000)]
    assert rows(read(tmp_path, calls)) == rows(read(tmp_path, calls[::-1])) == expected


def test_time_outside_of_every_call_is_none(tmp_path: Path) -> None:
    assert rows(read(tmp_path, [whole("a", 100, 1), whole("b", 500, 2)])) == [("a", 0, 1000), ("b", 400_000, 2000)]


def test_calls_without_an_end_or_a_beginning(tmp_path: Path) -> None:
    events = [event("E", 1), event("B", 2, "a"), event("B", 4, "b"), whole("c", 5, 1), event("E", 8), event("i", 99)]
    assert [row[0::2] for row in rows(read(tmp_path, events))] == [
        ("a", 2000),
        ("a/b", 1000),
        ("a/b/c", 1000),
        ("a/b", 2000),
    ]


def test_a_call_that_outlives_its_caller_is_cut(tmp_path: Path) -> None:
    assert rows(read(tmp_path, [whole("a", 0, 5), whole("b", 3, 9)])) == [("a", 0, 3000), ("a/b", 3000, 2000)]
    events = [event("B", 0, "a"), whole("b", 3, 9), event("E", 5), event("B", 6, "c"), event("E", 7)]
    assert rows(read(tmp_path, events)) == [("a", 0, 3000), ("a/b", 3000, 2000), ("c", 6000, 1000)]


def test_threads_keep_their_calls_and_names_apart(tmp_path: Path) -> None:
    names = [event("M", 0, "thread_name", tid=tid, args={"name": "pool"}) for tid in (2, 3)]
    names += [event("M", 0, "process_name", args={"name": "server"})]
    calls = [whole("a", 0, 9, tid=2), whole("b", 1, 9, tid=3), whole("c", 2, 9, tid="x"), whole("d", 0, 1, pid=5)]
    resources = read(tmp_path, [*calls, *names]).tables["resources"]
    assert list(zip(resources["process"], resources["thread"], strict=True)) == [
        ("server", "pool 2"),
        ("server", "pool 3"),
        ("server", ""),
        ("", ""),
    ]
    assert list(resources["wall"]) == [9000, 9000, 9000, 1000]


def test_what_is_no_call_of_a_thread_is_left_out(tmp_path: Path) -> None:
    others = [event(ph, 3, "x", id=1) for ph in "beniICsftPODNv"]
    assert rows(read(tmp_path, [whole("a", 0, 5), *others])) == [("a", 0, 5000)]


def test_totals_of_clang_are_no_calls_and_details_are_names(tmp_path: Path) -> None:
    source = whole("Source", 0, 5, args={"detail": "/usr/include/map"})
    total = whole("Total Source", 0, 5, tid=9, args={"count": 1, "avg ms": 0})
    assert rows(read(tmp_path, {"traceEvents": [source, total]})) == [("Source /usr/include/map", 0, 5000)]


def test_the_path_of_tsc_is_the_file_of_a_call(tmp_path: Path) -> None:
    profile = read(tmp_path, [whole("createSourceFile", 0, 5, args={"path": "app.ts"})])
    assert list(profile.tables["functions"]["file"]) == ["app.ts"]


def test_large_times_keep_their_nanoseconds(tmp_path: Path) -> None:
    assert rows(read(tmp_path, [whole("a", 29795966289.316, 0.14), whole("b", 29795966289.5, 1)]))[0] == ("a", 0, 140)


def test_a_list_that_a_killed_program_left_open_is_read(tmp_path: Path) -> None:
    text = json.dumps([whole("a", 0, 5)])
    for cut in (text, text[:-1], f"{text[:-1]},\n"):
        assert rows(read(tmp_path, cut)) == [("a", 0, 5000)]
    with pytest.raises(FormatError, match="no file of trace events"):
        read(tmp_path, text[:-3])


def test_files_are_recognised_by_their_content(tmp_path: Path) -> None:
    driver = ChromeTraceFormat()
    listed = json.dumps([whole("a", 0, 5)]).encode()
    assert driver.sniff(json.dumps(TRACE).encode(), "node_trace.1.log")
    assert driver.sniff(listed, "trace.json")
    assert driver.sniff(gzip.compress(listed), "trace.json.gz")
    assert not driver.sniff(b'[{"name": "a"}]', "trace.json")
    (tmp_path / "x.json.gz").write_bytes(gzip.compress(listed))
    assert rows(driver.read(tmp_path / "x.json.gz")) == [("a", 0, 5000)]


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], "no samples"),
        ([event("B", 1, "a")], "no samples"),
        ([whole("a", 1, -5)], "no samples"),
        ([{"ph": 3}], "no file of trace events"),
        ([whole("a", 0, 10.0**300), whole("b", 0, 10.0**308)], "later or longer than times"),
        ([whole("a", -(10**400), 5)], "later or longer than times"),
        ({"traceEvents": {}}, "no file of trace events"),
        ({}, "no file of trace events"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, events: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(tmp_path, events)


def test_deep_calls_are_read(tmp_path: Path) -> None:
    depth = 5000
    profile = read(tmp_path, [whole(f"f{at}", at, 2 * (depth - at)) for at in range(depth)])
    assert sum(row[2] for row in rows(profile)) == 2 * depth * 1000


def test_what_node_writes_is_read(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed, which writes such traces")
    (tmp_path / "program.js").write_text(PROGRAM)
    command = [node, "--trace-event-categories", "v8", "--trace-event-file-pattern", "trace.json", "program.js"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "trace.json").open("rb") as file:
        assert ChromeTraceFormat().sniff(file.read(4096), "trace.json")
    profile = ChromeTraceFormat().read(tmp_path / "trace.json")
    totals: Counter[str] = Counter()
    for each in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]:
        totals[each["name"]] += 1000 * each["dur"] if each["ph"] == "X" else 0
    read_totals: Counter[str] = Counter()
    for path, _, took in rows(profile):
        for name in set(path.split("/")):
            read_totals[name] += took
    assert read_totals["V8.GCScavenger"] == totals["V8.GCScavenger"] > 0


def test_the_command_line_imports_and_draws(project: Project, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(TRACE))
    project.perf("import", str(tmp_path / "x.json"))
    assert "parse" in project.perf("show", "0@p", "table").out
