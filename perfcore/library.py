"""The library for scripts and notebooks: measure, keep, and read a performance history.

from perfcore import open_repository

history = open_repository()
(measured,) = history.collect("time", "sleep 0.1", repeat=3)
history.register(measured)
print(history.series("wall").to_polars())

What it gives are the values of `perfcore.model`, and tables of `perfcore.profile.table`, which become a frame of
Polars or pandas by `to_polars()` and `to_pandas()`. `History.repository` has everything else.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.analysis import acceptance, calibration, checks, difference, history_query
from perfcore.analysis import target as targets
from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.checks import CheckOptions
from perfcore.analysis.difference import DiffResult
from perfcore.analysis.fail_on import parse_rules
from perfcore.analysis.history_query import HistoryQuery
from perfcore.analysis.target import CheckTarget, ProfilePair, Profiles
from perfcore.errors import PerfError, PluginError, UsageError, VersionError
from perfcore.measure import matrix, run_series, stored_command
from perfcore.measure.build import Building
from perfcore.measure.runner import Context, postprocess
from perfcore.measure.scratch import place_of
from perfcore.measure.summary import Summary, summarize
from perfcore.measure.trees import Trees
from perfcore.model import Entry, HistoryResult, Job, MinorVersion, Plan, Profile, Sample, Step
from perfcore.plugins.guard import guard
from perfcore.plugins.registry import Plugins
from perfcore.profile.table import Table
from perfcore.repository.importer import ImportResult, import_profiles
from perfcore.repository.imports import write_profile
from perfcore.repository.repository import Repository
from perfcore.store.lookup import Ref
from perfcore.store.pending import Pending

if TYPE_CHECKING:
    from perfcore.model.listener import Listener

Command = str | Sequence[str]


def open_repository(path: str | Path = ".", *, plugins: Plugins | None = None) -> History:
    """The performance history around a folder. NotFoundError where no folder up from it has one."""
    return History(Repository.open(Path(path), plugins=plugins or Plugins(warn=_warn)))


class History:
    """An opened performance history. `repository` is what it is made of, for all that is not here."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository

    def __repr__(self) -> str:
        return f"<performance history of {self.repository.root}>"

    def version(self, revision: str | None = None) -> str:
        """The full id of a revision such as `HEAD~2`; of the version that is checked out for None."""
        return self.repository.version(revision)

    def versions(self, head: str | None = None) -> Iterator[tuple[MinorVersion, tuple[Entry, ...]]]:
        """Every version from `head` back with what is registered for it, newest first."""
        return self.repository.walk(self.version(head))

    def entries(self, revision: str | None = None) -> tuple[Entry, ...]:
        """What is registered for a version: names, commands, tags. No profile is read."""
        return self.repository.entries(self.version(revision))

    def pending(self) -> list[Pending]:
        """The profiles that wait to be registered, the newest last."""
        return self.repository.pending()

    def profile(self, name: str | Entry | Pending) -> Profile:
        """The profile of an entry, or of a name as the command line takes it: `0@i`, `HEAD~1:0@i`, a tag, a path."""
        if isinstance(name, Entry):
            return self.repository.store.load(name.profile)
        return self.repository.load(self._ref(name))

    def summary(self, name: str | Entry | Pending | Profile) -> list[Summary]:
        """Median, spread and outliers of every metric of a profile."""
        return summarize(name if isinstance(name, Profile) else self.profile(name))

    def collect(
        self,
        collector: str,
        *commands: Command,
        workload: str = "",
        version: str | None = None,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        **options: Any,
    ) -> tuple[Pending, ...]:
        """Measure commands, interleaved, and keep a pending profile of each.

        A command is a list of words, or a text that is split into words as a shell would. `version` is measured in
        a clean tree of its own, built as the configuration says; without it, the working tree as it is. `cwd` is a
        folder below the root of the tree. The other options are those of `perf collect`: `repeat=5`, and the
        collector's own.
        """
        step = Step(name=collector, params=options)
        jobs = [attrs.evolve(_job(command, workload, shell), env=env or {}, collector=step) for command in commands]
        with self._tree(version) as (tree, origin, dirty):
            place = _below(tree, Path(cwd) if cwd is not None else self._standing())
            placed = tuple(attrs.evolve(job, cwd=place, version=origin, dirty=dirty) for job in jobs)
            return tuple(self._measured(placed))

    def import_(
        self, path: str | Path, format: str = "", *, version: str | None = None, register: bool = False, **options: Any
    ) -> ImportResult:
        """Import the profiles of a file, or of a directory in the format that is named, as `perf import` does.

        They become pending, or are registered with `register` or where the other tool had registered them. `version`
        is for profiles whose file names none."""
        target = None if version is None else self.version(version)
        source = self.repository.cwd / path
        return ImportResult.of(
            import_profiles(self.repository, source, format, version=target, register=register, options=options)
        )

    def export(
        self,
        name: str | Entry | Pending,
        path: str | Path,
        *,
        format: str = "perf",
        force: bool = False,
        **options: Any,
    ) -> Path:
        """Write a profile to a file; gives its path. `force` replaces a file that exists."""
        target = self.repository.cwd / path
        if target.exists() and not force:
            raise UsageError(f"{path} is there already", hint="--force replaces it")
        write_profile(self.repository, self.profile(name), target, format, options)
        return target

    def save(self, profile: Profile) -> Pending:
        """Keep a profile, made by whatever means, as a pending one."""
        return self.repository.save(profile)

    def register(self, name: str | Pending, version: str | None = None, *, tags: Sequence[str] = ()) -> Entry:
        """Register a pending profile, or a file, with its version; gives its entry."""
        ref = self._ref(name)
        origin = ref.pending.profile.origin if ref.pending is not None and ref.pending.profile is not None else None
        at, entry = self.repository.register(ref, self.version(version) if version is not None else origin)
        return self.repository.tag(at, entry, add=tags) if tags else entry

    def postprocess(self, name: str | Entry | Pending | Profile, postprocessor: str, **options: Any) -> Profile:
        """What a postprocessor makes of a profile; `save` keeps it."""
        profile = name if isinstance(name, Profile) else self.profile(name)
        step = Step(name=postprocessor, params=options)
        return postprocess(profile, [step], self.repository.plugins, self.repository.plugin_options)

    def series(self, metric: str, *, command: str = "*", collector: str = "*", head: str | None = None) -> Table:
        """One metric over the versions of a branch, oldest first: a row for each run of each profile.

        `command` and `collector` are patterns such as `./sort *`. The columns are position, version, date, subject,
        command, collector, environment, profile, run, and the metric. Profiles without the metric are left out;
        NotFoundError where none is left.
        """
        return run_series.read(self.repository, metric, command=command, collector=collector, head=self.version(head))

    def history(
        self,
        subject: str | None = None,
        *,
        metric: str | None = None,
        command: str = "*",
        head: str | None = None,
        last: int | None = None,
    ) -> HistoryResult:
        """A metric, or the `metric` of a function, over the versions of a branch, with the changes that the configured
        check finds; the primary metrics for None, as `perf history` draws them."""
        query = HistoryQuery(subject=subject, metric=metric, command=command, head=head, last=last)
        return history_query.history(self.repository, query)

    def diff(
        self,
        baseline: str | Entry | Pending | Profile,
        target: str | Entry | Pending | Profile,
        *,
        method: str = difference.METHOD,
        **options: Any,
    ) -> DiffResult:
        """The difference of two profiles, by function where there are stacks, as `perf diff` prints it. `save` keeps
        its `profile`."""
        profiles = [side if isinstance(side, Profile) else self.profile(side) for side in (baseline, target)]
        sources = tuple(id for id in map(self._registered_id, (baseline, target)) if id is not None)
        return difference.diff(self.repository, *profiles, method=method, options=options, sources=sources)

    def check(
        self,
        target: str | Entry | Pending | None = None,
        baseline: str | Entry | Pending | None = None,
        *,
        method: str | None = None,
        threshold: float | None = None,
        keep: bool = False,
        listener: Listener | None = None,
    ) -> CheckResult:
        """What became slower or faster, and which contracts are broken, as `perf check` finds it.

        `target` is what the command takes: a version (the head for None) against the nearest ancestor that was measured
        alike, `all` or `A..B` for a history, or a profile; with a `baseline`, both are profiles. `fails(change)` of the
        result says whether one fails the build by `check.fail_on`. With `keep` the result is stored with the versions.
        """
        options = CheckOptions(
            method=method,
            thresholds={} if threshold is None else {"": threshold},
            rules=parse_rules(self.repository.config.get("check.fail_on")),
            store=keep,
        )
        return checks.check(self.repository, self._asked(target, baseline), options, listener)

    def contracts(self, revision: str | None = None, *, listener: Listener | None = None) -> CheckResult:
        """The verdicts on the contracts of a version (the head for None), as `perf check` gives them."""
        return checks.contracts(self.repository, self.version(revision), listener)

    def accept(
        self, *changes: str, why: str, author: str, undo: bool = False, listener: Listener | None = None
    ) -> acceptance.AcceptanceResult:
        """Accept changes by the first characters of their ids as `perf check ack` does; withdraw that with `undo`."""
        if undo:
            return acceptance.take_back(self.repository, changes, why, author)
        return acceptance.accept(self.repository, changes, why, author, listener)

    def calibrate(
        self, method: str | None = None, *, keep: bool = False, listener: Listener | None = None
    ) -> calibration.CalibrationResult:
        """How small a change the checks detect in this history, as `perf check --calibrate` tries it. With `keep` the
        result is stored, for `perf status`."""
        return calibration.calibrate(self.repository, CheckOptions(method=method, store=keep), listener)

    def bisect(
        self,
        good: str = "",
        bad: str = "",
        command: Command | None = None,
        *,
        shell: bool = False,
        **options: Any,
    ) -> Any:
        """The version between `good` and `bad` that made a command slower, as `perf bisect` finds it.

        The result has `found`, `versions`, `probability` and `as_json()`. `auto=True` takes the ends from the history;
        without arguments, a bisection that was interrupted goes on. The other options are those of the command:
        `confidence=0.99`, `max_runs=60`; `search` replaces the search. PluginError if perfcore-command-bisect is not
        installed.
        """
        argv = None if command is None else _job(command, "", shell).argv
        return self.command("bisect", good=good, bad=bad, command=argv, shell=shell, **options)

    def command(self, name: str, **arguments: Any) -> Any:
        """The result of a plugin's command. PluginError for one that is not installed or only prints."""
        found, driver = self.repository.plugins.make("command", name, self.repository.plugin_options("command", name))
        if not hasattr(driver, "call"):
            raise PluginError("this command cannot be called from the library", plugin=str(found))
        with guard(found, "call"):
            return driver.call(self, arguments)

    def _asked(self, target: str | Entry | Pending | None, baseline: str | Entry | Pending | None) -> CheckTarget:
        if baseline is not None:
            if target is None:
                raise UsageError("a baseline wants a target")
            return ProfilePair(self._sample(baseline), self._sample(target))
        if isinstance(target, Entry):
            raise UsageError("an entry wants a baseline; a version has one of its own")
        if isinstance(target, Pending):
            return Profiles((self._ref(target),))
        return targets.parse(self.repository, [] if target is None else [target], self.repository.find)

    def _sample(self, side: str | Entry | Pending) -> Sample:
        profile = self.profile(side)
        version = profile.origin
        if isinstance(side, str):
            version = self._ref(side).version or version
        return Sample(version=version, profiles=(profile,), dirty=profile.dirty)

    def _ref(self, name: str | Pending) -> Ref:
        if isinstance(name, Pending):
            return Ref(kind="pending", pending=name)
        found = self.repository.find(name)
        if len(found) != 1:
            raise UsageError(f"{name!r} names {len(found)} profiles, one is wanted")
        return found[0]

    def _registered_id(self, side: str | Entry | Pending | Profile) -> str | None:
        entry = self._ref(side).entry if isinstance(side, str) else side
        return entry.profile if isinstance(entry, Entry) else None

    def _measured(self, jobs: tuple[Job, ...]) -> Iterator[Pending]:
        """What was measured is kept; then the first failure is raised."""
        repository = self.repository
        context = Context(
            plugins=repository.plugins,
            options=repository.plugin_options,
            machine=repository.facts(),
            schedule=repository.config.get("schedule"),
            place=place_of(repository),
        )
        _, executor = repository.plugins.make("executor", "local")
        failed: PerfError | None = None
        for measured in executor.submit(Plan(jobs=jobs, context=context)):
            if measured.profile is None:
                failed = failed or measured.error or PerfError(f"{measured.job.label} was not measured")
                continue
            stored_command.note_measured(repository, measured.profile)
            saved = repository.save(measured.profile)
            repository.plugins.emit("profile_collected", profile=measured.profile, job=measured.job)
            yield saved
        if failed is not None:
            raise failed

    @contextlib.contextmanager
    def _tree(self, revision: str | None) -> Iterator[tuple[Path, str | None, bool]]:
        """(tree, version, dirty) of what is measured, built."""
        repository = self.repository
        with contextlib.ExitStack() as stack:
            if revision is None:
                tree, (origin, dirty) = repository.root, self._here()
            else:
                version = self.version(revision)
                tree, origin, dirty = stack.enter_context(Trees(repository)).get(version), version, False
            self._building().run(tree)
            yield tree, origin, dirty

    def _here(self) -> tuple[str | None, bool]:
        try:
            return self.version(), self.repository.vcs.is_dirty()
        except VersionError:
            return None, True

    def _building(self) -> Building:
        repository = self.repository
        commands = tuple(repository.trusted("execute.pre_run"))
        shell = bool(repository.trusted("execute.shell")) if commands else False
        timeout = float(repository.config.get("execute.timeout"))
        return Building(commands=commands, shell=shell, timeout=timeout)

    def _standing(self) -> Path:
        root, cwd = self.repository.root, self.repository.cwd
        return cwd.relative_to(root) if cwd.is_relative_to(root) else Path()


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=2)


def _job(command: Command, workload: str, shell: bool) -> Job:
    words = matrix.split(workload, "workload")
    if isinstance(command, str):
        return matrix.command([command] if shell else matrix.split(command, "command"), workload=words, shell=shell)
    return matrix.command(list(command), workload=words, shell=shell)


def _below(tree: Path, cwd: Path) -> Path:
    place = tree / cwd
    if not place.resolve().is_relative_to(tree.resolve()):
        raise UsageError(f"{cwd} is outside the tree that is measured")
    if not place.is_dir():
        raise UsageError(f"there is no folder {cwd} in {tree}")
    return place
