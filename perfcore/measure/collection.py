"""Collection: measure jobs for versions in interleaved sessions, and save each profile as soon as it is measured."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import attrs

from perfcore.errors import PerfError
from perfcore.measure.collect_result import CollectResult, Failure, SavedProfile
from perfcore.measure.execution import runner_context, submit
from perfcore.measure.request import MeasureRequest
from perfcore.measure.sessions import planned
from perfcore.measure.tree_state import tree_directory, tree_state
from perfcore.measure.trees import Trees
from perfcore.model import Entry, Job, Measured, Plan
from perfcore.model.listener import Listener
from perfcore.repository.repository import Repository
from perfcore.store.lookup import Ref
from perfcore.text import plural, printable

# Versions of a session. All its trees stand on the disk together, so large trees allow few; more than 64 versions in
# turn would put hours between two runs of one version, and the drift of the machine with them.
DEFAULT_VERSIONS, MAX_VERSIONS = 16, 64
_DISK = 1 << 30  # bytes for the trees of a session of more than 16: a clean checkout of most projects fits 64 times

_Target: TypeAlias = tuple[str | None, tuple[Job, ...]]  # a version (None: the working tree) and its jobs


def collect(repository: Repository, request: MeasureRequest, listener: Listener) -> CollectResult:
    """Measure everything, save each profile at once, and go on when a part fails: the result holds the failures."""
    collection = _Collection(repository, request, listener, list(_targets(repository, request)))
    return collection.run()


def _targets(repository: Repository, request: MeasureRequest) -> Iterator[_Target]:
    """The versions with the jobs to measure for each, in the order of the request."""
    if request.versions is None:
        yield None, request.jobs
    for version in request.versions or ():
        jobs = request.jobs
        if request.missing:
            present = {_entry_key(entry) for entry in repository.entries(version)}
            jobs = tuple(job for job in jobs if _job_key(job) not in present)
        if jobs:
            yield version, jobs


@attrs.define
class _Collection:
    """One call of `collect`. `size` is that of the first tree, if there are many; `broken` holds the indices of targets
    that do not build: each is reported once and left out of later sessions."""

    repository: Repository
    request: MeasureRequest
    listener: Listener
    targets: Sequence[_Target]
    profiles: list[SavedProfile] = attrs.field(factory=list)
    failures: list[Failure] = attrs.field(factory=list)
    broken: set[int] = attrs.field(factory=set)
    size: int | None = None

    def run(self) -> CollectResult:
        with contextlib.closing(self._sessions()) as sessions:
            for jobs in filter(None, sessions):
                context = runner_context(self.repository, self.listener)
                plan = Plan(jobs=tuple(jobs), schedule=self.request.schedule, context=context)
                for measured in submit(self.repository.plugins, plan, self.repository):
                    self._save(measured)
        order = {version: index for index, (version, _) in enumerate(self.targets)}
        self.profiles.sort(key=lambda profile: order.get(profile.job.version, 0))
        result = CollectResult(profiles=tuple(self.profiles), failures=tuple(self.failures))
        if count := result.repeated_versions():
            self.listener.note(f"{plural(count, 'version')} measured in two sessions, which tells how these differ")
        return result

    def _sessions(self) -> Generator[list[Job], None, None]:
        """The jobs of each session. The number of versions in a session depends on the size of the newest tree, so
        that tree is made first."""
        count = len(self.targets)
        with contextlib.ExitStack() as stack:
            if count <= DEFAULT_VERSIONS:
                yield self._prepare(stack, range(count))
                return
            newest = self._prepare(stack, [count - 1])
            most = DEFAULT_VERSIONS if self.size is None else _DISK // max(1, self.size)
            first, *later = planned(count, min(max(most, DEFAULT_VERSIONS), MAX_VERSIONS))
            yield [*self._prepare(stack, first[:-1]), *newest]
        for indices in later:
            with contextlib.ExitStack() as stack:
                yield self._prepare(stack, indices)

    def _prepare(self, stack: contextlib.ExitStack, indices: Iterable[int]) -> list[Job]:
        """The jobs of these targets, in trees that stay as long as the stack is open."""
        trees = stack.enter_context(Trees(self.repository)) if self.request.versions else None
        intact = [index for index in indices if index not in self.broken]
        jobs: list[Job] = []
        for step, index in enumerate(intact):
            version = self.targets[index][0]
            tree = f"version {version[:10]}" if version else "the working tree"
            self.listener.progress(step, len(intact), f"preparing {tree.removeprefix('version ')}")
            try:
                jobs += self._built_jobs(trees, index)
            except PerfError as error:
                self.broken.add(index)
                self._fail(tree, error)
        return jobs

    def _built_jobs(self, trees: Trees | None, index: int) -> list[Job]:
        version, jobs = self.targets[index]
        tree = self.repository.root if version is None or trees is None else trees.get(version)
        directories = [tree_directory(tree, job.cwd, version) for job in jobs]
        self.request.building.run(tree)
        if self.size is None and len(self.targets) > DEFAULT_VERSIONS:
            self.size = _tree_size(tree)
        origin, dirty = (version, False) if version is not None else tree_state(self.repository)
        return [
            attrs.evolve(job, cwd=directory, version=origin, dirty=dirty)
            for job, directory in zip(jobs, directories, strict=True)
        ]

    def _save(self, measured: Measured) -> None:
        job, profile = measured.job, measured.profile
        if profile is None:
            self._fail(_job_name(job), measured.error or PerfError(f"{job.label} was not measured"))
            return
        try:
            pending = self.repository.save(profile)
        except PerfError as error:
            self._fail(_job_name(job), error)
            return
        self.listener.saved(pending.name)
        self.repository.plugins.emit("profile_collected", profile=profile, job=job)
        entry = None
        if self.request.register:
            try:
                entry = self.repository.register(Ref(kind="pending", pending=pending), profile.origin)[1]
            except PerfError as error:
                self._fail(pending.name, error)
        self.profiles.append(SavedProfile(job=job, profile=profile, pending=pending, entry=entry))

    def _fail(self, subject: str, error: PerfError) -> None:
        self.failures.append(Failure(subject, error))
        self.listener.failed(subject, error)


def _tree_size(tree: Path) -> int:
    """Bytes of all files of a tree; a file that is removed meanwhile does not count."""
    total = 0
    for folder, _, names in os.walk(tree):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total


def _entry_key(entry: Entry) -> tuple[object, ...]:
    return entry.cmd, entry.args, entry.workload, entry.collector, entry.postprocessors


def _job_key(job: Job) -> tuple[object, ...]:
    """The `_entry_key` of the profile that this job will give."""
    return job.cmd, job.args, job.workload, job.collector.name, tuple(step.name for step in job.postprocessors)


def _job_name(job: Job) -> str:
    return printable(job.label) + (f" at {job.version[:10]}" if job.version else "")
