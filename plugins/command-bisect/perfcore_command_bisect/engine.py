"""A bisection under way: measures the most informative version, and writes its journal after every measurement."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec
from perfcore_check_kit.thresholds import thresholds_of
from perfcore_command_compare.identity import state_key
from perfcore_command_compare.run_errors import named_error, run_error

from perfcore import environment
from perfcore.errors import CommandFailedError, NotFoundError, PerfError, UsageError, nearest
from perfcore.locks import Lock
from perfcore.measure import commands
from perfcore.measure.execution import runner_context, submit
from perfcore.measure.request import configured_build, tree_directory
from perfcore.measure.runner import Context
from perfcore.model import Build, Job, MinorVersion, Plan, Profile
from perfcore.model.listener import Listener
from perfcore.model.record import replace
from perfcore.repository import Repository
from perfcore.store.lookup import Ref
from perfcore.text import clip, printable
from perfcore_command_bisect import confirmation, consent, observations
from perfcore_command_bisect import journal as journals
from perfcore_command_bisect.bayes import SMALLEST, BayesianSearch
from perfcore_command_bisect.consent import Confirm
from perfcore_command_bisect.journal import Journal, Reading
from perfcore_command_bisect.options import BisectOptions
from perfcore_command_bisect.request import new_journal
from perfcore_command_bisect.result import BisectResult, Status, Step, Stopped
from perfcore_command_bisect.search import Belief, Measurement, Question, Search, answer
from perfcore_command_bisect.versions import Versions

# Runs that the preparation of a version may count for: a slow build is no reason to run one version for ever.
_MAX_SETUP = 10.0
_WARMUP = 2.0  # runs: the cost of another version before any tree was built; `time` warms up once or twice
_LEAST_RUNS = 2  # of a step: a version and an end
_LABEL_WIDTH = 60  # columns of a command in a message


StepListener = Callable[[Step, Status], None]


def no_steps(step: Step, status: Status) -> None:
    """The step listener that ignores all steps."""


@contextlib.contextmanager
def bisection(
    repository: Repository,
    options: BisectOptions,
    listener: Listener,
    *,
    search: Search | None = None,
    confirm: Confirm = consent.refuse,
) -> Iterator[Bisection]:
    """The bisection of the options, or the one under way, ready to run. Only one process has it at a time. `confirm`
    asks the user before a command runs that a profile or journal of somebody else holds."""
    perf = repository.perf
    search = search or BayesianSearch()
    # Two processes would each replace the journal of the other, and disturb the runs of the other.
    (perf / "locks").mkdir(exist_ok=True)
    busy = PerfError("another `perf bisect` is at work here", hint="wait for it, or end it")
    with Lock(perf / "locks" / "bisect").hold(0.0, busy):
        if options.reset:
            journals.remove(perf)
        stored_journal = journals.read(perf)
        if options.is_new:
            requested = new_journal(repository, options, listener, confirm)
            journal = _resumed(repository, stored_journal, requested, listener, search)
        elif options.command is None and stored_journal is not None:
            _require_own(repository, stored_journal, confirm)
            journal = stored_journal
        else:
            raise UsageError(
                "say between which versions: perf bisect GOOD BAD -- COMMAND",
                hint="or --auto takes them from the history",
            )
        journal = _with_changes(journal, options)
        consent.remember(repository, journals.digest(repository.home, journal))
        journals.write(perf, journal)
        # Not the wall clock, which NTP may set back.
        until = None if options.budget is None else time.monotonic() + options.budget
        yield Bisection(repository, journal, listener, search, register=options.register, until=until)


def forget(repository: Repository) -> bool:
    """Discard the bisection under way; whether there was one."""
    return journals.remove(repository.perf)


def _with_changes(journal: Journal, options: BisectOptions) -> Journal:
    """The journal with the options that may change while a bisection is under way."""
    changes = {
        "confidence": options.confidence,
        "threshold": options.threshold,
        "max_runs": options.max_runs,
        "cpu": options.cpu,
        "better": options.better or None,
        "again": options.again or None,
    }
    return msgspec.structs.replace(journal, **{key: value for key, value in changes.items() if value is not None})


def _resumed(
    repository: Repository, earlier: Journal | None, requested: Journal, listener: Listener, search: Search
) -> Journal:
    """The earlier journal if it answers the request, the new one if the earlier bisection has ended."""
    if earlier is None or not earlier.readings:
        return requested
    if earlier.asks_the_same(requested):
        return msgspec.structs.replace(earlier, ends_from=requested.ends_from)
    if Bisection(repository, earlier, listener, search).status().stopped:
        return requested
    raise UsageError(
        f"a bisection of {earlier.versions[0][:10]}..{earlier.versions[-1][:10]} is under way, of "
        f"{clip(commands.label(earlier.command.job), _LABEL_WIDTH)}",
        hint="`perf bisect` goes on with it, `perf bisect --reset` discards it",
    )


def _require_own(repository: Repository, earlier: Journal, confirm: Confirm) -> None:
    """UntrustedError unless the user began this bisection on this machine, or confirms what it runs."""
    job = earlier.command.job
    consent.require(
        repository,
        confirm,
        journals.digest(repository.home, earlier),
        job,
        source="the bisection that is under way",
        typed=consent.command_line(job, earlier.versions[0], earlier.versions[-1], reset=True),
    )


@attrs.define
class Bisection:
    """A bisection under way. `register` registers the profiles with their versions; `until` is the time to stop, in
    seconds of `time.monotonic`."""

    repository: Repository
    journal: Journal
    listener: Listener
    search: Search
    on_step: StepListener = no_steps
    register: bool = False
    until: float | None = None
    _context: Context = attrs.field(init=False)
    _thresholds: Mapping[str, float] = attrs.field(init=False)
    _built: Build = attrs.field(factory=Build)
    _setup_seconds: float = 0.0
    _setups: int = 0
    _run_seconds: float = 0.0
    _runs: int = 0

    def __attrs_post_init__(self) -> None:
        self._context = runner_context(self.repository, self.listener)
        if self.journal.cpu:
            schedule = {**self._context.schedule, "cpu": self.journal.cpu}
            self._context = replace(self._context, schedule=schedule)
        self._thresholds = thresholds_of(self.repository)

    def run(self, on_step: StepListener = no_steps) -> BisectResult:
        """Measure until the version is found or cannot be."""
        self.on_step = on_step
        self._require_same_machine()
        command = self.journal.command
        self._built = configured_build(self.repository, skip=not command.build, rebuild=command.rebuild)
        ends = self.journal.versions[0], self.journal.versions[-1]
        known = bool(self.journal.readings)
        with Versions(self.repository, self._built, keep=ends) as trees:
            while True:
                status = self.status()
                if status.stopped:
                    versions = tuple(self._version(index) for index in status.candidates.places)
                    return BisectResult(status, versions, known)
                self._step(trees, status)
                known = False

    def status(self) -> Status:
        """The state after the observations so far."""
        question, threshold = self.journal.question, self._threshold()
        belief = self.search.believe(question, self.journal.evidence, threshold)
        stopped = self._stopped(question, belief)
        return Status(self.journal, belief, answer(question, belief), threshold, stopped)

    def _threshold(self) -> float:
        """The smallest relative change that matters: of the options, as configured for the metric, or for all."""
        if self.journal.threshold is not None:
            return self.journal.threshold
        return self._thresholds.get(self.journal.metric, self._thresholds.get("", SMALLEST))

    def _stopped(self, question: Question, belief: Belief) -> Stopped | None:
        confidence, max_runs = self.journal.confidence, self.journal.max_runs
        if not any(question.shares()):
            return "identical"
        verdict = self.search.verdict(question, belief, max_runs, confidence)
        if verdict and not (verdict == "found" and confirmation.missing(self.journal, belief)):
            return verdict
        if max_runs - self.journal.new_runs < _LEAST_RUNS:
            return verdict or "runs"
        if self.until is not None and time.monotonic() >= self.until:
            return verdict or "time"
        # Without costs: whether anything can tell more does not depend on what it takes.
        return None if verdict or self.search.choose(question, belief, 0.0, confidence) else "stuck"

    def _step(self, trees: Versions, status: Status) -> None:
        measurement = self._next(status.belief)
        jobs = self._prepare(trees, measurement)
        if jobs is not None:
            self._measure(trees, measurement, jobs)

    def _next(self, belief: Belief) -> Measurement:
        journal, question = self.journal, self.journal.question
        if self.search.verdict(question, belief, journal.max_runs, journal.confidence) == "found":
            measurement = confirmation.missing(journal, belief)
        else:
            measurement = self.search.choose(question, belief, self._setup(), journal.confidence)
        assert measurement is not None
        return measurement.within(journal.max_runs - journal.new_runs)

    def _setup(self) -> float:
        """The cost of preparing another version, in runs, with those for warming up."""
        if not self._setups or not self._runs:
            return _WARMUP
        # A nanosecond at least: a search in a test may take no time at all.
        run = max(1e-9, self._run_seconds / self._runs)
        return min(_MAX_SETUP, _WARMUP + self._setup_seconds / self._setups / run)

    def _prepare(self, trees: Versions, measurement: Measurement) -> tuple[Job, Job] | None:
        """The jobs of the version and the end in their trees; None where something was learnt without measuring."""
        try:
            end = self._job_in_tree(trees, measurement.end)
        except PerfError as error:
            raise named_error(self._called(measurement.end), error) from error
        try:
            job = self._job_in_tree(trees, measurement.place)
        except CommandFailedError as error:
            self._skip(measurement.place, error)
            return None
        pairs = len(self.journal.question.alike)
        for index in (measurement.end, measurement.place):
            self._identify(index, trees)
        question = self.journal.question
        if len(question.alike) > pairs:
            if measurement.place:
                pair = next(pair for pair in question.alike if measurement.place in pair)
                twin = self.journal.versions[sum(pair) - measurement.place]
                self._learnt(Step(self._version(measurement.place), like=twin))
            return None
        return job, end

    def _job_in_tree(self, trees: Versions, place: int) -> Job:
        version = self.journal.versions[place]
        new = not trees.is_ready(version)
        self.listener.progress(0, 0, f"preparing {version[:10]}")
        started = time.monotonic()
        tree = trees.get(version)
        if new:
            self._setup_seconds += time.monotonic() - started
            self._setups += 1
        job = self.journal.command.job
        try:
            cwd = tree_directory(tree, job.cwd, version)
        except UsageError as error:
            raise CommandFailedError(error.message, hint=error.hint) from error
        return replace(job, cwd=cwd, version=version, activation=trees.activation(version))

    def _identify(self, place: int, trees: Versions) -> None:
        version = self.journal.versions[place]
        if version in self.journal.programs or self.journal.again:
            return
        inputs = tuple(self.repository.config.get("execute.inputs"))
        key = state_key(self.repository.vcs, version, trees.get(version), inputs, self.journal.programs)
        self._write(programs={**self.journal.programs, version: key})

    def _measure(self, trees: Versions, measurement: Measurement, jobs: tuple[Job, Job]) -> None:
        times = measurement.times, measurement.end_times
        repeated = tuple(
            replace(job, collector=replace(job.collector, params={**job.collector.params, **_often(count)}))
            for job, count in zip(jobs, times, strict=True)
            if count
        )
        started = time.monotonic()
        done = list(
            submit(self.repository.plugins, Plan(jobs=repeated, context=self._context), repository=self.repository)
        )
        self._run_seconds += time.monotonic() - started
        self._runs += sum(times)
        # The end first: if it failed as well, the version is not to blame.
        for index, outcome in reversed(list(zip((measurement.place, measurement.end), done, strict=False))):
            if outcome.profile is None:
                error = outcome.error or PerfError(f"{outcome.job.label} was not measured")
                tree = trees.get(self.journal.versions[index])
                self._skip(index, run_error("", error, outcome.job, tree, self._built))
                return
        self._keep(measurement, [outcome.profile for outcome in done if outcome.profile is not None])

    def _keep(self, measurement: Measurement, profiles: Sequence[Profile]) -> None:
        journal, first = self.journal, profiles[0]
        places = (measurement.place, measurement.end)[: len(profiles)]
        amounts = [observations.read(profile, journal.metric, journal.function) for profile in profiles]
        if journal.function and not journal.sessions and not any(any(values.values) for values in amounts):
            raise NotFoundError(
                f"neither end spends anything in a function {printable(journal.function)!r}",
                hint=nearest(journal.function, observations.functions(first))
                or next(iter(first.notes), "`perf show` lists them"),
            )
        if not all(values.values for values in amounts):
            raise PerfError(f"the metric {printable(amounts[0].metric)} was not measured")
        session = observations.session(first) or f"{journal.sessions}"
        read = tuple(
            Reading(journal.versions[index], values.values, session)
            for index, values in zip(places, amounts, strict=True)
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
            stored = observations.earlier_readings(self.repository, self.journal)
            earlier_runs = self.journal.earlier_runs + sum(len(reading.amounts) for reading in stored)
            self._write(readings=(*self.journal.readings, *stored), earlier_runs=earlier_runs)
        for profile in profiles:
            self._register(profile)
        for index, values in zip(places, amounts, strict=True):
            if measurement.place in (0, index):
                self._tell(
                    Step(self._version(index), values.values, more=index != places[-1] and measurement.place == 0)
                )

    def _register(self, profile: Profile) -> None:
        if self.register:
            repository = self.repository
            repository.register(Ref(kind="pending", pending=repository.save(profile)), profile.origin)

    def _skip(self, place: int, error: PerfError) -> None:
        """Go on without a version; an end cannot be left out."""
        if place in (0, len(self.journal.versions) - 1):
            raise named_error(self._called(place), error) from error
        version, why = self.journal.versions[place], str(error)
        self._learnt(
            Step(self._version(place), broken=why), broken={**self.journal.broken, version: why.split("\n", 1)[0]}
        )

    def _learnt(self, step: Step, **changes: Any) -> None:
        self._write(**changes)
        self._tell(step)

    def _tell(self, step: Step) -> None:
        self.on_step(step, self.status())

    def _write(self, **changes: Any) -> None:
        self.journal = msgspec.structs.replace(self.journal, **changes)
        journals.write(self.repository.perf, self.journal)

    def _version(self, place: int) -> MinorVersion:
        return self.repository.vcs.get_minor_version_info(self.journal.versions[place])

    def _called(self, end: int) -> str:
        return f"{self.journal.versions[end][:10]}, the {'bad' if end else 'good'} end"

    def _require_same_machine(self) -> None:
        current_machine = environment.environment_id(self._context.machine)
        if self.journal.environment_id not in ("", current_machine):
            raise UsageError(
                "this bisection was begun on another machine, or before this one was changed: amounts do not compare",
                hint="go on there, or begin again: perf bisect --reset",
            )


def _often(count: int) -> Mapping[str, Any]:
    # The number of runs is the search's decision: a configured budget would override it, and repeats of disturbed runs
    # would count twice, as spikes are part of the model of the noise.
    return {"repeat": count, "budget": None, "order": "interleaved", "retry_disturbed": 0}
