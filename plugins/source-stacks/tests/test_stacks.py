"""Files of real tools, and lines that are none of theirs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from perfcore_source_stacks import PerfScriptSource, StacksSource

from perfcore.hookspecs import Segment

_SERVICE = """
import os, time
def busy(until):
    while time.time() < until:
        sum(range(1000))
def worker():
    busy(time.time() + 1.2)
pid = os.fork()
worker()
if pid:
    os.waitpid(pid, 0)
"""


def names(segment: Segment) -> set[str]:
    return set(segment.profile.tables["functions"]["name"])  # type: ignore[arg-type]


def test_a_recording_of_a_forking_service_by_pyspy(tmp_path: Path) -> None:
    (tmp_path / "service.py").write_text(_SERVICE)
    path = tmp_path / "service.1.raw"
    words = ["record", "--format", "raw", "--subprocesses", "--rate", "97", "-o", str(path)]
    program = Path(sys.executable).with_name("py-spy")
    done = subprocess.run(
        [str(program), *words, "--", sys.executable, str(tmp_path / "service.py")], capture_output=True, text=True
    )
    if not path.exists():
        pytest.skip(f"py-spy cannot record here: {done.stderr.strip()[-200:]}")
    assert StacksSource().sniff(path.read_bytes()[:4096], path.name)
    (segment,) = StacksSource().read([path], "")
    assert isinstance(segment, Segment)
    assert (segment.stream, segment.number, segment.whole) == ("service", 1, True)
    assert {"worker", "busy"} <= names(segment)
    assert sum(segment.profile.tables["resources"]["samples"].data) > 10


def test_a_recording_of_a_forking_service_by_austin(tmp_path: Path) -> None:
    """Each process is a label, and the time of all is what the service took."""
    (tmp_path / "service.py").write_text(_SERVICE)
    path = tmp_path / "service.1.austin"
    program = Path(sys.executable).with_name("austin")
    if not program.exists():
        pytest.skip("Austin is not installed")
    words = ["--children", "--interval", "10ms", "--output", str(path), sys.executable, str(tmp_path / "service.py")]
    for _ in range(3):  # on a busy machine Austin may miss the start of a program, and then records nothing of it
        done = subprocess.run([str(program), *words], capture_output=True, text=True)
        if not path.exists() or not path.read_bytes().startswith(b"# austin"):
            pytest.skip(f"Austin cannot record here: {done.stderr.strip()[-200:]}")
        (segment,) = StacksSource().read([path], "")
        if isinstance(segment, Segment):
            break
    assert StacksSource().sniff(path.read_bytes()[:4096], path.name)
    assert isinstance(segment, Segment)
    assert (segment.stream, segment.number, segment.labels["profiler"]) == ("service", 1, "austin")
    assert {"worker", "busy"} <= names(segment)
    assert len({dict(part.labels)["process"] for part in segment.parts}) == 2
    microseconds = sum(segment.profile.tables["resources"]["samples"].data)
    assert 1.5e6 < microseconds < 60e6  # of two processes for 1.2 s each


def test_a_recording_by_the_kernel(tmp_path: Path) -> None:
    """Of a native program, printed by `perf script`; each sample is counted, under the name of its program."""
    perf = shutil.which("perf") or pytest.skip("the kernel's perf is not installed")
    data, path = tmp_path / "perf.data", tmp_path / "sort.2.script"
    (tmp_path / "numbers").write_text("\n".join(str(n * 7919 % 1_000_003) for n in range(400_000)))
    words = [
        "record",
        "-q",
        "-e",
        "cpu-clock:u",
        "-F",
        "499",
        "-g",
        "-o",
        str(data),
        "--",
        "sort",
        str(tmp_path / "numbers"),
    ]
    done = subprocess.run([perf, *words], capture_output=True, text=True)
    printed = subprocess.run([perf, "script", "-i", str(data)], capture_output=True, text=True, check=False)
    if not printed.stdout:
        pytest.skip(f"perf cannot record here: {done.stderr.strip()[-200:]}")
    path.write_text(printed.stdout)
    assert PerfScriptSource().sniff(path.read_bytes()[:4096], path.name)
    (segment,) = PerfScriptSource().read([path], "")
    assert isinstance(segment, Segment)
    assert (segment.stream, segment.number, segment.whole) == ("sort", 2, True)
    assert (("comm", "sort"),) in [part.labels for part in segment.parts]
    samples = sum(segment.profile.tables["resources"]["samples"].data)
    assert samples == printed.stdout.count("cpu-clock:u:") > 5
    assert any("sort" in str(file) or "libc" in str(file) for file in segment.profile.tables["functions"]["file"])


def test_the_same_file_is_the_same_segment_under_any_name(tmp_path: Path) -> None:
    streams = set()
    for name in ("a.folded", "b.folded"):
        (tmp_path / name).write_text("main;work 3\n")
        (segment,) = StacksSource().read([tmp_path / name], "")
        assert isinstance(segment, Segment)
        streams.add(segment.stream)
    assert len(streams) == 1


@pytest.mark.parametrize("text", ["main;work\n", "main;work x\n", "main;work -3\n", "main;work 0\n", "\n", "a;b 1.5\n"])
def test_what_is_no_stack_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.folded").write_text(text)
    (item,) = StacksSource().read([tmp_path / "a.folded"], "")
    assert not isinstance(item, Segment)


def test_a_line_of_perf_script_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("sort 31 1.5: cpu-clock: \n\t 1 f (x)\nrubbish\n")
    (item,) = PerfScriptSource().read([tmp_path / "a"], "")
    assert not isinstance(item, Segment)
    assert "line 3" in item[1].message


def test_names_of_threads_are_labels(tmp_path: Path) -> None:
    text = "Web Content 31/33 [001] 1.5: 1 cycles: \n\t 1 f+0x2 (/lib/x.so)\n\t 2 [unknown] ([unknown])\n\n"
    (tmp_path / "a").write_text(text)
    (segment,) = PerfScriptSource().read([tmp_path / "a"], "")
    assert isinstance(segment, Segment)
    assert segment.parts[0].labels == (("comm", "Web Content"),)
    assert names(segment) == {"f", "[unknown]"}
