"""The collector `pytest`: options, and the steps of a session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from perfcore.errors import CommandFailedError, UsageError
from perfcore.profile.recording import Session
from perfcore.settings import option
from perfcore.text import plural

if TYPE_CHECKING:
    from perfcore.model import Job
    from perfcore.profile.recording import Outcome, Run
    from perfcore_collect_pytest.runs import Runs

WHOLE = "."
"""The command for the tests that pytest finds by itself, in its `testpaths` if the project has them."""


@attrs.frozen
class PytestSettings:
    """The command is arguments of pytest. Repeats and order belong to the schedule."""

    select: str = option(
        "", help="Only tests that fit this expression of pytest's -k.", flags=("-k",), metavar="EXPRESSION"
    )
    arguments: str = option(
        "",
        help="More arguments of pytest, split as by a shell, that leave the history the same.",
        metavar="TEXT",
    )
    python: str | None = option(
        None,
        help="The interpreter of the tests: a program of PATH, or a path from the command's folder. Default: that of "
        "execute.environment, or else that of perf.",
        identity=True,
        metavar="PROGRAM",
    )
    timeout: float = option(60.0, help="The time of a test with its fixtures.", unit="s", minimum=0.001)


class PytestCollector:
    """Measures the tests of pytest that use the fixture `perf` or `benchmark`, each as a series of its own: the command
    is arguments of pytest, or `.` for all tests. A run is a process."""

    Settings = PytestSettings
    contract = "perfcore_collect_pytest.contract:PytestContract"

    def __init__(self, settings: PytestSettings | None = None) -> None:
        self.settings = settings or PytestSettings()

    def before(self, job: Job) -> Session:
        """Nothing runs yet: which tests there are is known when pytest has collected them in the first run."""
        from perfcore_collect_bench.suite import LOOPS, NAME, TIMES
        from perfcore_collect_bench.worker_process import interpreter_of

        from perfcore_collect_pytest.runs import Runs

        if job.shell:
            raise UsageError("tests are measured without a shell", hint="name their folder: perf collect pytest tests")
        arguments = self._arguments(job)
        interpreter = interpreter_of(job, self.settings.python, (Path(__file__).parent,))
        if not interpreter.folder.is_dir():
            raise CommandFailedError(f"there is no folder {interpreter.folder}")
        state = Runs(interpreter=interpreter, arguments=arguments, timeout=self.settings.timeout)
        return Session(job, columns=[NAME, *TIMES, LOOPS], state=state)

    def collect(self, session: Session, run: Run) -> None:
        """One run of all tests that work."""
        from perfcore_collect_bench.collector import WORKERS
        from perfcore_collect_bench.measuring import seed_of
        from perfcore_collect_kit.command import shown

        runs: Runs = session.state
        assert session.workspace is not None
        seed = seed_of(run.index)
        measurements = runs.run(seed, session.workspace, shown(session.job.argv))
        for test, columns in measurements.items():
            run.rows.extend({"benchmark": [test] * len(columns["wall"]), **columns})
        if not run.warmup:
            session.table("workers", WORKERS).add(run=run.index, hash_seed=seed)
        run.exitcode = 0
        run.disturbed = runs.is_disturbed

    def after(self, session: Session, outcome: Outcome) -> None:
        """Says what became of each test, and how they were measured."""
        from perfcore_collect_bench.collector import STATUS
        from perfcore_collect_bench.measuring import FAILED, MEASURED
        from perfcore_collect_bench.suite import NAME, failures_text, first_of
        from perfcore_collect_bench.worker import timing

        runs: Runs = session.state
        table = session.table("benchmarks", [NAME, *STATUS])
        for test, status in sorted(runs.statuses.items()):
            table.add(benchmark=test, status=status.status, message=status.message or None)
        session.sampling.update(
            **runs.worker,
            clock="perf_counter",
            collects_garbage=True,
            value_time=timing.VALUE_TIME,
            values=timing.VALUES,
            dropped=timing.DROPPED,
        )
        statuses = runs.statuses.values()
        failures = {test: status.message for test, status in runs.statuses.items() if status.status == FAILED}
        if failures and any(status.status == MEASURED for status in statuses):
            session.note(f"{plural(len(failures), 'test')} failed: {failures_text(failures)}")
        if runs.tracer:
            session.note(f"the tests were traced while they were measured, which takes time ({runs.tracer})")
        if runs.coarse:
            session.note(
                f"a call of {first_of(sorted(runs.coarse), ', ')} takes less than {timing.STEPS} steps of the clock, "
                "and is measured alone: do more in a call, or set up per value"
            )

    def _arguments(self, job: Job) -> tuple[str, ...]:
        import shlex

        try:
            added = shlex.split(self.settings.arguments)
        except ValueError as error:
            raise UsageError(f"--arguments cannot be split into words: {error}") from error
        if any("\0" in word for word in (*job.argv, *added)):  # pytest would look for a file of this name
            raise UsageError("an argument of pytest cannot hold a NUL character")
        selection = ["-k", self.settings.select] if self.settings.select else []
        return (*(() if job.argv == (WHOLE,) else job.argv), *added, *selection)
