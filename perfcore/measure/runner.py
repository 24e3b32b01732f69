"""Takes the runs of one session and makes profiles of them."""

from __future__ import annotations

import contextlib
import math
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from perfcore import environment
from perfcore.config.settings import identity_params, to_params
from perfcore.errors import CommandFailedError, FormatError, PerfError, PluginError, UsageError
from perfcore.hookspecs import COLLECTOR, POSTPROCESSOR
from perfcore.measure import schedule as schedules
from perfcore.measure.commands import job_config_id
from perfcore.measure.schedule import Schedule
from perfcore.model import EMPTY, Entry, Header, Job, Measured, Plan, Profile, Step, Tool
from perfcore.model.record import Record, replace
from perfcore.plugins.drivers import Phases, guard
from perfcore.plugins.registry import Plugins
from perfcore.profile.recording import RUNS, Outcome, Run, Session
from perfcore.profile.table import Table, TableBuilder
from perfcore.repository.scratch import workspace

if TYPE_CHECKING:
    from perfcore.hookspecs import Vcs

Progress = Callable[[int, int, str], None]
Options = Callable[[str, str], Mapping[str, Any]]

SAVING_SHARE = 200  # a checkpoint of 20 ms is followed by 4 s of measuring: saving costs at most 0.5 % of the time


class Context(Record, frozen=True, kw_only=True):
    """The runner's view of the process it works in. `options(kind, name)` are a plugin's configured options,
    `directory` is for the files of a plan, and `vcs` makes the trees of versions. `failed` hears at once what is
    answered later. After `until`, in seconds of `time.monotonic`, no block begins but the first that counts."""

    plugins: Plugins
    options: Options = lambda kind, name: EMPTY
    machine: Mapping[str, Any] = EMPTY
    schedule: Mapping[str, Any] = EMPTY
    progress: Progress = lambda done, total, text: None
    failed: Callable[[str, PerfError], None] | None = None
    directory: Path | None = None
    vcs: Vcs | None = None
    until: float = math.inf


class _JobState(msgspec.Struct):
    """One job while it is measured. Answers name the job as it was `submitted`."""

    job: Job
    submitted: Job
    schedule: Schedule
    tool: Tool
    identity: Mapping[str, Any]
    phases: Phases
    session: Session | None = None
    runs: TableBuilder = msgspec.field(default_factory=lambda: TableBuilder("runs", RUNS))
    finished_runs: int = 0
    counted: int = 0
    disturbed: int = 0
    block: int = 0
    worst: int | None = None
    started: int = 0
    error: PerfError | None = None


class _Checkpoints(msgspec.Struct):
    """When the runs finished so far are handed over."""

    interval: float | None
    last: float = msgspec.field(default_factory=time.monotonic)
    pause: float = 0.0

    def due(self) -> bool:
        return self.interval is not None and time.monotonic() - self.last >= max(self.interval, self.pause)

    def give(self, states: Sequence[_JobState], machine: Mapping[str, Any]) -> Iterator[Measured]:
        start = time.monotonic()
        yield from _incomplete(states, machine)
        self.last = time.monotonic()
        self.pause = SAVING_SHARE * (self.last - start)


def run(plan: Plan, context: Context, submitted: Sequence[Job] = ()) -> Generator[Measured, None, None]:
    """Measure the jobs of a plan as one session. A job that fails drops out and the others go on; an interrupt ends
    every session properly and then the plan. Profiles marked incomplete come between two blocks and at an interrupt,
    where the plan wants checkpoints; those of all jobs come at the end, in their order."""
    states = [
        _state(job, plan, context, original) for job, original in zip(plan.jobs, submitted or plan.jobs, strict=True)
    ]
    if len({state.schedule.cpus for state in states}) > 1:  # they share what starts them
        raise UsageError("jobs that are measured in turn run on the same CPUs", hint="give all of them the same `cpu`")
    if plan.seconds is not None:
        context = replace(context, until=min(context.until, time.monotonic() + plan.seconds))
    status: Literal["ok", "interrupted"] = "interrupted"
    interrupt: KeyboardInterrupt | None = None
    with workspace(context.directory) as directory:
        try:
            for index, state in enumerate(states):
                # The length of a path can change how fast a program runs.
                _before(state, directory / f"{index:05}", context.plugins)
            yield from _take_turns(states, context, _Checkpoints(plan.checkpoint))
            status = "ok"
        except KeyboardInterrupt as error:
            interrupt = error
        finally:
            _after_all(states, status)
    if interrupt is not None:
        if plan.checkpoint is not None:
            yield from _incomplete(states, context.machine)
        raise interrupt
    for state in states:
        yield _finish(state, context)


def metrics(job: Job, context: Context) -> frozenset[str]:
    """The metrics that the collector of a job announces before anything runs; it may measure more; empty on error."""
    state = _state(job, Plan(jobs=(job,)), context, job)
    with workspace(context.directory) as directory:
        _before(state, directory / "00000", context.plugins)
        _after_all([state], "ok")
    if state.session is None:
        return frozenset()
    return frozenset(column.name for column in state.session.tables["resources"].build().values())


def postprocess(profile: Profile, steps: Sequence[Step], plugins: Plugins, options: Options) -> Profile:
    """The profile after these postprocessors, each entered in it with its version and options."""
    for step in steps:
        settings = step_settings(step, plugins, options)
        plugin, driver = plugins.construct(POSTPROCESSOR, step.name, settings)
        params, identity = _params(settings)
        tool = Tool(name=plugin.name, version=plugin.version, params=params)
        profile = replace(
            _postprocessed(profile, plugins.phases(plugin, driver)),
            postprocessors=(*profile.postprocessors, tool),
            config_id=_derived_id(profile.config_id, step, identity),
        )
    return profile


def fits(job: Job, entry: Entry, context: Context) -> bool:
    """Whether a profile may be one that a resolved job gives: imported ones have no id of their configuration, and a
    workload may be a file of a version, whose content is not known yet."""
    steps = tuple(step.name for step in job.postprocessors)
    if (entry.cmd, entry.args, entry.workload, entry.collector, entry.postprocessors) != (
        job.cmd,
        job.args,
        job.workload,
        job.collector.name,
        steps,
    ):
        return False
    if not entry.config_id or (job.workload and job.workload_file is None):
        return True
    id = job_config_id(job, _params(resolved(job, {}, context)[1])[1], entry.type)
    for step in job.postprocessors:
        id = _derived_id(id, step, _params(step_settings(step, context.plugins, context.options))[1])
    return id == entry.config_id


def _derived_id(id: str, step: Step, identity: Mapping[str, Any]) -> str:
    return environment.config_id({"of": id, "postprocessor": step.name, "params": identity})


def _postprocessed(profile: Profile, phases: Phases) -> Profile:
    """What the postprocessor makes of it. `after` is always called."""
    phases.call("before", profile=profile)
    try:
        result = phases.call("postprocess", profile=profile)
        if not isinstance(result, Profile):
            raise PluginError("it returned no profile", plugin=str(phases.info), phase="postprocess")
    except BaseException:
        with contextlib.suppress(PerfError):  # it must not hide the first failure
            phases.call("after", profile=profile)
        raise
    phases.call("after", profile=result)
    return result


def _state(job: Job, plan: Plan, context: Context, submitted: Job) -> _JobState:
    for step in job.postprocessors:  # an error here comes before an hour of measurement, not after it
        context.plugins.construct(POSTPROCESSOR, step.name, step_settings(step, context.plugins, context.options))
    schedule, settings = resolved(job, plan.schedule, context)
    plugin, driver = context.plugins.construct(COLLECTOR, job.collector.name, settings)
    params, identity = _params(settings)
    tool = Tool(name=plugin.name, version=plugin.version, params={**to_params(schedule), **params})
    return _JobState(job, submitted, schedule, tool, identity, context.plugins.phases(plugin, driver))


def resolved(job: Job, outweighing: Mapping[str, Any], context: Context) -> tuple[Schedule, Any]:
    """The schedule and the Settings of a job's collector, out of defaults, configuration, job and plan."""
    name, plugins = job.collector.name, context.plugins
    scheduled, params = schedules.split_options({**context.options("collector", name), **job.collector.params})
    settings = plugins.settings("collector", name, params, others=schedules.SCHEDULE_KEYS)
    plugin, driver = plugins.load("collector", name)
    with guard(plugin, "schedule"):
        defaults = to_params(schedules.make(getattr(driver, "schedule", {}), where=f"the schedule of {plugin}"))
    return schedules.make(defaults, context.schedule, scheduled, outweighing, where=f"collector {name}"), settings


def step_settings(step: Step, plugins: Plugins, options: Options) -> Any:
    """The Settings of a postprocessor for this step; None where it has none."""
    return plugins.settings("postprocessor", step.name, {**options("postprocessor", step.name), **step.params})


def _params(settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(all options, those of the identity) as plain values."""
    return ({}, {}) if settings is None else (to_params(settings), identity_params(settings))


def _before(state: _JobState, directory: Path, plugins: Plugins) -> None:
    directory.mkdir(parents=True)
    state.started = time.time_ns()
    try:
        with state.schedule.pinned():
            session = state.phases.call("before", job=state.job.with_workload())
        if not isinstance(session, Session):
            raise PluginError("it returned no Session", plugin=str(state.phases.info), phase="before")
        session.workspace, session.plugins = directory, plugins
        state.session = session
    except PerfError as error:
        state.error = error


def _take_turns(states: list[_JobState], context: Context, checkpoints: _Checkpoints) -> Iterator[Measured]:
    session = uuid.uuid4().hex[:12]  # 48 random bits: joined stores hold sessions of many machines
    total = sum(0 if state.schedule.budget else state.schedule.repeat + state.schedule.warmup for state in states)
    budgeted = any(state.schedule.budget for state in states)
    turns = enumerate(schedules.turns([state.schedule for state in states], time.monotonic))
    titles = [state.job.title for state in states]
    for done, turn in turns:
        if _is_over(states, turn, context):
            break
        if turn.position == 0 and checkpoints.due():  # between two blocks: never while a run is measured
            yield from checkpoints.give(states, context.machine)
        state = states[turn.job]
        if state.error is None:
            context.progress(done, 0 if budgeted else total, titles[turn.job])
            for _ in zip(range(_take(state, turn, session)), turns, strict=False):
                pass  # it was taken along
        elif all(state.error for state in states):
            return
    yield from _take_again(states, context, session, checkpoints)


def _is_over(states: list[_JobState], turn: schedules.Turn, context: Context) -> bool:
    """Whether the time is over before a block."""
    # A block that began is finished, so that its runs are pairs; the first that counts is always taken.
    return (
        time.monotonic() >= context.until
        and turn.position == 0
        and all(state.error or state.counted for state in states)
    )


def _take_again(
    states: list[_JobState], context: Context, session: str, checkpoints: _Checkpoints
) -> Iterator[Measured]:
    """As many blocks more as the job that was disturbed most wants."""
    going_on = [state for state in states if state.error is None]  # all of them: a run needs its partners
    repeats = max((min(state.disturbed, state.schedule.retry_disturbed) for state in going_on), default=0)
    first = max((state.block for state in states), default=0) + 1
    for index in range(repeats):
        if time.monotonic() >= context.until:
            return
        if checkpoints.due():
            yield from checkpoints.give(states, context.machine)
        context.progress(index, repeats, "again, for disturbed runs")
        for turn in schedules.again([i for i, state in enumerate(states) if state.error is None], first + index):
            _take(states[turn.job], turn, session)


def _take(state: _JobState, turn: schedules.Turn, session: str) -> int:
    """One run; gives how many of those that follow were taken along."""
    assert state.session is not None
    index, block, position, warmup = state.finished_runs, turn.block, turn.position, turn.warmup
    run = Run(state.session, index=index, block=block, position=position, started=time.time_ns(), warmup=warmup)
    run.following = 0 if state.phases.observed else turn.following  # observers enclose each run
    try:
        with state.schedule.pinned():
            state.phases.call("collect", session=state.session, run=run)
    except PerfError as error:
        state.error = error
        return 0
    alike: dict[str, Any] = {"session": session, "position": position, "warmup": warmup, "exit": run.exitcode}
    state.runs.add(run=index, block=block, started=run.started, disturbed=run.disturbed, **alike)
    started, disturbed = run.along
    if along := len(started):
        numbers = {"run": range(index + 1, index + along + 1), "block": range(block + 1, block + along + 1)}
        same = {name: [value] * along for name, value in alike.items()}
        state.runs.extend({**numbers, "started": started, "disturbed": disturbed, **same})
    state.finished_runs += 1 + along
    state.block = block + along
    if not warmup:
        state.counted += 1 + along
        state.disturbed += run.disturbed + sum(disturbed)
        if run.exitcode is not None and (state.worst is None or abs(run.exitcode) > abs(state.worst)):
            state.worst = run.exitcode
    return along


def _after_all(states: list[_JobState], status: Literal["ok", "interrupted"]) -> None:
    """`after` for every session that began."""
    for state in reversed(states):  # last first, as nested `with` statements end
        if state.session is None:
            continue
        outcome = Outcome(status="failed" if state.error else status, runs=state.counted, error=state.error)
        try:
            state.phases.call("after", session=state.session, outcome=outcome)
        except PerfError as error:  # keeps no other session from its `after`
            state.error = state.error or error


def _finish(state: _JobState, context: Context) -> Measured:
    if state.error is not None or state.session is None:
        return Measured(job=state.submitted, error=state.error)
    try:
        tables = {"runs": state.runs.build()} | state.session.build_tables()
        profile = _profile(state, context.machine, tables)
        profile = postprocess(profile, state.job.postprocessors, context.plugins, context.options)
        return Measured(job=state.submitted, profile=profile)
    except PerfError as error:
        return Measured(job=state.submitted, error=error)


def _incomplete(states: Sequence[_JobState], machine: Mapping[str, Any]) -> Iterator[Measured]:
    """What is finished of each job, before postprocessing."""
    for state in states:  # a collector that writes what it measured only in `after` has nothing to give yet
        if state.error is None and state.session is not None and state.counted:
            tables = {"runs": state.runs.snapshot()} | state.session.build_tables(copy=True)
            tables["resources"] = _of_runs(tables["resources"], tables["runs"])
            if _is_whole(tables):
                profile = _profile(state, machine, tables)
                yield Measured(job=state.submitted, profile=replace(profile, incomplete=True))


def _of_runs(resources: Table, runs: Table) -> Table:
    """Only the rows of finished runs."""
    finished = set(runs["run"])  # an interrupted run may have left rows
    rows = [row for row, run in enumerate(resources["run"]) if run in finished]
    return resources if len(rows) == resources.rows else resources.take(rows)


def _is_whole(tables: Mapping[str, Table]) -> bool:
    """Whether the counted runs have rows, whose stacks can be followed."""
    resources, runs = tables["resources"], tables["runs"]
    with_rows = set(resources["run"])
    if not all(warmup or run in with_rows for run, warmup in zip(runs["run"], runs["warmup"], strict=True)):
        return False
    if "stacks" not in tables and not {"stack", "frame", "function"}.intersection(resources.names):
        return True  # most profiles have no stacks and need none of their code
    from perfcore.profile import stacks

    if stacks.referring(resources) and not stacks.has_stacks(tables):
        return False
    try:
        stacks.verify(tables)
    except FormatError:
        return False
    return True


def _profile(state: _JobState, machine: Mapping[str, Any], tables: Mapping[str, Table]) -> Profile:
    job, session = state.job, state.session
    assert session is not None
    if state.counted == 0:
        raise CommandFailedError(f"{job.label}: no run was measured")
    return Profile(
        header=Header(
            type=session.profile_type,
            argv=job.argv,
            cmd=job.cmd,
            args=job.args,
            workload=job.workload,
            shell=job.shell,
            units={column.name: column.unit for column in tables["resources"].values() if column.unit},
            exitcode=state.worst,
        ),
        created=state.started,
        collector=replace(state.tool, sampling=dict(session.sampling)),
        machine=machine,
        config_id=job_config_id(job, state.identity, session.profile_type),
        environment_id=environment.environment_id(machine),
        origin=job.version,
        dirty=job.dirty,
        notes=tuple(session.notes),
        tables=dict(tables),
    )
