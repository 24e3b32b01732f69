"""What `collect` and `run` share: trees of versions, building, plans, saving, and telling the result."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from perfcore.cli import consent
from perfcore.cli.console import Console
from perfcore.errors import PerfError, UsageError, VersionError
from perfcore.jobs.building import Building
from perfcore.jobs.guarded import place_of
from perfcore.jobs.runner import Context
from perfcore.jobs.sessions import planned
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

_Wanted: TypeAlias = tuple[str | None, tuple[Job, ...]]  # a version (None: the user's tree) and its jobs


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
    with contextlib.closing(_sessions(_Ready(console, request, wanted, failures))) as sessions:
        for jobs in filter(None, sessions):
            plan = Plan(jobs=tuple(jobs), schedule=request.schedule, context=context(console))
            kept += _save(console, repository, request, submit(console, plan), failures)
    console.clear_progress()
    order = {version: place for place, (version, _) in enumerate(wanted)}
    kept.sort(key=lambda item: order.get(item.job.version, 0))
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
    if again := _measured_again(kept):
        console.say(f"note: {plural(again, 'version')} measured in two sessions, which tells how these differ")
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


def _wanted(repository: Repository, request: Request) -> Iterator[_Wanted]:
    """Everything that is to be measured, in the order in which it was asked for."""
    if request.versions is None:
        yield None, request.jobs
    for version in request.versions or ():
        jobs = request.jobs
        if request.missing:
            present = {_made(entry) for entry in repository.entries(version)}
            jobs = tuple(job for job in jobs if _to_be_made(job) not in present)
        if jobs:
            yield version, jobs


@attrs.define
class _Ready:
    """Versions as they are made ready to be measured. `size` is that of the first tree, where there are many. What does
    not build is told once and left out."""

    console: Console
    request: Request
    wanted: Sequence[_Wanted]
    failures: list[Failure]
    broken: set[int] = attrs.field(factory=set)
    size: int | None = None

    def jobs(self, stack: contextlib.ExitStack, places: Iterable[int]) -> list[Job]:
        """The jobs of the wanted versions at these places, in trees that stand as long as the stack."""
        trees = stack.enter_context(Trees(self.console.repository)) if self.request.versions else None
        left = [place for place in places if place not in self.broken]
        made: list[Job] = []
        for number, place in enumerate(left):
            version = self.wanted[place][0]
            self.console.progress(number, len(left), f"preparing {version[:10] if version else 'the working tree'}")
            try:
                made += self._made(trees, place)
            except PerfError as error:
                self.broken.add(place)
                self.failures.append(Failure(f"version {version[:10]}" if version else "the working tree", error))
        return made

    def _made(self, trees: Trees | None, place: int) -> Iterator[Job]:
        version, jobs = self.wanted[place]
        tree = self.console.repository.root if version is None or trees is None else trees.get(version)
        places = [inside(tree, job.cwd, version) for job in jobs]
        self.request.building.run(tree)
        self.size = _size(tree) if self.size is None and len(self.wanted) > TOGETHER else self.size
        origin, dirty = (version, False) if version is not None else here(self.console)
        return (
            attrs.evolve(job, cwd=where, version=origin, dirty=dirty) for job, where in zip(jobs, places, strict=True)
        )


def _sessions(ready: _Ready) -> Generator[list[Job], None, None]:
    """The jobs that are measured together, one session after the other. How many versions share one depends on the
    tree of the newest, which therefore is made first."""
    count = len(ready.wanted)
    with contextlib.ExitStack() as stack:
        if count <= TOGETHER:
            yield ready.jobs(stack, range(count))
            return
        newest = ready.jobs(stack, [count - 1])
        most = TOGETHER if ready.size is None else _ROOM // max(1, ready.size)
        first, *others = planned(count, min(max(most, TOGETHER), MOST_TOGETHER))
        yield [*ready.jobs(stack, first[:-1]), *newest]
    for places in others:
        with contextlib.ExitStack() as stack:
            yield ready.jobs(stack, places)


def _measured_again(kept: Sequence[Kept]) -> int:
    """How many versions were measured in more than one session."""
    sessions: dict[str | None, set[object]] = {}
    for item in kept:
        runs = item.profile.table("runs")
        known = runs.get("session") if runs is not None else None
        sessions.setdefault(item.job.version, set()).update(known or ())
    return sum(len(some) > 1 for some in sessions.values())


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
    """What comes of a plan, whose `context` is that of `context`. The commands that were measured may be again."""
    _, executor = console.plugins.make("executor", "local")
    for measured in executor.submit(plan):
        if measured.profile is not None:
            consent.note_measured(console, measured.profile)
        yield measured


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
