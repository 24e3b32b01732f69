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

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore.errors import PluginError, UsageError
from perfcore.hookspecs import COMMAND
from perfcore.measure.calls import Command, MeasureCalls, command_job
from perfcore.measure.collect_result import CollectResult, SavedProfile, Summary, summarize
from perfcore.model import Entry, MinorVersion, Profile
from perfcore.plugins.drivers import guard
from perfcore.plugins.registry import Plugins
from perfcore.profile.table import Table
from perfcore.repository.repository import Repository
from perfcore.store.lookup import Ref
from perfcore.store.pending import Pending

if TYPE_CHECKING:
    from perfcore.analysis.check_result import CheckResult
    from perfcore.analysis.sensitivity import CalibrationReport
    from perfcore.model.listener import Listener

Name = str | Entry | Pending | SavedProfile


def open_repository(path: str | Path = ".", *, plugins: Plugins | None = None) -> History:
    """The performance history around a folder. NotFoundError where no folder up from it has one."""
    return History(Repository.open(Path(path), plugins=plugins or Plugins(warn=warnings.warn)))


class History(MeasureCalls):
    """An opened performance history. `repository` is what it is made of, for all that is not here."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository

    def __repr__(self) -> str:
        return f"<performance history of {self.repository.root}>"

    def _repr_html_(self) -> str:
        """The newest versions with the number of their profiles, as a table for notebooks."""
        from perfcore.html_table import html_table

        rows = ((version.id[:10], version.subject, len(entries)) for version, entries in self.versions())
        return html_table(("version", "subject", "profiles"), rows)

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

    def profile(self, name: Name) -> Profile:
        """The profile of an entry, or of a name as the command line takes it: `0@i`, `HEAD~1:0@i`, a tag, a path."""
        if isinstance(name, SavedProfile):
            return name.profile
        if isinstance(name, Entry):
            return self.repository.store.load(name.profile)
        return self.repository.load(self._ref(name))

    def refs(self, *names: Name) -> list[Ref]:
        """The places of stored profiles, by names as the command line takes them; no profile is read."""
        return [ref for name in names for ref in self._refs(name)]

    def summary(self, name: Name | Profile) -> list[Summary]:
        """Median, spread and outliers of every metric of a profile."""
        return summarize(name if isinstance(name, Profile) else self.profile(name))

    def gc(self, grace: float | None = None, *, dry_run: bool = False) -> Any:
        """Remove stored objects that nothing refers to and that are older than `grace` seconds (None: `gc.grace`).
        PluginError for this and the next four if perfcore-command-store is not installed."""
        return self.command("gc", grace=grace, dry_run=dry_run)

    def fsck(self) -> Any:
        """Read everything in the store, and name damaged and missing parts."""
        return self.command("fsck")

    def remove(self, *names: str | Pending, dry_run: bool = False) -> tuple[Ref, ...]:
        """Take profiles off their versions, and drop pending ones; the objects stay until `gc`."""
        refs = [self._ref(name) for name in names]
        removed: tuple[Ref, ...] = self.command("rm", names=names, refs=refs, dry_run=dry_run)
        return removed

    def tags(self) -> Any:
        """All tags of registered profiles."""
        return self.command("tag")

    def tag(self, name: str, profile: str = "0@i", *, delete: bool = False) -> Entry:
        """Tag a registered profile, or delete its tag; gives its new entry."""
        entry: Entry = self.command("tag", name=name, ref=self._ref(profile), delete=delete)
        return entry

    def aggregate(self, *names: Name, by: str = "sum", **options: Any) -> Any:
        """Join profiles into a pending one; each is read when it is needed. `by` names the aggregate. PluginError if
        perfcore-command-derive is not installed."""
        return self.command("aggregate", names=names, by=by, options=options)

    def import_(
        self, path: str | Path, format: str = "", *, version: str | None = None, register: bool = False, **options: Any
    ) -> Any:
        """Import the profiles of a file, or of a directory in the format that is named, as `perf import` does.

        They become pending, or are registered with `register` or where the other tool had registered them. `version`
        is for profiles whose file names none. PluginError if perfcore-command-exchange is not installed."""
        return self.command("import", path=path, format=format, version=version, register=register, options=options)

    def export(
        self, name: Name, path: str | Path, *, format: str = "perf", force: bool = False, **options: Any
    ) -> Path:
        """Write a profile to a file; gives its path. `force` replaces a file that exists. PluginError if
        perfcore-command-exchange is not installed."""
        written: Path = self.command("export", name=name, path=path, format=format, force=force, options=options)
        return written

    def save(self, profile: Profile) -> Pending:
        """Keep a profile, made by whatever means, as a pending one."""
        return self.repository.save(profile)

    def register(self, name: Name, version: str | None = None, *, tags: Sequence[str] = ()) -> Entry:
        """Register a pending profile, or a file, with its version; gives its entry."""
        ref = self._ref(name)
        origin = ref.pending.profile.origin if ref.pending is not None and ref.pending.profile is not None else None
        at, entry = self.repository.register(ref, self.version(version) if version is not None else origin)
        return self.repository.tag(at, entry, add=tags) if tags else entry

    def postprocess(self, name: Name | Profile, postprocessor: str, **options: Any) -> Any:
        """A profile derived by a postprocessor; `save` keeps it. PluginError without perfcore-command-derive."""
        return self.command("postprocess", name=name, postprocessor=postprocessor, options=options)

    def series(self, metric: str, *, command: str = "*", collector: str = "*", head: str | None = None) -> Table:
        """One metric over the versions of a branch, oldest first: a row for each run of each profile.

        `command` and `collector` are patterns such as `./sort *`. The columns are position, version, date, subject,
        command, collector, environment, profile, run, and the metric. Profiles without the metric are left out;
        NotFoundError where none is left. PluginError if perfcore-view-history is not installed.
        """
        table: Table = self.command("history", runs_of=metric, command=command, collector=collector, head=head)
        return table

    def history(self, subject: str | None = None, **options: Any) -> Any:
        """A metric, or the `metric` of a function, over the versions of a branch, with the changes that the configured
        check finds; the primary metrics for None, as `perf history` draws them.

        `command` is a pattern, `head` the version where the branch ends, or `A..B`; `since`, `until`, `tags`, `last`,
        `step` as in `collect`. The result has `series`, `as_json()`. PluginError if perfcore-view-history is missing.
        """
        return self.command("history", subject=subject, **options)

    def diff(
        self,
        baseline: Name | Profile,
        target: Name | Profile,
        *,
        method: str = "amounts",
        scale: str = "run",
        **options: Any,
    ) -> Any:
        """The difference of two profiles, by function where there are stacks, as `perf diff` prints it; `scale` is
        `run`, `sum` or `total`. `save` keeps its `profile`. PluginError if perfcore-command-diff is not installed."""
        return self.command("diff", baseline=baseline, target=target, method=method, scale=scale, options=options)

    def check(
        self,
        target: Name | None = None,
        baseline: Name | None = None,
        *,
        method: str | None = None,
        threshold: float | None = None,
        keep: bool = False,
        listener: Listener | None = None,
    ) -> CheckResult:
        """What became slower or faster, and which contracts are broken, as `perf check` finds it.

        `target` is what the command takes: a version (the head for None) against the nearest ancestor that was measured
        alike, `all` or `A..B` for a history, or a profile; with a `baseline`, both are versions or profiles.
        `fails(change)` of the result says whether one fails the build by `check.fail_on`. With `keep` the result is
        stored with the versions. PluginError for this and the next if perfcore-command-check is not installed.
        """
        options = {"method": method, "threshold": threshold, "keep": keep, "listener": listener}
        result: CheckResult = self.command("check", target=target, baseline=baseline, **options)
        return result

    def contracts(self, revision: str | None = None, *, listener: Listener | None = None) -> CheckResult:
        """The verdicts on the contracts of a version (the head for None), as `perf check` gives them."""
        result: CheckResult = self.command("check", contracts_of=self.version(revision), listener=listener)
        return result

    def accept(self, *changes: str, why: str, author: str, undo: bool = False, listener: Listener | None = None) -> Any:
        """Accept changes by the first characters of their ids as `perf check ack` does; withdraw that with `undo`.
        PluginError if perfcore-command-ack is not installed."""
        return self.command("check.ack", changes=changes, why=why, author=author, undo=undo, listener=listener)

    def calibrate(
        self, method: str | None = None, *, keep: bool = False, listener: Listener | None = None
    ) -> CalibrationReport:
        """How small a change the checks detect in this history, as `perf check --calibrate` tries it. With `keep` the
        result is stored, for `perf status`. PluginError if perfcore-check-calibration is not installed."""
        report: CalibrationReport = self.command("check", calibrate=True, method=method, keep=keep, listener=listener)
        return report

    def run(self, matrix: str | Path | Mapping[str, Any] | None = None, **options: Any) -> CollectResult:
        """Measure every job of a matrix: a file, a mapping such as `{"bins": ["./sort"], "workloads": ["a", "b"]}`, or
        the configuration, as `perf run matrix` does. The other options are those of `collect`, from `version` to
        `listener`, and of the schedule. PluginError if perfcore-command-run is not installed."""
        result: CollectResult = self.command("run", matrix=matrix, **options)
        return result

    def compare(self, first: Command | None = None, second: Command | None = None, **options: Any) -> Any:
        """Whether one program is slower than another, as `perf compare` measures it: interleaved, until it is decided
        or `max_pairs` or `budget` seconds are spent.

        Two commands are compared in the working tree; one command, in two `versions` (None: the working tree). Without
        a command, the versions are names of stored profiles, and nothing is measured. The result has `kind`, `changes`
        and `as_json()`; `CompareOptions` of perfcore-command-compare has all options. PluginError if that is not
        installed.
        """
        return self.command("compare", first=first, second=second, **options)

    def compare_stored(self, baseline: str, target: str, **options: Any) -> Any:
        """What differs between two versions by all that is stored of both, as `perf compare A B` says it; nothing is
        measured. The options are `benchmarks` (a pattern as of `-k`), `metric`, `threshold` and `listener`. The result
        has `changed`, `inconclusive`, `unchanged`, `unpaired`, `exit_code` and `as_json()`. PluginError if
        perfcore-command-compare is not installed."""
        return self.command("compare", stored=(baseline, target), **options)

    def bisect(
        self, good: str = "", bad: str = "", command: Command | None = None, *, shell: bool = False, **options: Any
    ) -> Any:
        """The version between `good` and `bad` that made a command slower, as `perf bisect` finds it.

        The result has `found`, `versions`, `probability` and `as_json()`. `auto=True` takes the ends from the history;
        without arguments, a bisection that was interrupted goes on. The other options are those of the command:
        `confidence=0.99`, `max_runs=60`; `search` replaces the search. PluginError if perfcore-command-bisect is not
        installed.
        """
        argv = None if command is None else command_job(command, "", shell).argv
        return self.command("bisect", good=good, bad=bad, command=argv, shell=shell, **options)

    def command(self, name: str, /, **arguments: Any) -> Any:
        """The result of a plugin's command. PluginError for one that is not installed or only prints."""
        plugin, driver = self.repository.plugins.make(COMMAND, name, self.repository.plugin_options("command", name))
        if not hasattr(driver, "call"):
            raise PluginError("this command cannot be called from the library", plugin=str(plugin))
        with guard(plugin, "call"):
            return driver.call(self, arguments)

    def _refs(self, name: Name) -> list[Ref]:
        entry = name.entry if isinstance(name, SavedProfile) else name
        if isinstance(entry, Entry):
            return [Ref(kind="index", entry=entry)]
        return self.repository.find(name) if isinstance(name, str) else [self._ref(name)]

    def _ref(self, name: Name) -> Ref:
        if isinstance(name, Pending | SavedProfile):
            return Ref(kind="pending", pending=name if isinstance(name, Pending) else name.pending)
        if isinstance(name, Entry):
            raise UsageError(f"{name.name} is registered already")
        refs = self.repository.find(name)
        if len(refs) != 1:
            raise UsageError(f"{name!r} names {len(refs)} profiles instead of one")
        return refs[0]
