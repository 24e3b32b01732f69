"""What `collect` and `run` share: trees of versions, building, plans, saving, and telling the result."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from perfcore.cli.console import Console
from perfcore.errors import PerfError, UsageError, VersionError
from perfcore.jobs.runner import Context
from perfcore.jobs.summary import Summary, disturbed, summarize
from perfcore.jobs.trees import Trees, build
from perfcore.model import Job, Measured, Plan, Profile
from perfcore.repository import Repository
from perfcore.store.lookup import Ref
from perfcore.store.pending import Pending
from perfcore.text import align, plural, printable, quantity

SCHEMA = 1
TOGETHER = 16
_DETAILED = 3


@attrs.frozen(kw_only=True)
class Request:
    """What is to be measured: jobs whose `cwd` is relative to the tree, for versions (none: the user's tree)."""

    jobs: tuple[Job, ...]
    versions: tuple[str, ...] = ()
    schedule: Mapping[str, Any] = {}
    pre_run: tuple[str, ...] = ()
    shell: bool = False
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
    for batch in _batches(request.versions):
        with contextlib.ExitStack() as stack:
            jobs = list(_placed(console, stack, request, batch, failures))
            if jobs:
                done = _submit(console, repository, Plan(jobs=tuple(jobs), schedule=request.schedule))
                kept += _save(console, repository, request, done, failures)
    console.clear_progress()
    if request.as_json:
        console.json(
            {
                "schema": SCHEMA,
                "profiles": [_as_json(k) for k in kept],
                "failed": [f"{f.what}: {f.error}" for f in failures],
            }
        )
    else:
        _print(console, kept)
    if not kept and not failures:
        console.say("nothing is missing: every version has its profiles")
    _raise(console, failures)


def select_versions(
    repository: Repository, revisions: Sequence[str], since: str | None, every: bool
) -> tuple[str, ...]:
    """Full ids of the versions that were asked for, oldest first, each once."""
    if sum((bool(revisions), since is not None, every)) > 1:
        raise UsageError("--version, --since and --all exclude one another")
    if revisions:
        return tuple(dict.fromkeys(repository.version(revision) for revision in revisions))
    if since is None and not every:
        return ()
    end = repository.version(since) if since is not None else None
    excluded = {v.id for v in repository.vcs.walk_minor_versions(end)} if end else set()
    found = [v.id for v in repository.vcs.walk_minor_versions(repository.version()) if v.id not in excluded]
    return tuple(reversed(found))


def _batches(versions: tuple[str, ...]) -> Iterator[tuple[str | None, ...]]:
    if not versions:
        yield (None,)
    for start in range(0, len(versions), TOGETHER):
        yield versions[start : start + TOGETHER]


def _placed(
    console: Console,
    stack: contextlib.ExitStack,
    request: Request,
    batch: Sequence[str | None],
    failures: list[Failure],
) -> Iterator[Job]:
    """The jobs of a batch of versions, each in its tree, which is built first; a version that does not build is
    left out and told."""
    repository = console.repository
    trees: Trees | None = None
    for number, version in enumerate(batch):
        jobs = [job for job in request.jobs if not (request.missing and version and _has(repository, version, job))]
        if not jobs:
            continue
        if version is not None and trees is None:
            trees = stack.enter_context(Trees(repository))
        try:
            if request.pre_run or version is not None:
                console.progress(number, len(batch), f"preparing {(version or 'the working tree')[:12]}")
            tree = repository.root if version is None or trees is None else trees.get(version)
            timeout = float(repository.config.get("execute.timeout"))
            build(
                request.pre_run,
                tree,
                shell=request.shell,
                timeout=timeout,
                version=version or "(working tree)",
            )
        except PerfError as error:
            failures.append(Failure((version or "working tree")[:10], error))
            continue
        origin, dirty = (version, False) if version is not None else _here(repository)
        for job in jobs:
            yield attrs.evolve(job, cwd=_inside(tree, job.cwd), version=origin, dirty=dirty)


def _here(repository: Repository) -> tuple[str | None, bool]:
    """(version, dirty) of the user's own tree."""
    try:
        return repository.version(), repository.vcs.is_dirty()
    except VersionError:
        return None, True


def _inside(tree: Path, cwd: Path) -> Path:
    place = tree / cwd
    if not place.is_dir():
        raise UsageError(f"there is no folder {cwd} in {tree}")
    return place


def _has(repository: Repository, version: str, job: Job) -> bool:
    """Whether a version has a profile of this command under this collector and these postprocessors."""
    wanted = (
        job.cmd,
        job.args,
        job.workload,
        job.collector.name,
        tuple(step.name for step in job.postprocessors),
    )
    return any(
        (e.cmd, e.args, e.workload, e.collector, e.postprocessors) == wanted for e in repository.entries(version)
    )


def _submit(console: Console, repository: Repository, plan: Plan) -> Iterator[Measured]:
    context = Context(
        plugins=console.plugins,
        options=repository.config.plugin_options,
        machine=repository.facts(),
        schedule=repository.config.get("schedule"),
        progress=console.progress,
    )
    _, executor = console.plugins.make("executor", "local")
    yield from executor.submit(attrs.evolve(plan, context=context))


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
        saved = repository.save(measured.profile)
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


def _raise(console: Console, failures: Sequence[Failure]) -> None:
    """The one error there was, or all of them told and one that counts them, with the exit code of the first."""
    if not failures:
        return
    first = failures[0].error
    if len(failures) == 1:
        raise first
    for failure in failures:
        console.say(f"perf: {failure.what}: {failure.error}")
    summary = PerfError(f"{len(failures)} of the jobs failed; the others were kept", hint=first.hint)
    summary.exit_code = first.exit_code
    raise summary


def _named(job: Job) -> str:
    return printable(job.label) + (f" at {job.version[:10]}" if job.version else "")


def _print(console: Console, kept: Sequence[Kept]) -> None:
    if len(kept) <= _DETAILED:
        for item in kept:
            _print_detailed(console, item)
    else:
        _print_lines(console, kept)
    for note in dict.fromkeys(note for item in kept for note in item.profile.notes):
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
    return f"± {summary.spread * 50:.1f} %" if summary.spread is not None else ""


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
