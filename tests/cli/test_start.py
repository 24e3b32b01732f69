"""What a command does to the process that is its own, and not to that of others."""

from __future__ import annotations

import gc
import sys

import pytest
from perfcore_testing.project import Project

from perfcore.cli import main

SCRIPT = """
import atexit, gc, sys
from perfcore.cli import main
atexit.register(lambda: print("frozen", gc.get_freeze_count() > 0))
before = gc.get_threshold()[0]
code = main()
print("seldom", gc.get_threshold()[0] > before)
atexit.register(lambda: print("frozen", gc.get_freeze_count() > 0))
sys.exit(code)
"""


def test_a_process_looks_less_for_garbage_and_not_at_all_when_everything_ends(project: Project) -> None:
    done = project.run(sys.executable, "-c", SCRIPT, "status")
    assert done.lines[-3:] == ["seldom True", "frozen False", "frozen True"], done


def test_who_calls_a_command_keeps_their_own_ways(capsys: pytest.CaptureFixture[str]) -> None:
    before = gc.get_threshold()
    assert main(["--help"]) == 0
    assert gc.get_threshold() == before
    assert "perf" in capsys.readouterr().out
