"""Collection: measure jobs for versions in interleaved sessions, and save each profile as soon as it is measured.

What is under way is saved, too: after a second, then now and again, and at an interrupt, the finished runs of every job
are written as a pending profile marked incomplete, which the complete one replaces.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from perfcore.errors import LeftOutError, PerfError, UsageError
from perfcore.measure import runner
from perfcore.measure.collect_result import CollectResult, Failure, SavedProfile, summarize
from perfcore.measure.commands import in_folder
from perfcore.measure.execution import chosen_executor, executor_name, resolve, runner_context, submit
from perfcore.measure.request import MeasureRequest, tree_directory, tree_state, version_name
from perfcore.measure.runner import Context
from perfcore.model import Build, Entry, Job, Measured, Plan, Profile, Source, Step
from perfcore.model.record import replace
from perfcore.repository.repository import Repository
from perfcore.store.pending import Pending
from perfcore.text import plural, printable, quantity

if TYPE_CHECKING:
    from perfcore.model.listener import Listener

CHECKPOINT = 1.0  # seconds at least between two; see `runner.SAVING_SHARE`


def collect(repository: Repository, request: MeasureRequest, listener: Listener) -> CollectResult:
    """Measure everything, save each profile at once, and go on when a part fails: the result holds the failures.
    KeyboardInterrupt leaves the finished runs of each job as pending profiles marked incomplete."""
    listener = Progress(listener)
    return Collection(repository, request, listener, runner_context(repository, listener)).run()


class Progress:
    """A listener that is told the medians until now of what is under way, and every failure once."""

    def __init__(self, listener: Listener) -> None:
        self.medians: dict[str, str] = {}
        self.note, self.saved, self._listener = listener.note, listener.saved, listener
        self._told: set[tuple[str, str]] = set()

    def progress(self, done: int, total: int, text: str) -> None:
        self._listener.progress(done, total, text + self.medians.get(text, ""))

    def learn(self, job: Job, profile: Profile) -> None:
        if summaries := summarize(profile):
            first = summaries[0]
            self.medians[job.title] = f": {first.metric} {quantity(first.median, first.unit)}"

    def failed(self, subject: str, error: PerfError) -> None:
        if (subject, str(error)) not in self._told:
            self._told.add((subject, str(error)))
            self._listener.failed(subject, error)


class _Target(msgspec.Struct):
    """A job as requested and as submitted, with the profile of an interrupted command, and the one under way."""

    job: Job
    submitted: Job
    earlier: Profile | None = None
    pending: Pending | None = None


class Collection(msgspec.Struct):
    """One call of `collect`."""

    repository: Repository
    request: MeasureRequest
    listener: Progress
    context: Context
    profiles: list[SavedProfile] = msgspec.field(default_factory=list)
    failures: list[Failure] = msgspec.field(default_factory=list)
    left_out: set[str] = msgspec.field(default_factory=set)

    def run(self) -> CollectResult:
        cpu = self.request.schedule.get("cpu", self.context.schedule.get("cpu"))
        if cpu is not None and executor_name(self.repository, self.request.executor) == "local":
            from perfcore.measure import affinity

            affinity.cpus(cpu)  # an error comes before a build
        jobs = self.jobs()
        targets = self.targets(resolve(Plan(jobs=jobs, schedule=self.request.schedule), self.context).jobs)
        for target in tuple(targets):
            if target.earlier is not None and not target.submitted.collector.params["repeat"]:  # it has all its runs
                targets.remove(target)
                self._complete(target, target.earlier)
        for target, job in zip(targets, with_shares([target.submitted for target in targets]), strict=True):
            target.submitted = job
        plan = self._plan([target.submitted for target in targets])
        try:
            executor = chosen_executor(self.repository, self.request.executor)
            answers = submit(self.repository.plugins, plan, executor, self.listener, self.repository)
            with contextlib.closing(answers):
                for measured in answers:
                    self._answered(measured, targets)
        except KeyboardInterrupt:
            self._interrupted(targets)
            raise
        versions = list(dict.fromkeys(job.version for job in jobs))
        self.profiles.sort(key=lambda saved: versions.index(saved.job.version))  # sessions take turns along a history
        missing = self.left_out - {saved.job.version for saved in self.profiles}
        left_out = tuple(version for version in versions if version and version in missing)
        result = CollectResult(profiles=tuple(self.profiles), failures=tuple(self.failures), left_out=left_out)
        if left_out:
            names = ", ".join(version[:10] for version in left_out)
            how_many = plural(len(left_out), "version")
            self.listener.note(f"the budget is spent: {how_many} left out, which --missing measures: {names}")
        if not self.request.resume and (count := result.repeated_versions()):
            self.listener.note(f"{plural(count, 'version')} measured in two sessions, to compare the sessions")
        return result

    def jobs(self) -> tuple[Job, ...]:
        """The jobs of all versions, oldest first; those of the working tree in its directories."""
        requested = tuple(map(in_folder, self.request.jobs))
        if self.request.versions is None:
            version, dirty = tree_state(self.repository, needed=self.request.register)
            if dirty and self.request.register:
                raise UsageError("--add: the tree has uncommitted changes", hint="commit them, or name --version HEAD")
            return tuple(
                replace(job, version=version, dirty=dirty, cwd=tree_directory(self.repository.root, job.cwd, None))
                for job in requested
            )
        return tuple(replace(job, version=version) for version in self.request.versions for job in requested)

    def targets(self, jobs: Sequence[Job]) -> list[_Target]:
        """The jobs to measure: with `missing`, those without a registered profile, and a few before many such; with
        `resume`, those without a complete one. An incomplete one gets the runs that it lacks, which may be none."""
        pending = [kept for kept in self.repository.pending() if kept.profile] if self.request.resume else []
        present = self._present(jobs, pending)
        counts = [sum(runner.fits(job, entry, self.context) for entry in present.get(job.version, ())) for job in jobs]
        if self.request.missing:
            from perfcore.measure.sessions import REPEATED, shared

            missing = {job.version for job, count in zip(jobs, counts, strict=True) if not count}
            often = {job.version for job, count in zip(jobs, counts, strict=True) if count > REPEATED}
            repeated = shared(list(dict.fromkeys(job.version for job in jobs)), missing) - often
            counts = [0 if job.version in repeated else count for job, count in zip(jobs, counts, strict=True)]
            if repeated:
                self.listener.note(f"{plural(len(repeated), 'version')} measured again, to compare the sessions")
        absent = [job for job, count in zip(jobs, counts, strict=True) if not count]
        return [self._continued(job, pending) if pending else _Target(job, job) for job in absent]

    def _present(self, jobs: Sequence[Job], pending: Sequence[Pending]) -> dict[str | None, list[Entry]]:
        """Complete profiles by version: the registered ones only, if all are to be registered."""
        present: dict[str | None, list[Entry]] = defaultdict(list)
        if self.request.versions is not None and (self.request.missing or self.request.resume):
            for version in dict.fromkeys(job.version for job in jobs if job.version is not None):
                present[version].extend(self.repository.entries(version))
        for p in [kept.profile for kept in pending if kept.profile and not self.request.register]:
            from perfcore.repository.registration import entry_of

            if p.origin and not (p.dirty or p.incomplete):
                present[p.origin].append(entry_of(p, id="", name="", tables=()))
        return present

    def _continued(self, job: Job, pending: list[Pending]) -> _Target:
        """A job that adds the runs that a pending profile lacks, if there is such a one: none to a complete one."""
        from perfcore.measure import continuation

        under_way = continuation.pending_profile(pending, job, self.context)
        if under_way is None or (profile := under_way.profile) is None:
            return _Target(job, job)
        pending.remove(under_way)  # no second job continues it
        runs = continuation.missing_runs(profile, job)
        params = job.collector.params if runs is None else {**job.collector.params, "repeat": runs, "budget": None}
        # Postprocessors are applied to all runs together, hence not by the executor, which sees the missing ones.
        submitted = replace(job, collector=replace(job.collector, params=params), postprocessors=())
        return _Target(job, submitted, profile, under_way)

    def _plan(self, jobs: Sequence[Job]) -> Plan:
        request, repository = self.request, self.repository
        build = Build(**{name: getattr(request.building, name) for name in Build.__struct_fields__})  # plain data
        shares = [job.collector.params["budget"] for job in jobs]
        seconds = sum(shares) if shares and None not in shares else None
        plan = resolve(Plan(jobs=tuple(jobs), checkpoint=CHECKPOINT, seconds=seconds), self.context)
        if request.versions is None:
            source = Source(kind="path", root=repository.root)
            builds = request.building.commands or request.building.environment
            return replace(plan, source=source, build=build) if builds else plan
        vcs = Step(name=repository.vcs_name, params=repository.plugin_options("vcs", repository.vcs_name))
        source = Source(kind="vcs", root=repository.root, vcs=vcs)
        return replace(plan, source=source, build=build, sessions=self._sessions(jobs))

    def _sessions(self, jobs: Sequence[Job]) -> tuple[tuple[int, ...], ...] | None:
        """The sessions of more versions than share one; `local` splits them by the size of their trees."""
        from perfcore.measure.sessions import DEFAULT_VERSIONS, planned

        versions = list(dict.fromkeys(job.version for job in jobs))
        if len(versions) <= DEFAULT_VERSIONS:
            return ()
        if executor_name(self.repository, self.request.executor) == "local":
            return None
        positions = {version: [p for p, job in enumerate(jobs) if job.version == version] for version in versions}
        return tuple(
            tuple(position for index in indices for position in positions[versions[index]])
            for indices in planned(len(versions), DEFAULT_VERSIONS)
        )

    def _answered(self, measured: Measured, targets: Sequence[_Target]) -> None:
        target = next((target for target in targets if target.submitted == measured.job), None)
        if target is None:
            raise PerfError("the executor answered for a job that it was not given")
        profile = measured.profile
        if isinstance(measured.error, LeftOutError) and measured.job.version is not None:
            self.left_out.add(measured.job.version)
        elif profile is None:
            error = measured.error or PerfError(f"{measured.job.label} was not measured")
            version = self.request.versions and measured.job.version
            subject = (version_name(version) if version else "the working tree") if measured.no_tree else ""
            if not any(subject and failure.subject == subject for failure in self.failures):  # once for all its jobs
                self._fail(subject or printable(measured.job.title), error)
        else:
            self._measured(target, profile)

    def _measured(self, target: _Target, profile: Profile) -> None:
        try:
            with_earlier = profile
            if target.earlier is not None:
                from perfcore.measure.continuation import joined

                with_earlier = joined(target.earlier, profile)
            if profile.incomplete:
                target.pending = self.repository.replace(target.pending, with_earlier)
                self.listener.learn(target.job, with_earlier)
            else:
                self._complete(target, with_earlier)
        except PerfError as error:
            self._fail(printable(target.job.title), error)

    def _complete(self, target: _Target, profile: Profile) -> None:
        """Save a profile with all its runs in the place of the incomplete one."""
        if target.earlier is not None and target.earlier.incomplete:
            profile, tools = replace(profile, incomplete=False), target.job.postprocessors
            profile = runner.postprocess(profile, tools, self.context.plugins, self.context.options)
        try:
            pending = self.repository.replace(target.pending, profile)
        except PerfError as error:
            self._fail(printable(target.job.title), error)
            return
        target.pending = target.earlier = None  # a version in two sessions has two profiles
        self.listener.saved(pending.name)
        if target.job.title in self.listener.medians:  # a long work, that somebody follows
            self.listener.learn(target.job, profile)
        self.listener.progress(len(self.profiles) + 1, len(self.profiles) + 1, target.job.title)
        self.repository.plugins.emit("profile_collected", profile=profile, job=target.job)
        entry = None
        if self.request.register:
            from perfcore.store.lookup import Ref

            try:
                entry = self.repository.register(Ref(kind="pending", pending=pending), profile.origin)[1]
            except PerfError as error:
                self._fail(printable(target.job.title), error)
        self.profiles.append(SavedProfile(job=target.job, profile=profile, pending=pending, entry=entry))

    def _interrupted(self, targets: Sequence[_Target]) -> None:
        """Say what is kept."""
        incomplete = sum(target.pending is not None for target in targets)
        saved = [plural(len(self.profiles), "complete profile")] if self.profiles else []
        saved += [f"{plural(incomplete, 'incomplete one')} with the finished runs"] if incomplete else []
        if kept := " and ".join(saved):
            self.listener.note(f"kept {kept}; the same command with --continue measures the missing runs")

    def _fail(self, subject: str, error: PerfError) -> None:
        self.failures.append(Failure(subject, error))
        self.listener.failed(subject, error)


def with_shares(jobs: Sequence[Job]) -> list[Job]:
    """The resolved jobs, each with its part of the budget, which is that of the whole command."""

    def with_share(job: Job) -> Job:
        params = job.collector.params
        share = params["budget"] and params["budget"] / len(jobs)
        return replace(job, collector=replace(job.collector, params={**params, "budget": share}))

    return [with_share(job) for job in jobs]
