"""Building a version with real commands."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from perfcore_executor_local.build import run_build
from perfcore_testing import hostile

from perfcore.errors import CommandFailedError, UsageError
from perfcore.model import Build


def test_commands_run_one_after_the_other_at_the_root_of_the_tree(tmp_path: Path) -> None:
    run_build(Build(commands=("touch 'a b'", "mv 'a b' c")), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_a_failure_ends_it_with_the_last_of_what_was_printed(tmp_path: Path) -> None:
    noise = f"{sys.executable} -S -c \"print('x' * 100000); print('\\x1b[31mlast\\u202e'); raise SystemExit(3)\""
    with pytest.raises(CommandFailedError) as raised:
        run_build(Build(commands=(noise, "touch never")), tmp_path)
    assert "exit code 3" in str(raised.value)
    assert "last" in str(raised.value)
    assert hostile.unsafe(str(raised.value)) == set()
    assert len(str(raised.value)) < 4000
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_not_there_or_is_killed_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommandFailedError, match="could not be started"):
        run_build(Build(commands=("no-such-program-8f2",)), tmp_path)
    with pytest.raises(CommandFailedError, match="signal 9"):
        run_build(Build(commands=("kill -9 $$",), shell=True), tmp_path)


def test_one_that_takes_too_long_is_ended_with_all_its_children(tmp_path: Path) -> None:
    building = Build(commands=("sleep 600 & echo $! > pid; wait",), shell=True, timeout=0.5)
    with pytest.raises(CommandFailedError, match=r"longer than 0\.5 s") as raised:
        run_build(building, tmp_path)
    assert raised.value.hint is not None
    assert "execute.timeout" in raised.value.hint
    assert _is_gone(int((tmp_path / "pid").read_text()))


def test_a_shell_is_used_only_where_it_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs a shell"):
        run_build(Build(commands=("echo a > made",)), tmp_path)
    run_build(Build(commands=("echo a > made",), shell=True), tmp_path)
    assert (tmp_path / "made").read_text() == "a\n"


def test_it_waits_for_no_input(tmp_path: Path) -> None:
    run_build(Build(commands=("cat",), timeout=600), tmp_path)


def _is_gone(pid: int) -> bool:
    """Whether a process ends: one that was killed may still wait to be reaped."""
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False
