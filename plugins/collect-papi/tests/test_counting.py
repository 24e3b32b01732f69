"""The kernel's own counters of real commands: the whole tree, by CPU, in between, and whatever the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_papi import PapiCollector, PapiSettings
from perfcore_testing.collector import Measuring
from perfcore_testing.processes import Measure, eventually, living

from perfcore.errors import CommandFailedError, PerfError, PluginError
from perfcore.model import Job

from .conftest import BURN, KERNEL, by_cpu, totals

CPUS = sorted(os.sched_getaffinity(0))
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="this machine has one CPU only")

TREE = """
import resource
def both():
    threads = [threading.Thread(target=burn, args=(0.4,)) for _ in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
if os.fork() == 0:
    both()
    os._exit(0)
both()
os.wait()
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(sum(u.ru_utime + u.ru_stime for u in used), file=open("used", "w"))
"""
TOUCH = """
import mmap
pages = int(sys.argv[1])
memory = mmap.mmap(-1, 8192 * mmap.PAGESIZE)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(pages):
    memory[page * mmap.PAGESIZE] = 1
"""


def test_threads_and_children_are_counted(python: Measure, tmp_path: Path) -> None:
    """As much as the command says it took, and a little for its start and end."""
    counted = totals(python(TREE, event=("task-clock",), domain="all"))
    # A thread or child that was left out would be a quarter of it; under load the two clocks differ by up to 3 %.
    assert counted["task-clock"] / 1e9 == pytest.approx(float((tmp_path / "used").read_text()), rel=0.06)


def test_pages_are_counted_one_by_one(python: Measure) -> None:
    few, many = (totals(python(TOUCH, pages, event=("page-faults",))) for pages in ("0", "8000"))
    assert many["page-faults"] - few["page-faults"] == pytest.approx(8000, rel=0.02)


@two_cpus
def test_what_runs_on_a_cpu_is_counted_there(python: Measure) -> None:
    code = "burn(0.4, int(sys.argv[1])); os.fork() or os._exit(burn(0.1, int(sys.argv[2]))); os.wait()"
    counted = by_cpu(python(code, str(CPUS[1]), str(CPUS[0]), event=("task-clock",)), "task-clock")
    assert counted[CPUS[1]] >= 0.39e9
    assert counted[CPUS[0]] >= 0.09e9
    assert counted[CPUS[1]] > counted[CPUS[0]]


def test_this_process_is_not_counted(measure: Measure) -> None:
    """Readings, and what the command says, cost it nothing."""
    plain = totals(measure("sleep", "0.3", event=("page-faults",)))
    watched = totals(measure("sh", "-c", "sleep 0.3", event=("page-faults",), interval=0.001))
    assert watched["page-faults"] < 10 * plain["page-faults"]


def test_total_has_a_row_for_each_run_and_the_same_sum(python: Measure) -> None:
    measured = python("burn(0.2)", event=("task-clock",), per_cpu=False, runs=2)
    assert "cpu" not in measured.resources.names
    assert [row["run"] for row in measured.rows] == [0, 1]
    assert all(row["task-clock"] >= 0.2e9 for row in measured.rows)
    assert measured.session.sampling["attribution"] == "none"


def test_by_cpu_there_is_a_row_for_each(python: Measure) -> None:
    measured = python("pass", event=KERNEL)
    assert set(CPUS) <= {row["cpu"] for row in measured.rows}
    assert measured.session.sampling["attribution"] == "kernel"
    assert measured.session.sampling["source"] == "software"
    assert measured.session.profile_type == "papi.software"


def test_readings_in_between_add_up_to_what_was_counted(python: Measure) -> None:
    measured = python("burn(0.3)", event=("task-clock",), interval=0.05)
    snapshots: list[dict[str, Any]] = list(measured.profile.tables["snapshots"].iter_rows())
    assert len(snapshots) >= 4
    assert [row["snapshot"] for row in snapshots] == list(range(len(snapshots)))
    assert [row["timestamp"] for row in snapshots] == sorted({row["timestamp"] for row in snapshots})
    assert {row["snapshot"] for row in measured.rows} == {row["snapshot"] for row in snapshots}
    assert totals(measured)["task-clock"] >= 0.3e9
    assert max(row["task-clock"] for row in measured.rows) < 0.3e9


def test_a_warm_up_leaves_no_snapshots(tmp_path: Path) -> None:
    settings = PapiSettings(event=KERNEL, interval=0.01)
    job = Job(argv=("sleep", "0.05"), cmd="sleep", cwd=tmp_path)
    with Measuring(PapiCollector(settings), job) as measuring:
        measuring.run(warmup=True)
    assert measuring.profile.tables["snapshots"].rows == 0
    assert measuring.profile.tables["derived"].rows == 0


def test_the_topology_is_stored_once(measure: Measure) -> None:
    measured = measure("true", event=KERNEL, runs=3)
    table = measured.profile.tables["topology"]
    assert set(CPUS) <= {row["cpu"] for row in table.iter_rows()}
    assert len(set(table["cpu"])) == table.rows


def test_a_cpu_outside_the_topology_keeps_its_counts(python: Measure, tmp_path: Path) -> None:
    (tmp_path / "one.xml").write_text('<topology><object type="PU" os_index="0"/></topology>')
    topology = tmp_path / "one.xml"
    measured = python("burn(0.1, int(sys.argv[1]))", str(CPUS[-1]), event=("task-clock",), topology=topology)
    assert totals(measured)["task-clock"] >= 0.1e9
    if CPUS[-1] != 0:
        assert by_cpu(measured, "task-clock")[None] >= 0.09e9
        assert any(f"CPU {CPUS[-1]} is not among those" in note for note in measured.session.notes)


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("kill -TERM $$", -15)])
def test_exit_codes_and_signals_are_kept(measure: Measure, script: str, code: int) -> None:
    measured = measure("sh", "-c", script, event=KERNEL, on_failure="ignore")
    assert [run.exitcode for run in measured.runs] == [code]
    assert totals(measured)["page-faults"] > 0


def test_a_failure_tells_the_last_words(measure: Measure) -> None:
    with pytest.raises(CommandFailedError, match="exited with code 3 in run 1; end of its output:\n  why"):
        measure("sh", "-c", "echo why >&2; exit 3", event=KERNEL)


def test_a_command_that_never_ends_is_ended_with_all_it_started(measure: Measure, marker: str) -> None:
    script = f"trap '' TERM; sleep {marker} & setsid sleep {marker} & sleep {marker}; wait"
    with pytest.raises(CommandFailedError, match=r"took longer than 0\.3 s"):
        measure("sh", "-c", script, timeout=0.3, event=KERNEL)
    assert living(marker) == []


def test_processes_left_behind_live_and_nobody_waits_for_them(measure: Measure, marker: str) -> None:
    measured = measure("sh", "-c", f"sleep {marker} & setsid sleep {marker} & echo started >&2", event=KERNEL)
    assert eventually(lambda: len(living(marker)) == 2)
    assert measured.session.sampling["cut_off"] == 2
    assert any(
        "2 processes that the command started went on when it ended, in 1 run" in n for n in measured.session.notes
    )


def test_nothing_is_cut_off_of_a_command_that_waits(measure: Measure) -> None:
    measured = measure("sh", "-c", "true & true & wait", event=KERNEL, runs=2)
    assert measured.session.sampling["cut_off"] == 0
    assert not any("cut off" in note for note in measured.session.notes)


def test_a_command_that_says_much_fills_nothing(measure: Measure, tmp_path: Path) -> None:
    measure("sh", "-c", "yes | head -c 300000000 >&2; yes | head -c 300000000", event=KERNEL)
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_kills_whoever_started_it_is_told(measure: Measure) -> None:
    with pytest.raises(PluginError, match="the process that counts was killed by signal 9"):
        measure("sh", "-c", "kill -9 $PPID", event=KERNEL)


def test_a_program_removed_between_runs(measure: Measure, tmp_path: Path) -> None:
    program = tmp_path / "prog"
    program.write_text("#!/bin/sh\nrm prog\n")
    program.chmod(0o755)
    with pytest.raises(CommandFailedError, match="cannot be started"):
        measure("./prog", runs=2, event=KERNEL)


def test_output_goes_where_it_is_wanted(measure: Measure, tmp_path: Path) -> None:
    measure("echo", "said", event=KERNEL, output="told")
    assert (tmp_path / "told").read_text() == "said\n"
    with pytest.raises(CommandFailedError, match="its output"):
        measure("echo", "said", event=KERNEL, output="no/such/folder")


def test_signals_are_as_a_shell_would_leave_them(measure: Measure, tmp_path: Path) -> None:
    measure("sh", "-c", "grep Sig /proc/self/status > signals", event=KERNEL)
    masks = dict(line.split(":\t") for line in (tmp_path / "signals").read_text().splitlines() if ":\t" in line)
    assert int(masks["SigBlk"], 16) == 0
    assert int(masks["SigIgn"], 16) & (1 << 12 | 1 << 24) == 0


FEW_FILES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (66, 66))
from perfcore_collect_papi import PapiCollector, PapiSettings
from perfcore.errors import PluginError
from perfcore.model import Job
from perfcore_testing.collector import Measuring
events = ("task-clock", "page-faults", "minor-faults", "major-faults")
try:
    with Measuring(PapiCollector(PapiSettings(event=events)), Job(argv=("true",), cmd="true")) as measuring:
        measuring.run()
except PluginError as error:
    print(error.message, error.hint, sep="; ")
"""


def test_too_few_open_files_are_told() -> None:
    done = subprocess.run([sys.executable, "-c", FEW_FILES], capture_output=True, text=True, check=True)
    assert "open files, and this process may have 66; count fewer events, or without CPUs (--total)" in done.stdout


SOME_FILES = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_NOFILE, (66, 4096))
from perfcore_collect_papi import PapiCollector, PapiSettings
from perfcore.model import Job
from perfcore_testing.collector import Measuring
events = ("task-clock", "page-faults", "minor-faults", "major-faults")
job = Job(argv=("sh", "-c", "ulimit -n"), cmd="sh")
with Measuring(PapiCollector(PapiSettings(event=events, output="limit")), job) as measuring:
    measuring.run()
"""


def test_the_limit_of_open_files_is_raised_and_the_command_keeps_its_own(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", SOME_FILES], check=True, cwd=tmp_path)
    assert (tmp_path / "limit").read_text() == "66\n"


MANY_FILES = """
import resource, sys
from perfcore_collect_papi import launcher
from perfcore_collect_papi.wire import FailedError
from perfcore.model import Job
from perfcore_collect_kit import command
resource.setrlimit(resource.RLIMIT_NOFILE, (256, int(sys.argv[1])))
cpus = launcher.online()
wanted = launcher.Wanted(per_cpu=True, cpus=cpus * (500 // len(cpus) + 1))
group = launcher.Group(source="software", events=("task-clock", "page-faults"))
taken = []
try:
    launcher.run(wanted, [group], command.spec(Job(argv=("true",), cmd="true")), None, taken.append)
    counted = [values for *_, values in taken[-1].values]
    print(sum(map(len, counted)) >= 1000, all(map(sum, zip(*counted))))
except FailedError as error:
    print(*error.frame[:3], int(error.frame[3]) >= 1000)
"""


@pytest.mark.parametrize(("limit", "said"), [(4096, "True True"), (512, "failed files 512 True")])
def test_a_thousand_counters_raise_the_limit_or_it_is_told(limit: int, said: str) -> None:
    """As many as four events have on a machine of 250 CPUs: each CPU is counted again and again."""
    command = [sys.executable, "-c", MANY_FILES, str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{said}\n"


MAIN = """
import sys
from collections.abc import Iterator
from pathlib import Path
from perfcore_collect_papi import PapiCollector, PapiSettings
from perfcore.model import Job
from perfcore_testing.collector import Measuring

job = Job(argv=("sh", "-c", sys.argv[1]), cmd="sh", cwd=Path(sys.argv[2]))
with Measuring(PapiCollector(PapiSettings(event=("task-clock",))), job) as measuring:
    measuring.run()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_whatever_ends_the_measuring_process_ends_the_command(
    marker: str, tmp_path: Path, number: signal.Signals
) -> None:
    script = f"trap '' TERM INT; setsid sleep {marker} & sleep {marker} & touch ready; sleep {marker}"
    with subprocess.Popen([sys.executable, "-c", MAIN, script, str(tmp_path)], stderr=subprocess.DEVNULL) as main:
        assert eventually(lambda: (tmp_path / "ready").exists() and len(living(marker)) == 3)
        main.send_signal(number)
        main.wait()
    assert eventually(lambda: living(marker) == [])


@pytest.mark.parametrize("event", [(), ("x\ny",), ("",)])
def test_names_that_no_event_has(event: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="an event is a name"):
        PapiSettings(event=event)


WATCHED = BURN + "os.sched_setaffinity(0, {int(sys.argv[1])})\nprint('ready', flush=True)\nburn(60)"


@pytest.fixture
def watched() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", WATCHED, str(CPUS[-1])], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_a_running_process_is_counted_while_a_command_runs(measure: Measure, watched: subprocess.Popen[str]) -> None:
    """By samples of where its threads are; what the command itself does is not counted."""
    measured = measure("sleep", "0.3", event=("task-clock",), pid=watched.pid, interval=0.1)
    assert measured.session.sampling["attribution"] == "sampled"
    assert measured.session.profile_type == "papi.software.sampled"
    counted = by_cpu(measured, "task-clock")
    assert counted[CPUS[-1]] > 0
    assert sum(counted.values()) == counted[CPUS[-1]]
    assert measured.profile.tables["snapshots"].rows >= 3


def test_a_process_that_is_not_there_is_told(measure: Measure) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    with pytest.raises(PerfError, match=f"there is no process {ended.pid}"):
        measure("true", event=KERNEL, pid=ended.pid)
    zombie = subprocess.Popen(["true"])
    assert eventually(lambda: ") Z " in Path(f"/proc/{zombie.pid}/stat").read_text())
    try:
        with pytest.raises(PerfError, match="has ended already"):
            measure("true", event=KERNEL, pid=zombie.pid)
    finally:
        zombie.wait()


def test_a_process_that_ends_meanwhile_keeps_its_counts(measure: Measure, tmp_path: Path) -> None:
    code = BURN + "input()\nburn(.1)\nopen('done', 'w').close()"
    (tmp_path / "go.sh").write_text("echo > $1; while ! [ -e done ]; do sleep 0.05; done; sleep 0.2\n")
    os.mkfifo(tmp_path / "input")
    feeding = os.open(tmp_path / "input", os.O_RDWR)
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdin=feeding, cwd=tmp_path) as short:
        measured = measure("sh", "go.sh", "input", event=("task-clock",), pid=short.pid, timeout=30)
    os.close(feeding)
    assert totals(measured)["task-clock"] >= 0.1e9


def test_what_a_running_process_starts_is_counted_too(measure: Measure, tmp_path: Path) -> None:
    code = BURN + (
        "input()\nthread = threading.Thread(target=burn, args=(.1,))\nthread.start()\nthread.join()\n"
        "os.fork() or os._exit(burn(.1) or 0)\nos.wait()\nopen('done', 'w').close()\ninput()"
    )
    os.mkfifo(tmp_path / "input")
    feeding = os.open(tmp_path / "input", os.O_RDWR)
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdin=feeding, cwd=tmp_path) as process:
        (tmp_path / "go.sh").write_text("echo > $1; while ! [ -e done ]; do sleep 0.05; done\n")
        measured = measure("sh", "go.sh", "input", event=("task-clock",), pid=process.pid, timeout=30)
        os.write(feeding, b"\n")
    os.close(feeding)
    assert totals(measured)["task-clock"] >= 0.2e9


def test_the_clock_of_each_run_is_recorded(tmp_path: Path) -> None:
    """From files as the kernel writes them; most virtual machines have none."""
    folder = tmp_path / "sys/devices/system/cpu"
    for name, text in (("cpufreq/policy0/scaling_cur_freq", "2000000"), ("cpufreq/boost", "1")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n")
    collector = PapiCollector(PapiSettings(event=KERNEL))
    collector.root = tmp_path
    with Measuring(collector, Job(argv=("true",), cmd="true", cwd=tmp_path)) as measuring:
        measuring.run(warmup=True)
        measuring.run()
    (row,) = measuring.profile.tables["clock"].iter_rows()
    assert (row["frequency"], row["governor"], row["turbo"]) == (2_000_000_000, None, True)
