"""Plans that any worker can measure: options and schedule resolved here, plugins named with their versions, which the
worker must have, and wishes for its machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from perfcore import environment
from perfcore.config.settings import to_params
from perfcore.errors import PluginError
from perfcore.measure import runner
from perfcore.model import EMPTY, Job, Plan, Requirement, Step
from perfcore.plugins.installed import normalized
from perfcore.plugins.registry import Plugins
from perfcore.text import printable

if TYPE_CHECKING:
    from perfcore.measure.runner import Context


def resolve(plan: Plan, context: Context) -> Plan:
    """The plan with the options that configuration and environment give here in its jobs, so that those of a worker
    do not matter. UsageError for an option that does not fit."""
    jobs = tuple(_resolved(job, plan, context) for job in plan.jobs)
    needed = _requirements(jobs, context.plugins)
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


def _requirements(jobs: Sequence[Job], plugins: Plugins) -> tuple[Requirement, ...]:
    """The collectors and postprocessors of jobs as they are installed here."""
    names = {("collector", job.collector.name) for job in jobs}
    names |= {("postprocessor", step.name) for job in jobs for step in job.postprocessors}
    plugins_by_name = {key: plugins.find(*key) for key in sorted(names)}
    return tuple(
        Requirement(kind=kind, name=name, distribution=installed.distribution, version=installed.version)
        for (kind, name), installed in plugins_by_name.items()
    )


def check(requirements: Sequence[Requirement], plugins: Plugins) -> None:
    """PluginError for the first plugin that is missing here, or of another distribution or version. Versions must be
    equal, because two versions of a collector may measure differently under one name."""
    for needed in requirements:
        installed = plugins.find(needed.kind, needed.name)
        same_distribution = normalized(installed.distribution) == normalized(needed.distribution)
        if needed.distribution and not same_distribution:
            raise _unfit(needed, f"{installed.distribution} {installed.version}".strip())
        if needed.version and installed.version != needed.version:
            raise _unfit(needed, f"{installed.distribution} {installed.version}".strip())


def unmet_wishes(wishes: Mapping[str, Any], machine: Mapping[str, Any]) -> Iterator[str]:
    """A line for each wish that this machine does not meet: `cpus` and `memory_gib` are the least, others equal."""
    facts = {**machine, "environment_id": environment.environment_id(machine)}
    for name, wish in sorted(wishes.items()):
        fact = facts.get(name)
        at_least = name in ("cpus", "memory_gib") and isinstance(fact, int) and isinstance(wish, int | float)
        if not (fact >= wish if at_least else fact == wish):
            yield f"the plan wishes {printable(f'{name} {wish}')}; this machine has {printable(str(fact))}"


def _unfit(needed: Requirement, installed: str) -> PluginError:
    required = f"{needed.distribution} {needed.version}".strip()
    return PluginError(
        f"the plan needs {needed.kind} {printable(needed.name)} of {printable(required)}, but the worker has "
        f"{printable(installed)}",
        hint="install the same version on the worker, or submit the plan where that version is installed",
    )
