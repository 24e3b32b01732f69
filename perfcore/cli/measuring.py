"""What `collect` and `run` share: trees of versions, building, plans, saving, and telling the result."""

from __future__ import annotations

import contextlib
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from perfcore.cli.console import Console
from perfcore.errors import PerfError, UsageError, VersionError
from perfcore.jobs.building import Building
from perfcore.jobs.guarded import place_of
from perfcore.jobs.runner import Context
from perfcore.jobs.summary import Summary, disturbed, summarize
from perfcore.jobs.trees import Trees
from perfcore.model import Entry, Job, Measured, Plan, Profile
from perfcore.repository import Repository
from perfcore.store.lookup import Ref
from perfcore.store.pending import Pending
from perfcore.text import align, plural, printable, quantity

SCHEMA = 1
TOGETHER, MOST_TOGETHER = 16, 64  # versions of a session, and of one whose trees are small
_ROOM = 1 << 30  # bytes that all trees of a session take, so that it is one of more than 16
_DETAILED = 3
_NUMBER = re.compile(r"[0-9][0-9.,]*")


@attrs.frozen(kw_only=True)
class Request:
    """What is to be measured: jobs whose `cwd` is relative to the tree, for versions (None: the user's tree)."""

    jobs: tuple[Job, ...]
    versions: tuple[str, ...] | None = None
    schedule: Mapping[str, Any] = {}
    building: Building = attrs.field(factory=Building)
    register: bool = False
    missing: bool = False
    as_json: bool = False


@attrs.frozen(kw_only=True)
class Kept:
    """A profile that was measured and where it is now."""

    job: Job
    profile: Profile
    name: str
    id: str | None


@attrs.frozen
class Failure:
    """What could not be measured or registered, and why."""

    what: str
    error: PerfError


def measure(console: Console, request: Request) -> None:
    """Measure everything, save it as it is finished, tell the result; then raise what failed."""
    repository = console.repository
    failures: list[Failure] = []
    kept: list[Kept] = []
    wanted = list(_wanted(repository, request))
    waiting = deque(wanted)
    while waiting:
        with contextlib.ExitStack() as stack:
            jobs = list(_placed(console, stack, request, waiting, failures))
            if jobs:
                plan = Plan(jobs=tuple(jobs), schedule=request.schedule, context=context(console))
                done = submit(console, plan)
                kept += _save(console, repository, request, done, failures)
    console.clear_progress()
    if request.as_json:
        console.json(
            {
                "schema": SCHEMA,
                "profiles": [_as_json(k) for k in kept],
                "failed": [{"what": f.what, "error": str(f.error), "hint": f.error.hint} for f in failures],
            }
        )
    else:
        _print(console, kept)
    if not wanted:
        every = "every version has its profiles" if request.versions else "there is no such version"
        console.say(f"nothing to measure: {every}")
    _raise(failures)


def select_versions(
    repository: Repository, revisions: Sequence[str], since: str | None, every: bool
) -> tuple[str, ...] | None:
    """Full ids of the versions that were asked for, each once, a history oldest first. None where the user's own
    tree is meant."""
    if sum((bool(revisions), since is not None, every)) > 1:
        raise UsageError("--version, --since and --all exclude one another")
    if revisions:
        return tuple(dict.fromkeys(repository.version(revision) for revision in revisions))
    if since is None and not every:
        return None
    end = repository.version(since) if since is not None else None
    excluded = {v.id for v in repository.vcs.walk_minor_versions(end)} if end else set()
    found = [v.id for v in repository.vcs.walk_minor_versions(repository.version()) if v.id not in excluded]
    return tuple(reversed(found))


def building(repository: Repository, execute: Mapping[str, Any] | None = None, *, skip: bool = False) -> Building:
    """How a version is built: as the configuration says, `execute` of a matrix file above it."""
    config = repository.config.with_layer("command line", {"execute": execute}) if execute else repository.config
    commands = () if skip else tuple(config.get("execute.pre_run"))
    for key in ("execute.pre_run", "execute.shell") if commands else ():
        repository.trust.require(config.origin(key))
    return Building(
        commands=commands, shell=bool(config.get("execute.shell")), timeout=float(config.get("execute.timeout"))
    )


def standing(repository: Repository, below: Path | None = None) -> Path:
    """Where the user stands, or the folder below the root that was asked for, seen from the root of the tree:
    commands run there in every version."""
    place = repository.cwd if below is None else repository.root / below
    return place.relative_to(repository.root) if place.is_relative_to(repository.root) else place


def _wanted(repository: Repository, request: Request) -> Iterator[tuple[str | None, tuple[Job, ...]]]:
    """(version, its jobs) of everything that is to be measured."""
    if request.versions is None:
        yield None, request.jobs
    for version in request.versions or ():
        jobs = request.jobs
        if request.missing:
            present = {_made(entry) for entry in repository.entries(version)}
            jobs = tuple(job for job in jobs if _to_be_made(job) not in present)
        if jobs:
            yield version, jobs


def _placed(
    console: Console,
    stack: contextlib.ExitStack,
    request: Request,
    waiting: deque[tuple[str | None, tuple[Job, ...]]],
    failures: list[Failure],
) -> Iterator[Job]:
    """The jobs of those versions that are measured together, taken from the waiting ones: each in its tree, which is
    built first; a version that does not build is left out and told."""
    repository = console.repository
    trees = stack.enter_context(Trees(repository)) if request.versions else None
    total = len(waiting)
    tree = repository.root
    for number in range(min(total, MOST_TOGETHER)):
        if number == TOGETHER and total > TOGETHER:
            total = min(total, max(TOGETHER, _ROOM // max(1, _size(tree))))
        if number >= total:
            return
        version, jobs = waiting.popleft()
        try:
            console.progress(number, total, f"preparing {version[:10] if version else 'the working tree'}")
            tree = repository.root if version is None or trees is None else trees.get(version)
            places = [inside(tree, job.cwd, version) for job in jobs]
            request.building.run(tree)
        except PerfError as error:
            failures.append(Failure(f"version {version[:10]}" if version else "the working tree", error))
            continue
        origin, dirty = (version, False) if version is not None else here(console)
        for job, place in zip(jobs, places, strict=True):
            yield attrs.evolve(job, cwd=place, version=origin, dirty=dirty)


def _size(tree: Path) -> int:
    """Bytes of all files of a tree; those that go away meanwhile do not count."""
    total = 0
    for folder, _, names in os.walk(tree):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total


def here(console: Console) -> tuple[str | None, bool]:
    """(version, dirty) of the user's own tree."""
    repository = console.repository
    try:
        return repository.version(), repository.vcs.is_dirty()
    except VersionError as error:
        if not _is_unborn(repository):
            console.warn(f"measured for no version: {error}")
        return None, True


def _is_unborn(repository: Repository) -> bool:
    """Whether the branch has no version yet, which nobody has to be told."""
    with contextlib.suppress(PerfError):
        return repository.vcs.get_head_major_version().head is None
    return False


def inside(tree: Path, cwd: Path, version: str | None) -> Path:
    """The folder `cwd` of a tree. UsageError where it is none."""
    place = (tree / cwd).resolve()
    if not place.is_relative_to(tree.resolve()):
        raise UsageError(f"{cwd} is outside the tree that is measured")
    if not place.is_dir():
        raise UsageError(f"there is no folder {cwd} in {f'version {version[:10]}' if version else tree}")
    return tree / cwd


def _made(entry: Entry) -> tuple[object, ...]:
    return entry.cmd, entry.args, entry.workload, entry.collector, entry.postprocessors


def _to_be_made(job: Job) -> tuple[object, ...]:
    """What an entry of this job's profile says."""
    return job.cmd, job.args, job.workload, job.collector.name, tuple(step.name for step in job.postprocessors)


def context(console: Console) -> Context:
    """What the runner needs of the repository."""
    repository = console.repository
    return Context(
        plugins=console.plugins,
        options=repository.plugin_options,
        machine=repository.facts(),
        schedule=repository.config.get("schedule"),
        progress=console.progress,
        place=place_of(repository),
    )


def submit(console: Console, plan: Plan) -> Iterator[Measured]:
    """What comes of a plan, whose `context` is that of `context`."""
    _, executor = console.plugins.make("executor", "local")
    yield from executor.submit(plan)


def _save(
    console: Console,
    repository: Repository,
    request: Request,
    done: Iterator[Measured],
    failures: list[Failure],
) -> Iterator[Kept]:
    for measured in done:
        if measured.profile is None:
            error = measured.error or PerfError(f"{measured.job.label} was not measured")
            failures.append(Failure(_named(measured.job), error))
            continue
        try:
            saved = repository.save(measured.profile)
        except PerfError as error:
            failures.append(Failure(_named(measured.job), error))
            continue
        console.plugins.emit("profile_collected", profile=measured.profile, job=measured.job)
        yield _kept(console, repository, request, measured, saved, failures)


def _kept(
    console: Console,
    repository: Repository,
    request: Request,
    measured: Measured,
    saved: Pending,
    failures: list[Failure],
) -> Kept:
    profile = measured.profile
    assert profile is not None
    id = None
    if request.register:
        try:
            id = repository.register(Ref(kind="pending", pending=saved), profile.origin)[1].profile
        except PerfError as error:
            failures.append(Failure(saved.name, error))
    return Kept(job=measured.job, profile=profile, name=saved.name, id=id)


def _raise(failures: Sequence[Failure]) -> None:
    """One error that tells everything that failed, with the exit code and the hint of the first."""
    if not failures:
        return
    first = failures[0].error
    told = [f"{failure.what}: {failure.error}" for failure in failures]
    if len(told) > 1:
        told.append(f"{len(told)} failures; what was measured otherwise is kept")
    error = PerfError("\nperf: ".join(told), hint=first.hint)
    error.exit_code = first.exit_code
    raise error from first


def _named(job: Job) -> str:
    return printable(job.label) + (f" at {job.version[:10]}" if job.version else "")


def _print(console: Console, kept: Sequence[Kept]) -> None:
    if len(kept) <= _DETAILED:
        for item in kept:
            _print_detailed(console, item)
    else:
        _print_lines(console, kept)
    notes = {_NUMBER.sub("#", note): note for item in reversed(kept) for note in reversed(item.profile.notes)}
    for note in reversed(notes.values()):  # those that differ only in their numbers are said once
        console.say(f"note: {note}")


def _print_detailed(console: Console, item: Kept) -> None:
    bad, counted = disturbed(item.profile)
    title = printable(item.profile.label)
    of = f" at {item.job.version[:10]}" if item.job.version else ""
    dirty = " with uncommitted changes" if item.profile.dirty else ""
    console.line(f"{console.paint(title, 'bold')}{of}{dirty}: {plural(counted, 'run')}" + _disturbed(bad))
    rows = [_cells(summary) for summary in summarize(item.profile)]
    console.write("".join(f"{line}\n" for line in align(rows, right=(1,))))
    console.line(f"  -> {item.name}" if item.id is None else f"  -> registered as {item.id}")


def _print_lines(console: Console, kept: Sequence[Kept]) -> None:
    rows = []
    for item in kept:
        bad, counted = disturbed(item.profile)
        metrics = [f"{s.metric} {quantity(s.median, s.unit)} {_spread(s)}" for s in summarize(item.profile)[:2]]
        version = item.job.version[:10] if item.job.version else ""
        rows.append((version, *metrics, f"{plural(counted, 'run')}{_disturbed(bad)}", printable(item.profile.label)))
    console.write("".join(f"{line}\n" for line in align(rows)))


def _cells(summary: Summary) -> tuple[str, ...]:
    if summary.runs == 1:
        return f"  {printable(summary.metric)}", quantity(summary.median, summary.unit)
    extremes = f"{quantity(summary.low, summary.unit)} … {quantity(summary.high, summary.unit)}"
    outliers = plural(summary.outliers, "outlier") if summary.outliers else ""
    return (
        f"  {printable(summary.metric)}",
        quantity(summary.median, summary.unit),
        _spread(summary),
        extremes,
        outliers,
    )


def _spread(summary: Summary) -> str:
    return f"± {summary.spread * 50:.1f} %" if summary.spread is not None and summary.runs > 1 else ""


def _disturbed(count: int) -> str:
    return f", {count} disturbed" if count else ""


def _as_json(item: Kept) -> dict[str, Any]:
    return {
        "name": item.name,
        "profile": item.id,
        "version": item.job.version,
        "dirty": item.profile.dirty,
        "command": item.profile.label,
        "argv": list(item.profile.header.argv),
        "collector": item.profile.collector.name,
        "config_id": item.profile.config_id,
        "metrics": [attrs.asdict(summary) for summary in summarize(item.profile)],
        "notes": list(item.profile.notes),
    }
