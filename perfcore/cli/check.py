"""`perf check`: what became slower or faster."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Optional

import attrs
import typer
from typer.core import TyperCommand

from perfcore.checking import formats, history, locations, report
from perfcore.checking import pairing as pairings
from perfcore.checking import series as histories
from perfcore.checking.compared import verdicts
from perfcore.checking.contracts import contract
from perfcore.checking.contracts.fulfilment import fulfilled
from perfcore.checking.findings import Findings, of_contracts, of_pairs, of_scans
from perfcore.checking.formats import FORMATS, wording
from perfcore.checking.gate import combined, parse_thresholds
from perfcore.checking.history import Scan
from perfcore.checking.outcome import Outcome
from perfcore.checking.pairing import Unpaired
from perfcore.cli import ack
from perfcore.cli import calibrate as calibration
from perfcore.cli.console import Console
from perfcore.cli.reporting import TABLE, Wanted, accepted, deliver, keep
from perfcore.config import KEYS, read_bytes
from perfcore.errors import NotFoundError, UsageError, VersionError
from perfcore.model import Change, Pairing, Sample
from perfcore.repository import Repository
from perfcore.store.lookup import Ref, is_number
from perfcore.text import printable

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


class _Check(TyperCommand):
    """`check`, whose first word may be `ack`."""

    @property
    def commands(self) -> dict[str, Any]:
        command = typer.main.get_command(ack.app)
        command.name = "ack"
        return {"ack": command}

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        if args[:1] == ["ack"]:
            return self.commands["ack"].make_context(f"{info_name} ack", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)


@app.command(cls=_Check)
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
        Optional[list[str]],
        typer.Option(
            "--threshold",
            metavar="[METRIC=]X",
            help="The smallest relative change that matters, of all metrics or of one: 0.05 is 5 %; several.",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="All metrics, with what each verdict rests on.")] = False,
    format: Annotated[
        Optional[str],
        typer.Option("--format", metavar="NAME", help=f"Print {', '.join(FORMATS)} instead of a table."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    reports: Annotated[
        Optional[list[str]],
        typer.Option("--report", metavar="NAME=FILE", help="Write a format to a file besides (- prints it); several."),
    ] = None,
    fail_on: Annotated[
        Optional[list[str]],
        typer.Option(
            "--fail-on",
            metavar="WHAT",
            help="degradation (default) or cannot-tell, with :METRIC of one metric; any-degradation; never; several.",
        ),
    ] = None,
    notify: Annotated[
        Optional[list[str]],
        typer.Option("--notify", metavar="NAME", help="Tell a notifier (default: check.notify); several."),
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Say what the checks can see here, tried on the history of the branch.")
    ] = False,
    no_store: Annotated[bool, typer.Option("--no-store", help="Do not keep the result for log and status.")] = False,
) -> None:
    """Compare a version with its nearest ancestor that was measured in the same way, or find the changes of a history.

    The exit code is 1 if a primary metric (CPU time, where there is one) degraded and was not made good since, and 0
    if none did. `perf check ack` accepts a change for good.
    """
    console: Console = ctx.obj
    words = [word for word in what or [] if word != "profiles"]
    wanted = Wanted.of(
        console,
        format=format,
        as_json=as_json,
        reports=reports or (),
        fail_on=fail_on or (),
        notify=notify or (),
    )
    if calibrate:
        if words or every:
            raise UsageError("--calibrate takes no version: it tries the whole branch")
        compares = None if method is None or _scanning(console, method) else method
        calibration.calibrate(console, _scanning(console, method), compares, store=not no_store, as_json=as_json)
        return
    found = _found(console, words, every, method, parse_thresholds(threshold or ()))
    outcome = Outcome(
        changes=found.changes,
        unpaired=found.unpaired,
        accepted=accepted(console.repository, found.changes),
        rules=wanted.rules,
        conclusion="\n".join(found.conclusions),
    )
    if wanted.locates:
        outcome = attrs.evolve(outcome, locations=locations.of_outcome(console.repository, outcome))
    if not no_store:
        keep(console, found.kept)
    console.plugins.emit("check_done", changes=outcome.changes)
    if wanted.format == TABLE:
        _print(console, outcome, verbose)
    else:
        console.write(formats.render(wanted.format, outcome))
    deliver(console, outcome, wanted)
    if outcome.exit_code:
        raise typer.Exit(outcome.exit_code)


def _found(
    console: Console, words: Sequence[str], every: bool, method: str | None, thresholds: Mapping[str, float]
) -> Findings:
    asked = _asked(words, every)
    if asked is not None:
        return _of_history(console, asked, method, thresholds)
    pairs, registered = _pairs(console, words)
    found = _of_pairs(console, pairs, method, thresholds, registered=registered)
    return _with_contracts(console.repository, found, words) if registered else found


def _with_contracts(repository: Repository, found: Findings, words: Sequence[str]) -> Findings:
    """What was found of a version, with the verdicts on its contracts. Of a single profile there are none."""
    if is_number(words[0] if words else ""):
        return found
    agreed = contract.parse(read_bytes(repository.root / contract.FILE) or b"", contract.FILE)
    version = repository.version(None if words in ([], ["head"]) else words[0])
    changes, judged = fulfilled(repository, version, agreed, found.changes) if agreed else (found.changes, ())
    configs = {entry.config_id for entry in repository.entries(version) if entry.config_id}
    found = attrs.evolve(found, kept=(*found.kept, of_contracts(version, configs, judged)))
    if not judged:
        return found
    conclusions = (report.conclusion(changes), report.of_contracts(judged))
    return attrs.evolve(found, changes=(*changes, *judged), conclusions=conclusions)


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
    return Scan.configured(repository, name)


def _of_history(console: Console, asked: str, method: str | None, thresholds: Mapping[str, float]) -> Findings:
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
        smallest = combined(pairings.thresholds_of(repository), thresholds)
        found = history.scanned(repository, found, scan, smallest, console.progress)
        console.clear_progress()
    changes = history.changes(found)
    if start:
        before = {version.id for version in repository.vcs.walk_minor_versions(repository.version(start))}
        changes = [change for change in changes if change.latest not in before]
    made = Findings()
    if scan and found:
        concluded = report.of_history(changes, len(found), history.versions(found))
        made = Findings(
            changes=tuple(changes), conclusions=(concluded,), kept=(of_scans(scan.phases.found.name, found),)
        )
    if short := {line.config_id for line in lines} - {line.config_id for line in long}:
        pairs = [p for p in pairings.of_history(repository, _range(repository, asked)) if p.config_id in short]
        if pairs or not made.conclusions:
            made = made.and_also(_of_pairs(console, pairs, None if scan else method, thresholds, registered=True))
    return made


def _of_pairs(
    console: Console,
    pairs: Iterable[Pairing | Unpaired],
    method: str | None,
    thresholds: Mapping[str, float],
    *,
    registered: bool,
) -> Findings:
    given = list(pairs)
    found = verdicts(
        console.repository,
        [item for item in given if isinstance(item, Pairing)],
        method=method,
        thresholds=thresholds,
        progress=console.progress,
    )
    console.clear_progress()
    changes = tuple(change for each in found for change in each.changes)
    return Findings(
        changes=changes,
        unpaired=tuple(item for item in given if isinstance(item, Unpaired)),
        conclusions=(report.conclusion(changes),),
        kept=(of_pairs(found),) if registered else (),
    )


def _pairs(console: Console, words: Sequence[str]) -> tuple[Iterable[Pairing | Unpaired], bool]:
    """What is compared, and whether it is of registered versions only, each with its own baseline."""
    repository = console.repository
    if len(words) == 2:
        return [_of_two(console, *(_sample(repository, console.find(word)) for word in words))], False
    if len(words) > 2:
        raise UsageError(f"at most two profiles are compared, got {len(words)}")
    found = _version_or_profiles(console, words[0] if words and words != ["head"] else None)
    if isinstance(found, str):
        return _of_version(repository, found), True
    pairs = itertools.chain.from_iterable(_of_profile(repository, ref) for ref in found)
    return pairs, all(ref.entry is not None for ref in found)


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


def _print(console: Console, outcome: Outcome, verbose: bool) -> None:
    for line in report.lines(outcome.changes, outcome.unpaired, everything=verbose, accepted=outcome.accepted):
        console.line(_painted(console, line))
    if verbose:
        for line in _evidence(outcome.changes):
            console.line(line)
    if outcome.changes or outcome.unpaired:
        console.line()
    console.line(wording.conclusion(outcome))


def _painted(console: Console, line: str) -> str:
    word = line.split(" ", 1)[0]
    color = {"slower": "red", "worse": "red", "broken": "red", "faster": "green", "better": "green"}.get(word)
    return console.paint(line, color) if color else line


def _evidence(changes: Sequence[Change]) -> Iterator[str]:
    yield ""
    for change in changes:
        if change.evidence:
            yield f"{change.target} {printable(change.metric)}: {printable(change.evidence)}"
