"""The laws of a collector that runs no program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from perfcore_testing import collector
from perfcore_testing.collector import CollectorContract

from perfcore.hookspecs import Collector
from perfcore.model import Job
from perfcore.model.record import replace
from perfcore.profile.recording import Outcome, Run, Session
from perfcore.profile.table import ColumnSpec


class Sizes:
    """The sizes of the files that the words name."""

    def before(self, job: Job) -> Session:
        columns = [ColumnSpec("file", "str"), ColumnSpec("size", "i64", "B", "value", exact=True)]
        return Session(job, columns=columns)

    def collect(self, session: Session, run: Run) -> None:
        for word in session.job.argv:
            run.rows.add(file=word, size=(session.job.cwd / word).stat().st_size)
        run.exitcode = 0

    def after(self, session: Session, outcome: Outcome) -> None: ...


class TestSizes(CollectorContract):
    runs_programs = False

    @pytest.fixture
    def driver(self) -> Collector:
        return Sizes()

    def job(self, folder: Path, code: str, *words: str, **changes: Any) -> Job:
        (folder / "file").write_text(code)
        return replace(Job(argv=("file",), cmd="file", cwd=folder), **changes)


def test_every_law_of_programs_is_a_law() -> None:
    assert all(callable(getattr(CollectorContract, name)) for name in collector._OF_PROGRAMS)
