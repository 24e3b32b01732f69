"""Makes plans that any worker can measure: options and schedule resolved here, plugins named with their versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from perfcore.config.settings import to_params
from perfcore.measure import requirements, runner
from perfcore.model import EMPTY, Job, Plan, Step

if TYPE_CHECKING:
    from perfcore.measure.runner import Context


def resolve(plan: Plan, context: Context) -> Plan:
    """The plan with the options that configuration and environment give here in its jobs, so that those of a worker
    do not matter. UsageError for an option that does not fit."""
    jobs = tuple(_resolved(job, plan, context) for job in plan.jobs)
    needed = requirements.of_jobs(jobs, context.plugins)
    return attrs.evolve(plan, jobs=jobs, schedule=EMPTY, requires=needed, context=context)


def _resolved(job: Job, plan: Plan, context: Context) -> Job:
    schedule, settings = runner.resolved(job, plan.schedule, context)
    params = {**to_params(schedule), **({} if settings is None else to_params(settings))}
    return attrs.evolve(
        job,
        collector=attrs.evolve(job.collector, params=params),
        postprocessors=tuple(_step(step, context) for step in job.postprocessors),
    )


def _step(step: Step, context: Context) -> Step:
    settings = runner.step_settings(step, context.plugins, context.options)
    return step if settings is None else attrs.evolve(step, params=to_params(settings))
