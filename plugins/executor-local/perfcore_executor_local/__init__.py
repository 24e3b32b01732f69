"""The executor `local`: makes the trees of a plan and measures, in this process."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perfcore import environment
from perfcore.errors import CommandFailedError, PerfError, PluginError
from perfcore.measure import runner
from perfcore.measure.runner import Context
from perfcore.model import Attempt, Job, Measured, Plan, Requirement
from perfcore.model.record import replace
from perfcore.plugins.installed import normalized
from perfcore.plugins.registry import Plugins
from perfcore.text import printable
from perfcore_executor_local.interpreter import interpreter_of
from perfcore_executor_local.oversights import with_oversights

if TYPE_CHECKING:
    from pathlib import Path

    from perfcore.model.listener import Listener
    from perfcore_executor_local.preparation import Directories


class LocalExecutor:
    """Measures the sessions of a plan one after the other on this machine."""

    def submit(self, plan: Plan, listener: Listener | None = None) -> Generator[Measured, None, None]:
        context = _context(plan, listener)
        if plan.seconds is not None:  # they begin now, so that making trees counts
            context = replace(context, until=min(context.until, time.monotonic() + plan.seconds))
        check(plan.requires, context.plugins)
        log = "".join(f"{wish}\n" for wish in unmet_wishes(plan.wishes, context.machine))
        if plan.source is None:
            for positions in _explicit(plan):
                yield from _measured(plan, context, dict.fromkeys(positions), log)
            return
        from perfcore_executor_local.preparation import prepared

        with contextlib.closing(prepared(plan, context)) as sessions:
            waiting = len(plan.jobs)
            for directories in sessions:
                budget = max(0.001, (context.until - time.monotonic()) / max(waiting, len(directories)))
                yield from _measured(_within(plan, budget), context, directories, log, plan.jobs)
                waiting -= len(directories)


def _context(plan: Plan, listener: Listener | None) -> Context:
    """The offer of the submitting process, or what this process has of its own."""
    context = plan.context if isinstance(plan.context, Context) else Context(plugins=Plugins())
    if not context.machine:
        context = replace(context, machine=environment.facts(context.plugins.emit("environment")))
    return context if listener is None else replace(context, progress=listener.progress, failed=listener.failed)


def _explicit(plan: Plan) -> Sequence[Sequence[int]]:
    """The sessions that a plan names; all jobs share one where it names none."""
    return plan.sessions or ([range(len(plan.jobs))] if plan.jobs else [])


def _within(plan: Plan, seconds: float) -> Plan:
    """The plan with no larger budget of a job than so many seconds."""
    jobs = []
    for job in plan.jobs:
        params = job.collector.params
        if (budget := params.get("budget")) is not None and seconds < budget:
            job = replace(job, collector=replace(job.collector, params={**params, "budget": seconds}))
        jobs.append(job)
    return replace(plan, jobs=tuple(jobs))


def _measured(
    plan: Plan, context: Context, directories: Directories, log: str, submitted: Sequence[Job] = ()
) -> Iterator[Measured]:
    """The answers of one session in the order of its jobs; those without a tree failed before it began. They name the
    jobs as they were `submitted`."""
    submitted = submitted or plan.jobs
    ready: list[tuple[Job, Job]] = []
    failures: dict[int, PerfError] = {}
    logs: dict[str | None, str] = {}
    in_trees: dict[int, tuple[Job, Path]] = {}
    for position, tree in directories.items():
        job = plan.jobs[position]
        if isinstance(tree, PerfError):
            failures[position] = tree
        else:
            placed = replace(job, cwd=tree.directory, activation=tree.activation) if tree else job
            ready.append((placed, submitted[position]))
            logs[job.version] = tree.log if tree else ""
            if tree and tree.tree:
                in_trees[id(submitted[position])] = placed, tree.tree
    attempt = Attempt(worker=str(context.machine.get("host", "")), started=time.time_ns())
    waiting = list(directories)
    interpreters = {id(submitted): interpreter_of(job) for job, submitted in ready}
    session = replace(plan, jobs=tuple(job for job, _ in ready))
    with contextlib.closing(runner.run(session, context, [job for _, job in ready])) as answers:
        for answer in answers:
            if answer.profile is None or not answer.profile.incomplete:
                yield from _failed(submitted, failures, waiting, attempt, log)
                waiting.pop(0)
            answer = with_oversights(_with_build_hint(answer, plan, in_trees))
            yield _with_log(_with_interpreter(answer, interpreters), attempt, log + logs.get(answer.job.version, ""))
    yield from _failed(submitted, failures, waiting, attempt, log)


def _with_build_hint(answer: Measured, plan: Plan, in_trees: Mapping[int, tuple[Job, Path]]) -> Measured:
    """The answer whose error says what builds the program, where the tree of a version lacks it."""
    if answer.error is None or id(answer.job) not in in_trees:
        return answer
    from perfcore_executor_local.unbuilt import build_hint

    hint = build_hint(answer.error, *in_trees[id(answer.job)], plan.build)
    return replace(answer, error=CommandFailedError(answer.error.message, hint=hint)) if hint else answer


def _with_interpreter(answer: Measured, interpreters: Mapping[int, Mapping[str, str] | None]) -> Measured:
    """The answer whose profile says which Python measured. It is no part of the machine's identity: a version with
    another interpreter is compared all the same."""
    interpreter = interpreters.get(id(answer.job))
    if answer.profile is None or interpreter is None:
        return answer
    machine = {**answer.profile.machine, "interpreter": interpreter}
    return replace(answer, profile=replace(answer.profile, machine=machine))


def _failed(
    jobs: Sequence[Job], failures: Mapping[int, PerfError], waiting: list[int], attempt: Attempt, log: str
) -> Iterator[Measured]:
    """The failures that come before the next job that was measured."""
    while waiting and waiting[0] in failures:
        position = waiting.pop(0)
        yield _with_log(Measured(job=jobs[position], error=failures[position], no_tree=True), attempt, log)


def _with_log(answer: Measured, attempt: Attempt, log: str) -> Measured:
    error = str(answer.error) if answer.error is not None else ""
    attempts: tuple[Any, ...] = (*answer.attempts, replace(attempt, error=error))
    return replace(answer, attempts=attempts, log=log + answer.log)


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
