"""Takes the runs of a plan and makes profiles of them."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs

from perfcore import environment
from perfcore.errors import CommandFailedError, PerfError, PluginError, UsageError
from perfcore.jobs import schedule as schedules
from perfcore.jobs.schedule import Schedule
from perfcore.model import Header, Job, Measured, Plan, Profile, Step, Tool
from perfcore.plugins import Phases, Plugins, settings_of
from perfcore.profile.recording import RUNS, Outcome, Run, Session
from perfcore.profile.table import TableBuilder
from perfcore.settings import identity_params, structure, to_params

Progress = Callable[[int, int, str], None]
Options = Callable[[str, str], Mapping[str, Any]]


@attrs.frozen(kw_only=True)
class Context:
    """What the runner needs of the repository. `options(kind, name)` are a plugin's configured options."""

    plugins: Plugins
    options: Options
    machine: Mapping[str, Any]
    schedule: Mapping[str, Any] = {}
    progress: Progress = lambda done, total, text: None


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
    retried: int = 0
    worst: int | None = None
    started: int = 0
    error: PerfError | None = None


def run(plan: Plan, context: Context) -> list[Measured]:
    """Measure the jobs of a plan in turn. A job that fails drops out and the others go on; an interrupt ends
    every session properly and then the plan."""
    arms = [_arm(job, plan, context) for job in plan.jobs]
    workspace = Path(tempfile.mkdtemp(prefix="perfcore-"))
    status: Literal["ok", "interrupted"] = "interrupted"
    try:
        for number, arm in enumerate(arms):
            _before(arm, workspace / str(number))
        _take_turns(arms, context, uuid.uuid4().hex[:12])
        status = "ok"
    finally:
        _after_all(arms, status)
        shutil.rmtree(workspace, ignore_errors=True)
    return [_finish(arm, context) for arm in arms]


def postprocess(profile: Profile, steps: Sequence[Step], plugins: Plugins, options: Options) -> Profile:
    """The profile after these postprocessors, each entered in it with its version and options."""
    for step in steps:
        found, cls = plugins.load("postprocessor", step.name)
        values = {**options("postprocessor", step.name), **step.params}
        _, driver = plugins.make("postprocessor", step.name, values)
        phases, source = plugins.phases(found, driver), profile
        result = source
        phases.call("before", profile=source)
        try:
            result = phases.call("postprocess", profile=source)
            if not isinstance(result, Profile):
                raise PluginError("it returned no profile", plugin=str(found), phase="postprocess")
        finally:
            phases.call("after", profile=result)
        params, identity = _params(cls, values, f"postprocessor {step.name}")
        profile = attrs.evolve(
            result,
            postprocessors=(
                *source.postprocessors,
                Tool(name=step.name, version=found.version, params=params),
            ),
            config_id=environment.config_id({"of": source.config_id, "postprocessor": step.name, "params": identity}),
        )
    return profile


def job_config_id(job: Job, identity: Mapping[str, Any]) -> str:
    """What makes two profiles comparable before postprocessing: command, workload by content, collector."""
    return environment.config_id(
        {
            "argv": list(job.argv),
            "shell": job.shell,
            "env": dict(job.env),
            "workload": _workload_content(job),
            "collector": job.collector.name,
            "params": dict(identity),
        }
    )


def _arm(job: Job, plan: Plan, context: Context) -> _Arm:
    for step in job.postprocessors:  # what cannot be applied afterwards should not be measured for an hour first
        context.plugins.make("postprocessor", step.name, {**context.options("postprocessor", step.name), **step.params})
    found, cls = context.plugins.load("collector", job.collector.name)
    configured = {**context.options("collector", job.collector.name), **job.collector.params}
    ours, theirs = schedules.split_options(configured)
    defaults: Mapping[str, Any] = getattr(cls, "schedule", {})
    where = f"collector {job.collector.name}"
    chosen = schedules.make(defaults, context.schedule, ours, plan.schedule, where=where)
    _, driver = context.plugins.make("collector", job.collector.name, theirs)
    params, identity = _params(cls, theirs, where)
    tool = Tool(name=job.collector.name, version=found.version, params={**to_params(chosen), **params})
    return _Arm(job=job, schedule=chosen, tool=tool, identity=identity, phases=context.plugins.phases(found, driver))


def _params(cls: type[Any], values: Mapping[str, Any], where: str) -> tuple[dict[str, Any], dict[str, Any]]:
    settings = settings_of(cls)
    if settings is None:
        return {}, {}
    made = structure(settings, values, where=where)
    return to_params(made), identity_params(made)


def _before(arm: _Arm, workspace: Path) -> None:
    workspace.mkdir(parents=True)
    arm.started = time.time_ns()
    try:
        session = arm.phases.call("before", job=arm.job)
        if not isinstance(session, Session):
            raise PluginError("it returned no Session", plugin=str(arm.phases.found), phase="before")
        session.workspace = workspace
        arm.session = session
    except PerfError as error:
        arm.error = error


def _take_turns(arms: list[_Arm], context: Context, session: str) -> None:
    total = sum(0 if arm.schedule.budget else arm.schedule.repeat + arm.schedule.warmup for arm in arms)
    budgeted = any(arm.schedule.budget for arm in arms)
    turns = schedules.turns([arm.schedule for arm in arms], time.monotonic)
    for done, turn in enumerate(turns):
        arm = arms[turn.job]
        if arm.error is None:
            context.progress(done, 0 if budgeted else total, arm.job.label)
            _take(arm, turn, session)
        elif all(a.error for a in arms):
            return
    for arm in arms:
        for _ in range(min(arm.retried, arm.schedule.retry_disturbed)):
            if arm.error is None:
                block = max(a.taken for a in arms) + arm.taken
                _take(arm, schedules.Turn(0, block, 0, False), session)


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
    if not run.warmup:
        arm.counted += 1
        arm.retried += run.disturbed
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
    tables |= {name: builder.build() for name, builder in session.tables.items()}
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
        config_id=job_config_id(job, arm.identity),
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
