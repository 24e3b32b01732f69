"""The collector: options, and the steps of a session."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.errors import CommandFailedError, UsageError
from perfcore.profile.recording import Session
from perfcore.profile.table import ColumnSpec
from perfcore.settings import option
from perfcore.text import plural, printable

if TYPE_CHECKING:
    from perfcore.model import Job
    from perfcore.profile.recording import Outcome, Run
    from perfcore_collect_bench.measuring import Measurement
    from perfcore_collect_bench.suite import Benchmark, Suite
    from perfcore_collect_bench.worker_process import Event, Interpreter

WORKERS = (ColumnSpec("run", "i64", role="order"), ColumnSpec("hash_seed", "i64"))
STATUS = (ColumnSpec("status", "str"), ColumnSpec("message", "str"))
_LISTING_SEED = 0  # parameters may be made from a set: its order is the same in every listing


@attrs.frozen
class BenchSettings:
    """The command is the folders and files of the suite. Repeats and order belong to the schedule."""

    select: tuple[str, ...] = option(
        (), help="Only benchmarks whose name contains this text. Repeatable.", flags=("-k",), metavar="TEXT"
    )
    python: str | None = option(
        None,
        help="The interpreter of the benchmarks: a program of PATH, or a path from the command's folder. Default: "
        "that of execute.environment, or else that of perf.",
        identity=True,
        metavar="PROGRAM",
    )
    asv: bool = option(False, help="The folder is a suite of asv: find and call it with asv-runner.", identity=True)
    timeout: float = option(60.0, help="The time of a benchmark that names none itself.", unit="s", minimum=0.001)


class BenchCollector:
    """Measures the benchmarks of a Python suite inside a process, each as a series of its own: the command names the
    folders and files of the suite. A run is a process."""

    Settings = BenchSettings
    contract = "perfcore_collect_bench.contract:BenchContract"

    def __init__(self, settings: BenchSettings | None = None) -> None:
        self.settings = settings or BenchSettings()

    def before(self, job: Job) -> Session:
        """Lists the benchmarks, which imports the suite in a process of its own; no benchmark runs."""
        from perfcore_collect_kit.command import shown

        from perfcore_collect_bench.measuring import Measurement
        from perfcore_collect_bench.worker_process import interpreter_of

        if job.shell:
            raise UsageError(
                "a suite of benchmarks is measured without a shell",
                hint="name its folder: perf collect bench benchmarks",
            )
        interpreter = interpreter_of(job, self.settings.python)
        suite = self._listed(interpreter, job)
        state = Measurement(
            suite=suite,
            interpreter=interpreter,
            asv=self.settings.asv,
            timeout=self.settings.timeout,
            paths=job.argv,
            suite_id=(
                self.settings.python if job.activation else interpreter.program,
                self.settings.asv,
                job.argv,
                tuple(sorted(job.env.items())),
            ),
        )
        session = Session(job, columns=suite.columns(), state=state)
        if suite.broken:
            session.note(f"{shown(job.argv)}: {_failures(suite.broken)}")
        return session

    def collect(self, session: Session, run: Run) -> None:
        """One run of all benchmarks that work."""
        from perfcore_collect_bench.measuring import seed_of

        state: Measurement = session.state
        assert session.workspace is not None
        seed = seed_of(run.index)
        measured = list(state.run(seed, session.workspace))
        if not measured:
            raise self._nothing(session)
        for benchmark, event in measured:
            run.rows.extend(_rows(state.suite, benchmark, event))
        if not run.warmup:
            session.table("workers", WORKERS).add(run=run.index, hash_seed=seed)
        run.exitcode = 0
        run.disturbed = state.is_disturbed

    def after(self, session: Session, outcome: Outcome) -> None:
        """Says what became of each benchmark, and how they were measured."""
        from perfcore_collect_bench.measuring import MEASURED
        from perfcore_collect_bench.suite import first_of
        from perfcore_collect_bench.worker import timing

        state: Measurement = session.state
        suite = state.suite
        table = session.table("benchmarks", [*suite.name_columns(), *STATUS])
        for key, benchmark in sorted(suite.benchmarks.items()):
            if key in state.statuses:
                status = state.statuses[key]
                table.add(**suite.words(benchmark), status=status.status, message=status.message or None)
        for name, message in sorted(suite.broken.items()):
            table.add(benchmark=name, status="failed", message=message)
        session.sampling.update(
            **suite.worker,
            clock="perf_counter",
            collects_garbage=not self.settings.asv,
            value_time=timing.VALUE_TIME,
            values=timing.VALUES,
            dropped=timing.DROPPED,
        )
        failures = {name: text for name, text in state.failures.items() if name not in suite.broken}
        if failures and any(status.status == MEASURED for status in state.statuses.values()):
            session.note(_failures(failures))
        if state.coarse:
            labels = sorted(suite.benchmarks[key].label for key in state.coarse)
            session.note(
                f"a call of {first_of(labels, ', ')} takes less than {timing.STEPS} steps of the clock, and is "
                "measured alone: do more in a call, or set up per value"
            )

    def _listed(self, interpreter: Interpreter, job: Job) -> Suite:
        from perfcore_collect_kit.command import shown

        from perfcore_collect_bench import suite
        from perfcore_collect_bench.worker_process import WorkerDiedError, events

        words = shown(job.argv)
        for path in job.argv:
            if not os.path.exists(job.cwd / path):  # `Path.exists` raises an error for a name that is too long
                raise CommandFailedError(f"{words}: there is no file or folder {printable(repr(path))}")
        if self.settings.asv and not (len(job.argv) == 1 and (job.cwd / job.argv[0]).is_dir()):
            raise UsageError("with --asv the command is one folder: the `benchmark_dir` of asv.conf.json")
        request = {"step": "list", "asv": self.settings.asv, "paths": list(job.argv)}
        try:
            with contextlib.closing(events(interpreter, request, hash_seed=_LISTING_SEED)) as answers:
                return suite.listed(answers, self.settings.select, words)
        except WorkerDiedError as error:
            hint = "pip install 'perfcore-collect-bench[asv]'" if "asv_runner" in str(error) else None
            raise CommandFailedError(f"{words} cannot be listed: {error}", hint=hint) from error

    def _nothing(self, session: Session) -> CommandFailedError:
        from perfcore_collect_kit.command import shown

        state: Measurement = session.state
        failures = state.failures
        why = _failures(failures) if failures else "all benchmarks are skipped"
        return CommandFailedError(f"{shown(session.job.argv)}: nothing was measured: {why}")


def _rows(suite: Suite, benchmark: Benchmark, event: Event) -> dict[str, list[Any]]:
    """The rows of a benchmark in a run, as columns: one for each value."""
    from perfcore_collect_bench.suite import TIMES

    columns: dict[str, list[Any]] = {}
    if benchmark.kind == "time":
        columns = {spec.name: event[spec.name] for spec in TIMES}
        columns["loops"] = [event["plan"]["loops"]] * len(event["wall"])
    else:
        columns = {benchmark.metric: [event["amount"]]}
    rows = len(next(iter(columns.values())))
    return {**{name: [word] * rows for name, word in suite.words(benchmark).items()}, **columns}


def _failures(failures: Mapping[str, str]) -> str:
    from perfcore_collect_bench.suite import failures_text

    return f"{plural(len(failures), 'benchmark')} failed: {failures_text(failures)}"
