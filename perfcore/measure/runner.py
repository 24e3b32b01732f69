"""Takes the runs of a plan and makes profiles of them."""

from __future__ import annotations

import contextlib
import hashlib
import math
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs

from perfcore import environment
from perfcore.config.settings import identity_params, to_params
from perfcore.errors import CommandFailedError, PerfError, PluginError, UsageError
from perfcore.measure import schedule as schedules
from perfcore.measure.schedule import Schedule
from perfcore.measure.scratch import workspace
from perfcore.model import Header, Job, Measured, Plan, Profile, Step, Tool
from perfcore.plugins.registry import Phases, Plugins, guard
from perfcore.profile.recording import RUNS, Outcome, Run, Session
from perfcore.profile.table import TableBuilder

Progress = Callable[[int, int, str], None]
Options = Callable[[str, str], Mapping[str, Any]]


@attrs.frozen(kw_only=True)
class Context:
    """What the runner needs of the repository. `options(kind, name)` are a plugin's configured options, `place` is
    where folders for the files of a plan are made. After `until`, in seconds of `time.monotonic`, no block begins but
    the first that counts."""

    plugins: Plugins
    options: Options
    machine: Mapping[str, Any]
    schedule: Mapping[str, Any] = {}
    progress: Progress = lambda done, total, text: None
    place: Path | None = None
    until: float = math.inf


@attrs.define
class _Arm:
    """One job while it is measured."""

    job: Job
    schedule: Schedule
    tool: Tool
    identity: Mapping[str, Any]
    phases: Phases
    session: Session | None = None
    runs: TableBuilder = attrs.field(factory=lambda: TableBuilder("runs", RUNS))
    taken: int = 0
    counted: int = 0
    disturbed: int = 0
    block: int = 0
    worst: int | None = None
    started: int = 0
    error: PerfError | None = None


def run(plan: Plan, context: Context) -> list[Measured]:
    """Measure the jobs of a plan in turn. A job that fails drops out and the others go on; an interrupt ends
    every session properly and then the plan."""
    arms = [_arm(job, plan, context) for job in plan.jobs]
    status: Literal["ok", "interrupted"] = "interrupted"
    with workspace(context.place) as folder:
        try:
            for number, arm in enumerate(arms):
                _before(arm, folder / f"{number:05}")
            _take_turns(arms, context, uuid.uuid4().hex[:12])
            status = "ok"
        finally:
            _after_all(arms, status)
    return [_finish(arm, context) for arm in arms]


def metrics(job: Job, context: Context) -> frozenset[str]:
    """What the collector of a job announces before anything runs; it may measure more. None where it cannot begin."""
    arm = _arm(job, Plan(jobs=(job,)), context)
    with workspace(context.place) as folder:
        _before(arm, folder / "00000")
        _after_all([arm], "ok")
    if arm.session is None:
        return frozenset()
    return frozenset(column.name for column in arm.session.tables["resources"].build().values())


def postprocess(profile: Profile, steps: Sequence[Step], plugins: Plugins, options: Options) -> Profile:
    """The profile after these postprocessors, each entered in it with its version and options."""
    for step in steps:
        settings = _settings(step, plugins, options)
        found, driver = plugins.construct("postprocessor", step.name, settings)
        params, identity = _params(settings)
        tool = Tool(name=step.name, version=found.version, params=params)
        profile = attrs.evolve(
            _postprocessed(profile, plugins.phases(found, driver)),
            postprocessors=(*profile.postprocessors, tool),
            config_id=environment.config_id({"of": profile.config_id, "postprocessor": step.name, "params": identity}),
        )
    return profile


def _postprocessed(profile: Profile, phases: Phases) -> Profile:
    """What the postprocessor makes of it. `after` is always called, and its failure never hides the first one."""
    phases.call("before", profile=profile)
    try:
        result = phases.call("postprocess", profile=profile)
        if not isinstance(result, Profile):
            raise PluginError("it returned no profile", plugin=str(phases.found), phase="postprocess")
    except BaseException:
        with contextlib.suppress(PerfError):
            phases.call("after", profile=profile)
        raise
    phases.call("after", profile=result)
    return result


def job_config_id(job: Job, identity: Mapping[str, Any], type: str) -> str:
    """What makes two profiles comparable before postprocessing: command, workload by content, collector, and the
    type that the collector gave the profile, where it makes several."""
    own = {} if type == job.collector.name else {"type": type}
    return environment.config_id(
        {
            "argv": list(job.argv),
            "shell": job.shell,
            "env": dict(job.env),
            "workload": _workload_content(job),
            "collector": job.collector.name,
            "params": dict(identity),
            **own,
        }
    )


def _arm(job: Job, plan: Plan, context: Context) -> _Arm:
    for step in job.postprocessors:  # what cannot be applied afterwards should not be measured for an hour first
        context.plugins.construct("postprocessor", step.name, _settings(step, context.plugins, context.options))
    name, plugins = job.collector.name, context.plugins
    ours, theirs = schedules.split_options({**context.options("collector", name), **job.collector.params})
    settings = plugins.settings("collector", name, theirs, others=schedules.SCHEDULE_KEYS)
    found, driver = plugins.construct("collector", name, settings)
    with guard(found, "schedule"):
        defaults = to_params(schedules.make(getattr(driver, "schedule", {}), where=f"the schedule of {found}"))
    chosen = schedules.make(defaults, context.schedule, ours, plan.schedule, where=f"collector {name}")
    params, identity = _params(settings)
    tool = Tool(name=name, version=found.version, params={**to_params(chosen), **params})
    return _Arm(job=job, schedule=chosen, tool=tool, identity=identity, phases=plugins.phases(found, driver))


def _settings(step: Step, plugins: Plugins, options: Options) -> Any:
    """The Settings of a postprocessor for this step; None where it has none."""
    return plugins.settings("postprocessor", step.name, {**options("postprocessor", step.name), **step.params})


def _params(settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(all options, those of the identity) as plain values."""
    return ({}, {}) if settings is None else (to_params(settings), identity_params(settings))


def _before(arm: _Arm, folder: Path) -> None:
    folder.mkdir(parents=True)
    arm.started = time.time_ns()
    try:
        session = arm.phases.call("before", job=arm.job)
        if not isinstance(session, Session):
            raise PluginError("it returned no Session", plugin=str(arm.phases.found), phase="before")
        session.workspace = folder
        arm.session = session
    except PerfError as error:
        arm.error = error


def _take_turns(arms: list[_Arm], context: Context, session: str) -> None:
    total = sum(0 if arm.schedule.budget else arm.schedule.repeat + arm.schedule.warmup for arm in arms)
    budgeted = any(arm.schedule.budget for arm in arms)
    turns = schedules.turns([arm.schedule for arm in arms], time.monotonic)
    for done, turn in enumerate(turns):
        if _is_over(arms, turn, context):
            break
        arm = arms[turn.job]
        if arm.error is None:
            context.progress(done, 0 if budgeted else total, arm.job.label)
            _take(arm, turn, session)
        elif all(a.error for a in arms):
            return
    _take_again(arms, context, session)


def _is_over(arms: list[_Arm], turn: schedules.Turn, context: Context) -> bool:
    """Whether the time is over before a block; runs that begin one have their partners still."""
    begins = turn.position == 0 and all(arm.error or arm.counted for arm in arms)
    return begins and time.monotonic() >= context.until


def _take_again(arms: list[_Arm], context: Context, session: str) -> None:
    """As many blocks more as the job that was disturbed most wants, of all jobs: a run needs its partners."""
    wanted = max((min(arm.disturbed, arm.schedule.retry_disturbed) for arm in arms if arm.error is None), default=0)
    first = max((arm.block for arm in arms), default=0) + 1
    for number in range(wanted):
        if time.monotonic() >= context.until:
            return
        context.progress(number, wanted, "again, for disturbed runs")
        for turn in schedules.again([i for i, arm in enumerate(arms) if arm.error is None], first + number):
            _take(arms[turn.job], turn, session)


def _take(arm: _Arm, turn: schedules.Turn, session: str) -> None:
    assert arm.session is not None
    run = Run(
        arm.session,
        index=arm.taken,
        block=turn.block,
        position=turn.position,
        started=time.time_ns(),
        warmup=turn.warmup,
    )
    try:
        arm.phases.call("collect", session=arm.session, run=run)
    except PerfError as error:
        arm.error = error
        return
    arm.runs.add(
        run=run.index,
        session=session,
        block=run.block,
        position=run.position,
        started=run.started,
        warmup=run.warmup,
        disturbed=run.disturbed,
        exit=run.exitcode,
    )
    arm.taken += 1
    arm.block = run.block
    if not run.warmup:
        arm.counted += 1
        arm.disturbed += run.disturbed
        if run.exitcode is not None and (arm.worst is None or abs(run.exitcode) > abs(arm.worst)):
            arm.worst = run.exitcode


def _after_all(arms: list[_Arm], status: Literal["ok", "interrupted"]) -> None:
    """`after` for every session that began, last first; one that fails does not keep the others from theirs."""
    for arm in reversed(arms):
        if arm.session is None:
            continue
        outcome = Outcome(status="failed" if arm.error else status, runs=arm.counted, error=arm.error)
        try:
            arm.phases.call("after", session=arm.session, outcome=outcome)
        except PerfError as error:
            arm.error = arm.error or error


def _finish(arm: _Arm, context: Context) -> Measured:
    if arm.error is not None or arm.session is None:
        return Measured(job=arm.job, error=arm.error)
    try:
        profile = _profile(arm, context.machine)
        return Measured(
            job=arm.job,
            profile=postprocess(profile, arm.job.postprocessors, context.plugins, context.options),
        )
    except PerfError as error:
        return Measured(job=arm.job, error=error)


def _profile(arm: _Arm, machine: Mapping[str, Any]) -> Profile:
    job, session = arm.job, arm.session
    assert session is not None
    if arm.counted == 0:
        raise CommandFailedError(f"{job.label}: no run was measured")
    tables = {"runs": arm.runs.build()}
    tables |= session.build_tables()
    return Profile(
        header=Header(
            type=session.profile_type,
            argv=job.argv,
            cmd=job.cmd,
            args=job.args,
            workload=job.workload,
            shell=job.shell,
            units={column.name: column.unit for column in tables["resources"].values() if column.unit},
            exitcode=arm.worst,
        ),
        created=arm.started,
        collector=attrs.evolve(arm.tool, sampling=dict(session.sampling)),
        machine=machine,
        config_id=job_config_id(job, arm.identity, session.profile_type),
        environment_id=environment.environment_id(machine),
        origin=job.version,
        dirty=job.dirty,
        notes=tuple(session.notes),
        tables=tables,
    )


def _workload_content(job: Job) -> list[str]:
    """The words of a workload; one that is a file of the tree by its content, not its name."""
    import shlex

    try:
        words = shlex.split(job.workload)
    except ValueError:
        words = [job.workload]
    return [_content(job.cwd / word) or word for word in words]


def _content(path: Path) -> str | None:
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return "sha1:" + hashlib.file_digest(file, "sha1").hexdigest()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the workload {path}: {error}") from error
