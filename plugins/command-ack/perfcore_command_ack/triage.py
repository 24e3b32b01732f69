"""Decisions about changes: confirmed, accepted, fixed, a false alarm, or the environment. The engine of `perf check
triage` and `perf check ack`, and of pages that decide.

Acceptance is one of the states. All of them are notes of the store: they travel with push, and where two people decide,
the later decision counts.
"""

from __future__ import annotations

import datetime
import getpass
import itertools
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs
from msgspec.structs import asdict
from perfcore_check_kit import history
from perfcore_command_check.companions import came_with
from perfcore_command_kit import decisions
from perfcore_command_kit.standings import Standings, fixing_changes, settled

from perfcore.analysis import verdict_text
from perfcore.analysis.note_keys import ACCEPTED_FILE
from perfcore.analysis.stored_results import Result, Results, headlines
from perfcore.errors import AmbiguousError, NotFoundError, PerfError, UsageError, nearest
from perfcore.model import Change
from perfcore.model.decisions import (
    ACCEPTED,
    CONFIRMED,
    ENVIRONMENT,
    FALSE_ALARM,
    FIXED,
    SILENT,
    WITHDRAWN,
    Decision,
    Standing,
)
from perfcore.model.listener import Listener, SilentListener
from perfcore.model.record import replace
from perfcore.repository.repository import Repository
from perfcore.text import brief, percent

__all__ = [
    "ACCEPTED",
    "CONFIRMED",
    "ENVIRONMENT",
    "FALSE_ALARM",
    "FIXED",
    "REOPENED",
    "STATES",
    "WITHDRAWN",
    "TriageResult",
    "TriagedChange",
    "changes_by_id",
    "companions",
    "decide",
    "find",
    "in_words",
    "named",
    "stored_changes",
    "triaged",
    "user",
    "withdraw",
]

SCHEMA = 1  # of the JSON documents
STATES = (CONFIRMED, ACCEPTED, FIXED, FALSE_ALARM, ENVIRONMENT, WITHDRAWN)
"""What can be decided about a change; the last one withdraws what was decided."""
REOPENED = "reopened"
_WHOLE = re.compile(r"[0-9a-f]{20,64}")  # an id that was copied whole: checks give 20 digits, SHA-256 has 64
_VERSION = 7  # characters that a version has at least, as git abbreviates it: fewer are the beginning of an id
_SIZE = re.compile(r"\+?(\d{1,6}(?:\.\d{1,6})?)\s?%")


@attrs.frozen(kw_only=True)
class TriageResult:
    """The decisions that were written."""

    changed: tuple[Decision, ...]

    def as_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "changed": [asdict(decision) for decision in self.changed]}


@attrs.frozen(kw_only=True)
class TriagedChange:
    """A change with what people decided about it. `state` is one of STATES, or REOPENED; `log` are all decisions about
    it, oldest first, also those from when it seemed to be at another version, as their `change` and `what` say."""

    change: Change
    state: str
    standing: Standing | None = None
    log: tuple[Decision, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether somebody has to look at it."""
        return self.state in (WITHDRAWN, REOPENED)

    def as_json(self) -> dict[str, Any]:
        """As in docs/schemas/triage.json."""
        return {
            "change": self.change.id,
            "what": in_words(self.change),
            "state": self.state,
            "reopened": self.standing.reopened if self.standing else "",
            "log": [asdict(decision) for decision in self.log],
        }


@attrs.frozen(kw_only=True)
class _End:
    """When a decision ends."""

    until_date: str = ""
    until_version: str = ""
    limit: float | None = None


def decide(
    repository: Repository,
    changes: Sequence[str],
    state: str,
    *,
    why: str = "",
    author: str = "",
    fixed_in: str = "",
    until: Sequence[str] = (),
    found: Iterable[Change] = (),
    listener: Listener | None = None,
) -> TriageResult:
    """Decide about the changes whose ids begin so, or that came with these versions, and with each about the other
    metrics that changed with it.

    `state` is one of STATES. `fixed_in` is a revision, `until` has ends: a date (2026-12-31), a size (`+8 %`) or a
    revision that need not exist yet, each at most once. `author` is the user of the VCS if empty. The change is one
    of a stored result, one that the caller has `found`, or, by its whole id, one of the history.
    UsageError for a decision that lacks what its state needs, NotFoundError for a change that is nowhere."""
    if state == WITHDRAWN:
        return withdraw(repository, changes, why=why, author=author, found=found, listener=listener)
    listener = listener or SilentListener()
    _require(state, why, fixed_in, until)
    fixed = repository.version(fixed_in) if fixed_in else ""
    end = _parse_ends(repository, until, listener)
    stored = changes_by_id(repository) | {change.id: change for change in found}
    known = _known(repository, changes, stored, listener)
    ids_named = named(changes, known, lambda word: _complete(word, known))
    newest = decisions.newest(repository.store, repository.config.get("benchmarks.renamed"))
    template = Decision(
        change="",
        why=why,
        author=author or user(repository),
        time=time.time_ns(),
        state=state,
        accepted=state in SILENT,
        fixed_in=fixed,
        **attrs.asdict(end),
    )
    ids = dict.fromkeys([*ids_named, *companions(ids_named, known)])
    # Pages know companions that no check has stored: what they decided together is decided together again.
    others = [decision for decision in _made_with(ids_named, newest, known) if decision.change not in ids]
    decided = [_on(known[id], template, newest.get(id)) for id in ids]
    return _write(repository, [*decided, *(_again(decision, template) for decision in others)])


def withdraw(
    repository: Repository,
    changes: Sequence[str],
    *,
    why: str = "",
    author: str = "",
    found: Iterable[Change] = (),
    listener: Listener | None = None,
) -> TriageResult:
    """Withdraw the decisions about these changes, and those that were made about other metrics together with them.
    NotFoundError for a change without one."""
    newest = decisions.newest(repository.store, repository.config.get("benchmarks.renamed"))
    current = {id: made for id, made in newest.items() if not made.withdrawn}
    stored = changes_by_id(repository) | {change.id: change for change in found}
    decided = {id: change for id, change in stored.items() if id in current}
    ids = named(changes, decided, lambda word: _decided_id(word, current, stored))
    stored = _known(repository, ids, stored, listener or SilentListener())
    # Companions about which the user decided by another command, for their own reason, stay decided.
    together = [id for id in companions(ids, stored) if id in current]
    same_time = {current[id].time for id in ids}
    every = dict.fromkeys([*ids, *(id for id in together if current[id].time in same_time)])
    every |= dict.fromkeys(decision.change for decision in _made_with(ids, current, stored))
    author, now = author or user(repository), time.time_ns()
    return _write(repository, [_withdrawal(current[id], why, author, now) for id in every])


def triaged(
    repository: Repository,
    changes: Collection[Change],
    head: str | None = None,
    measured: Collection[str] = (),
) -> tuple[TriagedChange, ...]:
    """Changes with what was decided about each, in their order, as it stands at the version `head` (None: the one that
    is checked out). Give all changes of a history at once, as a later one reopens an earlier one; `measured` are the
    full ids of the versions in which they were looked for. `CheckResult.changes` and `.versions` are such."""
    standings = Standings.of(repository, head).on(changes, measured)
    logs: dict[str, list[Decision]] = {}
    for decision in decisions.every(repository.store):
        logs.setdefault(decision.change, []).append(decision)
    return tuple(_triaged(change, standings.get(change.id), logs) for change in changes)


def stored_changes(repository: Repository, head: str | None = None) -> tuple[TriagedChange, ...]:
    """The changes that checks found and stored, as `perf log` shows them, with what was decided: those that somebody
    has to look at first."""
    by_version: dict[str, list[Result]] = {}
    for result in Results(repository.store, repository.vcs_name).every():
        by_version.setdefault(result.version, []).append(result)
    fail_on = repository.config.get("check.fail_on")
    changes = {change.id: change for results in by_version.values() for change in headlines(results, fail_on)}
    fixes = {decision.fixed_in for decision in decisions.newest(repository.store).values() if decision.fixed_in}
    measured = {version for version in fixes if repository.entries(version)}
    later = fixing_changes(itertools.chain.from_iterable(by_version.values()), measured)
    as_fixed = [settled(change, later) for change in changes.values()]
    return tuple(sorted(triaged(repository, as_fixed, head, measured), key=_by_urgency))


def find(prefix: str, ids: Iterable[str]) -> str:
    """The one id that begins so."""
    matches = sorted({id for id in ids if id.startswith(prefix)})
    if prefix in matches:
        return prefix
    if len(matches) > 1:
        listed = ", ".join(matches[:5])
        raise AmbiguousError(f"{len(matches)} changes begin with {brief(prefix)}: {listed}", hint="write more of it")
    if not matches or not prefix:
        raise NotFoundError(
            f"there is no change {brief(prefix)}", hint="`perf check --verbose` prints the id of every change"
        )
    return matches[0]


def named(words: Iterable[str], changes: Mapping[str, Change], find: Callable[[str], str]) -> list[str]:
    """The ids that these words name: that of one change, which `find` gives, or those of all changes for the worse that
    came with a version. A commit that moves a suite is decided about once."""
    ids: dict[str, None] = {}  # an ordered set: an id named twice is decided once, in the order of the command line
    for word in words:
        try:
            ids |= {find(word): None}
        except NotFoundError:
            worse = [id for id, change in changes.items() if _is_worse_at(word, change)]
            if not worse:
                raise
            ids |= dict.fromkeys(worse)
    return list(ids)


def _is_worse_at(version: str, change: Change) -> bool:
    is_worse = change.kind in ("degradation", "variance") and not change.undone
    return is_worse and len(version) >= _VERSION and version[: len(change.target)] == change.target[: len(version)]


def user(repository: Repository) -> str:
    """Who works here: as the VCS says, or else the name of the login."""
    author = getattr(repository.vcs, "author", None)
    if author is not None and (name := author()):
        return str(name)
    try:
        return getpass.getuser()
    # A container may run as a user without an entry in /etc/passwd: KeyError up to Python 3.12, OSError from 3.13 on.
    except (OSError, KeyError, ImportError):
        return "unknown"


def in_words(change: Change) -> str:
    """`slower +5.2 % cpu sort big.txt at 1a2b3c4d5e`, as a decision keeps it. Names in it are as they are given."""
    if change.contract:
        return f"{verdict_text.word(change)} {change.contract} {change.label} at {change.target}"
    size = f" {percent(change.ratio)}" if change.ratio is not None else ""
    measured = change.metric + (f" of {change.resource}" if change.resource else "")
    return f"{verdict_text.word(change)}{size} {measured} {change.label} at {change.target}"


def _require(state: str, why: str, fixed_in: str, until: Sequence[str]) -> None:
    if state not in STATES:
        hint = nearest(state, STATES) or f"one of {', '.join(STATES)}"
        raise UsageError(f"a change cannot be {brief(state)}", hint=hint)
    if state in SILENT and not why.strip():
        word = {ACCEPTED: "an acceptance", FALSE_ALARM: "a false alarm", ENVIRONMENT: "the environment"}[state]
        verb = "needs" if state != ENVIRONMENT else "as a cause needs"
        raise UsageError(f"{word} {verb} a reason", hint="--why TEXT: it is stored with the change")
    if (state == FIXED) != bool(fixed_in):
        if fixed_in:
            raise UsageError(f"only a change that is fixed has the version of a fix, not one that is {state}")
        raise UsageError("a fix has a version", hint="--by VERSION: checks say whether the fix shows")
    if until and state not in (*SILENT, CONFIRMED):
        raise UsageError(f"{'a fix' if state == FIXED else 'a withdrawal'} has no end")


def _parse_ends(repository: Repository, until: Sequence[str], listener: Listener) -> _End:
    end = _End()
    for word in until:
        parsed = _parse_end(repository, word.strip(), listener)
        name, content = next((name, content) for name, content in attrs.asdict(parsed).items() if content)
        if getattr(end, name):
            raise UsageError(f"a decision has one end of each kind: {brief(word)} is another")
        end = attrs.evolve(end, **{name: content})
    return end


def _parse_end(repository: Repository, word: str, listener: Listener) -> _End:
    if match := _SIZE.fullmatch(word):
        if not float(match[1]):
            raise UsageError("every change is beyond 0 %")
        return _End(limit=float(match[1]) / 100)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", word):
        try:
            date = datetime.date.fromisoformat(word)
        except ValueError:
            raise UsageError(f"there is no day {brief(word)}") from None
        if date < datetime.datetime.now(datetime.UTC).date():
            raise UsageError(f"{word} is over")
        return _End(until_date=word)
    try:
        version = repository.version(word)
    except PerfError:
        # The next release has no version yet. A name that will never be one would hold for ever without a word.
        if not re.fullmatch(r"[\w./+@-]{1,100}", word) or word.startswith("-"):
            raise UsageError(f"{brief(word)} is no date, size or version", hint="2026-12-31, +8% or v2.0") from None
        listener.note(f"there is no version {word} yet: the decision ends once there is, and the branch has it")
        return _End(until_version=word)
    if any(ancestor.id == version for ancestor in repository.vcs.walk_minor_versions(repository.version())):
        raise UsageError(f"the branch has {brief(word)} already")
    return _End(until_version=version)


def _on(change: Change, template: Decision, before: Decision | None) -> Decision:
    """The decision about one change. The latest note counts (docs/formats.md): one from a machine whose clock runs
    ahead must not outlive this one."""
    moment = max(template.time, before.time + 1) if before is not None else template.time
    what, place = in_words(change), decisions.place(change)
    decision = replace(template, change=change.id, time=moment, what=what, place=place)
    if change.contract:
        return decision
    return replace(decision, ratio=change.ratio, low=change.low, high=change.high)


def _made_with(ids: Iterable[str], newest: Mapping[str, Decision], known: Mapping[str, Change]) -> list[Decision]:
    """The decisions that were made at once with those about these changes, about other metrics that changed with them.
    Of changes that are known, `companions` says which these are."""
    leaders = [newest[id] for id in ids if id in newest and newest[id].place and not newest[id].withdrawn]
    return [
        decision
        for decision in newest.values()
        if decision.change not in known and any(_is_companion(decision, leader) for leader in leaders)
    ]


def _is_companion(made: Decision, leader: Decision) -> bool:
    if not made.place or made.withdrawn or made.time != leader.time:
        return False
    config, metric, resource, kind, _, *versions = made.place
    if (config, resource, kind) != (leader.place[0], leader.place[2], leader.place[3]) or metric == leader.place[1]:
        return False
    return not set(versions).isdisjoint(leader.place[5:])


def _again(before: Decision, template: Decision) -> Decision:
    """Another decision about the change of one, of which no more is known than the decision says."""
    return replace(
        template,
        change=before.change,
        time=max(template.time, before.time + 1),
        what=before.what,
        place=before.place,
        ratio=before.ratio,
        low=before.low,
        high=before.high,
    )


def _withdrawal(decision: Decision, why: str, author: str, now: int) -> Decision:
    """The decision again, but withdrawn. An acceptance is withdrawn as version 0.1 did it, which reads it, too."""
    state = decision.state if decision.state == ACCEPTED else WITHDRAWN
    moment = max(now, decision.time + 1)
    return replace(decision, why=why, author=author, time=moment, accepted=False, state=state)


def _decided_id(prefix: str, current: Mapping[str, Decision], stored: Mapping[str, Change]) -> str:
    """The id of the change that was decided about: the one that begins so, or the one whose decision it has as it is
    at another version by now."""
    try:
        return find(prefix, current)
    except NotFoundError:
        change = stored.get(next((id for id in stored if prefix and id.startswith(prefix)), ""))
        moved = decisions.of_changes([change], current) if change is not None else {}
        if not moved and change is not None:
            raise NotFoundError(
                f"nothing is decided about the change {brief(prefix)}",
                hint=f"--in-repository withdraws an entry of {ACCEPTED_FILE}",
            ) from None
        if not moved:
            raise
        return next(iter(moved.values())).change


def changes_by_id(repository: Repository) -> dict[str, Change]:
    """The changes of all stored results, by id."""
    results = Results(repository.store, repository.vcs_name).every()
    return {change.id: change for result in results for change in result.changes}


def _known(
    repository: Repository, ids: Iterable[str], stored: dict[str, Change], listener: Listener
) -> dict[str, Change]:
    """The stored changes, and those of the history where a whole id is none of them: a decision is about all metrics
    that changed together, so the change has to be known."""
    if all(id in stored for id in ids if _WHOLE.fullmatch(id)):
        return stored
    try:
        return {change.id: change for change in _of_history(repository, listener)} | stored
    except NotFoundError:  # nothing is measured
        return stored


def _of_history(repository: Repository, listener: Listener) -> list[Change]:
    """The changes of all metrics along the branch, as `perf history` shows them."""
    from perfcore_command_show import metric_history

    candidates = history.select_series(repository, metric_history.branch(repository, None))
    scanned = metric_history.scan(repository, candidates, candidates, listener)
    return [change for series in scanned for change in series.changes]


def companions(ids: Iterable[str], stored: Mapping[str, Change]) -> list[str]:
    """The ids of the other metrics that changed with one of these, which would else come up one after the other."""
    leaders = [stored[id] for id in ids if id in stored and stored[id].primary]
    return [id for id, change in stored.items() if any(came_with(change, leader) for leader in leaders)]


def _complete(prefix: str, changes: Mapping[str, Change]) -> str:
    """The whole id of a change."""
    try:
        return find(prefix, changes)
    except NotFoundError as error:
        if not _WHOLE.fullmatch(prefix):
            raise
        # The metrics that changed with it are not known: a decision about one of them would leave the others open.
        hint = "`perf check` stores what it finds, but not with --no-store"
        raise NotFoundError(f"no stored result and no history has the change {prefix}", hint=hint) from error


def _write(repository: Repository, made: Sequence[Decision]) -> TriageResult:
    for decision in made:
        decisions.keep(repository.store, decision)
    return TriageResult(changed=tuple(made))


def _triaged(change: Change, standing: Standing | None, logs: Mapping[str, Sequence[Decision]]) -> TriagedChange:
    ids = {change.id} if standing is None else {change.id, standing.decision.change}
    log = sorted((decision for id in ids for decision in logs.get(id, ())), key=lambda decision: decision.time)
    state = WITHDRAWN if standing is None else REOPENED if standing.reopened else standing.decision.state
    return TriagedChange(change=change, state=state, standing=standing, log=tuple(log))


def _by_urgency(triaged: TriagedChange) -> tuple[bool, bool, str, str]:
    worse = triaged.change.kind in ("degradation", "drift", "variance")
    return not triaged.is_open, not worse, triaged.change.label, triaged.change.id
