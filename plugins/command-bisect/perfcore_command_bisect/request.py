"""The journal of a new bisection: its ends, the versions between them, the command and the prior."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
from perfcore_check_kit import history as histories
from perfcore_check_kit import labels, short_histories
from perfcore_check_kit.history import HistoryCheck, ScannedSeries
from perfcore_check_kit.series import ConfigHistory, config_histories
from perfcore_check_kit.thresholds import thresholds_of

from perfcore.errors import NotFoundError, UsageError, VersionError, nearest
from perfcore.measure import commands
from perfcore.measure.request import tree_state, working_directory
from perfcore.measure.schedule import split_options
from perfcore.model import Job, MinorVersion, Step
from perfcore.model.listener import Listener
from perfcore.model.record import replace
from perfcore.repository import Repository
from perfcore.text import percent, printable
from perfcore_command_bisect import ancestry, auto_range, consent, journal, prior
from perfcore_command_bisect.auto_range import HistoryEnds
from perfcore_command_bisect.consent import Confirm
from perfcore_command_bisect.journal import Command, Journal
from perfcore_command_bisect.options import BisectOptions

# Versions whose changed files are asked for. The VCS takes some milliseconds for each; the prior of a longer range
# would cost more than the two or three runs that it saves.
_MAX_CHANGED_FILES = 300


def new_journal(repository: Repository, options: BisectOptions, listener: Listener, confirm: Confirm) -> Journal:
    """The journal of the bisection that the options ask for, without any measurement."""
    ends: HistoryEnds | None = None
    if options.auto:
        ends = _history_ends(repository, options, listener)
        good, bad = ends.good, ends.bad
        _note_step(ends, listener)
        series = ends.scanned.series  # of a suite, that of the benchmark which changed
        options = attrs.evolve(
            options, metric=options.metric or series.metric, function=options.function or series.resource
        )
    else:
        good, bad = repository.version(options.good), repository.version(options.bad)
    if good == bad:
        raise UsageError(f"both ends are {good[:10]}", hint="GOOD is a version before the change, BAD one that has it")
    version_range = ancestry.between(repository.vcs, good, bad)
    if tree_state(repository)[1]:
        listener.note("versions are measured as they were committed; uncommitted changes are left out")
    command = _command(repository, version_range.versions, ends, options, listener, confirm)
    return Journal(
        versions=tuple(version.id for version in version_range.versions),
        contains=journal.bits_of(version_range),
        prior=_prior(repository, version_range.versions, command, options.function, listener),
        command=command,
        metric=options.metric,
        function=options.function,
        better="",
        ends_from=ends.source if ends is not None else "",
    )


def _note_step(ends: HistoryEnds, listener: Listener) -> None:
    """The note that the ends are a guess, unless a check found a change between them."""
    if ends.step is None:
        return
    series = ends.scanned.series
    metric = printable(f"{series.resource}: {series.metric}" if series.resource else series.metric)
    listener.note(
        f"the history shows no lasting regression; taking the largest step for the worse: {metric} of "
        f"{printable(ends.scanned.line.label)}, {percent(ends.step)} from {ends.good[:10]} to {ends.bad[:10]}"
    )


def _command(
    repository: Repository,
    versions: Sequence[MinorVersion],
    ends: HistoryEnds | None,
    options: BisectOptions,
    listener: Listener,
    confirm: Confirm,
) -> Command:
    """The command of the options, or else the one that the history of the ends is of, or else the latest command that
    was measured for the ends or for versions between them."""
    if options.command is not None:
        job = _typed(repository, options.command, options)
        return _with_options(job, options, options.collector or "time", {})
    # The ends first, newest first: their command is the likeliest to be what the user means.
    order = [versions[-1], versions[0], *reversed(versions[1:-1])]
    entries = (
        [ends.scanned.line.entry]
        if ends
        else (entry for version in order for entry in reversed(repository.readable_entries(version.id)))
    )
    for entry in entries:
        # Postprocessed amounts are not what a run gives, so new runs could not be compared with them.
        if options.collector in (None, entry.collector) and not entry.postprocessors:
            profile = repository.store.load(entry.profile)
            header = profile.header
            _, params = split_options(profile.collector.params)
            present = {name: param for name, param in params.items() if param is not None}
            job = Job(
                argv=header.argv,
                cmd=header.cmd,
                args=header.args,
                workload=header.workload,
                shell=header.shell,
                cwd=working_directory(repository, Path(commands.folder(header))),
                collector=Step(name=profile.collector.name, params=present),
            )
            if options.cwd is not None:
                cmd = header.cmd.removeprefix(f"{commands.folder(header)}: ")
                job = commands.in_folder(replace(job, cmd=cmd, cwd=working_directory(repository, options.cwd)))
            consent.require(
                repository,
                confirm,
                commands.profile_digest(repository.home, profile),
                job,
                source=f"the profile {entry.profile[:10]}",
                typed=consent.command_line(job, versions[0].id, versions[-1].id),
            )
            listener.note(f"measuring the same command as before: {commands.label(job)}")
            return _with_options(job, options, profile.collector.name, present)
    raise UsageError(
        "nothing was measured for these versions: name the command", hint="perf bisect GOOD BAD -- COMMAND"
    )


def _typed(repository: Repository, words: Sequence[str], options: BisectOptions) -> Job:
    """The command as the history of the folder calls it."""
    job = commands.job(list(words), shell=options.shell)
    return commands.in_folder(replace(job, cwd=working_directory(repository, options.cwd)))


def _with_options(job: Job, options: BisectOptions, collector: str, params: dict[str, Any]) -> Command:
    return Command(
        argv=job.argv,
        cmd=job.cmd,
        args=job.args,
        workload=job.workload,
        shell=job.shell,
        cwd=str(job.cwd),
        env=dict(options.env),
        collector=collector,
        params=params,
        build=options.build,
        rebuild=options.rebuild,
    )


def _history_ends(repository: Repository, options: BisectOptions, listener: Listener) -> HistoryEnds:
    """The ends of the last degradation in the history. NotFoundError if nothing became worse."""
    label = _typed(repository, options.command, options).label if options.command else None
    branch = config_histories(repository, repository.version())
    candidates = [
        history
        for history in branch
        if label in (None, history.label)
        and options.collector in (None, history.entry.collector)
        and not history.entry.postprocessors
    ]
    series = histories.select_series(
        repository, candidates, metric=options.metric or None, function=options.function or None
    )
    if not series:
        names = {scanned.series.resource for scanned in histories.select_series(repository, candidates)}
        if options.function and (full_name := labels.whole_name(options.function, names)) != options.function:
            return _history_ends(repository, attrs.evolve(options, function=full_name), listener)
        raise _nothing_measured(repository, options, branch, candidates)
    primary = [scanned for scanned in series if scanned.primary]
    among = histories.select_series(repository, branch)
    if options.function and all(scanned.series.resource != options.function for scanned in among):
        among = []  # a function of a sampler, which no suite has
    ends = auto_range.of_history(repository, _scanned(repository, primary, among, listener))
    if ends is None:
        raise NotFoundError("the history shows no regression", hint="say between which versions: perf bisect GOOD BAD")
    return ends


def _nothing_measured(
    repository: Repository,
    options: BisectOptions,
    branch: Sequence[ConfigHistory],
    candidates: Sequence[ConfigHistory],
) -> NotFoundError:
    """That the branch has nothing of what was asked for, which is no history without a regression."""
    if not branch:
        return NotFoundError(
            "no version here has a profile", hint="name the ends and the command: perf bisect GOOD BAD -- COMMAND"
        )
    if not candidates:
        labels = ", ".join(dict.fromkeys(f"{printable(line.label)} by {line.entry.collector}" for line in branch))
        return NotFoundError(
            "nothing here was measured with this command and collector", hint=f"there are profiles of {labels}"
        )
    every = histories.select_series(repository, candidates)
    if options.function and all(scanned.series.resource != options.function for scanned in every):
        name = printable(options.function)
        names = {scanned.series.resource for scanned in every if scanned.series.resource}
        hint = nearest(options.function, names)
        return NotFoundError(f"no profile here has a function or benchmark {name!r}", hint=hint)
    metrics = ", ".join(dict.fromkeys(printable(scanned.series.metric) for scanned in every))
    return NotFoundError(
        f"no profile here has a metric {printable(options.metric)!r}", hint=f"the metrics are {metrics}"
    )


def _scanned(
    repository: Repository, series: Sequence[ScannedSeries], among: Sequence[ScannedSeries], listener: Listener
) -> list[ScannedSeries]:
    """The series, `among` all of the branch, with their changes if the configured check of histories is installed."""
    name = str(repository.trusted("check.history"))
    if not series or name not in repository.plugins.names("check"):
        return list(series)
    check = HistoryCheck.configured(repository, name)
    if check is None:
        return list(series)
    thresholds = thresholds_of(repository)
    return short_histories.scan_branch(repository, series, check, thresholds, listener.progress, among)


def _prior(
    repository: Repository, versions: Sequence[MinorVersion], command: Command, function: str, listener: Listener
) -> tuple[float, ...]:
    """The prior by the files that versions change, and by the histories of other commands on the branch."""
    files: list[tuple[str, ...] | None] = [None] * len(versions)
    if len(versions) <= _MAX_CHANGED_FILES:
        for index, version in enumerate(versions[1:], 1):
            listener.progress(index - 1, len(versions) - 1, "looking at what versions touch")
            # A partial clone may lack the folders; the prior is only a guess, so it goes without them.
            with contextlib.suppress(VersionError):
                files[index] = repository.vcs.changed_files(version.parents[0], version.id) if version.parents else None
    changes = _changes_of_others(repository, versions, command, listener)
    return prior.shares(files, (*command.argv, function), changes)


def _changes_of_others(
    repository: Repository, versions: Sequence[MinorVersion], command: Command, listener: Listener
) -> list[tuple[int, int]]:
    """Ranges of versions in which the histories of other commands changed. A change of the same command is evidence,
    which the search would count twice if the prior held it too."""
    if not any(repository.readable_entries(version.id) for version in versions):
        return []
    every = histories.select_series(repository, config_histories(repository, versions[-1].id))
    primary = [scanned for scanned in every if scanned.primary and scanned.line.label != command.job.label]
    indices = {version.id: index for index, version in enumerate(versions)}
    changes = (change for scanned in _scanned(repository, primary, every, listener) for change in scanned.changes)
    ranges = (
        (indices.get(change.earliest), indices.get(change.latest))
        for change in changes
        if change.kind in ("degradation", "optimization")
    )
    return [(first, last) for first, last in ranges if first is not None and last is not None]
