"""The collector: options, columns, and the steps of one run."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.errors import CommandFailedError, PerfError, PluginError, UsageError
from perfcore.profile.recording import Session
from perfcore.profile.table import ColumnSpec
from perfcore.settings import on_failure_option, option, output_option, timeout_option
from perfcore.text import clip, plural, printable, quantity
from perfcore_collect_papi.names import DEFAULT_EVENTS

if TYPE_CHECKING:
    from perfcore_collect_kit.command import Spec
    from perfcore_collect_time.clock import ClockReader

    from perfcore.model import Job
    from perfcore.profile.recording import Outcome, Run
    from perfcore_collect_papi.choice import Choice
    from perfcore_collect_papi.launcher import Result, Wanted
    from perfcore_collect_papi.reduction import Snapshot
    from perfcore_collect_papi.topology import Cpu
    from perfcore_collect_papi.wire import FailedError

SNAPSHOTS = (
    ColumnSpec("run", "i64", role="order"),
    ColumnSpec("snapshot", "i64", role="order"),
    ColumnSpec("time", "f64", "s", "order"),
    ColumnSpec("timestamp", "i64", "ns", "order"),
)


def _check_events(instance: Any, attribute: Any, value: tuple[str, ...]) -> None:
    if not value or not all(event and event.isprintable() and not event.isspace() for event in value):
        raise ValueError("an event is a name such as PAPI_TOT_INS or task-clock")


@attrs.frozen
class PapiSettings:
    """Shell, folder and environment of the command belong to the job; repeats and order to the schedule."""

    event: tuple[str, ...] = option(
        DEFAULT_EVENTS,
        help="The event to count: a preset or native event of PAPI, or a counter of the kernel such as task-clock.",
        identity=True,
        metavar="EVENT",
        validator=_check_events,
    )
    per_cpu: bool = option(True, help="A row for each CPU, or one for all (--total).", flags=(" /--total",))
    interval: float | None = option(
        None, help="Take a reading at this interval while the command runs.", unit="s", minimum=0.001
    )
    multiplex: bool = option(
        False,
        help="Share the counters of the CPU among more events: gives estimates, for all CPUs together.",
        identity=True,
    )
    domain: str = option(
        "user", help="Count user space only, or the kernel too.", choices=("user", "all"), identity=True
    )
    fallback: bool = option(
        False, help="If there are no hardware counters, use the kernel's counters instead of failing."
    )
    pid: int | None = option(None, help="Count this running process while the command runs.", minimum=1, metavar="PID")
    topology: Path | None = option(  # noqa: RUF009  (it makes a field)
        None, help="The topology in hwloc's XML (lstopo --of xml), instead of /sys.", metavar="FILE"
    )
    timeout: float | None = timeout_option()
    on_failure: str = on_failure_option()
    output: str = output_option()


@attrs.define(kw_only=True)
class _State:
    """What a session needs between its runs."""

    choice: Choice
    spec: Spec
    known: frozenset[int] | None
    facts: dict[str, Any]
    clock: ClockReader
    derived: dict[str, list[float]] = attrs.field(factory=dict)
    left: list[int] = attrs.field(factory=list)


class PapiCollector:
    """Hardware counters of a command with all its threads and children, CPU by CPU: instructions, cycles, branches,
    or any event that PAPI knows. On Linux."""

    Settings = PapiSettings
    contract = "perfcore_collect_papi.contract:PapiContract"
    root = Path("/")  # where the clock of the CPUs is read below

    def __init__(self, settings: PapiSettings | None = None) -> None:
        self.settings = settings or PapiSettings()

    def before(self, job: Job) -> Session:
        """Finds the command, and a source that can count; says why where there is none."""
        if sys.platform != "linux":
            raise PluginError("it counts on Linux only", hint="collect with another collector")
        from perfcore_collect_kit import command
        from perfcore_collect_time.clock import ClockReader

        from perfcore_collect_papi import choice, diagnosis, launcher, runner
        from perfcore_collect_papi.wire import FailedError

        command.check(job)
        stdout = command.output(job, self.settings.output, runner.OURS)
        spec = command.spec(job, stdout=stdout, timeout=self.settings.timeout)
        cpus = self._topology()
        machine = diagnosis.machine()
        try:
            chosen = choice.choose(self.settings, self._wanted(), machine, launcher.probe)
        except FailedError as error:
            raise _explained(error, job) from error
        except PluginError as error:
            raise PluginError(error.message, hint=_for_good(error.hint)) from error
        facts = {"perf_event_paranoid": machine.paranoid, "kernel": machine.kernel, "papi": chosen.papi}
        state = _State(
            choice=chosen,
            spec=spec,
            known=frozenset(cpu.cpu for cpu in cpus) or None,
            facts=facts,
            clock=ClockReader(self.root),
        )
        session = Session(job, columns=self._columns(chosen), state=state)
        session.profile_type = chosen.profile_type
        self._describe(session, cpus)
        return session

    def collect(self, session: Session, run: Run) -> None:
        """One run; its rows are written when it went well."""
        from perfcore_collect_papi import launcher, reduction
        from perfcore_collect_papi.wire import FailedError

        state: _State = session.state
        choice = state.choice
        reducer = reduction.Reducer(choice.groups, state.known)
        try:
            result = launcher.run(choice.wanted, choice.groups, state.spec, self.settings.interval, reducer.take)
        except FailedError as error:
            raise _explained(error, session.job) from error
        state.clock.record(session, run)
        run.exitcode = self._checked(result, session.job, run)
        if not run.warmup and self.settings.pid is None:
            state.left.append(result.left)
        for warning in reducer.warnings:
            session.note(warning)
        snapshots = reducer.snapshots if choice.groups else [_used(result, reducer.snapshots[-1])]
        self._write(session, run, snapshots)
        if not run.warmup:
            self._derive(session, run, snapshots, result.wall)

    def after(self, session: Session, outcome: Outcome) -> None:
        """Says what the numbers rest on."""
        state: _State = session.state
        choice = state.choice
        session.sampling.update(
            source=choice.source,
            attribution=choice.attribution,
            domain=choice.wanted.domain,
            multiplexed=choice.wanted.multiplex,
            inherit=True,
            cut_off=sum(state.left),
            events=list(choice.events),
            **{name: fact for name, fact in state.facts.items() if fact is not None},
        )
        for note in (*choice.notes, *_cut_off(state.left), *_medians(state.derived)):
            session.note(note)

    def _wanted(self) -> Wanted:
        from perfcore_collect_papi.launcher import Wanted, online

        settings = self.settings
        if settings.pid is not None:
            _check_pid(settings.pid)
        return Wanted(
            # An event that waits for its turn on an idle CPU is extrapolated to counts that nobody made there.
            per_cpu=settings.per_cpu and not settings.multiplex,
            cpus=online(),
            domain=settings.domain,
            multiplex=settings.multiplex,
            pid=settings.pid,
            force=os.environ.get("LIBPFM_FORCE_PMU", ""),
        )

    def _columns(self, choice: Choice) -> list[ColumnSpec]:
        order = [ColumnSpec("snapshot", "i64", role="order")] if self.settings.interval else []
        cpu_columns = [ColumnSpec("cpu", "i64")] if choice.wanted.per_cpu and choice.attribution != "none" else []
        return [
            *order,
            *cpu_columns,
            *(ColumnSpec(event, "i64", choice.unit(event), "value") for event in choice.events),
        ]

    def _describe(self, session: Session, cpus: tuple[Cpu, ...]) -> None:
        from perfcore_collect_papi import derived, topology

        table = session.table("topology", topology.COLUMNS)
        for cpu in cpus:
            table.add(**attrs.asdict(cpu))
        if self.settings.interval:
            session.table("snapshots", SNAPSHOTS)
        session.table("derived", derived.COLUMNS)

    def _topology(self) -> tuple[Cpu, ...]:
        from perfcore_collect_papi import topology

        return topology.of_file(self.settings.topology) if self.settings.topology else topology.of_system()

    def _write(self, session: Session, run: Run, taken: list[Snapshot]) -> None:
        """A row for each CPU of each snapshot. What was counted at no known place has no CPU."""
        columns = {column.name for column in self._columns(session.state.choice)}
        for index, snapshot in enumerate(taken):
            order = {"snapshot": index} if self.settings.interval else {}
            rows = snapshot.counts if "cpu" in columns else {-1: _total(snapshot)}
            for cpu, counts in sorted(rows.items()):
                cpu_cell = {"cpu": None if cpu < 0 else cpu} if "cpu" in columns else {}
                run.rows.add(**order, **cpu_cell, **counts)
            if self.settings.interval and not run.warmup:
                session.table("snapshots").add(
                    run=run.index, snapshot=index, time=snapshot.elapsed / 1e9, timestamp=snapshot.timestamp
                )

    def _derive(self, session: Session, run: Run, taken: list[Snapshot], wall: int) -> None:
        from perfcore_collect_papi import derived

        choice: Choice = session.state.choice
        sets = [group.events for group in choice.groups]
        table = session.table("derived")
        of_kernel = choice.wanted.domain == "all"
        sums = _summed(taken)
        everything = _total_of(sums)
        ratio_rows = [
            (cpu, *pair) for cpu, counts in sorted(sums.items()) if cpu >= 0 for pair in derived.ratios(sets, counts)
        ]
        ratio_rows += [(-1, *pair) for pair in derived.ratios(sets, everything)]
        ratio_rows += [(-1, *pair) for pair in derived.rates(everything, wall, of_kernel=of_kernel)]
        for cpu, metric, value in ratio_rows:
            if cpu < 0:
                session.state.derived.setdefault(metric, []).append(value)
            table.add(
                run=run.index,
                cpu=None if cpu < 0 else cpu,
                metric=metric,
                value=value,
                estimate=choice.wanted.multiplex,
            )

    def _checked(self, result: Result, job: Job, run: Run) -> int:
        """The command's exit code, unless it failed and may not."""
        from perfcore_collect_kit import exit_status
        from perfcore_collect_kit.command import shown

        command = shown(job.argv)
        if result.timed_out:
            raise exit_status.too_long(command, run, self.settings.timeout)
        if result.exitcode and self.settings.on_failure == "fail":
            raise exit_status.failed(command, run, result.exitcode, result.words, shell=job.shell)
        return result.exitcode


def _for_good(hint: str | None) -> str | None:
    """`perf compare` has no options of collectors, so that the advice of one tells how it is configured."""
    configured = "; for good: perf config set collector.papi.fallback true"
    return f"{hint}{configured}" if hint and "--fallback" in hint else hint


def _check_pid(pid: int) -> None:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except PermissionError as error:
        raise UsageError(f"the process {pid} is somebody else's", hint="count it as its owner, or as root") from error
    except (OSError, OverflowError, IndexError) as error:
        raise UsageError(f"there is no process {pid}") from error
    if state in "ZX":
        raise UsageError(f"the process {pid} has ended already")


def _explained(error: FailedError, job: Job) -> PerfError:
    """What the process that counts could not do."""
    from perfcore_collect_kit import exit_status
    from perfcore_collect_kit.command import StartError

    from perfcore_collect_papi import diagnosis

    _, step, errno, detail = error.frame
    if step in ("cwd", "stdin", "output", "start"):
        return exit_status.explain(job, StartError(step, errno))
    if step == "files":
        return PluginError(
            f"counting needs {detail} open files, and this process may have {errno}",
            hint="count fewer events, or without CPUs (--total), or raise `ulimit -n`",
        )
    if step == "pid":
        return CommandFailedError(f"the process {detail} ended before it could be counted")
    if step == "software":
        why = diagnosis.of_software(diagnosis.machine(), diagnosis.Probed(), errno)
        return PluginError(why.text, hint=why.hint)
    return PluginError(f"counting failed: {clip(printable(detail), 300)}", hint="`perf papi doctor` tells what can be")


def _medians(derived: dict[str, list[float]]) -> Iterator[str]:
    """What was computed from the counts, in one line."""
    words = [f"{metric} {quantity(statistics.median(values))}" for metric, values in derived.items()]
    if words:
        yield f"computed from the counts, medians: {', '.join(words)}"


def _cut_off(left: list[int]) -> Iterator[str]:
    """What was counted of processes that went on is a matter of when the command ended."""
    if any(left):
        processes, runs = plural(sum(left), "process", "processes"), plural(sum(map(bool, left)), "run")
        yield (
            f"{processes} that the command started went on when it ended, in {runs}: their counts are cut off there; "
            "let the command wait for them"
        )


def _used(result: Result, last: Snapshot) -> Snapshot:
    """What the kernel says of the ended process, in the place of counters."""
    return attrs.evolve(last, counts={-1: dict(result.used)})


def _total(snapshot: Snapshot) -> dict[str, int]:
    return _total_of(snapshot.counts)


def _total_of(counts: dict[int, dict[str, int]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for values in counts.values():
        for event, value in values.items():
            totals[event] = totals.get(event, 0) + value
    return totals


def _summed(taken: list[Snapshot]) -> dict[int, dict[str, int]]:
    """By CPU, over all snapshots."""
    totals_by_cpu: dict[int, dict[str, int]] = {}
    for snapshot in taken:
        for cpu, counts in snapshot.counts.items():
            sums = totals_by_cpu.setdefault(cpu, {})
            for event, value in counts.items():
                sums[event] = sums.get(event, 0) + value
    return totals_by_cpu
