"""One bisection at work: measures what tells most, writes down what it learns after every measurement."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import attrs
import msgspec
from perfcore_command_bisect import bisection, journal, observations
from perfcore_command_bisect.bisection import Answer, Belief, Measurement
from perfcore_command_bisect.journal import Journal, Reading

from perfcore import environment
from perfcore.analysis.pairing import thresholds_of
from perfcore.cli.console import Console
from perfcore.errors import CommandFailedError, NotFoundError, PerfError, UsageError, nearest
from perfcore.measure.build import Building
from perfcore.measure.execution import runner_context, submit
from perfcore.measure.identity import state_key
from perfcore.measure.request import configured_build
from perfcore.measure.run_errors import named_error, run_error
from perfcore.measure.runner import Context
from perfcore.measure.tree_state import tree_directory
from perfcore.measure.versions import Versions
from perfcore.model import Job, MinorVersion, Plan, Profile
from perfcore.store.lookup import Ref
from perfcore.text import printable

Stopped = Literal["found", "same", "identical", "runs", "time", "stuck"]
_MOST_SETUP = 10.0  # runs: a slow build is no reason to run a version for ever
_WARMING = 2.0


@attrs.frozen
class Step:
    """What was learnt of a version: its amounts, or why it is `broken`, or which version it is the same program as.
    `more`: another was measured in turn with it, and is told next."""

    version: MinorVersion
    read: tuple[float, ...] = ()
    broken: str = ""
    like: str = ""
    more: bool = False


@attrs.frozen
class Verdict:
    """How a bisection stands."""

    journal: Journal
    belief: Belief
    answer: Answer
    threshold: float
    stopped: Stopped | None = None


Tell = Callable[[Step, Verdict], None]


@attrs.define
class Bisection:
    """`register` keeps the profiles with their versions; `until` is when to stop, in seconds of `time.monotonic`."""

    console: Console
    journal: Journal
    tell: Tell
    register: bool = False
    until: float | None = None
    _surroundings: Context = attrs.field(init=False)
    _thresholds: Mapping[str, float] = attrs.field(init=False)
    _built: Building = attrs.field(factory=Building)
    _preparing: float = 0.0
    _prepared: int = 0
    _running: float = 0.0
    _ran: int = 0

    def __attrs_post_init__(self) -> None:
        self._surroundings = runner_context(self.console.repository, self.console)
        self._thresholds = thresholds_of(self.console.repository)

    def run(self) -> Verdict:
        """Go on until it is known, or cannot be."""
        self._same_machine()
        repository = self.console.repository
        build = configured_build(repository, skip=not self.journal.command.build)
        versions = self.journal.versions
        self._built = build
        with Versions(repository, build, keep=(versions[0], versions[-1])) as trees:
            while True:
                verdict = self.verdict()
                if verdict.stopped:
                    return verdict
                self._step(trees, verdict)

    def verdict(self) -> Verdict:
        """How it stands, and whether that is the end."""
        question, threshold = self.journal.question, self._threshold()
        belief = bisection.believe(question, self.journal.evidence, threshold)
        answer = bisection.answer(question, belief)
        return Verdict(self.journal, belief, answer, threshold, self._stopped(question, belief))

    def _threshold(self) -> float:
        """The smallest relative change that matters: as asked for, as configured for the metric, or for all."""
        if self.journal.threshold is not None:
            return self.journal.threshold
        configured = self._thresholds
        return configured.get(self.journal.metric, configured.get("", bisection.SMALLEST))

    def _stopped(self, question: bisection.Question, belief: Belief) -> Stopped | None:
        sure, most = self.journal.confidence, self.journal.max_runs
        if not any(question.shares()):
            return "identical"
        if bisection.alike(belief, most, sure):
            return "same"
        if bisection.found(question, belief, sure):
            return "found"
        if belief.runs[2] >= most:
            return "runs"
        if self.until is not None and time.monotonic() >= self.until:
            return "time"
        return None if bisection.choose(question, belief, sure=sure) else "stuck"

    def _step(self, trees: Versions, verdict: Verdict) -> None:
        measurement = bisection.choose(self.journal.question, verdict.belief, self._setup(), self.journal.confidence)
        assert measurement is not None
        jobs = self._prepare(trees, measurement)
        if jobs is not None:
            self._measure(trees, measurement, jobs)

    def _setup(self) -> float:
        """What it costs to get another version ready, in runs; some are for warming up."""
        if not self._prepared or not self._ran:
            return _WARMING
        return min(_MOST_SETUP, _WARMING + (self._preparing / self._prepared) / max(1e-9, self._running / self._ran))

    def _prepare(self, trees: Versions, measurement: Measurement) -> tuple[Job, Job] | None:
        """The jobs of the version and the end in their trees; None where something was learnt without measuring."""
        try:
            end = self._placed(trees, measurement.end)
        except PerfError as error:
            raise named_error(self._called(measurement.end), error) from error
        try:
            job = self._placed(trees, measurement.place)
        except CommandFailedError as error:
            self._skip(measurement.place, error)
            return None
        known = len(self.journal.question.alike)
        for place in (measurement.end, measurement.place):
            self._identify(place, trees)
        question = self.journal.question
        if len(question.alike) > known:
            if measurement.place:
                pair = next(pair for pair in question.alike if measurement.place in pair)
                twin = self.journal.versions[sum(pair) - measurement.place]
                self._learnt(Step(self._info(measurement.place), like=twin))
            return None
        return job, end

    def _placed(self, trees: Versions, place: int) -> Job:
        version, console = self.journal.versions[place], self.console
        new = not trees.is_ready(version)
        console.progress(0, 0, f"preparing {version[:10]}")
        started = time.monotonic()
        tree = trees.get(version)
        if new:
            self._preparing += time.monotonic() - started
            self._prepared += 1
        job = self.journal.command.job
        try:
            cwd = tree_directory(tree, job.cwd, version)
        except UsageError as error:
            raise CommandFailedError(error.message, hint=error.hint) from error
        return attrs.evolve(job, cwd=cwd, version=version)

    def _identify(self, place: int, trees: Versions) -> None:
        version = self.journal.versions[place]
        if version in self.journal.programs or self.journal.again:
            return
        repository = self.console.repository
        inputs = tuple(repository.config.get("execute.inputs"))
        key = state_key(repository.vcs, version, trees.get(version), inputs, self.journal.programs)
        self._write(programs={**self.journal.programs, version: key})

    def _measure(self, trees: Versions, measurement: Measurement, jobs: tuple[Job, Job]) -> None:
        times = measurement.times, measurement.end_times
        repeated = tuple(
            attrs.evolve(job, collector=attrs.evolve(job.collector, params={**job.collector.params, **_often(count)}))
            for job, count in zip(jobs, times, strict=True)
            if count
        )
        started = time.monotonic()
        done = list(
            submit(self.console.plugins, Plan(jobs=repeated, context=self._surroundings), self.console.repository)
        )
        self.console.clear_progress()
        self._running += time.monotonic() - started
        self._ran += sum(times)
        for place, one in reversed(list(zip((measurement.place, measurement.end), done, strict=False))):
            if one.profile is None:
                error = one.error or PerfError(f"{one.job.label} was not measured")
                tree = trees.get(self.journal.versions[place])
                self._skip(place, run_error("", error, one.job, tree, self._built))
                return
        self._keep(measurement, [one.profile for one in done if one.profile is not None])

    def _keep(self, measurement: Measurement, profiles: Sequence[Profile]) -> None:
        journal, first = self.journal, profiles[0]
        places = (measurement.place, measurement.end)[: len(profiles)]
        amounts = [observations.read(profile, journal.metric, journal.function) for profile in profiles]
        if journal.function and not journal.sessions and not any(any(one.values) for one in amounts):
            raise NotFoundError(
                f"neither end spends anything in a function {printable(journal.function)!r}",
                hint=nearest(journal.function, observations.functions(first))
                or next(iter(first.notes), "`perf show` lists them"),
            )
        if not all(one.values for one in amounts):
            raise PerfError(f"nothing was measured of {printable(amounts[0].metric)}")
        session = observations.session(first) or f"{journal.sessions}"
        read = tuple(
            Reading(journal.versions[place], one.values, session) for place, one in zip(places, amounts, strict=True)
        )
        self._write(
            readings=(*journal.readings, *read),
            sessions=journal.sessions + 1,
            metric=amounts[0].metric,
            unit=amounts[0].unit,
            better=amounts[0].better if journal.better == "" else journal.better,
            config_id=first.config_id,
            environment_id=first.environment_id,
        )
        if not journal.sessions:
            self._write(readings=(*self.journal.readings, *known(self.console, self.journal)))
        for profile in profiles:
            self._register(profile)
        for place, one in zip(places, amounts, strict=True):
            if measurement.place in (0, place):
                self._tell(Step(self._info(place), one.values, more=place != places[-1] and measurement.place == 0))

    def _register(self, profile: Profile) -> None:
        if self.register:
            repository = self.console.repository
            repository.register(Ref(kind="pending", pending=repository.save(profile)), profile.origin)

    def _skip(self, place: int, error: PerfError) -> None:
        """Go on without a version; an end cannot be left out."""
        if place in (0, len(self.journal.versions) - 1):
            raise named_error(self._called(place), error) from error
        version, why = self.journal.versions[place], str(error)
        self._learnt(
            Step(self._info(place), broken=why), broken={**self.journal.broken, version: why.split("\n", 1)[0]}
        )

    def _learnt(self, step: Step, **changes: Any) -> None:
        self._write(**changes)
        self.console.clear_progress()
        self._tell(step)

    def _tell(self, step: Step) -> None:
        self.tell(step, self.verdict())

    def _write(self, **changes: Any) -> None:
        self.journal = msgspec.structs.replace(self.journal, **changes)
        journal.write(self.console.repository.perf, self.journal)

    def _info(self, place: int) -> MinorVersion:
        return self.console.repository.vcs.get_minor_version_info(self.journal.versions[place])

    def _called(self, end: int) -> str:
        return f"{self.journal.versions[end][:10]}, the {'bad' if end else 'good'} end"

    def _same_machine(self) -> None:
        here = environment.environment_id(self._surroundings.machine)
        if self.journal.environment_id not in ("", here):
            raise UsageError(
                "this bisection was begun on another machine, or before this one was changed: amounts do not compare",
                hint="go on there, or begin again: perf bisect --reset",
            )


def known(console: Console, asked: Journal) -> list[Reading]:
    """What profiles that exist already say of the versions of a bisection."""
    found, told = [], set()
    repository = console.repository
    mine = {reading.session for reading in asked.readings}
    for version in asked.versions:
        for entry in repository.readable_entries(version):
            alike = (entry.config_id, entry.environment_id) == (asked.config_id, asked.environment_id)
            if not alike or entry.profile in told:
                continue
            told.add(entry.profile)
            with contextlib.suppress(PerfError):
                profile = repository.store.load(entry.profile)
                session = observations.session(profile) or entry.profile
                values = observations.read(profile, asked.metric, asked.function).values
                if values and session not in mine:
                    found.append(Reading(version, values, session, apart=True))
    with_ends = {r.session for r in found if r.version in (asked.versions[0], asked.versions[-1])}
    others = {r.session for r in found if r.version not in (asked.versions[0], asked.versions[-1])}
    return [msgspec.structs.replace(r, apart=r.session not in with_ends & others) for r in found]


def _often(count: int) -> Mapping[str, Any]:
    return {"repeat": count, "budget": None, "order": "interleaved", "retry_disturbed": 0}
