"""Makes the trees of a plan ready, session by session: exported, built, and removed when the session is over."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from perfcore.errors import LeftOutError, PerfError
from perfcore.measure.request import tree_directory, version_name
from perfcore.measure.runner import Context
from perfcore.measure.sessions import DEFAULT_VERSIONS, planned
from perfcore.model import EMPTY, Plan, Source
from perfcore.repository.location import UserPlaces
from perfcore_executor_local.build import run_build
from perfcore_executor_local.build_cache import Builder
from perfcore_executor_local.trees import VcsExporter, VersionTrees, exporter_of

# Versions of a session. All its trees stand on the disk together, so large trees allow few; more than these in turn
# would put hours between two runs of one version, and the drift of the machine with them.
MAX_VERSIONS = 64
_DISK = 1 << 30  # bytes for the trees of a session of more than 16: a clean checkout of most projects fits 64 times


@attrs.frozen
class Directory:
    """The directory in which a job runs, the output of building its tree, and the variables of its environment. `tree`
    is that of a version, which stands for this session only."""

    directory: Path
    log: str = ""
    activation: Mapping[str, str] = EMPTY
    tree: Path | None = None


Directories = Mapping[int, Directory | PerfError | None]  # by position in `Plan.jobs`; None: where `cwd` says


def prepared(plan: Plan, context: Context) -> Generator[Directories, None, None]:
    """The directories of one session after the other, in the order of its jobs. A version that cannot be exported or
    built gives its error once, and is left out of later sessions."""
    with contextlib.ExitStack() as stack:
        source = plan.source
        assert source is not None
        directory = _directory(source, context)
        builder = Builder(plan.build, directory, context.plugins)
        if source.kind == "path" and source.root is not None:
            context.progress(0, 1, "preparing the working tree")
            yield from _in_place(plan, source.root, builder, stack)
            return
        trees = _Trees(plan, context, directory, builder)
        if plan.sessions is not None:
            for positions in plan.sessions or (range(len(plan.jobs)),):
                with trees.session() as session:
                    yield session.directories(positions)
            return
        yield from _split(plan, trees, stack)


def _split(plan: Plan, trees: _Trees, stack: contextlib.ExitStack) -> Iterator[Directories]:
    """Sessions of as many versions as the size of the newest tree allows."""
    versions = list(dict.fromkeys(job.version for job in plan.jobs))
    jobs = {version: [p for p, job in enumerate(plan.jobs) if job.version == version] for version in versions}
    first = stack.enter_context(trees.session())
    limit = len(versions)
    newest: Directories = {}
    if limit > DEFAULT_VERSIONS:
        newest = first.directories(jobs[versions[-1]])  # made first: its size stands for that of all
        limit = _limit(first.size)
    for index, indices in enumerate(planned(len(versions), limit)):
        positions = [position for index in indices for position in jobs[versions[index]]]
        if index == 0:
            others = [position for position in positions if position not in newest]
            directories = {**first.directories(others), **newest}
            yield {position: directories[position] for position in positions if position in directories}
            stack.close()
        else:
            with trees.session() as session:
                yield session.directories(positions)


def _limit(size: int | None) -> int:
    """How many versions share a session whose trees have so many bytes each."""
    if size is None:
        return DEFAULT_VERSIONS
    return min(max(_DISK // max(1, size), DEFAULT_VERSIONS), MAX_VERSIONS)


def _in_place(plan: Plan, root: Path, builder: Builder, stack: contextlib.ExitStack) -> Iterator[Directories]:
    """The tree as it is, built once."""
    built: Directory | PerfError
    try:
        build = builder.activated(root, stack).build
        built = Directory(root, run_build(build, root), build.activation)
    except PerfError as error:
        built = error
    for positions in plan.sessions or (range(len(plan.jobs)),):
        yield {position: _below(built, plan.jobs[position].cwd, None) for position in positions}


def _below(tree: Directory | PerfError, cwd: Path, version: str | None) -> Directory | PerfError:
    if isinstance(tree, PerfError):
        return tree
    try:
        return attrs.evolve(tree, directory=tree_directory(tree.directory, cwd, version))
    except PerfError as error:
        return error


@attrs.define
class _Trees:
    """Makes the trees of all sessions of a plan."""

    plan: Plan
    context: Context
    directory: Path
    builder: Builder
    broken: set[str | None] = attrs.field(factory=set)
    began: bool = False

    @contextlib.contextmanager
    def session(self) -> Iterator[_Session]:
        source = self.plan.source
        assert source is not None
        vcs = self.context.vcs if source.kind == "vcs" else None
        exporter = VcsExporter(vcs) if vcs else exporter_of(source, self.context.plugins, self.directory)
        with contextlib.ExitStack() as environments, VersionTrees(self.directory, exporter) as trees:
            yield _Session(self, trees, environments)


@attrs.define
class _Session:
    """The trees of one session. `size` is that of the first one, in bytes."""

    parent: _Trees
    trees: VersionTrees
    environments: contextlib.ExitStack
    size: int | None = None

    def directories(self, positions: Sequence[int]) -> dict[int, Directory | PerfError | None]:
        plan = self.parent.plan
        directories: dict[str | None, Directory | PerfError] = {}
        versions = list(dict.fromkeys(plan.jobs[position].version for position in positions))
        ready = [version for version in versions if version not in self.parent.broken]
        for step, version in enumerate(ready):
            if self.parent.began and time.monotonic() >= self.parent.context.until:
                directories[version] = LeftOutError(f"the budget was spent before {(version or 'the tree')[:10]}")
                continue
            self.parent.began = True
            self.parent.context.progress(step, len(ready), f"preparing {(version or 'the tree')[:10]}")
            directories[version] = self._made(
                version, {plan.jobs[p].cwd for p in positions if plan.jobs[p].version == version}
            )
        return {
            position: _below(
                directories[plan.jobs[position].version], plan.jobs[position].cwd, plan.jobs[position].version
            )
            for position in positions
            if plan.jobs[position].version in directories
        }

    def _made(self, version: str | None, cwds: Iterable[Path]) -> Directory | PerfError:
        try:
            if version is None:
                raise PerfError("a job without a version needs a source of kind path")
            plan, tree = self.parent.plan, self.trees.get(version)
            for cwd in cwds:  # a version without one of them is not built for nothing
                tree_directory(tree, cwd, version)
            assert plan.source is not None
            bundle = plan.source.bundles.get(version)  # of a project that is not known: its tree is its identity
            builder = self.parent.builder.activated(tree, self.environments)
            log = builder.run(tree, hashlib.sha1(bundle).hexdigest() if bundle else version)
        except PerfError as error:
            self.parent.broken.add(version)
            if version is not None and self.parent.context.failed is not None:
                self.parent.context.failed(version_name(version), error)  # now: the others may take hours
            return error
        self.size = _size(tree) if self.size is None else self.size
        return Directory(tree, log, builder.build.activation, tree)


def _directory(source: Source, context: Context) -> Path:
    """Where the trees stand."""
    if context.directory is not None:  # both are outside of the repository: no tool finds its files above
        return context.directory
    key = os.fsencode(source.root) if source.root is not None else b"bundles"
    # As `Repository.scratch` has it, for a worker that has no repository.
    return UserPlaces.default().trees / hashlib.sha1(key, usedforsecurity=False).hexdigest()[:10]


def _size(tree: Path) -> int:
    """Bytes of all files of a tree."""
    total = 0
    for directory, _, names in os.walk(tree):
        for name in names:
            with contextlib.suppress(OSError):  # it went away meanwhile
                total += os.lstat(os.path.join(directory, name)).st_size  # of a link itself: its target may be outside
    return total
