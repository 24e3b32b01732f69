"""Benchmarks that fail, crash, hang or want no measurement."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from perfcore_testing.processes import PATIENCE, eventually, living
from perfcore_testing.project import Project

from perfcore.errors import CommandFailedError

from .conftest import MeasureSuite, names, statuses

GOOD = "def track_a(): return 1\ndef track_z(): return 1\n"
CALLS = "\n    open('calls', 'a').write('x')\n"


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        ("raise ValueError('too bad')", "failed", "ValueError: too bad"),
        ("raise SystemExit(3)", "failed", "SystemExit: 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "failed", "signal 11 (SIGSEGV)"),
        ("import os; os._exit(4)", "failed", "exited with code 4"),
        ("import time; time.sleep(600)", "failed", "took longer than 0.3 s"),
        ("raise NotImplementedError('not here')", "skipped", "not here"),
        ("return float('nan')", "skipped", "NaN"),
        ("return float('inf')", "failed", "inf"),
        ("return -1", "failed", "-1"),
        ("return 'many'", "failed", "many"),
        ("return None", "failed", "no number"),
    ],
)
def test_a_benchmark_that_fails_is_no_value_and_leaves_the_others(
    measure: MeasureSuite, tmp_path: Path, body: str, status: str, expected: str
) -> None:
    """It is tried once in a session."""
    bad = f"def track_bad():{CALLS}    {body}\ntrack_bad.timeout = 0.3\n"
    measuring = measure({"bench_a.py": GOOD + bad}, runs=2)
    assert names(measuring) == ["bench_a.track_a", "bench_a.track_z"]
    assert len(measuring.rows) == 4
    outcome, message = statuses(measuring)["bench_a.track_bad"]
    assert outcome == status
    assert expected in str(message)
    assert (tmp_path / "calls").read_text() == "x"
    assert statuses(measuring)["bench_a.track_a"] == ("measured", None)
    assert bool(measuring.session.notes) == (status == "failed")


def test_the_pipe_of_answers_may_have_any_number(measure: MeasureSuite, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process with many open files gets a high one."""
    pipe = os.pipe

    def high() -> tuple[int, int]:
        answers, output = pipe()
        moved = fcntl.fcntl(output, fcntl.F_DUPFD_CLOEXEC, 100)
        os.close(output)
        return answers, moved

    monkeypatch.setattr(os, "pipe", high)
    assert names(measure({"bench_a.py": GOOD})) == ["bench_a.track_a", "bench_a.track_z"]


def test_a_suite_of_which_all_fails_is_an_error(measure: MeasureSuite) -> None:
    with pytest.raises(CommandFailedError, match=r"bench_a\.time_a: ValueError: bad"):
        measure({"bench_a.py": "def time_a(): raise ValueError('bad')"})


def test_an_error_in_setup_or_teardown_fails_the_benchmark(measure: MeasureSuite) -> None:
    text = GOOD + (
        "class Setup:\n    def setup(self): 1 / 0\n    def time_it(self): pass\n"
        "class Teardown:\n    def teardown(self): 1 / 0\n    def time_it(self): pass\n"
    )
    measuring = measure({"bench_a.py": text})
    for name in ("Setup", "Teardown"):
        assert statuses(measuring)[f"bench_a.{name}.time_it"] == ("failed", "ZeroDivisionError: division by zero")


def test_functions_whose_call_runs_nothing_are_refused(measure: MeasureSuite) -> None:
    text = GOOD + "async def time_async(): pass\ndef time_generator(): yield\n"
    measuring = measure({"bench_a.py": text})
    assert statuses(measuring)["bench_a.time_async"][0] == "failed"
    assert statuses(measuring)["bench_a.time_generator"][0] == "failed"


def test_a_failing_setup_cache_fails_its_benchmarks_only(measure: MeasureSuite) -> None:
    text = GOOD + (
        "class Suite:\n    def setup_cache(self): raise ValueError('no cache')\n"
        "    def track_b(self, cache): return 1\n    def track_c(self, cache): return 1\n"
    )
    measuring = measure({"bench_a.py": text}, runs=2)
    assert names(measuring) == ["bench_a.track_a", "bench_a.track_z"]
    for name in ("track_b", "track_c"):
        assert statuses(measuring)[f"bench_a.Suite.{name}"] == ("failed", "ValueError: no cache")


def test_what_a_benchmark_prints_and_leaves_running_disturbs_nothing(measure: MeasureSuite, marker: str) -> None:
    text = f"""
        import subprocess, sys
        def track_loud():
            print("out"); print("err", file=sys.stderr); sys.stdin.read()
            subprocess.Popen(["sleep", "{marker}"])
            return 1
    """
    assert len(measure({"bench_a.py": text}).rows) == 1
    assert eventually(lambda: living(marker) == [])


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_the_worker_ends_with_perf(project: Project, ending: signal.Signals) -> None:
    text = "import os, time\ndef time_long():\n    open('pid', 'w').write(str(os.getpid()) + '.')\n    time.sleep(50)\n"
    project.write("bench_a.py", text)
    words = [sys.executable, "-m", "perfcore", "collect", "bench", "bench_a.py"]
    perf = subprocess.Popen(words, cwd=project.path, env=project.env, stderr=subprocess.PIPE, start_new_session=True)
    pid = project.path / "pid"
    assert eventually(lambda: pid.exists() and pid.read_text().endswith("."))
    perf.send_signal(ending)
    perf.communicate(timeout=PATIENCE)
    assert perf.returncode == (130 if ending == signal.SIGINT else -signal.SIGKILL)
    assert eventually(lambda: not _lives(int(pid.read_text().strip("."))))


def _lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_a_failure_is_one_message_of_the_command(project: Project) -> None:
    project.write("bench_a.py", "def time_a(): raise ValueError('bad')\n")
    done = project.perf("collect", "bench", "--repeat", "1", "bench_a.py", code=6)
    assert "bench_a.time_a: ValueError: bad" in done.err
    assert os.linesep not in done.err.strip()
