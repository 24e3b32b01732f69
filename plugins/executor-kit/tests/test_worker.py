"""A worker behind pipes, by the contract of executors; records that are damaged, newer or cut off."""

from __future__ import annotations

import io
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from perfcore_executor_kit import bundle, plan_format, worker
from perfcore_executor_local import LocalExecutor
from perfcore_testing.executor import ExecutorContract

from perfcore.errors import CommandFailedError, FormatError, PerfError, PluginError, StorageError
from perfcore.model import Attempt, Build, Job, Measured, Plan, Requirement, Source, Step
from perfcore.model.listener import SilentListener


class Pipes:
    """Measures each plan in a process of its own."""

    def submit(self, plan: Plan, listener: object = None) -> Iterator[Measured]:
        command = [sys.executable, "-m", "perfcore_executor_kit.worker"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(plan_format.encode_plan(plan))
                process.stdin.flush()
                yield from worker.answers(plan, process.stdout, listener)  # type: ignore[arg-type]
            finally:
                process.stdin.close()  # ends the worker, which cleans up


class TestPipes(ExecutorContract):
    workers = True

    @pytest.fixture
    def driver(self) -> Pipes:
        return Pipes()


PLAN = Plan(
    jobs=(
        Job(
            argv=("./prog", "a b", "caf\udce9", "\n"),
            cmd="./prog",
            cwd=Path("sub"),
            workload_file=Path("/tmp/lines/1"),
            env={"A": "1"},
            collector=Step(name="time", params={"repeat": 3, "budget": None}),
            postprocessors=(Step(name="filter"),),
            version="c0" * 20,
        ),
    ),
    schedule={"repeat": 2},
    sessions=((0,), (0,)),
    source=Source(kind="bundle", bundles={"c0" * 20: b"\0\xff"}),
    build=Build(commands=("make",), timeout=5.0),
    requires=(Requirement(kind="collector", name="time", distribution="perfcore-collect-time", version="0.2"),),
    wishes={"cpus": 8},
    seconds=1.5,
    checkpoint=1.0,
)


@pytest.mark.parametrize("plan", [PLAN, Plan(jobs=(), sessions=None, context=object())])
def test_plans_survive_bytes(plan: Plan) -> None:
    assert plan_format.decode_plan(plan_format.encode_plan(plan)) == plan


@pytest.mark.parametrize("error", [CommandFailedError("it failed", hint="mend it"), PluginError("bad", plugin="x 1")])
def test_errors_survive_bytes(error: PerfError) -> None:
    answer = Measured(job=PLAN.jobs[0], error=error, retry=True, attempts=(Attempt(worker="h", started=1),), log="l")
    copy = plan_format.decode_measured(plan_format.encode_measured(answer))
    assert (copy.job, copy.retry, copy.attempts, copy.log) == (answer.job, True, answer.attempts, "l")
    assert copy.error is not None
    assert (type(copy.error), str(copy.error)) == (type(error), str(error))
    assert (copy.error.hint, copy.error.exit_code) == (error.hint, error.exit_code)


def test_every_change_of_a_byte_is_refused() -> None:
    data = plan_format.encode_plan(PLAN).rstrip(b"\n")
    for position in range(len(data)):
        for damaged in (data[:position], data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]):
            with pytest.raises(FormatError):
                plan_format.decode_plan(damaged)


def test_newer_formats_and_other_records_are_refused() -> None:
    data = plan_format.encode_plan(PLAN)
    with pytest.raises(FormatError, match="format 2; this perfcore reads up to 1"):
        plan_format.decode_plan(data.replace(b'"format":1', b'"format":2', 1))
    with pytest.raises(FormatError, match="no measured"):
        plan_format.decode_measured(data)
    with pytest.raises(FormatError, match="that JSON cannot"):
        plan_format.encode_plan(Plan(jobs=(), wishes={"cpus": float("nan")}))


def test_a_plan_with_something_that_is_no_data_is_refused() -> None:
    with pytest.raises(FormatError, match="JSON cannot"):
        plan_format.encode_plan(Plan(jobs=(), wishes={"cpus": object()}))


def test_a_profile_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    job = Job(argv=(sys.executable, "-c", "1"), cmd="python", cwd=tmp_path)
    (answer,) = LocalExecutor().submit(Plan(jobs=(job,), schedule={"repeat": 1, "warmup": 0}))
    data = plan_format.encode_measured(answer)
    assert plan_format.decode_measured(data).profile == answer.profile
    with pytest.raises(FormatError, match="cut off"):
        plan_format.decode_measured(data[:-1])
    assert [a.retry for a in worker.answers(Plan(jobs=(job,)), io.BytesIO(data[:-1]))] == [True]


def test_a_worker_that_cannot_use_its_disk_names_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its paths are looked for where the plan came from."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    job = Job(argv=("true",), cmd="true", cwd=Path(), collector=Step(name="time"), version="c0" * 20)
    source = Source(kind="bundle", bundles={"c0" * 20: bundle.pack(tmp_path / "tree")})
    with pytest.raises(StorageError, match=rf"{tmp_path}.* \(on {re.escape(platform.node())}\)$"):
        list(Pipes().submit(Plan(jobs=(job,), source=source)))


@pytest.mark.parametrize(
    ("name", "version", "says"), [("tmie", "", "there is no collector 'tmie'"), ("time", "0.0.1", "the plan needs")]
)
def test_a_worker_without_the_plugin_names_the_machine(name: str, version: str, says: str) -> None:
    """Else it is looked for where the plan came from, where it is."""
    needed = Requirement(kind="collector", name=name, distribution="", version=version)
    with pytest.raises(PluginError, match=rf"^{says}.* \(on {re.escape(platform.node())}\)$"):
        list(Pipes().submit(Plan(jobs=(Job(argv=("true",), cmd="true"),), requires=(needed,))))


def test_a_listener_hears_the_progress_of_a_worker(tmp_path: Path) -> None:
    class Listener(SilentListener):
        texts: list[str]

        def __init__(self) -> None:
            self.texts = []

        def progress(self, done: int, total: int, text: str) -> None:
            self.texts.append(f"{done}/{total} {text}")

    listener = Listener()
    job = Job(argv=(sys.executable, "-c", "1"), cmd="python", cwd=tmp_path)
    (answer,) = Pipes().submit(Plan(jobs=(job,), schedule={"repeat": 2, "warmup": 0}), listener)
    assert answer.error is None
    assert listener.texts == ["0/2 python", "1/2 python"]


def test_a_listener_hears_of_a_failure_at_once_and_what_failed(tmp_path: Path) -> None:
    class Listener(SilentListener):
        failures: list[tuple[str, str]]

        def __init__(self) -> None:
            self.failures = []

        def failed(self, subject: str, error: PerfError) -> None:
            self.failures.append((subject, str(error)))

    tree = tmp_path / "tree"
    tree.mkdir()
    version = "1f" * 20
    plan = Plan(
        jobs=(Job(argv=("true",), cmd="true", version=version),),
        schedule={"repeat": 1, "warmup": 0},
        source=Source(kind="bundle", bundles={version: bundle.pack(tree)}),
        build=Build(commands=("sh -c 'echo broken; exit 3'",)),
    )
    listener = Listener()
    (answer,) = Pipes().submit(plan, listener)
    assert "broken" in str(answer.error)
    assert listener.failures == [(f"version {version[:10]}", str(answer.error))]


def test_output_of_builds_does_not_disturb_the_answers(tmp_path: Path) -> None:
    job = Job(argv=(sys.executable, "-c", "1"), cmd="python")
    plan = Plan(
        jobs=(job,),
        schedule={"repeat": 1, "warmup": 0},
        source=Source(kind="path", root=tmp_path),
        build=Build(commands=("echo built",)),
        wishes={"cpus": 10**6},
    )
    (answer,) = Pipes().submit(plan)
    assert answer.error is None
    assert "built" in answer.log
    assert "the plan wishes cpus 1000000" in answer.log
    assert [attempt.error for attempt in answer.attempts] == [""]
