"""Commands that fail, never end, say too much, leave processes behind; and a measuring process that is stopped."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from perfcore_collect_time import TimeCollector, TimeSettings, launcher
from perfcore_testing import hostile
from perfcore_testing.collector import Measuring
from perfcore_testing.processes import PATIENCE, Measure, eventually, living

from perfcore.errors import CommandFailedError, PerfError, PluginError
from perfcore.model import Job


def test_a_failure_tells_command_code_run_and_last_words(measure: Measure) -> None:
    script = "test -e once && { echo first >&2; echo 'no \033[31mmore' >&2; exit 3; }; touch once"
    with pytest.raises(CommandFailedError) as caught:
        measure("sh", "-c", script, runs=2)
    message = caught.value.message
    assert message.startswith("`sh -c 'test -e once")
    assert "` exited with code 3 in run 2; end of its output:\n  first\n  no \\x1b[31mmore" in message
    assert "--on-failure ignore" in (caught.value.hint or "")


def test_last_words_are_short_whatever_was_said(measure: Measure) -> None:
    """A long line without an end, with bytes that are no text."""
    with pytest.raises(CommandFailedError) as caught:
        measure("sh", "-c", "yes | tr -d '\\n' | head -c 3000000 >&2; printf '\\377\\033[2J' >&2; exit 1")
    assert len(caught.value.message) < 1000
    assert hostile.unsafe(caught.value.message) == set()


def test_words_of_an_earlier_run_are_not_its_last(measure: Measure) -> None:
    script = "test -e once && exit 3; touch once; echo earlier >&2"
    with pytest.raises(CommandFailedError) as caught:
        measure("sh", "-c", script, runs=2)
    assert "end of its output" not in caught.value.message


def test_short_runs_are_taken_along(tmp_path: Path) -> None:
    """And are never asked for, on a machine that has the time."""
    job = Job(argv=("sh", "-c", "echo x >> runs"), cmd="sh", cwd=tmp_path)
    with Measuring(TimeCollector(), job) as measuring:
        measuring.take(100)
    assert len((tmp_path / "runs").read_text().split()) == 100
    assert [row["run"] for row in measuring.rows] == [run.index for run in measuring.runs] == list(range(100))
    along = [len(run.along[0]) for run in measuring.runs]
    assert along[0] == 0
    assert sum(along) > 10
    assert all(row["cpu"] > 0 and row["wall"] > 0 for row in measuring.rows)


def test_no_run_comes_after_one_that_failed(tmp_path: Path) -> None:
    """Short runs are taken together; a failure among them is the last, and is told as what it is."""
    script = "echo x >> runs; test $(wc -l < runs) -lt 5"
    with Measuring(TimeCollector(), Job(argv=("sh", "-c", script), cmd="sh", cwd=tmp_path)) as measuring:
        with pytest.raises(CommandFailedError, match=r"exited with code 1 in run 5"):
            measuring.take(10)
        assert len(measuring.rows) == 4
    assert (tmp_path / "runs").read_text().split() == ["x"] * 5


def test_a_program_that_is_removed_by_a_run_cannot_be_started_in_the_next(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho x >> runs\ntest $(wc -l < runs) -lt 3 || rm program\n")
    program.chmod(0o755)
    with Measuring(TimeCollector(), Job(argv=("./program",), cmd="./program", cwd=tmp_path)) as measuring:
        with pytest.raises(CommandFailedError, match="cannot be started: No such file"):
            measuring.take(10)
        assert len(measuring.rows) == 3


def test_the_last_words_of_runs_that_follow_are_those_of_the_run(tmp_path: Path) -> None:
    script = "echo x >> runs; n=$(wc -l < runs); echo said by $n >&2; test $n -lt 4"
    job = Job(argv=("sh", "-c", script), cmd="sh", cwd=tmp_path)
    with pytest.raises(CommandFailedError) as caught, Measuring(TimeCollector(), job) as measuring:
        measuring.take(10)
    assert caught.value.message.endswith("end of its output:\n  said by 4")


def test_a_limit_holds_for_each_of_runs_that_follow(tmp_path: Path, marker: str) -> None:
    script = f"echo x >> runs; test $(wc -l < runs) -lt 4 || sleep {marker}"
    job = Job(argv=("sh", "-c", script), cmd="sh", cwd=tmp_path)
    collector, error = TimeCollector(TimeSettings(timeout=0.5)), r"was ended in run 4: it took longer than 0\.5 s"
    with pytest.raises(CommandFailedError, match=error), Measuring(collector, job) as measuring:
        measuring.take(10)
    assert living(marker) == []


def test_setup_and_cleanup_enclose_each_of_runs_that_follow(tmp_path: Path) -> None:
    settings = TimeSettings(setup="echo setup >> log", cleanup="echo cleanup >> log")
    with Measuring(TimeCollector(settings), Job(argv=("sh", "-c", "echo run >> log"), cmd="sh", cwd=tmp_path)) as each:
        each.take(3)
    assert (tmp_path / "log").read_text().split() == ["setup", "run", "cleanup"] * 3


def test_a_signal_is_told_by_name(measure: Measure) -> None:
    with pytest.raises(CommandFailedError, match=r"was ended by signal 9 \(SIGKILL\) in run 1") as caught:
        measure("sh", "-c", "kill -9 $$")
    assert "memory" in (caught.value.hint or "")


def test_a_failed_warm_up_is_called_so(tmp_path: Path) -> None:
    job = Job(argv=("false",), cmd="false", cwd=tmp_path)
    with Measuring(TimeCollector(), job) as measuring, pytest.raises(CommandFailedError, match="in the warm-up run"):
        measuring.run(warmup=True)


def test_failures_can_be_kept(measure: Measure) -> None:
    measured = measure("sh", "-c", "test -e once && kill -9 $$; touch once; exit 7", runs=2, on_failure="ignore")
    assert [run.exitcode for run in measured.runs] == [7, -9]
    assert len(measured.rows) == 2
    assert "2 of 2 runs failed and count all the same; exit codes: -9 (1×), 7 (1×)" in measured.session.notes


@pytest.mark.parametrize("on_failure", ["fail", "ignore"])
def test_a_command_that_never_ends_is_ended_with_all_it_started(measure: Measure, marker: str, on_failure: str) -> None:
    script = f"sleep {marker} & setsid sleep {marker} & sleep {marker}"
    with pytest.raises(CommandFailedError, match=r"was ended in run 1: it took longer than 0\.3 s"):
        measure("sh", "-c", script, timeout=0.3, on_failure=on_failure)
    assert living(marker) == []


def test_a_command_that_does_not_want_to_end_is_killed(measure: Measure, marker: str) -> None:
    script = f"trap '' TERM; sleep {marker} & wait; sleep {marker}"
    with pytest.raises(CommandFailedError, match="took longer"):
        measure("sh", "-c", script, timeout=0.3)
    assert living(marker) == []


def test_a_command_may_end_properly_when_it_is_told_to(measure: Measure, tmp_path: Path) -> None:
    with pytest.raises(CommandFailedError, match="took longer"):
        measure("sh", "-c", "trap 'touch ended; exit 0' TERM; sleep 1000 & wait", timeout=0.5)
    assert (tmp_path / "ended").exists()


def test_a_stopped_command_can_be_ended(measure: Measure, marker: str) -> None:
    with pytest.raises(CommandFailedError, match="took longer"):
        measure("sh", "-c", f"kill -STOP $$; sleep {marker}", timeout=0.3)
    assert living(marker) == []


def test_the_shortest_limit_is_kept_every_time(tmp_path: Path, marker: str) -> None:
    """Its signal comes when the wait has hardly begun."""
    job = Job(argv=("sleep", marker), cmd="sleep", cwd=tmp_path)
    with Measuring(TimeCollector(TimeSettings(timeout=0.001)), job) as measuring:
        for _ in range(30):
            with pytest.raises(CommandFailedError, match=r"took longer than 0\.001 s"):
                measuring.run()
    assert living(marker) == []


def test_a_run_within_its_limit_is_none_the_worse(measure: Measure) -> None:
    assert len(measure("true", runs=3, timeout=50).rows) == 3


def test_a_run_that_printed_gigabytes_fills_nothing(measure: Measure, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    measure("sh", "-c", "yes | head -c 2000000000; yes | head -c 300000000 >&2; printf end >&2")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 * 1024
    assert list(tmp_path.iterdir()) == []


def test_processes_left_behind_are_told_and_live(measure: Measure, marker: str) -> None:
    """They hold the pipe of standard error, and nobody waits for that."""
    measured = measure("sh", "-c", f"sleep {marker} & setsid sleep {marker} & echo started >&2", runs=2)
    assert "the command left 4 processes behind in 2 runs; their time is not counted" in measured.session.notes
    assert measured.session.sampling["left_behind"] == 4
    assert eventually(lambda: len(living(marker)) == 4)


def test_a_process_left_behind_that_ended_is_told_too(python: Measure) -> None:
    code = "import os, time\nif os.fork() == 0:\n  os.fork()\n  os._exit(0)\nos.wait()\ntime.sleep(.1)"
    measured = python(code)
    assert "the command left 1 process behind in 1 run; their time is not counted" in measured.session.notes


def test_a_process_left_behind_that_complains_for_ever_is_no_obstacle(measure: Measure, marker: str) -> None:
    script = f"test -e once || (while :; do echo {marker} >&2; done) & touch once"
    measured = measure("sh", "-c", script, runs=5, timeout=50)
    assert len(measured.rows) == 5


def test_a_server_of_the_setup_is_not_left_by_the_command(measure: Measure, marker: str) -> None:
    setup, cleanup = f"sleep {marker} & echo $! > server", "kill $(cat server)"
    measured = measure("true", runs=2, setup=setup, cleanup=cleanup)
    assert not [note for note in measured.session.notes if "behind" in note]
    assert eventually(lambda: living(marker) == [])


def test_an_ended_command_spares_what_earlier_ones_left(measure: Measure, marker: str) -> None:
    script = f"test -e once && sleep 1000; touch once; sleep {marker} &"
    with pytest.raises(CommandFailedError, match="took longer"):
        measure("sh", "-c", script, runs=2, timeout=0.5)
    assert eventually(lambda: len(living(marker)) == 1)


def test_a_command_that_kills_whoever_started_it_is_told(measure: Measure) -> None:
    with pytest.raises(PluginError, match="the process that starts the commands was killed by signal 9"):
        measure("sh", "-c", "kill -9 $PPID")
    assert measure("true").rows


def test_a_session_whose_helper_is_gone_can_be_ended(tmp_path: Path) -> None:
    job = Job(argv=("sh", "-c", "test -e kill && kill -9 $PPID; true"), cmd="sh", cwd=tmp_path)
    collector = TimeCollector()
    with Measuring(collector, job) as one, Measuring(collector, job) as other:
        one.run()
        (tmp_path / "kill").touch()
        for measuring in (other, one, other):
            with pytest.raises(PerfError):
                measuring.run()
    (tmp_path / "kill").unlink()
    with Measuring(collector, job) as again:
        again.run()


MAIN = """
import sys
import time
from pathlib import Path
from perfcore_collect_time import TimeCollector, TimeSettings, launcher
from perfcore.model import Job
from perfcore.profile.recording import Outcome, Run

collector = TimeCollector(TimeSettings(cleanup="touch cleaned"))
session = collector.before(Job(argv=("sh", "-c", sys.argv[1]), cmd="sh", cwd=Path(sys.argv[2])))
try:
    collector.collect(session, Run(session, index=0, block=0, position=0, started=0))
except KeyboardInterrupt:
    print("interrupted")
finally:
    collector.after(session, Outcome(status="interrupted", runs=0))
"""


ODD_PARENT = """
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGCHLD])
from pathlib import Path
from perfcore_collect_time import TimeCollector, TimeSettings, launcher
from perfcore.errors import CommandFailedError
from perfcore.model import Job
from perfcore_testing.collector import Measuring

job = Job(argv=("sh", "-c", "exec sleep $N"), cmd="sh")
with Measuring(TimeCollector(TimeSettings(timeout=0.3)), job) as measuring:
    try:
        measuring.run()
    except CommandFailedError as error:
        print(error.message.rpartition(": ")[2])
"""


def test_signals_that_perf_inherited_ignored_or_blocked_are_no_obstacle(tmp_path: Path) -> None:
    """Children that are ignored leave nothing to wait for; a blocked alarm would never ring."""
    command = [sys.executable, "-c", ODD_PARENT]
    for seconds, said in (("0", ""), ("1000", "it took longer than 0.3 s\n")):
        done = subprocess.run(command, env={**os.environ, "N": seconds}, capture_output=True, text=True, cwd=tmp_path)
        assert (done.stdout, done.stderr) == (said, "")


@pytest.mark.parametrize("trap", [pytest.param("", id="willing"), pytest.param("trap '' TERM INT HUP;", id="stubborn")])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whatever_ends_the_measuring_process_ends_the_command(
    marker: str, tmp_path: Path, number: signal.Signals, trap: str
) -> None:
    """Ctrl-C, a polite kill and one that nothing can be done against: the command, what it started, and the
    helper are gone. Only Ctrl-C leaves the time for a cleanup."""
    script = f"{trap} setsid sleep {marker} & sleep {marker} & touch ready; sleep {marker}"
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as main:
        assert eventually(lambda: (tmp_path / "ready").exists() and len(living(marker)) == 3)
        helper = _parent(_parent_of_all(living(marker)))
        main.send_signal(number)
        output, _ = main.communicate()
    assert eventually(lambda: living(marker) == [] and not _alive(helper))
    assert (output == "interrupted\n", (tmp_path / "cleaned").exists()) == ((number == signal.SIGINT),) * 2


def test_the_impatient_press_ctrl_c_twice(marker: str, tmp_path: Path) -> None:
    script = f"trap '' TERM INT HUP; setsid sleep {marker} & touch ready; sleep {marker}"
    with subprocess.Popen([sys.executable, "-c", MAIN, script, str(tmp_path)], stdout=subprocess.PIPE) as main:
        assert eventually(lambda: (tmp_path / "ready").exists() and len(living(marker)) == 2)
        main.send_signal(signal.SIGINT)
        time.sleep(0.2)
        main.send_signal(signal.SIGINT)
        main.communicate()
    assert eventually(lambda: living(marker) == [])


def _parent_of_all(pids: list[int]) -> int:
    """The shell that started these."""
    return next(_parent(pid) for pid in pids)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _alive(pid: int) -> bool:
    """A zombie that nobody has asked for yet is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("sent", [b"", b"x" * 10])
def test_a_helper_whose_sender_was_killed_before_all_was_sent_ends(sent: bytes) -> None:
    """It would wait for the rest for ever, and use all of a CPU for it."""
    command = [sys.executable, "-I", "-S", "-c", launcher._LOAD.format(size=100)]
    assert subprocess.run(command, input=sent, timeout=PATIENCE, check=False).returncode == 1
