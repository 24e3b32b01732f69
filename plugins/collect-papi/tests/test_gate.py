"""What is counted beside the program: its instructions are counted one by one, as a debugger does, since few machines
have hardware that counts them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from perfcore_collect_papi.gate import SLEEP
from perfcore_testing.processes import PATIENCE, Measure

from .conftest import totals

# 0.05 % of 20 million instructions; the runner was 79,000 of every count.
ALLOWED = 10_000

STEPPING = """
import ctypes, errno, json, os, subprocess, sys, time

SEIZE, INTERRUPT, STEP, CONTINUE, OPTIONS = 0x4206, 0x4207, 9, 7, 0x4200
TRACE_EXEC, EVENT_EXEC, ALL = 0x10, 4, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)

def ptrace(request, pid, data=0):
    arguments = (ctypes.c_long(request), ctypes.c_long(pid), ctypes.c_long(0), ctypes.c_long(data))
    if libc.ptrace(*arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

def asleep(pid):
    return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] == "S"

runner = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
command, thread = map(int, runner.stdout.readline().split())
try:
    ptrace(SEIZE, command, TRACE_EXEC)
    ptrace(SEIZE, thread)
except OSError as error:
    print(json.dumps(["refused", error.strerror]))
    runner.kill()
    sys.exit()
ptrace(INTERRUPT, thread)  # it stops when it wakes up
ptrace(INTERRUPT, command)
os.waitpid(command, ALL)
steps = {"command": 0, "thread": 0}
ptrace(STEP, command)
runner.stdin.write(b"\\n")
runner.stdin.flush()
while True:
    _, status = os.waitpid(command, ALL)
    if status >> 16 == EVENT_EXEC:
        break
    assert os.WIFSTOPPED(status), status
    steps["command"] += 1
    ptrace(STEP, command)
ptrace(CONTINUE, command)
_, status = os.waitpid(thread, ALL)
sent = []
while True:
    number = os.WSTOPSIG(status)
    deliver = number if number != 5 else 0
    sent += [deliver] if deliver else []
    ptrace(STEP, thread, deliver)
    steps["thread"] += 1
    deadline = time.monotonic() + 600
    while not (stopped := os.waitpid(thread, ALL | os.WNOHANG))[0] and not asleep(thread):
        assert time.monotonic() < deadline
    if not stopped[0]:
        break
    status = stopped[1]
print(json.dumps([steps, sent]))
"""

RUNNER = """
import os, sys
from perfcore_collect_papi.gate import Gate
spec = {"path": b"/bin/true", "argv": [b"true"], "environment": [b"A=1"]}
gate = Gate(spec, [(2, 1), (2, 2), (os.open("/dev/null", os.O_RDONLY), 0)])
print(gate.arrive(), gate._thread.native_id, flush=True)
sys.stdin.readline()
gate.open()
os.waitpid(gate.pid, 0)
os._exit(0)  # a debugger has the thread
"""


MEASURE = """
from pathlib import Path
from perfcore.model import Job
from perfcore_testing.collector import Measuring
job = Job(argv=("sh", "-c", "grep SigIgn /proc/self/status > signals"), cmd="sh", cwd=Path())
with Measuring(PapiCollector(PapiSettings(event=("task-clock",))), job) as measuring:
    measuring.run()
"""


def test_few_instructions_are_counted_beside_the_program(tmp_path: Path) -> None:
    words = [sys.executable, "-c", STEPPING, RUNNER]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    steps, signals = json.loads(done.stdout)
    if steps == "refused":
        pytest.skip(f"this process may not look into others, which the kernel calls: {signals}")
    assert 0 < steps["command"] + steps["thread"] < ALLOWED // 10, steps
    assert signals == [SLEEP], "the thread is put to sleep"


@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("options", [{}, {"per_cpu": False}, {"multiplex": True}])
def test_papi_counts_what_the_kernel_counts_from_exec_on(measure: Measure, options: dict[str, bool]) -> None:
    """Page faults, by PAPI as instructions: none of this process, however long it takes to start."""
    for _ in range(5):
        counted = totals(measure("true", event=("PAPI_TOT_INS", "page-faults"), domain="all", **options))
        assert 0 <= counted["PAPI_TOT_INS"] - counted["page-faults"] <= 2, counted


@pytest.mark.usefixtures("processor")
def test_counters_stay_in_the_process_that_counts(measure: Measure, tmp_path: Path) -> None:
    """A command that had their files could stop them."""
    measure("sh", "-c", "ls -l /proc/self/fd > files", output="output")
    said = (tmp_path / "files").read_text()
    assert "perf_event" not in said
    assert len(said.splitlines()) == 1 + 4, said


@pytest.mark.parametrize("event", ["task-clock", "page-faults"])
def test_the_parent_of_a_command_is_the_process_that_counts(measure: Measure, tmp_path: Path, event: str) -> None:
    measure("sh", "-c", 'tr "\\0" " " < /proc/$PPID/cmdline > parent', event=(event,))
    assert "perfcore_collect_papi import runner" in (tmp_path / "parent").read_text()


def test_a_signal_that_the_caller_ignores_is_not_ignored_by_the_command(tmp_path: Path) -> None:
    script = "trap '' USR1 USR2; exec \"$@\""
    code = "from perfcore_collect_papi import PapiCollector, PapiSettings\n" + MEASURE
    words = ["sh", "-c", script, "sh", sys.executable, "-c", code]
    subprocess.run(words, cwd=tmp_path, check=True, timeout=PATIENCE)
    ignored = int((tmp_path / "signals").read_text().split()[1], 16)
    assert not ignored >> 9 & 1
    assert not ignored >> 11 & 1


ABANDONING = """
import os, sys
from perfcore_collect_papi import gate
from perfcore_collect_papi.gate import Gate
def child(thread, find=gate._child):
    gate._child = find
    raise OSError(24, "Too many open files")
spec = {"path": b"/usr/bin/touch", "argv": [b"touch", b"ran"], "environment": []}
waiting = Gate(spec, [(2, 1), (2, 2), (os.open("/dev/null", os.O_RDONLY), 0)])
if sys.argv[1] == "failed":
    gate._child = child
try:
    waiting.arrive()
except OSError as error:
    print(error.errno)
files = len(os.listdir("/proc/self/fd"))
waiting.abandon()
print(os.listdir("/proc/self/task") == [str(os.getpid())], files - len(os.listdir("/proc/self/fd")))
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print("no child")
"""


@pytest.mark.parametrize(("when", "said"), [("arrived", []), ("failed", ["24"])])
def test_a_command_that_is_not_let_go_is_ended(tmp_path: Path, when: str, said: list[str]) -> None:
    words = [sys.executable, "-c", ABANDONING, when]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE, check=False)
    assert done.stdout.splitlines() == [*said, "True 5", "no child"], done.stderr
    assert not (tmp_path / "ran").exists()


HASTE = """
import os, signal
from perfcore_collect_papi import gate
spec = {"path": b"/bin/true", "argv": [b"true"], "environment": []}
for _ in range(20):
    quick = gate.Gate(spec, [(2, 1), (2, 2), (os.open("/dev/null", os.O_RDONLY), 0)])
    quick.arrive()
    for _ in range(3):
        signal.pthread_kill(quick._thread.ident, gate._WAKE)
    quick.open()
    os.waitpid(quick.pid, 0)
    quick.close()
print("done")
"""


def test_a_thread_that_is_woken_before_it_sleeps_ends(tmp_path: Path) -> None:
    """On a busy machine the program has ended before the thread that spawned it runs again."""
    words = [sys.executable, "-c", HASTE]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE, check=False)
    assert done.stdout == "done\n", done.stderr
