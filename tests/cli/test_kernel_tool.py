"""The verbs of the Linux kernel's tool of the same name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from perfcore_testing.project import Project

TOOL = '#!/bin/sh\nprintf "<%s>\\n" "$@"\nexit 3\n'
OURS = "#!/bin/sh\n# from perfcore.cli import main\nexit 5\n"
START = """#!{python}
import sys
from perfcore.cli import kernel_tool, main
kernel_tool.PATHS = ({path!r},)
sys.exit(main())
"""


def _program(directory: Path, name: str, text: str) -> str:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def perf(tmp_path: Path) -> str:
    """`perf`, beside which a kernel's tool is installed."""
    tool = _program(tmp_path / "usr", "perf", TOOL)
    return _program(tmp_path / "environment", "perf", START.format(python=sys.executable, path=tool))


def test_its_verbs_get_their_arguments_unchanged(project: Project, perf: str) -> None:
    words = ("stat", "-e", "cycles", "--", "sort", "--json", "", "a b")
    done = project.run(perf, *words)
    assert (done.code, done.lines) == (3, [f"<{word}>" for word in words])
    assert done.err == "", "a note is for people"


def test_our_verbs_are_ours(project: Project, perf: str) -> None:
    assert "no profiles of this version" in project.run(perf, "status").out
    assert "perf has no command 'recrod'" in project.run(perf, "recrod").err


def test_what_is_not_a_whole_command_line_of_perf_is_a_mistake(project: Project, perf: str) -> None:
    done = project.run(perf, "-C", ".", "record", "sort")
    assert (done.code, done.out) == (2, "")
    renamed = Path(perf).rename(Path(perf).with_name("perfcore"))
    done = project.run(str(renamed), "record", "sort")
    assert (done.code, done.out) == (2, "")
    assert "perf has no command 'record'" in done.err


def test_without_such_a_tool_the_message_says_so(project: Project, tmp_path: Path) -> None:
    for path in (tmp_path / "none", Path(_program(tmp_path / "usr", "perf", OURS))):
        start = _program(tmp_path / "environment", "perf", START.format(python=sys.executable, path=str(path)))
        done = project.run(start, "record", "sort")
        assert (done.code, done.out) == (2, "")
        assert "`perf record` is a command of the Linux kernel's tool" in done.err
