"""The collector: options, columns, and the steps of one run."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from perfcore_collect_kit.command import StartError, shown

from perfcore.errors import PerfError, PluginError
from perfcore.model.record import Record
from perfcore.profile.recording import Session
from perfcore.profile.table import ColumnSpec
from perfcore.settings import ON_FAILURE, OUTPUT, TIMEOUT, OptionInfo
from perfcore_collect_time.tally import Tally

if TYPE_CHECKING:
    from perfcore_collect_kit.command import Spec

    from perfcore.model import Job
    from perfcore.profile.recording import Outcome, Run
    from perfcore_collect_time.clock import ClockReader
    from perfcore_collect_time.launcher import Helper, Results
    from perfcore_collect_time.machine import Frequency, Snapshot

COLUMNS = (
    ColumnSpec("cpu", "i64", "ns", "value"),
    ColumnSpec("wall", "i64", "ns", "value"),
    ColumnSpec("user", "i64", "ns", "value"),
    ColumnSpec("system", "i64", "ns", "value"),
    ColumnSpec("max_rss", "i64", "B", "value"),
    ColumnSpec("voluntary_switches", "i64", "", "value"),
    ColumnSpec("involuntary_switches", "i64", "", "value"),
    ColumnSpec("minor_faults", "i64", "", "value"),
    ColumnSpec("major_faults", "i64", "", "value"),
    ColumnSpec("run_delay", "i64", "ns", "value"),
)


def parse_cpus(text: str) -> tuple[int, ...]:
    """The CPUs of `0,2-3`. Raises ValueError."""
    cpus: set[int] = set()
    for span in text.split(","):
        # Five digits are more than CPUs Linux can have (NR_CPUS is at most 8192 on x86), and no range fills the memory.
        match = re.fullmatch(r"\s*(\d{1,5})(?:-(\d{1,5}))?\s*", span, re.ASCII)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise ValueError(f"{text!r} is no list of CPUs such as 1 or 0,2-3")
        cpus.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(sorted(cpus))


class TimeSettings(Record, frozen=True, kw_only=True):
    """Shell, folder and environment of the command belong to the job; repeats and order to the schedule."""

    timeout: Annotated[
        float | None,
        TIMEOUT._replace(help="End a run that takes longer, and a setup or cleanup command too."),
    ] = None
    stdin: Annotated[
        Path | None,
        OptionInfo(
            "Standard input of every run: a file, relative to the command's folder. Default: /dev/null.",
            identity=True,
            metavar="FILE",
        ),
    ] = None
    setup: Annotated[
        str | None,
        OptionInfo("Shell command before every run; its time does not count.", identity=True, metavar="COMMAND"),
    ] = None
    cleanup: Annotated[
        str | None,
        OptionInfo(
            "Shell command after every run, a failed one too; its time does not count.",
            identity=True,
            metavar="COMMAND",
        ),
    ] = None
    cpus: Annotated[
        str | None, OptionInfo("Run on these CPUs only, such as 1 or 0,2-3.", identity=True, metavar="LIST")
    ] = None
    on_failure: Annotated[str, ON_FAILURE] = "fail"
    output: Annotated[str, OUTPUT] = "null"

    def __post_init__(self) -> None:
        if self.cpus is not None:
            parse_cpus(self.cpus)


class _State(msgspec.Struct, kw_only=True):
    """What a session needs between its runs. `keys` are the commands that the helper knows by now."""

    job: Job
    helper: Helper
    before: Snapshot
    frequency: Frequency
    clock: ClockReader
    keys: dict[str, int] = msgspec.field(default_factory=dict)
    tally: Tally = msgspec.field(default_factory=Tally)
    closed: bool = False


class TimeCollector:
    """Measures CPU time, wall time, peak memory, switches, faults and the wait for a CPU of every run. On Linux."""

    Settings = TimeSettings
    root = Path("/")  # where the clock of the CPUs is read below

    def __init__(self, settings: TimeSettings | None = None) -> None:
        self.settings = settings or TimeSettings()
        self.cpus = parse_cpus(self.settings.cpus) if self.settings.cpus is not None else ()

    def before(self, job: Job) -> Session:
        """Finds the command and starts the helper. With a setup command, which may make the program or its
        input, the command is looked for after the first setup."""
        if sys.platform != "linux":
            raise PluginError("it measures on Linux only", hint="collect with another collector")
        from perfcore_collect_kit import command

        from perfcore_collect_time import launcher, machine
        from perfcore_collect_time.clock import ClockReader

        command.check(job)
        helper = launcher.lease()
        try:
            state = _State(
                job=job,
                helper=helper,
                before=machine.snapshot(),
                frequency=machine.frequency(),
                clock=ClockReader(self.root),
            )
            if not self.settings.setup:
                self._key(state, "run")
        except BaseException:
            launcher.release(helper)
            raise
        return Session(job, columns=COLUMNS, state=state)

    def collect(self, session: Session, run: Run) -> None:
        """One run between its setup and its cleanup; the row is written when all three went well. Short runs that
        follow it may be taken along."""
        state: _State = session.state
        try:
            self._side_step(state, "setup", run)
            results = self._measure(state, run)
            state.clock.record(session, run)
        except BaseException:
            with contextlib.suppress(PerfError):
                self._side_step(state, "cleanup", run)
            raise
        self._side_step(state, "cleanup", run)
        run.exitcode = results.exitcode
        columns, disturbed = state.tally.take(results, self._usable_cpus, run.warmup)
        run.started, run.disturbed = results.started[0], disturbed[0]
        run.rows.add(**{name: values[0] for name, values in columns.items()})
        if len(disturbed) > 1:
            following = {name: values[1:] for name, values in columns.items()}
            run.take_along(results.started[1:], disturbed[1:], following)

    def after(self, session: Session, outcome: Outcome) -> None:
        """Gives the helper back, and says what the numbers rest on."""
        from perfcore_collect_time import launcher, machine

        state: _State = session.state
        if state.closed:
            return
        state.closed = True
        try:
            with contextlib.suppress(PerfError):
                for key in state.keys.values():
                    state.helper.forget(key)
        finally:
            launcher.release(state.helper)
        snapshot = machine.snapshot()
        session.sampling.update(start="posix_spawn", clock="monotonic", **state.tally.facts())
        session.sampling.update(machine.facts(state.before, snapshot, state.frequency))
        for note in (*state.tally.notes(), *machine.notes(state.before, snapshot, state.frequency)):
            session.note(note)

    def _measure(self, state: _State, run: Run) -> Results:
        results, job = self._run(state, "run", run.following if self._alone(state) else 0), state.job
        if not results.why and not results.exitcode:
            return results
        from perfcore_collect_kit import exit_status

        if results.why:
            raise exit_status.too_long(shown(job.argv), run, self.settings.timeout)
        if results.exitcode and self.settings.on_failure == "fail":
            raise exit_status.failed(shown(job.argv), run, results.exitcode, results.words, shell=job.shell)
        return results

    def _side_step(self, state: _State, name: str, run: Run) -> None:
        """The setup or cleanup command, if there is one. Its failure is an error whatever `on_failure` says."""
        script = getattr(self.settings, name)
        if not script:
            return
        result = self._run(state, name)
        if not result.why and not result.exitcode:
            return
        from perfcore_collect_kit import exit_status

        step = f"the {name} command {shown([script])}"
        if result.why:
            raise exit_status.too_long(step, run, self.settings.timeout)
        hint = f"{name} has to end with exit code 0"
        raise exit_status.failed(step, run, result.exitcode, result.words, shell=True, hint=hint)

    def _usable_cpus(self) -> int:
        return len(self.cpus or os.sched_getaffinity(0))

    def _alone(self, state: _State) -> bool:
        """Whether nothing has to be done between two runs."""
        return not (self.settings.setup or self.settings.cleanup or state.clock.known)

    def _run(self, state: _State, name: str, following: int = 0) -> Results:
        key = self._key(state, name)
        try:
            return state.helper.run(key, following)
        except StartError as error:
            from perfcore_collect_kit import exit_status

            raise exit_status.explain(state.job, error, self.cpus) from error

    def _key(self, state: _State, name: str) -> int:
        """The helper's key of the run, setup or cleanup command, which is told to it when it is first needed."""
        if name not in state.keys:
            state.keys[name] = state.helper.define(self._spec(state.job, name))
        return state.keys[name]

    def _spec(self, job: Job, name: str) -> Spec:
        from perfcore_collect_kit import command

        from perfcore_collect_time import helper

        settings = self.settings
        if name != "run":
            return command.shell(job, getattr(settings, name), stdout=helper.COMPLAINTS, timeout=settings.timeout)
        return command.spec(
            job,
            stdin=settings.stdin,
            stdout=command.output(job, settings.output, helper.OURS),
            cpus=self.cpus,
            timeout=settings.timeout,
        )
