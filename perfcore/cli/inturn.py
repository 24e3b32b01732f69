"""Two programs in their trees, measured in turn by the collector and judged by the check of the configuration."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from perfcore import environment
from perfcore.analysis import method_rules, pair_checks, pairing
from perfcore.cli import failures
from perfcore.cli.console import Console
from perfcore.errors import PerfError, PluginError, UsageError
from perfcore.measure.build import Building
from perfcore.measure.comparison import answer as answers
from perfcore.measure.comparison import batches as comparing
from perfcore.measure.comparison.answer import Answer, Side
from perfcore.measure.comparison.batches import Effort, Look, Samples
from perfcore.measure.execution import runner_context, submit
from perfcore.measure.identity import fingerprint
from perfcore.measure.request import configured_build
from perfcore.measure.runner import Context, metrics
from perfcore.measure.tree_state import tree_directory, tree_state
from perfcore.measure.trees import Trees
from perfcore.model import Change, Job, Measured, Pairing, Plan, Profile
from perfcore.plugins.registry import Phases
from perfcore.repository.repository import Repository
from perfcore.text import printable

SMALLEST = 0.01


@attrs.frozen(kw_only=True)
class Program:
    """One side: `job.cwd` is relative to the tree of the version, or to the user's own for None."""

    name: str
    job: Job
    version: str | None = None

    @property
    def title(self) -> str:
        """The name in errors, which show commands anyhow."""
        return "" if self.name == self.job.label else printable(self.name)


@attrs.frozen
class _Placed:
    """A job where it runs, the tree that it may read, and what built that."""

    job: Job
    tree: Path
    built: Building = attrs.field(factory=Building)


@attrs.define
class Judge:
    """The check that the configuration names for what is measured. What is decided on is chosen once: by the user, or
    by the check at first."""

    console: Console
    thresholds: Mapping[str, float]
    metric: str | None
    threshold: float | None
    _phases: Phases | None = None

    @classmethod
    def make(cls, console: Console, metric: str | None, threshold: float | None) -> Judge:
        repository = console.repository_if_any
        thresholds = {} if repository is None else pairing.thresholds_of(repository)
        return cls(console, thresholds, metric, threshold)

    @property
    def smallest(self) -> float:
        """The smallest change that matters in the metric that decides."""
        if self.threshold is not None:
            return self.threshold
        return self.thresholds.get(self.metric or "", self.thresholds.get("", SMALLEST))

    def __call__(self, samples: Samples, share: float) -> tuple[Sequence[Change], float]:
        """The verdicts on all metrics, first that on the one which decides, and the smallest change that matters in
        it."""
        first, second = samples
        question = attrs.evolve(pairing.of_profiles(None, first, second), share=share, metric=self.metric)
        if self._phases is None:
            self._phases = _check(self.console, question)
        if self.metric is None:
            changes = self._phases.call("compare", pairing=question)
            self.metric = next((change.metric for change in changes if change.primary), None)
        if self.metric is None:
            return (), self.smallest
        thresholds = {**self.thresholds, self.metric: self.smallest}
        question = attrs.evolve(question, metric=self.metric, thresholds=thresholds)
        changes = self._phases.call("compare", pairing=question)
        return self._sorted(changes), self.smallest

    def _sorted(self, changes: Sequence[Change]) -> list[Change]:
        whole = [change for change in changes if change.metric == self.metric and not change.resource]
        if not whole:
            there = ", ".join(printable(change.metric) for change in changes)
            raise UsageError(f"nothing was measured of {printable(str(self.metric))!r}", hint=f"there is {there}")
        return [whole[0], *(change for change in changes if change is not whole[0])]


def _check(console: Console, pairing: Pairing) -> Phases:
    """The first check that the configuration names for these samples."""
    repository, config = console.repository_if_any, console.config
    if repository is not None:
        name, options = pair_checks.methods(repository, pairing)[0], repository.plugin_options
    else:
        known, default = method_rules.read(config.get("check.rules")), str(config.get("check.name"))
        name = method_rules.methods(known, pair_checks.facts_of(pairing), str(config.get("check.apply")), default)[0]
        options = config.plugin_options
    found, driver = console.plugins.make("check", name, options("check", name))
    if not hasattr(driver, "compare"):
        raise PluginError(
            f"{found} does not compare two samples", hint="let check.name or check.rules name one that does: pair"
        )
    return console.plugins.phases(found, driver)


def measured(
    console: Console,
    programs: tuple[Program, Program],
    judge: Judge,
    effort: Effort,
    *,
    build: bool,
    again: bool,
    keep: bool,
) -> Answer:
    """The answer to which of two programs is slower. Nothing is measured where both are one."""
    repository = console.repository if keep else None  # before anything runs, for there may be none
    with contextlib.ExitStack() as stack:
        surroundings = _surroundings(console)
        first, second = _placed(console, stack, programs, build)
        sides = _side(programs[0], first), _side(programs[1], second)
        known = judge.metric is None or judge.metric in metrics(first.job, surroundings)
        if not again and known and _identical(surroundings, first, second):
            return Answer(sides=sides, identical=True)
        jobs = first.job, second.job
        bench = _Bench(console, surroundings, programs, (first, second), effort)
        try:
            look = bench.last(comparing.compare(jobs, bench, judge, effort, time.monotonic))
        except KeyboardInterrupt:
            if repository is not None:
                _keep(console, repository, bench, bench.complete)
            raise
    if repository is not None:
        _keep(console, repository, bench, [sample.profiles for sample in look.samples])
    return Answer(
        sides=sides,
        changes=look.changes,
        threshold=judge.smallest,
        pairs=look.pairs,
        looks=look.number,
        seconds=look.seconds,
        stopped=look.stopped,
    )


@attrs.define
class _Bench:
    """Measures batches, and shows on terminals how the interval narrows."""

    console: Console
    surroundings: Context
    programs: tuple[Program, Program]
    placed: tuple[_Placed, _Placed]
    effort: Effort
    until: float = math.inf
    seen: str = ""
    taken: int = 0
    shown: int = 0
    batches: list[list[Profile]] = attrs.field(factory=list)

    def __call__(self, schedule: Mapping[str, Any]) -> list[Measured]:
        if self.until == math.inf:
            self.until = time.monotonic() + self.effort.seconds
        surroundings = attrs.evolve(self.surroundings, progress=self._progress, until=self.until)
        plan = Plan(jobs=tuple(one.job for one in self.placed), schedule=schedule, context=surroundings)
        done = submit(self.console.plugins, plan, self.console.repository_if_any)
        told = [self._told(*one) for one in zip(done, self.programs, self.placed, strict=True)]
        self.batches.append([one.profile for one in told if one.profile is not None])
        return told

    @property
    def complete(self) -> list[list[Profile]]:
        """The profiles of either side, without the pair that warmed up."""
        return [[batch[side] for batch in self.batches[1:] if len(batch) == 2] for side in (0, 1)]

    def _told(self, one: Measured, program: Program, placed: _Placed) -> Measured:
        """An error says of which side it is."""
        if one.error is None:
            return one
        tree = placed.tree if program.version is not None else None
        error = failures.of_run(program.title, one.error, placed.job, tree, placed.built)
        return attrs.evolve(one, error=error)

    def last(self, looks: Iterator[Look]) -> Look:
        """The last look; there is always one."""
        for look in looks:
            change = look.changes[0] if look.changes else None
            self.seen = f"{change.metric} {answers.interval(change)}" if change else ""
            self.taken = look.pairs
        self.console.clear_progress()
        return look

    def _progress(self, done: int, total: int, text: str) -> None:
        self.shown = max(self.shown, self.taken + done // 2)  # those that are taken again are counted anew
        self.console.progress(self.shown, 0, f"pairs: {self.seen or text}")


def _surroundings(console: Console) -> Context:
    """What the runner needs, outside of a repository too."""
    if console.repository_if_any is not None:
        return runner_context(console.repository, console)
    return Context(
        plugins=console.plugins,
        options=console.config.plugin_options,
        machine=environment.facts(console.plugins.emit("environment")),
        schedule=console.config.get("schedule"),
    )


def _placed(
    console: Console, stack: contextlib.ExitStack, programs: tuple[Program, Program], build: bool
) -> tuple[_Placed, _Placed]:
    """Both jobs in their trees, which are built; the user's own once."""
    repository = console.repository_if_any
    if repository is None:
        tree = console.directory.resolve()
        first, second = (
            _Placed(attrs.evolve(p.job, cwd=tree_directory(tree, p.job.cwd, None), dirty=True), tree) for p in programs
        )
        return first, second
    builder, trees = configured_build(repository, skip=not build), stack.enter_context(Trees(repository))
    made: dict[str | None, Path] = {}
    found = []
    for number, program in enumerate(programs):
        version = program.version
        key = version and f"{version} {number}"  # one version on both sides has a tree on each
        if key not in made:
            console.progress(number, len(programs), f"preparing {program.name}")
            made[key] = tree = repository.root if version is None else trees.get(version)
            with _named(program):
                builder.run(tree)
        origin, dirty = (version, False) if version is not None else tree_state(console.repository)
        place = tree_directory(made[key], program.job.cwd, version)
        job = attrs.evolve(program.job, cwd=place, version=origin, dirty=dirty)
        found.append(_Placed(job, made[key], builder))
    return found[0], found[1]


@contextlib.contextmanager
def _named(program: Program) -> Iterator[None]:
    """Errors say which side they are of."""
    try:
        yield
    except PerfError as error:
        raise failures.of(program.title, error) from error


def _side(program: Program, placed: _Placed) -> Side:
    job = placed.job
    return Side(name=program.name, command=job.label, version=job.version, dirty=job.dirty)


def _identical(surroundings: Context, first: _Placed, second: _Placed) -> bool:
    """Whether both would do the same, for sure."""
    if first.tree == second.tree and first.job.argv[1:] != second.job.argv[1:]:
        return False  # a fingerprint would tell, after it has read the tree twice
    prints = [fingerprint(_with_options(surroundings.options, each.job), each.tree) for each in (first, second)]
    return prints[0] is not None and prints[0] == prints[1]


def _with_options(options: Callable[[str, str], Mapping[str, Any]], job: Job) -> Job:
    """The job with the configured options of its collector: some name inputs."""
    step = job.collector
    params = {**options("collector", step.name), **step.params}
    return attrs.evolve(job, collector=attrs.evolve(step, params=params))


def _keep(console: Console, repository: Repository, bench: _Bench, profiles: Sequence[Sequence[Profile]]) -> None:
    """Pending profiles of what was measured, in batches as it was, with a word on which side they are of."""
    console.clear_progress()
    for letter, program, placed, batches in zip("AB", bench.programs, bench.placed, profiles, strict=True):
        names = []
        for profile in batches:
            names.append(repository.save(profile).name)
            console.plugins.emit("profile_collected", profile=profile, job=placed.job)
        if names:
            console.say(f"kept of {letter}, {printable(program.name)}: {' '.join(names)}")
