"""Comparison: measure two programs in interleaved pairs until the difference is decided, or judge stored runs."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
from perfcore_check_kit import pairing, target

from perfcore.errors import UsageError
from perfcore.measure import affinity
from perfcore.measure.execution import submit
from perfcore.measure.runner import Context, metrics
from perfcore.model import Change, Job, Measured, Plan, Profile, Sample
from perfcore.model.listener import Listener
from perfcore.model.record import replace
from perfcore.repository.repository import Repository
from perfcore.store.lookup import Ref
from perfcore.text import printable, quantity
from perfcore_command_compare import suites
from perfcore_command_compare.batches import Look, interim_looks, stop_reason
from perfcore_command_compare.host import Host
from perfcore_command_compare.judge import Judge
from perfcore_command_compare.programs import PreparedProgram, prepare, programs_are_identical
from perfcore_command_compare.request import Budget, CompareRequest, Program
from perfcore_command_compare.result import ComparisonResult, Side, interval
from perfcore_command_compare.run_errors import run_error


def compare(host: Host, request: CompareRequest, listener: Listener) -> ComparisonResult:
    """Whether the second program is slower than the first. Identical programs are not measured."""
    if request.save and host.repository is None:
        raise UsageError("runs can be saved inside a repository only")
    judge = Judge(host, request.metric, request.threshold)
    inputs, began = request.inputs or tuple(host.config.get("execute.inputs")), time.monotonic()
    with contextlib.ExitStack() as stack:
        context = host.context(listener)
        if request.cpu is not None:
            affinity.cpus(request.cpu)  # an error here comes before anything is built
            context = replace(context, schedule={**context.schedule, "cpu": request.cpu})
        programs = prepare(host, stack, request, listener)
        sides = _side(programs[0]), _side(programs[1])
        is_metric = judge.metric is None or judge.metric in metrics(programs[0].job, context)
        if not request.again and is_metric and programs_are_identical(host, programs, inputs, request.budget.seconds):
            return ComparisonResult(sides=sides, identical=True)
        budget = request.budget
        if budget.whole:
            spent = time.monotonic() - began
            budget = attrs.evolve(budget, seconds=max(0.0, budget.seconds - spent))
            if not budget.seconds:
                listener.note(f"preparing took {quantity(spent, 's')}, more than the budget: one pair is measured")
        bench = _Bench(host, context, programs, budget, listener)
        try:
            look = bench.measure(judge)
        except KeyboardInterrupt:
            if host.repository is not None and request.save:
                _save(host.repository, listener, programs, bench.complete_batches())
            raise
    if host.repository is not None and request.save:
        _save(host.repository, listener, programs, [sample.profiles for sample in look.samples])
    return ComparisonResult(
        sides=sides,
        changes=look.changes,
        threshold=judge.smallest,
        pairs=look.pairs,
        looks=look.index,
        seconds=look.seconds,
        stopped=look.stopped,
        unpaired=judge.unpaired,
    )


def program(repository: Repository, job: Job, revision: str | None) -> Program:
    """The command of a job at a revision; in the working tree for None."""
    if revision is None:
        return Program(name=job.label, job=job)
    version = repository.version(revision)
    name = version[:10] if version.startswith(revision) else f"{revision} ({version[:10]})"
    return Program(name=name, job=job, version=version)


def compare_profiles(
    host: Host,
    repository: Repository,
    names: tuple[str, str],
    refs: tuple[Sequence[Ref], Sequence[Ref]],
    listener: Listener,
    *,
    metric: str | None = None,
    threshold: float | None = None,
) -> ComparisonResult:
    """The verdict on stored runs; nothing is measured. Each side is one profile, or several as one sample."""
    first, second = (target.sample(repository, side) for side in refs)
    if difference := pairing.configuration_difference(first.profiles[0], second.profiles[0]):
        listener.note(f"the two sides differ in configuration: {difference}")
    judge = Judge(host, metric, threshold)
    changes, smallest = judge((first, second), 1.0)
    return ComparisonResult(
        sides=(_stored_side(names[0], first), _stored_side(names[1], second)),
        changes=tuple(changes),
        threshold=smallest,
        pairs=pairing.shared_blocks(first, second),
        looks=1,
        stopped=stop_reason(changes, smallest, late=False, last=True),
        unpaired=judge.unpaired,
    )


@attrs.define
class _Bench:
    """Measures batches of pairs, and reports how the interval narrows."""

    host: Host
    context: Context
    programs: tuple[PreparedProgram, PreparedProgram]
    budget: Budget
    listener: Listener
    deadline: float = math.inf
    summary: str = ""
    pairs: int = 0
    reported: int = 0
    batches: list[list[Profile]] = attrs.field(factory=list)

    def measure(self, judge: Judge) -> Look:
        """The last look; there is always at least one."""
        jobs = self.programs[0].job, self.programs[1].job
        for look in interim_looks(jobs, self._measure_batch, judge, self.budget, time.monotonic):
            self.summary = _summary(look.changes)
            self.pairs = look.pairs
        return look

    def _measure_batch(self, schedule: Mapping[str, Any]) -> list[Measured]:
        if self.deadline == math.inf:
            self.deadline = time.monotonic() + self.budget.seconds
        context = replace(self.context, progress=self._progress, until=self.deadline)
        plan = Plan(jobs=tuple(prepared.job for prepared in self.programs), schedule=schedule, context=context)
        measurements = submit(self.host.plugins, plan, repository=self.host.repository)
        pair = [_with_side(measured, side) for measured, side in zip(measurements, self.programs, strict=True)]
        self.batches.append([measured.profile for measured in pair if measured.profile is not None])
        return pair

    def complete_batches(self) -> list[list[Profile]]:
        """The profiles of either side, without the warm-up pair and a batch that was interrupted."""
        return [[batch[side] for batch in self.batches[1:] if len(batch) == 2] for side in (0, 1)]

    def _progress(self, done: int, total: int, text: str) -> None:
        # The runner counts the repeats of disturbed pairs from 0 again; the report never goes back.
        self.reported = max(self.reported, self.pairs + done // 2)
        self.listener.progress(self.reported, 0, f"pairs: {self.summary or text}")


def _summary(changes: Sequence[Change]) -> str:
    """What is known so far: the interval, or of a suite how many benchmarks are not decided."""
    primary = suites.deciding(changes)
    if len(primary) > 1:
        return f"{sum(change.kind == 'cannot tell' for change in primary):,} of {len(primary):,} benchmarks undecided"
    return f"{primary[0].metric} {interval(primary[0])}" if primary else ""


def _with_side(measured: Measured, prepared: PreparedProgram) -> Measured:
    """An error names the side."""
    if measured.error is None:
        return measured
    tree = prepared.tree if prepared.version is not None else None
    error = run_error(prepared.program.title, measured.error, prepared.job, tree, prepared.building)
    return replace(measured, error=error)


def _side(prepared: PreparedProgram) -> Side:
    job = prepared.job
    return Side(name=prepared.program.name, command=job.label, version=job.version, dirty=job.dirty)


def _stored_side(name: str, sample: Sample) -> Side:
    return Side(name=name, command=sample.profiles[0].label, version=sample.version, dirty=sample.dirty)


def _save(
    repository: Repository,
    listener: Listener,
    programs: tuple[PreparedProgram, PreparedProgram],
    profiles: Sequence[Sequence[Profile]],
) -> None:
    """Save every batch of both sides as a pending profile."""
    for letter, prepared, batches in zip("AB", programs, profiles, strict=True):
        names = list(_saved_names(repository, listener, prepared, batches))
        if names:
            listener.note(f"saved runs of {letter}, {printable(prepared.program.name)}: {' '.join(names)}")


def _saved_names(
    repository: Repository, listener: Listener, prepared: PreparedProgram, batches: Sequence[Profile]
) -> Iterator[str]:
    for profile in batches:
        pending = repository.save(profile)
        listener.saved(pending.name)
        repository.plugins.emit("profile_collected", profile=profile, job=prepared.job)
        yield pending.name


__all__ = ["Budget", "CompareRequest", "Program", "compare", "compare_profiles", "program"]
