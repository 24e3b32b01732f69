"""The collector as a user meets it: `perf collect time` in a repository of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from perfcore_testing.processes import PATIENCE, eventually, living
from perfcore_testing.project import Project

FAST = ("collect", "time", "--warmup", "0")
HOSTILE = ["it's", 'a "b"  c', "$HOME;`id`", "line\nbreak", "", "ünï", "\udcff\udcfe", "<script>"]


def started(project: Project, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "perfcore", *FAST, *words]
    return subprocess.Popen(command, cwd=project.path, env=project.env, stderr=subprocess.PIPE, start_new_session=True)


def helpers(of: int) -> list[int]:
    """The processes that a process has started."""
    tasks = Path(f"/proc/{of}/task/{of}/children").read_text()
    return [int(pid) for pid in tasks.split()]


def pending(project: Project) -> int:
    return len(project.perf("status", "--json").json["pending"])


def test_two_commands_take_turns_in_both_orders(project: Project) -> None:
    project.perf(*FAST, "--repeat", "4", "--shell", "-c", "printf A >> order", "-c", "printf B >> order")
    assert (project.path / "order").read_text() == "ABBAABBA"
    assert pending(project) == 2


def test_words_arrive_as_they_were_written(project: Project) -> None:
    """Quotes, blanks, newlines, nothing, and bytes that are no UTF-8."""
    code = "import os, sys; open('said', 'wb').write(b'\\0'.join(map(os.fsencode, sys.argv[1:])))"
    done = project.perf(*FAST, "--repeat", "1", "--", sys.executable, "-c", code, *HOSTILE)
    assert (project.path / "said").read_bytes() == b"\0".join(map(os.fsencode, HOSTILE))
    assert "\x1b" not in done.out
    assert pending(project) == 1


def test_an_output_without_a_final_newline_stays_out_of_the_result(project: Project) -> None:
    done = project.perf(*FAST, "--repeat", "2", "--", "printf", "unfinished words")
    assert done.lines[0].endswith("2 runs") or "2 runs, " in done.lines[0]
    assert done.lines[1].startswith("  cpu ")


def test_the_columns_of_the_summary_stand_below_one_another(project: Project) -> None:
    lines = project.perf(*FAST, "--repeat", "9", "--", "true").lines[1:-1]
    assert {line.split()[0] for line in lines} >= {"cpu", "wall", "minor_faults"}
    assert len({line.index("±") for line in lines if "±" in line}) == 1
    names = max(len(line.split()[0]) for line in lines) + 2
    assert all(line[names : names + 2] == "  " for line in lines)


def test_ctrl_c_ends_the_command_and_keeps_nothing(project: Project, marker: str) -> None:
    perf = started(project, "--shell", "--", f"setsid sleep {marker} & sleep {marker}")
    assert eventually(lambda: len(living(marker)) == 2)
    perf.send_signal(signal.SIGINT)
    _, said = perf.communicate(timeout=PATIENCE)
    assert perf.returncode == 130
    assert said.strip() == b"interrupted"
    assert living(marker) == []
    assert pending(project) == 0


def test_ctrl_c_on_the_terminal_reaches_perf_only(project: Project, marker: str) -> None:
    """The whole group gets the signal, as from a terminal; helper and command are told by perf."""
    perf = started(project, "--shell", "--", f"trap 'touch told' INT; sleep {marker}")
    assert eventually(lambda: len(living(marker)) == 1)
    os.killpg(perf.pid, signal.SIGINT)
    perf.communicate(timeout=PATIENCE)
    assert perf.returncode == 130
    assert living(marker) == []
    assert not (project.path / "told").exists()


def test_kill_9_takes_the_helper_and_the_command_along(project: Project, marker: str) -> None:
    perf = started(project, "--shell", "--", f"trap '' TERM; sleep {marker} & sleep {marker}")
    assert eventually(lambda: len(living(marker)) == 2)
    helped = helpers(perf.pid)
    assert helped
    perf.kill()
    perf.communicate(timeout=PATIENCE)
    assert eventually(lambda: living(marker) == [] and not any(Path(f"/proc/{pid}").exists() for pid in helped))
    project.perf(*FAST, "--repeat", "1", "--", "true")
    assert pending(project) == 1


def test_a_failure_is_one_message_and_no_profile(project: Project) -> None:
    done = project.perf(*FAST, "--", "sh", "-c", "echo why >&2; exit 3", code=6)
    assert "exited with code 3 in run 1; end of its output:\n  why" in done.err
    assert done.out == ""
    assert pending(project) == 0


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_elsewhere_than_on_linux_it_says_so(platform: str) -> None:
    """Also where nothing of Linux can be imported: the class loads, and refuses."""
    code = (
        f"import sys; sys.platform = {platform!r}\n"
        "from perfcore_collect_time import TimeCollector\n"
        "from perfcore.errors import PluginError\n"
        "from perfcore.model import Job\n"
        "try: TimeCollector().before(Job(argv=('true',), cmd='true'))\n"
        "except PluginError as error: print(error.message, error.hint, sep='; ')\n"
        "print('perfcore_collect_time.helper' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "it measures on Linux only; collect with another collector\nFalse\n"
