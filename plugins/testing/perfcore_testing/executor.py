"""The contract of executors. Inherit from it in your tests:

    class TestQueue(ExecutorContract):
        collector = Step(name="time")

        @pytest.fixture
        def driver(self):
            return Queue()

The jobs run Python with a line of code. Where a plan needs a context (`Plan.context`), override `context`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from perfcore.errors import PerfError
from perfcore.model import Job, Plan, Profile, Step
from perfcore_testing import hostile
from perfcore_testing.kinds import misfits
from perfcore_testing.transforming import survives_storing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from perfcore.hookspecs import Executor
    from perfcore.model import Measured


class ExecutorContract:
    """What every executor keeps. Override `driver`; `collector` measures the jobs."""

    collector = Step(name="time")
    schedule: ClassVar[Mapping[str, Any]] = {"repeat": 2, "warmup": 0}

    @pytest.fixture
    def driver(self) -> Executor:
        raise NotImplementedError("override the fixture `driver` and return an executor")

    @pytest.fixture
    def context(self) -> Any:
        """What the submitting process offers."""
        return None

    def test_it_fits_the_kind(self, driver: Executor) -> None:
        """Its method has the specification's arguments, its options say what they are for."""
        assert misfits("executor", driver) == []

    def test_every_job_is_answered_in_order(self, driver: Executor, context: Any, tmp_path: Path) -> None:
        """Each by its profile, whose command is the job's, in a form that can be stored."""
        plan = self._plan(tmp_path, context, "print('one')", "print('two')", "print('three')")
        measured = list(driver.submit(plan))
        assert tuple(one.job for one in measured) == plan.jobs
        for one in measured:
            assert one.error is None
            assert isinstance(one.profile, Profile)
            assert one.profile.header.argv == one.job.argv
            assert survives_storing(one.profile)

    def test_the_jobs_are_really_run(self, driver: Executor, context: Any, tmp_path: Path) -> None:
        """As often as the schedule says, in their folder."""
        plan = self._plan(tmp_path, context, "print('x', file=open('trace', 'a'))")
        list(driver.submit(plan))
        assert (tmp_path / "trace").read_text().count("x") == self.schedule["repeat"]

    def test_a_job_that_fails_does_not_end_the_others(self, driver: Executor, context: Any, tmp_path: Path) -> None:
        """A command that exits with an error and one that is not there are PerfErrors in their places."""
        plan = self._plan(tmp_path, context, "raise SystemExit(3)", "print('fine')")
        missing = Job(
            argv=("no-such-program-1f3a",), cmd="no-such-program-1f3a", cwd=tmp_path, collector=self.collector
        )
        plan = Plan(jobs=(*plan.jobs, missing), schedule=plan.schedule, context=context)
        failed, fine, gone = driver.submit(plan)
        assert _refused(failed)
        assert fine.error is None
        assert fine.profile is not None
        assert _refused(gone)

    def test_arguments_arrive_as_they_are(self, driver: Executor, context: Any, tmp_path: Path) -> None:
        """Quotes, blanks, newlines and semicolons are text; no shell reads them."""
        words = tuple(name for name in hostile.NAMES if "\x00" not in name)
        code = "import sys; open('words', 'w', encoding='utf-8', newline='').write('\\0'.join(sys.argv[1:]))"
        job = Job(argv=(sys.executable, "-c", code, *words), cmd="words", cwd=tmp_path, collector=self.collector)
        (one,) = driver.submit(Plan(jobs=(job,), schedule=self.schedule, context=context))
        assert one.error is None
        assert (tmp_path / "words").read_bytes().decode("utf-8").split("\0") == list(words)

    def test_the_plan_stays_as_it_was(self, driver: Executor, context: Any, tmp_path: Path) -> None:
        """It may be submitted again."""
        plan = self._plan(tmp_path, context, "print('one')")
        list(driver.submit(plan))
        assert plan == self._plan(tmp_path, context, "print('one')")

    def test_a_plan_without_jobs_gives_nothing(self, driver: Executor, context: Any) -> None:
        """And is no error."""
        assert list(driver.submit(Plan(jobs=(), schedule=self.schedule, context=context))) == []

    def _plan(self, folder: Path, context: Any, *codes: str) -> Plan:
        jobs = tuple(
            Job(argv=(sys.executable, "-c", code), cmd="python", cwd=folder, collector=self.collector) for code in codes
        )
        return Plan(jobs=jobs, schedule=self.schedule, context=context)


def _refused(one: Measured) -> bool:
    return one.profile is None and isinstance(one.error, PerfError) and hostile.unsafe(str(one.error)) == set()
