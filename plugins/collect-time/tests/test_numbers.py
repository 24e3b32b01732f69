"""The numbers against programs that know what they used."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from perfcore_collect_kit import command
from perfcore_collect_time import launcher
from perfcore_collect_time.helper import LEAST_WAIT, SHORT, WORK_EVERY
from perfcore_collect_time.tally import DISTURBED_LEAST
from perfcore_testing.processes import Measure

from perfcore.model import Job

BURN = (
    "import time\nwhile time.process_time_ns() < 60_000_000: pass\nopen('said', 'w').write(str(time.process_time_ns()))"
)
THREADS = """
import threading, time
def burn():
    while time.thread_time_ns() < 30_000_000: pass
threads = [threading.Thread(target=burn) for _ in range(3)]
[t.start() for t in threads]; [t.join() for t in threads]
open('said', 'w').write(str(time.process_time_ns()))
"""
WAITED = """
import os, time
for _ in range(2):
    if os.fork() == 0:
        while time.process_time_ns() < 40_000_000: pass
        os._exit(0)
[os.wait() for _ in range(2)]
"""
DELAY = BURN + "\nopen('said', 'w').write(open('/proc/self/schedstat').read().split()[1])"
MIB = 2**20


def said(folder: Path) -> int:
    return int((folder / "said").read_text())


def test_cpu_is_what_the_program_says_of_itself(python: Measure, tmp_path: Path) -> None:
    (row,) = python(BURN).rows
    assert said(tmp_path) <= row["cpu"] < said(tmp_path) + 60_000_000


def test_cpu_has_the_time_of_threads_that_have_ended(python: Measure, tmp_path: Path) -> None:
    (row,) = python(THREADS).rows
    assert 90_000_000 <= said(tmp_path) <= row["cpu"] < said(tmp_path) + 60_000_000


def test_cpu_has_the_time_of_children_that_were_waited_for(python: Measure) -> None:
    (row,) = python(WAITED).rows
    assert 80_000_000 <= row["cpu"] < 200_000_000


def test_cpu_is_counted_in_nanoseconds(measure: Measure) -> None:
    rows = measure("true", runs=5).rows
    assert any(row["cpu"] % 1000 for row in rows)


def test_cpu_is_user_and_system(python: Measure) -> None:
    (row,) = python(BURN).rows
    assert row["user"] + row["system"] <= row["cpu"] <= row["user"] + row["system"] + 2000


def test_waiting_is_in_wall_only(measure: Measure) -> None:
    (row,) = measure("sleep", "0.2").rows
    assert row["wall"] >= 200_000_000
    assert row["cpu"] < row["wall"] / 2


def test_the_setup_does_not_count(measure: Measure) -> None:
    (row,) = measure("true", setup="sleep 0.5", cleanup="sleep 0.5").rows
    assert row["wall"] < 500_000_000


def test_max_rss_is_the_peak(python: Measure) -> None:
    code = "data = bytearray({0}); data[::4096] = bytes(len(range(0, {0}, 4096))); del data"
    small, large = (python(code.format(size * MIB)).rows[0]["max_rss"] for size in (50, 100))
    assert 50 * MIB < small < 80 * MIB
    assert 45 * MIB < large - small < 55 * MIB


def test_max_rss_of_a_program_smaller_than_the_one_that_starts_it_is_missing(measure: Measure) -> None:
    """It would be that of the starting process."""
    measured = measure("true")
    assert measured.rows[0]["max_rss"] is None
    assert 2 * MIB < measured.session.sampling["max_rss_floor"] < 40 * MIB
    assert [note for note in measured.session.notes if note.startswith("max_rss is missing: up to")]


def test_page_faults_are_counted(python: Measure) -> None:
    page = os.sysconf("SC_PAGE_SIZE")
    code = "import mmap; m = mmap.mmap(-1, {0}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
    code += "if hasattr(mmap, 'MADV_NOHUGEPAGE'): m.madvise(mmap.MADV_NOHUGEPAGE)\n"
    code += "for i in range(0, {0}, {1}): m[i] = 1"
    few, many = (python(code.format(pages * page, page)).rows[0]["minor_faults"] for pages in (10, 2010))
    assert 1950 <= many - few <= 2300


def test_switches_are_counted(python: Measure) -> None:
    code = "import time\nfor _ in range({}): time.sleep(0.001)"
    few, many = (python(code.format(naps)).rows[0]["voluntary_switches"] for naps in (0, 100))
    assert many - few >= 95  # a program that does not sleep may wait for a disk


def test_a_run_that_had_to_wait_for_a_cpu_is_told(python: Measure, tmp_path: Path) -> None:
    """Against a program that wants the same CPU. The command itself says how long its main thread waited."""
    cpu = min(os.sched_getaffinity(0))
    pin = f"import os; os.sched_setaffinity(0, {{{cpu}}}); print(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", pin], stdout=subprocess.PIPE) as hog:
        try:
            assert hog.stdout is not None
            hog.stdout.readline()
            measured = python(DELAY, runs=3, cpus=str(cpu))
        finally:
            hog.kill()
    assert all(run.disturbed for run in measured.runs)
    assert measured.rows[-1]["run_delay"] >= said(tmp_path) > 0
    assert all(row["run_delay"] <= row["wall"] for row in measured.rows)
    assert measured.session.sampling["disturbed"] == 3
    assert "this machine is unfit to measure wall time now: 3 of 3 runs" in measured.session.notes[0]


def test_a_wait_for_a_cpu_is_known_of_every_run_that_can_have_waited(measure: Measure, python: Measure) -> None:
    assert LEAST_WAIT == DISTURBED_LEAST
    measured = measure("true", runs=60)
    short = measured.rows
    assert short[0]["run_delay"] is not None
    for row, run in zip(short, measured.runs, strict=True):
        assert row["run_delay"] is not None or run.disturbed or row["wall"] <= SHORT
    assert all(row["run_delay"] is not None for row in python("pass", runs=5).rows)


def test_the_same_work_is_done_beside_the_runs(measure: Measure) -> None:
    facts = measure("true", runs=3).session.sampling
    assert 0 < facts["reference_fast"] <= facts["reference"] < 2 * facts["reference_fast"]
    assert sys.implementation.cache_tag in facts["reference_work"]


def test_the_work_of_reference_takes_a_small_part_of_the_time() -> None:
    begun = time.perf_counter_ns()
    helper = launcher.lease()
    try:
        key = helper.define(command.spec(Job(argv=("true",), cmd="true")))
        taken, runs = list[int](), 0
        while runs < 300:
            results = helper.run(key, 299 - runs)
            taken += results.reference
            runs += len(results.started)
    finally:
        launcher.release(helper)
    assert 1 <= len(taken) <= 1 + (time.perf_counter_ns() - begun) / WORK_EVERY
