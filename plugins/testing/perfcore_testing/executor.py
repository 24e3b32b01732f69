"""The contract of executors. Inherit from it in your tests:

    class TestQueue(ExecutorContract):
        collector = Step(name="time")

        @pytest.fixture
        def driver(self):
            return Queue()

The jobs run Python with a line of code. Where a plan needs a context (`Plan.context`), override `context`. An executor
that measures in other processes says `workers = True`, one that makes no trees of its own `makes_trees = False`.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from perfcore.errors import PerfError
from perfcore.model import Job, Plan, Profile, Requirement, Source, Step
from perfcore_testing import hostile
from perfcore_testing.kinds import misfits
from perfcore_testing.processes import PATIENCE, eventually, living, marked
from perfcore_testing.transforming import survives_storing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from perfcore.hookspecs import Executor
    from perfcore.model import Measured


VERSION = "1f" * 20

# Says where the job runs, then waits for the file `go`: `python -c WAIT PLACE MARKER`.
WAIT = """
import os, sys, time
place = sys.argv[1]
with open(place + '.part', 'w') as file:
    file.write(f'{os.getpid()} {os.getcwd()}')
os.rename(place + '.part', place)
end = time.monotonic() + 600
while not os.path.exists(place + '.go'):
    if time.monotonic() > end:
        sys.exit(1)
    time.sleep(0.01)
"""
CHILD = """
import pickle, sys
from perfcore_executor_kit import plan_format
with open(sys.argv[1], 'rb') as file:
    driver, plan = pickle.load(file)
answers = list(driver.submit(plan_format.decode_plan(plan)))
with open(sys.argv[2], 'wb') as file:
    pickle.dump(([plan_format.encode_measured(answer) for answer in answers], answers), file)
"""


class ExecutorContract:
    """What every executor keeps. Override `driver`; `collector` measures the jobs."""

    collector = Step(name="time")
    workers: ClassVar[bool] = False
    makes_trees: ClassVar[bool] = True
    schedule: ClassVar[Mapping[str, Any]] = {"repeat": 2, "warmup": 0}

    @pytest.fixture
    def driver(self) -> Executor:
        raise NotImplementedError("override the fixture `driver` and return an executor")

    @pytest.fixture(autouse=True)
    def _own_cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The trees of plans stand below the user's cache."""
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    @pytest.fixture
    def marker(self) -> Iterator[str]:
        """A word on the command lines of jobs."""
        with marked() as word:
            yield word

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
        assert tuple(job_result.job for job_result in measured) == plan.jobs
        for job_result in measured:
            assert job_result.error is None
            assert isinstance(job_result.profile, Profile)
            assert job_result.profile.header.argv == job_result.job.argv
            assert survives_storing(job_result.profile)

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
        (job_result,) = driver.submit(Plan(jobs=(job,), schedule=self.schedule, context=context))
        assert job_result.error is None
        assert (tmp_path / "words").read_bytes().decode("utf-8").split("\0") == list(words)

    def test_the_plan_stays_as_it_was(self, driver: Executor, context: Any, tmp_path: Path) -> None:
        """It may be submitted again."""
        plan = self._plan(tmp_path, context, "print('one')")
        list(driver.submit(plan))
        assert plan == self._plan(tmp_path, context, "print('one')")

    def test_a_plan_without_jobs_gives_nothing(self, driver: Executor, context: Any) -> None:
        """And is no error."""
        assert list(driver.submit(Plan(jobs=(), schedule=self.schedule, context=context))) == []

    def test_answers_stream(self, driver: Executor, context: Any, tmp_path: Path) -> None:
        """Those of one session are there before the next one is over."""
        waiting = self._waiting(tmp_path / "second")
        first = Job(argv=(sys.executable, "-c", "1"), cmd="python", cwd=tmp_path, collector=self.collector)
        plan = Plan(jobs=(first, waiting), schedule=self.schedule, sessions=((0,), (1,)), context=context)
        answers = iter(driver.submit(plan))
        assert next(answers).job == first
        (tmp_path / "second.go").touch()
        (second,) = answers
        assert (second.job, second.error) == (waiting, None)

    def test_a_plan_and_its_answers_travel(self, driver: Executor, tmp_path: Path) -> None:
        """By pickle and as bytes, to a process in another directory, where the submitter's trees are out of reach."""
        if not self.makes_trees:
            pytest.skip("this executor makes no trees")
        code = "open(__import__('sys').argv[1], 'a').write(open('input').read())"
        plan = self._bundled(tmp_path, (sys.executable, "-c", code, str(tmp_path / "trace")))
        answers = _answers_elsewhere(driver, plan, tmp_path)
        assert [answer.job for answer in answers] == list(plan.jobs)
        for answer in answers:
            assert answer.error is None
            assert answer.profile is not None
            assert answer.profile.origin == VERSION
            assert survives_storing(answer.profile)
        assert (tmp_path / "trace").read_text() == "content" * self.schedule["repeat"]

    def test_a_plan_that_needs_another_plugin_is_refused(self, driver: Executor, tmp_path: Path) -> None:
        """By name and version, before anything runs."""
        if not self.makes_trees:
            pytest.skip("this executor leaves the plugins of a plan to others")
        plan = self._bundled(tmp_path, (sys.executable, "-c", "open(r'" + str(tmp_path / "ran") + "', 'w')"))
        needed = Requirement(kind="collector", name=self.collector.name, distribution="acme-absent", version="9.9")
        plan = Plan(jobs=plan.jobs, schedule=plan.schedule, source=plan.source, requires=(needed,))
        try:
            errors = [str(answer.error) for answer in driver.submit(plan)]
        except PerfError as error:
            errors = [str(error)]
        assert errors
        assert all("acme-absent" in error and "9.9" in error for error in errors)
        assert not (tmp_path / "ran").exists()

    def test_a_closed_iterator_leaves_nothing(
        self, driver: Executor, context: Any, tmp_path: Path, marker: str
    ) -> None:
        """No process and no tree: whoever closes it has cancelled the plan."""
        first, second = self._waiting(tmp_path / "first", marker), self._waiting(tmp_path / "second", marker)
        (tmp_path / "first.go").touch()
        plan = Plan(jobs=(first, second), schedule=self.schedule, sessions=((0,), (1,)), context=context)
        if self.makes_trees:
            plan = self._bundled(tmp_path, first.argv, second.argv)
        answers: Any = driver.submit(plan)
        assert next(iter(answers)).error is None
        answers.close()
        assert eventually(lambda: living(marker) == [])
        if self.makes_trees:
            tree = Path((tmp_path / "first").read_text().partition(" ")[2])
            assert tree != tmp_path
            assert eventually(lambda: not tree.exists())

    def test_a_lost_worker_is_a_failure_that_may_be_tried_again(
        self, driver: Executor, context: Any, tmp_path: Path, marker: str
    ) -> None:
        """Within a time, and nothing of the job goes on."""
        if not self.workers:
            pytest.skip("this executor measures in the process that submits")
        waiting = self._waiting(tmp_path / "job", marker)
        plan = Plan(jobs=(waiting,), schedule=self.schedule, context=context)
        answers: list[Measured] = []
        thread = threading.Thread(target=lambda: answers.extend(driver.submit(plan)), daemon=True)
        thread.start()
        assert eventually((tmp_path / "job").exists)
        os.kill(_child_above(int((tmp_path / "job").read_text().partition(" ")[0])), signal.SIGKILL)
        thread.join(PATIENCE)
        assert not thread.is_alive()
        (answer,) = answers
        assert _refused(answer)
        assert answer.retry
        assert answer.job == waiting
        assert eventually(lambda: living(marker) == [])

    def _waiting(self, place: Path, *words: str) -> Job:
        """A job that runs until there is a file `PLACE.go`."""
        argv = (sys.executable, "-c", WAIT, str(place), *words)
        return Job(argv=argv, cmd="wait", cwd=place.parent, collector=self.collector)

    def _bundled(self, directory: Path, *argvs: tuple[str, ...]) -> Plan:
        """Jobs in the subdirectory of a tree that only the plan holds, each in a session of its own."""
        from perfcore_executor_kit import bundle

        tree = directory / "tree"
        (tree / "sub").mkdir(parents=True)
        (tree / "sub" / "input").write_text("content")
        source = Source(kind="bundle", bundles={VERSION: bundle.pack(tree)})
        shutil.rmtree(tree)
        jobs = tuple(
            Job(argv=argv, cmd="job", cwd=Path("sub"), version=VERSION, collector=self.collector) for argv in argvs
        )
        sessions = tuple((position,) for position in range(len(jobs)))
        return Plan(jobs=jobs, schedule=self.schedule, sessions=sessions, source=source)

    def _plan(self, folder: Path, context: Any, *codes: str) -> Plan:
        jobs = tuple(
            Job(argv=(sys.executable, "-c", code), cmd="python", cwd=folder, collector=self.collector) for code in codes
        )
        return Plan(jobs=jobs, schedule=self.schedule, context=context)


def _refused(one: Measured) -> bool:
    return one.profile is None and isinstance(one.error, PerfError) and hostile.unsafe(str(one.error)) == set()


def _answers_elsewhere(driver: Executor, plan: Plan, directory: Path) -> list[Measured]:
    """What a child process in another directory gets, which it hands back by pickle and as bytes. A driver that does
    not pickle, because it holds a connection, is asked here."""
    from perfcore_executor_kit import plan_format

    directory_elsewhere = directory / "elsewhere"
    directory_elsewhere.mkdir()
    travelled = plan_format.encode_plan(pickle.loads(pickle.dumps(plan)))
    try:
        (directory / "plan").write_bytes(pickle.dumps((driver, travelled)))
    except (TypeError, AttributeError, pickle.PicklingError):
        answers = list(driver.submit(plan_format.decode_plan(travelled)))
        return [plan_format.decode_measured(plan_format.encode_measured(answer)) for answer in answers]
    paths = [path for path in sys.path if path]
    subprocess.run(
        [sys.executable, "-c", CHILD, str(directory / "plan"), str(directory / "answers")],
        cwd=directory_elsewhere,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        check=True,
        timeout=PATIENCE,
    )
    encoded, pickled = pickle.loads((directory / "answers").read_bytes())
    decoded = [plan_format.decode_measured(answer) for answer in encoded]
    assert [(a.job, a.profile) for a in decoded] == [(a.job, a.profile) for a in pickled]
    return decoded


def _child_above(pid: int) -> int:
    """The child of this process from which a process descends: the worker."""
    # Not the process itself: a worker may start the job by a helper of its own.
    while (parent := _parent(pid)) != os.getpid():
        pid = parent
    return pid


def _parent(pid: int) -> int:
    """By /proc, whose second field may hold blanks and parentheses."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
