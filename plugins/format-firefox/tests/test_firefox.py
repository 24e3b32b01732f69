"""Files as the command line of the Firefox Profiler reads them, and files of older versions and other tools."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_diff_amounts import Amounts
from perfcore_format_firefox import FirefoxFormat
from perfcore_sample_kit import SampleRecorder, Samples
from perfcore_table_kit.functions import by_function
from perfcore_testing import npm, profiles
from perfcore_testing.processes import PATIENCE
from perfcore_testing.project import Project

from perfcore.errors import FormatError
from perfcore.model import Profile, Tool
from perfcore.profile.columns import ColumnSpec
from perfcore.profile.stacks import Frame, Stacks

# The oldest version with threads of this shape that upgraders know, here in the shape of 2023: each thread has all.
OLD: dict[str, Any] = {
    "meta": {"preprocessedProfileVersion": 47, "product": "Firefox", "interval": 1, "startTime": 0},
    "threads": [
        {
            "name": "GeckoMain",
            "processName": "Parent",
            "pid": 12,
            "stringArray": ["main", "f", "a.js", "libxul.so"],
            "funcTable": {"name": [0, 1], "fileName": [None, 2], "lineNumber": [None, 5], "resource": [0, -1]},
            "frameTable": {"func": [0, 1], "line": [None, 7]},
            "stackTable": {"frame": [0, 1], "prefix": [None, 0]},
            "resourceTable": {"name": [3]},
            "samples": {"stack": [0, 1, 1, None], "time": [0, 1.5, 2.5, 3], "threadCPUDelta": [None, 10, 20, 0]},
        }
    ],
}


def in_time() -> Profile:
    """Two threads with samples and nanoseconds at times."""
    recorder = SampleRecorder([ColumnSpec("samples", "i64", "", "value"), ColumnSpec("cpu", "i64", "ns", "value")])
    for at, (thread, name) in enumerate((("main", "parse"), ("worker", "read"), ("main", "write"), ("main", "parse"))):
        stack = recorder.stacks.add([Frame("run", "a.py", 7, 3), Frame(name, "b.py", 20 + at, 20)])
        recorder.add(stack, (1, 1_500_000), time=at * 1_000_000, thread=thread, process="p 1")
    return recorder.profile(Tool(name="test"), created=1_750_000_000_000_000_000, name="program")


class Cli:
    """profiler-cli, which keeps a loaded profile in a process of its own until it is told to stop."""

    def __init__(self, modules: Path, folder: Path) -> None:
        self._command = [modules / "node/bin/node", modules / "@firefox-devtools/profiler-cli/dist/profiler-cli.js"]
        self._folder = folder
        self._sessions = 0

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {"HOME": str(self._folder), "PATH": "/usr/bin:/bin"}
        command = [*map(str, self._command), *words]
        return subprocess.run(
            command, cwd=self._folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    def functions(self, path: Path, thread: str = "t-0") -> dict[str, dict[str, Any]]:
        """The rows of its list of functions, by name."""
        session = self._loaded(path)
        done = self.run("thread", "functions", "--thread", thread, "--session", session, "--limit", "0", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        self.run("stop", session)
        return {row["name"]: row for row in json.loads(done.stdout)["functions"]}

    def _loaded(self, path: Path) -> str:
        """A session with the profile. The program waits half a second for its process, too short on a busy machine."""
        done = None
        for _ in range(_TRIES):
            self._sessions += 1
            session = f"tests{self._sessions}"
            done = self.run("load", str(path), "--session", session)
            if done.returncode == 0:
                return session
            if "did not become ready" not in done.stderr + done.stdout:
                break
        raise AssertionError(done)


_TRIES = 10


@pytest.fixture(scope="session")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    folder = tmp_path_factory.mktemp("npm")
    npm.install(folder, "node@24", scripts=True)  # its program is loaded by its script
    modules = npm.install(folder, "@firefox-devtools/profiler-cli@0.10.0")
    cli = Cli(modules, folder)
    yield cli
    cli.run("stop", "--all")


def read(tmp_path: Path, document: Any) -> Profile:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    assert FirefoxFormat().sniff(path.read_bytes()[:4096], path.name)
    return FirefoxFormat().read(path)


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_the_profiler_reads_what_is_written(cli: Cli, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    FirefoxFormat().write(profiles.sampled(), path)
    rows = cli.functions(path)
    expected = {each.name: (each.own, each.total) for each in by_function(profiles.sampled().tables, "samples")}
    assert {name: (row["selfSamples"], row["totalSamples"]) for name, row in rows.items()} == expected


def test_the_profiler_shows_threads_and_metrics(cli: Cli, tmp_path: Path) -> None:
    FirefoxFormat().write(in_time(), tmp_path / "x.json")
    threads = ["t-0", "t-1", "t-2", "t-3"]
    rows = [cli.functions(tmp_path / "x.json", thread) for thread in threads]
    assert [rows[at]["run"]["totalSamples"] for at in range(4)] == [3, 1, 4.5, 1.5]


def test_a_difference_has_weights_below_zero(cli: Cli, tmp_path: Path) -> None:
    difference = Amounts().diff(profiles.sampled(2), profiles.sampled(1))
    FirefoxFormat().write(difference, tmp_path / "x.json")
    assert cli.functions(tmp_path / "x.json")["Parser.parse"]["totalSamples"] == -25


def test_times_threads_and_metrics_come_back(tmp_path: Path) -> None:
    FirefoxFormat().write(in_time(), tmp_path / "x.json")
    samples = Samples.of(FirefoxFormat().read(tmp_path / "x.json"))
    assert [(metric.name, metric.unit) for metric in samples.metrics] == [("samples", ""), ("cpu", "ns")]
    assert sum(value or 0 for value in samples.metrics[1]) == 6_000_000  # type: ignore[misc]
    tracks = [(track.process, track.thread) for track in samples.tracks()]
    assert tracks == [("p 1", "main"), ("p 1", "worker")]
    assert samples.time is not None
    assert sorted(set(samples.time)) == [0, 1_000_000, 2_000_000, 3_000_000]


def test_tables_of_each_thread_are_read(tmp_path: Path) -> None:
    profile = read(tmp_path, OLD)
    resources, stacks = profile.tables["resources"], Stacks.of(profile.tables)
    assert [(each.name, each.unit, list(each)) for each in resources.values()] == [
        ("samples", "", [1, 2, 1]),
        ("cpu", "ns", [0, 30, 0]),
    ]
    assert list(resources["stack"]) == [0, 1, None]
    assert list(resources["time"]) == [0, 1_500_000, 3_000_000]
    assert list(resources["thread"]) == ["GeckoMain"] * 3
    assert (list(stacks.names), list(stacks.files), stacks.line(1)) == (["main", "f"], ["libxul.so", "a.js"], 7)


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("stackTable", "prefix", [1, 0], "its own ancestor"),
        ("stackTable", "frame", [0, 9], "no frame 9"),
        ("frameTable", "func", [0, 9], "no function 9"),
        ("funcTable", "name", [0, 9], "no text 9"),
        ("samples", "stack", [0, 9, 1, None], "no stack 9"),
        ("samples", "time", [0], "4 stacks"),
        ("samples", "stack", "x", "no processed profile"),
    ],
)
def test_rows_that_refer_to_nothing_are_refused(
    tmp_path: Path, table: str, column: str, value: Any, message: str
) -> None:
    document = json.loads(json.dumps(OLD))
    document["threads"][0][table][column] = value
    with pytest.raises(FormatError, match=message):
        read(tmp_path, document)


def test_what_firefox_saves_unprocessed_is_refused_with_a_way(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"meta": {"version": 30}, "threads": []}')
    with pytest.raises(FormatError, match="no processed profile") as caught:
        FirefoxFormat().read(tmp_path / "x.json")
    assert "profiler.firefox.com" in str(caught.value.hint)


def test_the_command_line_imports_and_exports(project: Project, tmp_path: Path) -> None:
    FirefoxFormat().write(in_time(), tmp_path / "in.json.gz")
    project.perf("import", str(tmp_path / "in.json.gz"))
    project.perf("export", "0@p", "--format", "firefox", "-o", str(tmp_path / "out.json.gz"))
    assert FirefoxFormat().read(tmp_path / "out.json.gz").tables == FirefoxFormat().read(tmp_path / "in.json.gz").tables
