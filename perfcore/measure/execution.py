"""Plans that any worker can measure, with options and plugin versions resolved here, and their way to an executor."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from perfcore.config.settings import to_params
from perfcore.hookspecs import EXECUTOR
from perfcore.measure import commands, runner
from perfcore.measure.runner import Context
from perfcore.model import EMPTY, Job, Measured, Plan, Requirement, Step
from perfcore.model.record import replace
from perfcore.plugins.drivers import argument_names
from perfcore.plugins.registry import Plugins
from perfcore.repository.repository import Repository

if TYPE_CHECKING:
    from perfcore.hookspecs import Executor
    from perfcore.model.listener import Listener


def runner_context(repository: Repository, listener: Listener) -> Context:
    """The facilities of a repository for the runner."""
    return Context(
        plugins=repository.plugins,
        options=repository.plugin_options,
        machine=repository.facts(),
        schedule=repository.config.get("schedule"),
        progress=listener.progress,
        failed=listener.failed,
        directory=repository.scratch,
        vcs=repository.vcs,
    )


def resolve(plan: Plan, context: Context) -> Plan:
    """The plan with the options that configuration and environment give here in its jobs, so that those of a worker
    do not matter. UsageError for an option that does not fit."""
    jobs = tuple(_resolved(job, plan, context) for job in plan.jobs)
    needed = _requirements(jobs, context.plugins)
    return replace(plan, jobs=jobs, schedule=EMPTY, requires=needed, context=context)  # the jobs hold it now


def _resolved(job: Job, plan: Plan, context: Context) -> Job:
    schedule, settings = runner.resolved(job, plan.schedule, context)
    params = {**to_params(schedule), **({} if settings is None else to_params(settings))}
    return replace(
        job,
        collector=replace(job.collector, params=params),
        postprocessors=tuple(_step(step, context) for step in job.postprocessors),
    )


def _step(step: Step, context: Context) -> Step:
    settings = runner.step_settings(step, context.plugins, context.options)
    return step if settings is None else replace(step, params=to_params(settings))


def _requirements(jobs: Sequence[Job], plugins: Plugins) -> tuple[Requirement, ...]:
    """The collectors and postprocessors of jobs as they are installed here."""
    names = {("collector", job.collector.name) for job in jobs}
    names |= {("postprocessor", step.name) for job in jobs for step in job.postprocessors}
    plugins_by_name = {key: plugins.find(*key) for key in sorted(names)}
    return tuple(
        Requirement(kind=kind, name=name, distribution=installed.distribution, version=installed.version)
        for (kind, name), installed in plugins_by_name.items()
    )


def executor_name(repository: Repository, name: str | None = None) -> str:
    """The executor that a user names, or else the configuration. UntrustedError for an untrusted configuration."""
    return name or str(repository.trusted("executor.name"))


def chosen_executor(repository: Repository, name: str | None = None) -> Executor:
    """The executor of this name, or of the configuration, with its configured options."""
    name = executor_name(repository, name)
    return repository.plugins.make(EXECUTOR, name, repository.plugin_options("executor", name))[1]


def submit(
    plugins: Plugins,
    plan: Plan,
    executor: Executor | None = None,
    listener: Listener | None = None,
    repository: Repository | None = None,
) -> Generator[Measured, None, None]:
    """The answers of an executor (None: `local`) to a plan whose `context` comes from `runner_context`. Closing this
    cancels. A plan without jobs is not submitted. In a repository the measured commands are listed as the user's own,
    so that `perf bisect` may run them again without a question."""
    if not plan.jobs:
        return
    driver = plugins.make(EXECUTOR, "local")[1] if executor is None else executor
    # A worker on another machine may say that it measured something else, which nobody here has typed.
    typed = {commands.job_digest(repository.home, job) for job in plan.jobs} if repository and executor else None
    hears = "listener" in argument_names(driver.submit)  # which a driver may leave out
    answers = driver.submit(plan, listener) if hears else driver.submit(plan)
    try:
        for measured in answers:
            if repository is not None and (profile := measured.profile) is not None:
                commands.note_measured(repository, profile, typed)
            yield measured
    finally:
        if isinstance(answers, Generator):
            answers.close()  # runs its `finally` now: other Pythons than CPython collect it later
