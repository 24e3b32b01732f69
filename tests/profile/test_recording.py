"""What a session gives a collector to write into, and what becomes of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from perfcore.errors import FormatError
from perfcore.model import Job
from perfcore.profile.recording import Run, Session
from perfcore.profile.stacks import Frame, Stacks
from perfcore.profile.table import ColumnSpec


def _session() -> Session:
    columns = [ColumnSpec("stack", "i64"), ColumnSpec("samples", "i64", role="value")]
    return Session(Job(argv=("true",), cmd="true"), columns=columns)


def test_stacks_become_tables_that_the_resources_refer_to() -> None:
    session = _session()
    run = Run(session, index=0, block=0, position=0, started=0)
    for names in (["main", "load"], ["main", "sort"], ["main", "load"]):
        run.rows.add(stack=session.stacks.add(map(Frame, names)), samples=1)
    tables = session.build_tables()
    stacks = Stacks.of(tables)
    rows = [row for row in tables["resources"]["stack"] if isinstance(row, int)]
    paths = [[stacks.names[function] for function in stacks.path(row)] for row in rows]
    assert paths == [["main", "load"], ["main", "sort"], ["main", "load"]]


def test_a_session_without_stacks_has_no_tables_of_them() -> None:
    assert set(_session().build_tables()) == {"resources"}


def test_stacks_that_were_used_and_stayed_empty_have_tables() -> None:
    session = _session()
    assert session.stacks.add(()) == -1
    assert set(session.build_tables()) == {"resources", "functions", "frames", "stacks"}


def test_stacks_written_in_both_ways_are_refused() -> None:
    session = _session()
    session.table("stacks").add(parent=None, frame=0)
    session.stacks.add([Frame("main")])
    with pytest.raises(FormatError, match="twice"):
        session.build_tables()


def test_a_collector_without_stacks_does_not_load_them() -> None:
    code = "import sys, perfcore.profile.recording; sys.exit('perfcore.profile.stacks' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_run_that_is_taken_along_has_a_row_of_its_own() -> None:
    session = _session()
    run = Run(session, index=4, block=6, position=0, started=0)
    run.following = 2
    run.rows.add(samples=1)
    run.take_along([10, 20], [True, False], {"samples": [2, 3]})
    resources = session.build_tables()["resources"]
    assert (list(resources["run"]), list(resources["samples"])) == ([4, 5, 6], [1, 2, 3])
    with pytest.raises(FormatError, match="3 runs were taken along where 2 follow"):
        run.take_along([1, 2, 3], [False] * 3, {"samples": [1, 2, 3]})
