"""What `perf bisect` is asked: the ends, the versions between them, what is run, and whom to suspect first."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
from perfcore_command_bisect import ancestry, auto_range, journal, prior
from perfcore_command_bisect.auto_range import Ends
from perfcore_command_bisect.journal import Command, Journal

from perfcore.analysis import history as histories
from perfcore.analysis.history import HistoryCheck, ScannedSeries
from perfcore.analysis.pairing import thresholds_of
from perfcore.analysis.series import config_histories
from perfcore.cli import consent
from perfcore.cli.console import Console
from perfcore.cli.options import variables
from perfcore.errors import NotFoundError, UsageError, VersionError
from perfcore.measure import matrix, stored_command
from perfcore.measure.request import working_directory
from perfcore.measure.schedule import split_options
from perfcore.measure.tree_state import tree_state
from perfcore.model import Job, MinorVersion, Profile, Step
from perfcore.text import percent, printable

_LOOKED_AT = 300  # versions whose files are looked at


@attrs.frozen
class Wish:
    """What the command line says of the measuring."""

    metric: str
    function: str
    collector: str | None
    shell: bool
    cwd: Path | None
    env: Sequence[str]
    build: bool


def ask(console: Console, words: Sequence[str], argv: list[str] | None, auto: bool, wish: Wish) -> Journal:
    """The question of a command line."""
    repository = console.repository
    found: Ends | None = None
    if auto:
        if words:
            raise UsageError("--auto takes the ends from the history", hint="leave GOOD and BAD away")
        found = _of_history(console, argv, wish)
        good, bad = found.good, found.bad
        _tell(console, found)
        wish = attrs.evolve(wish, metric=wish.metric or found.scanned.series.metric)
    elif len(words) == 2:
        good, bad = (repository.version(word) for word in words)
    else:
        named = "1 is" if len(words) == 1 else f"{len(words)} are"
        raise UsageError(
            f"two versions are wanted, GOOD and BAD, and {named} named", hint="the command stands after `--`"
        )
    if good == bad:
        raise UsageError(f"both ends are {good[:10]}", hint="GOOD is a version before the change, BAD one that has it")
    row = ancestry.between(repository.vcs, good, bad)
    if tree_state(console.repository)[1]:
        console.say("note: versions are measured as they were committed; what is not committed is left out")
    command = (
        _command(console, argv, wish) if argv is not None else _measured_command(console, row.versions, found, wish)
    )
    return Journal(
        versions=tuple(version.id for version in row.versions),
        contains=journal.bits_of(row),
        prior=_prior(console, row.versions, command, wish.function),
        command=command,
        metric=wish.metric,
        function=wish.function,
        better="",
        ends_from=found.source if found is not None else "",
    )


def _tell(console: Console, found: Ends) -> None:
    """That the ends are no more than a guess, where they are."""
    if found.step is None:
        return
    series = found.scanned.series
    what = printable(f"{series.resource}: {series.metric}" if series.resource else series.metric)
    console.say(
        f"note: no check found a degradation that stands; taking the largest step for the worse: {what} of "
        f"{printable(found.scanned.line.label)}, {percent(found.step)} from {found.good[:10]} to {found.bad[:10]}"
    )


def _command(console: Console, argv: list[str], wish: Wish) -> Command:
    job = matrix.command(argv, shell=wish.shell)
    return _kept(console, job, wish, wish.collector or "time", {})


def _measured_command(console: Console, versions: Sequence[MinorVersion], found: Ends | None, wish: Wish) -> Command:
    """What the history that gave the ends is of; or what was measured for the ends, or else for versions between."""
    repository = console.repository
    order = [versions[-1], versions[0], *reversed(versions[1:-1])]
    entries = (
        [found.scanned.line.entry]
        if found
        else (one for version in order for one in reversed(repository.readable_entries(version.id)))
    )
    for one in entries:
        if wish.collector in (None, one.collector) and not one.postprocessors:
            profile = repository.store.load(one.profile)
            job = Job(
                argv=profile.header.argv,
                cmd=profile.header.cmd,
                args=profile.header.args,
                workload=profile.header.workload,
                shell=profile.header.shell,
            )
            _, options = split_options(profile.collector.params)
            options = {name: value for name, value in options.items() if value is not None}
            job = attrs.evolve(job, collector=Step(name=profile.collector.name, params=options))
            _require_measured(console, one.profile, profile, job, versions)
            console.say(f"note: measuring what was measured before: {stored_command.label(job)}")
            return _kept(console, job, wish, profile.collector.name, options)
    raise UsageError(
        "nothing was measured for these versions, so say what to run", hint="perf bisect GOOD BAD -- COMMAND"
    )


def _require_measured(console: Console, id: str, profile: Profile, job: Job, versions: Sequence[MinorVersion]) -> None:
    """UntrustedError unless the user measured the command of a profile here, or confirms it."""
    digest = stored_command.profile_digest(console.repository.home, profile)
    typed = stored_command.bisect_words(job, versions[0].id, versions[-1].id)
    consent.require(console, digest, job, source=f"the profile {id[:10]}", typed=typed)


def _kept(console: Console, job: Job, wish: Wish, collector: str, params: dict[str, Any]) -> Command:
    return Command(
        argv=job.argv,
        cmd=job.cmd,
        args=job.args,
        workload=job.workload,
        shell=job.shell,
        cwd=str(working_directory(console.repository, wish.cwd)),
        env=variables(list(wish.env)),
        collector=collector,
        params=params,
        build=wish.build,
    )


def _of_history(console: Console, argv: list[str] | None, wish: Wish) -> Ends:
    repository = console.repository
    label = matrix.command(argv, shell=wish.shell).label if argv else None
    known = [
        line
        for line in config_histories(repository, repository.version())
        if label in (None, line.label)
        and wish.collector in (None, line.entry.collector)
        and not line.entry.postprocessors
    ]
    found = histories.select_series(repository, known, metric=wish.metric or None, function=wish.function or None)
    found = [one for one in found if one.primary]
    ends_found = auto_range.of_history(repository, _scanned(console, found))
    if ends_found is None:
        raise NotFoundError(
            "the history shows nothing that became worse", hint="say between which versions: perf bisect GOOD BAD"
        )
    return ends_found


def _scanned(console: Console, found: Sequence[ScannedSeries]) -> list[ScannedSeries]:
    """With their changes, where the check of histories is there."""
    repository = console.repository
    name = str(repository.trusted("check.history"))
    if not found or name not in console.plugins.names("check"):
        return list(found)
    scan = HistoryCheck.configured(repository, name)
    if scan is None:
        return list(found)
    return histories.scan_series(repository, found, scan, thresholds_of(repository), console.progress)


def _prior(console: Console, versions: Sequence[MinorVersion], command: Command, function: str) -> tuple[float, ...]:
    """By the files that versions touch, and by what other histories of the branch show."""
    repository = console.repository
    files: list[tuple[str, ...] | None] = [None] * len(versions)
    if len(versions) <= _LOOKED_AT:
        for place, version in enumerate(versions[1:], 1):
            console.progress(place - 1, len(versions) - 1, "looking at what versions touch")
            with contextlib.suppress(VersionError):  # a partial clone may not have the folders; it is only a guess
                files[place] = repository.vcs.changed_files(version.parents[0], version.id) if version.parents else None
        console.clear_progress()
    return prior.shares(files, (*command.argv, function), _changed(console, versions, command))


def _changed(console: Console, versions: Sequence[MinorVersion], command: Command) -> list[tuple[int, int]]:
    """Rows of versions in which the histories of other commands changed. That of the same command is evidence."""
    repository = console.repository
    if not any(repository.readable_entries(version.id) for version in versions):
        return []
    others = [line for line in config_histories(repository, versions[-1].id) if line.label != command.job.label]
    scanned = _scanned(console, [one for one in histories.select_series(repository, others) if one.primary])
    places = {version.id: place for place, version in enumerate(versions)}
    changes = (change for one in scanned for change in one.changes if change.kind in ("degradation", "optimization"))
    rows = ((places.get(change.earliest), places.get(change.latest)) for change in changes)
    return [(first, last) for first, last in rows if first is not None and last is not None]
