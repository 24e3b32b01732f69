"""`perf check`: what became slower or faster."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Optional

import typer

from perfcore.checking import history, report
from perfcore.checking import pairing as pairings
from perfcore.checking import series as histories
from perfcore.checking.compared import compared
from perfcore.checking.history import Scan
from perfcore.checking.pairing import Unpaired
from perfcore.cli.console import Console
from perfcore.config import KEYS
from perfcore.errors import NotFoundError, UsageError, VersionError
from perfcore.model import Change, Pairing, Sample
from perfcore.repository import Repository
from perfcore.store.lookup import Ref, is_number
from perfcore.text import printable

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
DEGRADED = 1


@app.command()
def check(
    ctx: typer.Context,
    what: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="[head | all | REV | A..B | PROFILE [PROFILE]]",
            help="A version (default: the head), a history or a part of it, a profile, or two: baseline, target.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="The whole history of the branch, as `all`.")] = False,
    method: Annotated[
        Optional[str],
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="The check to use (default: check.name; check.history for histories).",
        ),
    ] = None,
    threshold: Annotated[
        Optional[float],
        typer.Option("--threshold", min=0, metavar="X", help="The smallest relative change that matters: 0.05 is 5 %."),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="All metrics, with what each verdict rests on.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare a version with its nearest ancestor that was measured in the same way, or find the changes of a history.

    The exit code is 1 if a primary metric (CPU time, where there is one) degraded and was not made good since, and 0
    if none did.
    """
    console: Console = ctx.obj
    words = [word for word in what or [] if word != "profiles"]
    asked = _asked(words, every)
    if asked is None:
        changes, unpaired = _of_pairs(console, _pairs(console, words), method, threshold)
        concluded = report.conclusion(changes)
    else:
        changes, concluded = _of_history(console, asked, method, threshold)
        unpaired = []
    console.plugins.emit("check_done", changes=tuple(changes))
    if as_json:
        console.json(report.as_json(changes, unpaired))
    else:
        _print(console, changes, unpaired, verbose, concluded)
    if report.degraded(changes):
        raise typer.Exit(DEGRADED)


def _asked(words: Sequence[str], every: bool) -> str | None:
    """The range of a history that is to be checked, `..` for all of it; None where it is single versions."""
    if every and words:
        raise UsageError("--all takes no further argument")
    if every or words == ["all"]:
        return ".."
    return words[0] if len(words) == 1 and ".." in words[0] and not is_number(words[0]) else None


def _scanning(console: Console, method: str | None) -> Scan | None:
    """The check of histories; None where it is one that compares two versions."""
    repository = console.repository
    name = method or str(repository.trusted("check.history"))
    if method is None and name == KEYS["check.history"].default and name not in console.plugins.names("check"):
        console.say(f"note: each version is compared with the one before; perfcore-check-{name} would see them all")
        return None
    options = repository.plugin_options("check", name)
    found, driver = console.plugins.make("check", name, options)
    return Scan.of(console.plugins.phases(found, driver), driver, options) if hasattr(driver, "scan") else None


def _of_history(console: Console, asked: str, method: str | None, threshold: float | None) -> tuple[list[Change], str]:
    """The changes of a history or a range of it, and a line that says what was looked at. Where a configuration has
    only few versions, or the check does not scan, each version is compared with the one before."""
    repository = console.repository
    scan = _scanning(console, method)
    start, _, end = asked.partition("..")
    lines = histories.lines(repository, repository.version(end or None))
    if not lines:
        raise NotFoundError("none of these versions has a profile", hint="perf collect time --all --add -- COMMAND")
    long = [line for line in lines if scan and (method or len(line.places) >= history.SHORT)]
    found = history.wanted(repository, long)
    if scan:
        thresholds = pairings.thresholds_of(repository) if threshold is None else {"": threshold}
        found = history.scanned(repository, found, scan, thresholds, console.progress)
        console.clear_progress()
    changes = history.changes(found)
    if start:
        before = {version.id for version in repository.vcs.walk_minor_versions(repository.version(start))}
        changes = [change for change in changes if change.latest not in before]
    concluded = [report.of_history(changes, len(found), history.versions(found))] if found else []
    if short := {line.config_id for line in lines} - {line.config_id for line in long}:
        pairs = pairings.of_history(repository, _range(repository, asked))
        single, _ = _of_pairs(console, [p for p in pairs if p.config_id in short], None if scan else method, threshold)
        changes += single
        concluded.append(report.conclusion(single))
    return changes, "\n".join(concluded)


def _of_pairs(
    console: Console, pairs: Iterable[Pairing | Unpaired], method: str | None, threshold: float | None
) -> tuple[list[Change], list[Unpaired]]:
    found = list(pairs)
    changes = compared(
        console.repository,
        [item for item in found if isinstance(item, Pairing)],
        method=method,
        threshold=threshold,
        progress=console.progress,
    )
    console.clear_progress()
    return changes, [item for item in found if isinstance(item, Unpaired)]


def _pairs(console: Console, words: Sequence[str]) -> Iterable[Pairing | Unpaired]:
    repository = console.repository
    if len(words) == 2:
        return [_of_two(console, *(_sample(repository, console.find(word)) for word in words))]
    if len(words) > 2:
        raise UsageError(f"at most two profiles are compared, got {len(words)}")
    found = _version_or_profiles(console, words[0] if words and words != ["head"] else None)
    if isinstance(found, str):
        return _of_version(repository, found)
    return itertools.chain.from_iterable(_of_profile(repository, ref) for ref in found)


def _version_or_profiles(console: Console, word: str | None) -> str | list[Ref]:
    if word is None:
        return console.repository.version()
    if is_number(word):
        return console.find(word)
    try:
        return console.repository.version(word)
    except VersionError:
        with contextlib.suppress(NotFoundError):
            return console.find(word)
        raise


def _of_version(repository: Repository, version: str) -> Iterable[Pairing | Unpaired]:
    if not repository.entries(version):
        raise NotFoundError(
            f"version {version[:10]} has no profiles: there is nothing to check",
            hint="measure and register it: perf collect time --add -- COMMAND",
        )
    return pairings.of_version(repository, version)


def _of_profile(repository: Repository, ref: Ref) -> Iterable[Pairing | Unpaired]:
    if ref.entry is not None and ref.version is not None:
        return pairings.of_version(repository, ref.version, ref.entry.config_id)
    return [pairings.of_dirty(repository, repository.load(ref))]


def _of_two(console: Console, baseline: Sample, target: Sample) -> Pairing:
    if unlike := pairings.unlike(baseline.profiles[0], target.profiles[0]):
        console.say(f"note: these were not measured alike: {unlike}")
    return pairings.of_profiles(console.repository, baseline, target)


def _range(repository: Repository, text: str) -> list[str]:
    """The measured versions of a range A..B (after A, up to B), with A's as the first baseline, oldest first."""
    start, _, end = text.partition("..")
    stop = repository.version(start) if start else None
    found = []
    for version, entries in repository.walk(repository.version(end or None)):
        if entries:
            found.append(version.id)
        if version.id == stop:
            break
    if not found:
        raise NotFoundError("none of these versions has a profile", hint="perf collect time --all --add -- COMMAND")
    return found[::-1]


def _sample(repository: Repository, refs: Sequence[Ref]) -> Sample:
    profiles = tuple(repository.load(ref) for ref in refs)
    version = refs[0].version or profiles[0].origin
    return Sample(version=version, profiles=profiles, dirty=any(profile.dirty for profile in profiles))


def _print(
    console: Console, changes: Sequence[Change], unpaired: Sequence[Unpaired], verbose: bool, concluded: str
) -> None:
    for line in report.lines(changes, unpaired, everything=verbose):
        console.line(_painted(console, line))
    if verbose:
        for line in _evidence(changes):
            console.line(line)
    if changes or unpaired:
        console.line()
    console.line(concluded)


def _painted(console: Console, line: str) -> str:
    word = line.split(" ", 1)[0]
    color = {"slower": "red", "worse": "red", "faster": "green", "better": "green"}.get(word)
    return console.paint(line, color) if color else line


def _evidence(changes: Sequence[Change]) -> Iterator[str]:
    yield ""
    for change in changes:
        if change.evidence:
            yield f"{change.target} {printable(change.metric)}: {printable(change.evidence)}"
