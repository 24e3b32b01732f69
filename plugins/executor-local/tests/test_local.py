"""The executor `local`, by the contract of executors and in a repository."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from perfcore_executor_local import LocalExecutor
from perfcore_testing.executor import ExecutorContract

from perfcore import environment
from perfcore.errors import CommandFailedError, UsageError
from perfcore.measure.commands import job_config_id
from perfcore.measure.runner import Context
from perfcore.model import Job, Plan, Step
from perfcore.model.record import replace
from perfcore.plugins import Plugins


class TestLocal(ExecutorContract):
    @pytest.fixture
    def driver(self) -> LocalExecutor:
        return LocalExecutor()


def _context(**changes: object) -> Context:
    values = {"plugins": Plugins(), "options": lambda kind, name: {}, "machine": environment.facts(), **changes}
    return Context(**values)  # type: ignore[arg-type]


def _job(folder: Path, code: str, **changes: object) -> Job:
    return Job(argv=(sys.executable, "-S", "-c", code), cmd="python", cwd=folder, **changes)  # type: ignore[arg-type]


class TestLocalInARepository(ExecutorContract):
    @pytest.fixture
    def driver(self) -> LocalExecutor:
        return LocalExecutor()

    @pytest.fixture
    def context(self, tmp_path: Path) -> Context:
        return _context(directory=tmp_path / "plans")


def test_runs_of_several_jobs_share_blocks_and_one_session(tmp_path: Path) -> None:
    plan = Plan(
        jobs=(_job(tmp_path, "1"), _job(tmp_path, "2")), schedule={"repeat": 3, "warmup": 1}, context=_context()
    )
    tables = [measured.profile.tables["runs"] for measured in LocalExecutor().submit(plan) if measured.profile]
    assert [list(table["block"]) for table in tables] == [[0, 1, 2, 3]] * 2
    assert [list(table["warmup"]) for table in tables] == [[True, False, False, False]] * 2
    assert len({session for table in tables for session in table["session"]}) == 1
    assert list(tables[0]["position"]) != list(tables[1]["position"])


def test_after_the_time_no_block_begins_but_the_first_and_runs_keep_their_partners(tmp_path: Path) -> None:
    jobs = (_job(tmp_path, "1"), _job(tmp_path, "2"))
    for warmup, warmups in ((0, [False]), (2, [True, True, False])):
        schedule = {"repeat": 5, "warmup": warmup, "retry_disturbed": 5}
        plan = Plan(jobs=jobs, schedule=schedule, context=_context(until=time.monotonic()))
        tables = [measured.profile.tables["runs"] for measured in LocalExecutor().submit(plan) if measured.profile]
        assert [list(table["warmup"]) for table in tables] == [warmups] * 2


def test_the_plan_outweighs_the_job_and_the_job_the_configuration(tmp_path: Path) -> None:
    context = _context(schedule={"repeat": 2, "warmup": 0}, options=lambda kind, name: {"repeat": 3})

    def runs(step: Step, **schedule: int) -> int:
        plan = Plan(jobs=(_job(tmp_path, "1", collector=step),), schedule=schedule, context=context)
        (measured,) = LocalExecutor().submit(plan)
        assert measured.profile is not None
        return measured.profile.tables["runs"].rows

    assert runs(Step(name="time")) == 3
    assert runs(Step(name="time", params={"repeat": 4})) == 4
    assert runs(Step(name="time", params={"repeat": 4}), repeat=5) == 5


def test_what_decides_whether_profiles_are_comparable(tmp_path: Path) -> None:
    (tmp_path / "load").write_text("a")

    def identity(**changes: object) -> str:
        job = _job(tmp_path, "1", **changes)
        (measured,) = LocalExecutor().submit(Plan(jobs=(job,), schedule={"repeat": 1, "warmup": 0}, context=_context()))
        assert measured.profile is not None
        return measured.profile.config_id

    same = identity(workload="load")
    assert identity(workload="load") == same
    assert identity(workload="load", version="c0" * 20, dirty=True) == same
    assert identity(workload="load", collector=Step(name="time", params={"repeat": 2})) == same
    assert identity(workload="load", env={"LEVEL": "1"}) != same
    (tmp_path / "load").write_text("b")
    assert identity(workload="load") != same
    (tmp_path / "other").write_text("a")
    assert identity(workload="other") == same


def test_a_generated_workload_counts_by_its_content_wherever_it_lies(tmp_path: Path) -> None:
    def identity(path: Path) -> str:
        job = replace(_job(tmp_path, "1"), argv=("cat", "{workload}"), workload="lines/1", workload_file=path)
        return job_config_id(job, {}, "time")

    for name, content in (("first", "a"), ("second", "a"), ("third", "b")):
        (tmp_path / name).write_text(content)
    assert identity(tmp_path / "first") == identity(tmp_path / "second") != identity(tmp_path / "third")
    with pytest.raises(UsageError, match="not on this machine"):
        identity(tmp_path / "missing")


def test_a_job_runs_with_the_path_of_its_generated_workload(tmp_path: Path) -> None:
    job = replace(_job(tmp_path, "1"), argv=("cat", "--in={workload}"), workload_file=Path("/a b"))
    assert job.with_workload().argv == ("cat", "--in=/a b")
    assert replace(job, argv=("cat {workload} | wc",), shell=True).with_workload().argv == ("cat '/a b' | wc",)
    assert replace(job, workload_file=None).with_workload().argv == job.argv


def test_types_of_one_collector_are_not_comparable(tmp_path: Path) -> None:
    job = _job(tmp_path, "1")
    own, other, third = (job_config_id(job, {}, type) for type in ("time", "time.sampled", "time.forced"))
    assert len({own, other, third}) == 3
    assert other == job_config_id(job, {}, "time.sampled")


def test_the_worst_exit_code_is_kept(tmp_path: Path) -> None:
    step = Step(name="time", params={"on_failure": "ignore"})
    code = "import os; n = len(os.listdir()); open(str(n), 'w'); raise SystemExit((0, 3, 1)[n % 3])"
    folder = tmp_path / "runs"
    folder.mkdir()
    plan = Plan(jobs=(_job(folder, code, collector=step),), schedule={"repeat": 3, "warmup": 0}, context=_context())
    (measured,) = LocalExecutor().submit(plan)
    assert measured.profile is not None
    assert measured.profile.header.exitcode == 3


def test_an_error_tells_which_command(tmp_path: Path) -> None:
    plan = Plan(jobs=(_job(tmp_path, "raise SystemExit(4)"),), schedule={"repeat": 1}, context=_context())
    (measured,) = LocalExecutor().submit(plan)
    assert isinstance(measured.error, CommandFailedError)
    assert "4" in str(measured.error)


def test_nothing_of_a_plan_is_left(tmp_path: Path) -> None:
    directory = tmp_path / "plans"
    plan = Plan(jobs=(_job(tmp_path, "1"),), schedule={"repeat": 1}, context=_context(directory=directory))
    list(LocalExecutor().submit(plan))
    assert [path.name for path in directory.iterdir() if path.is_dir()] == []
