"""Samples of real processes: forks, threads, sections, rotation, and a spool that cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from perfcore_fleet_kit.glue import Piece, glue
from perfcore_source_statprofiler.testing import read, union
from perfcore_testing.processes import PATIENCE

from perfcore.hookspecs import Segment

_BUSY = """
import os, sys, threading, time
from perfcore_fleet_sampler import label, section, start, stop
start(sys.argv[1], rate=199, interval=float(sys.argv[2]), labels={"service": "shop"})
def busy(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(500))
"""


def run(folder: Path, program: str, interval: float = 60) -> list[Segment]:
    """The segments that a program writes."""
    spool = folder / "spool"
    words = [sys.executable, "-c", _BUSY + program, str(spool), str(interval)]
    subprocess.run(words, check=True, timeout=PATIENCE)
    return read(sorted(spool.glob("*.statprof")))


def functions(segments: Sequence[Segment], label: tuple[str, str] | None = None) -> dict[str, int]:
    counts = union(segments, label)
    return {function.name: function.inclusive for function in counts.functions.values()}


def test_functions_lines_and_sections_of_a_program(tmp_path: Path) -> None:
    segments = run(
        tmp_path,
        """
def checkout(): busy(0.6)
def browse(): busy(0.4)
with section("request", action="cart"):
    checkout()
    label("late", "yes")
with section("request", action="list"):
    with section("inner"):
        browse()
""",
    )
    assert all(segment.whole for segment in segments)
    assert segments[0].labels["service"] == "shop"
    assert "perl" not in segments[0].labels
    assert functions(segments, ("action", "cart")).get("<string>::checkout", 0) > 40
    assert functions(segments, ("late", "yes")).get("<string>::checkout", 0) > 40
    assert "<string>::checkout" not in functions(segments, ("action", "list"))
    assert functions(segments, ("section", "inner")).get("<string>::browse", 0) > 20


def test_a_fork_is_a_stream_of_its_own_with_its_parent(tmp_path: Path) -> None:
    segments = run(
        tmp_path,
        """
def parent(): busy(0.5)
def child(): busy(0.5)
pid = os.fork()
if pid == 0:
    child()
    sys.exit(0)
parent()
os.waitpid(pid, 0)
""",
    )
    by_stream = {segment.stream: functions([segment]) for segment in segments}
    assert len(by_stream) == 2
    (child,) = (segment for segment in segments if segment.parent)
    assert "<string>::child" in by_stream[child.stream]
    assert "<string>::parent" not in by_stream[child.stream]
    assert child.parent is not None
    assert "<string>::child" not in by_stream[child.parent[0]]


_ENDS = {
    "_exit": """
pid = os.fork()
if pid == 0:
    child()
    os._exit(3)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
""",
    "multiprocessing": """
import multiprocessing
def work():
    child()
    sys.exit(3)
process = multiprocessing.get_context("fork").Process(target=work)
process.start()
process.join()
status = process.exitcode
""",
}


@pytest.mark.parametrize("end", list(_ENDS))
def test_a_child_that_skips_the_end_of_the_interpreter_writes_its_samples(tmp_path: Path, end: str) -> None:
    segments = run(tmp_path, f"def child(): busy(0.5)\n{_ENDS[end]}\nsys.exit(status != 3)")
    (child,) = (segment for segment in segments if segment.parent)
    assert child.whole
    assert functions([child])["<string>::child"] > 20


def test_functions_have_the_names_of_their_modules(tmp_path: Path) -> None:
    package = tmp_path / "shop" / "cart"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("def add(busy): busy(0.5)\n")
    names = functions(run(tmp_path, f"sys.path.insert(0, {str(tmp_path)!r})\nimport shop.cart\nshop.cart.add(busy)\n"))
    assert names["shop.cart::add"] > 20
    assert names["<string>::busy"] > 20


def test_threads_are_sampled_and_files_rotate(tmp_path: Path) -> None:
    segments = run(
        tmp_path,
        """
def worker(): busy(1.0)
threads = [threading.Thread(target=worker) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
""",
        interval=0.25,
    )
    assert [segment.number for segment in segments] == list(range(1, len(segments) + 1))
    assert len(segments) >= 3
    glue([Piece(s.number, s.parts, s.ended, s.opened, s.loose) for s in segments])
    assert functions(segments)["<string>::worker"] > 200


def test_a_spool_that_cannot_be_written_harms_nothing(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        program = "import shutil; shutil.rmtree(sys.argv[1]); busy(0.6); print('done')"
    else:
        program = "os.chmod(sys.argv[1], 0o500); busy(0.6); print('done')"
    words = [sys.executable, "-c", _BUSY + program, str(tmp_path / "spool"), "0.1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


@pytest.mark.parametrize("stop", [True, False])
def test_sections_cost_nothing_that_lasts(tmp_path: Path, stop: bool) -> None:
    """Open sections are forgotten with their end."""
    program = """
for n in range(20000):
    with section("request", action=n % 3):
        pass
from perfcore_fleet_sampler import sections
assert not sections.open_sections
assert len(sections.finished) < 2000
"""
    run(tmp_path, program + ("stop()\n" if stop else ""))
