"""Acceptances of changes, written and withdrawn: the engine of `perf check ack`."""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
from perfcore_command_check.companions import came_with

from perfcore.analysis import acceptance as acceptances
from perfcore.analysis import accepted_file, verdict_text
from perfcore.analysis.acceptance import Acceptance
from perfcore.analysis.accepted_file import Entry
from perfcore.analysis.note_keys import ACCEPTED_FILE
from perfcore.analysis.stored_results import Results
from perfcore.errors import AmbiguousError, NotFoundError
from perfcore.model import Change
from perfcore.model.listener import Listener, SilentListener
from perfcore.repository.repository import Repository
from perfcore.store.store import Store
from perfcore.text import brief, percent
from perfcore_command_ack import entries_file

SCHEMA = 1  # of the JSON document
_WHOLE = re.compile(r"[0-9a-f]{20,64}")  # an id that was copied whole: checks give 20 digits, SHA-256 has 64


@attrs.frozen(kw_only=True)
class AcceptanceResult:
    """The acceptances that were written, or taken back."""

    changed: tuple[Acceptance, ...]

    def as_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "changed": [attrs.asdict(acceptance) for acceptance in self.changed]}


def accept(
    repository: Repository, changes: Sequence[str], why: str, author: str, listener: Listener | None = None
) -> AcceptanceResult:
    """Accept the changes whose ids begin so, for good, and with each the other metrics that changed with it. An id that
    no stored result has is accepted as it is."""
    listener = listener or SilentListener()
    stored = _stored(repository)
    # An ordered set: an id named twice is accepted once, in the order of the command line.
    named = dict.fromkeys(_complete(prefix, stored, listener) for prefix in changes)
    ids = dict.fromkeys([*named, *_companions(named, stored)])
    time_now = time.time_ns()
    accepted_now = tuple(_acceptance(id, stored.get(id), why=why, author=author, time=time_now) for id in ids)
    return _written(repository.store, accepted_now)


def take_back(repository: Repository, changes: Sequence[str], why: str, author: str) -> AcceptanceResult:
    """Take the acceptances of these changes back."""
    current = acceptances.accepted(repository.store)
    named = dict.fromkeys(find(prefix, current) for prefix in changes)
    stored = _stored(repository)
    # Companions that were accepted by another command of the user, for their own reason, stay accepted.
    together = [id for id in _companions(named, stored) if id in current]
    same_time = {current[id].time for id in named}
    ids = dict.fromkeys([*named, *(id for id in together if current[id].time in same_time)])
    time_now = time.time_ns()
    revoked = (
        # The latest note holds (docs/formats.md): one from a machine whose clock runs ahead must not outlive this one.
        attrs.evolve(current[id], why=why, author=author, time=max(time_now, current[id].time + 1), accepted=False)
        for id in ids
    )
    return _written(repository.store, tuple(revoked))


def accept_in_file(
    repository: Repository, changes: Sequence[str], why: str, author: str, listener: Listener | None = None
) -> AcceptanceResult:
    """Accept the same changes by entries of the repository's file. Only one that a stored result has can be named: the
    entry says what it is."""
    stored = _stored(repository)
    named = dict.fromkeys(find(prefix, stored) for prefix in changes)
    there = {entry.change for entry in accepted_file.of_tree(repository)}
    ids = [id for id in dict.fromkeys([*named, *_companions(named, stored)]) if id not in there]
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    added = [Entry.of(stored[id], why=why, author=author, date=date) for id in ids]
    if added:
        entries_file.add(repository.root / ACCEPTED_FILE, added)
    return AcceptanceResult(changed=tuple(_of_entry(entry, stored.get(entry.change)) for entry in added))


def take_back_in_file(repository: Repository, changes: Sequence[str]) -> AcceptanceResult:
    """Take the entries of these changes out of the file, and those of the other metrics that changed with them."""
    known = accepted_file.of_tree(repository)
    stored = _stored(repository)
    named = dict.fromkeys(find(prefix, filter(None, (entry.change for entry in known))) for prefix in changes)
    reasons = {(entry.why, entry.author, entry.date) for entry in known if entry.change in named}
    ids = {*named, *_companions(named, stored)}
    removed = [e for e in known if e.change in ids and (e.why, e.author, e.date) in reasons]
    entries_file.remove(repository.root / ACCEPTED_FILE, removed)
    taken_back = (_of_entry(entry, stored.get(entry.change)) for entry in removed)
    return AcceptanceResult(changed=tuple(attrs.evolve(acceptance, accepted=False) for acceptance in taken_back))


def current(repository: Repository) -> list[Acceptance]:
    """The acceptances that the store holds, and those of the file in the working tree, oldest first."""
    kept = acceptances.accepted(repository.store)
    in_file = (_of_entry(entry, None) for entry in accepted_file.of_tree(repository) if entry.change not in kept)
    return sorted([*kept.values(), *in_file], key=lambda each: (each.time, each.change))


def _of_entry(entry: Entry, change: Change | None) -> Acceptance:
    limit = f"up to {percent(1 + entry.limit)}" if entry.limit is not None else ""
    fields = (limit, entry.metric or entry.contract, entry.benchmark and f"of {entry.benchmark}", entry.command)
    words = _in_words(change) if change is not None else " ".join(filter(None, fields))
    return attrs.evolve(entry.acceptance(entry.change), what=words)


def _stored(repository: Repository) -> dict[str, Change]:
    """The changes of all stored results, by id."""
    results = Results(repository.store, repository.vcs_name).every()
    return {change.id: change for result in results for change in result.changes}


def _companions(ids: Iterable[str], stored: Mapping[str, Change]) -> list[str]:
    """The ids of the other metrics that changed with one of these, which would else come up one after the other."""
    leaders = [stored[id] for id in ids if id in stored and stored[id].primary]
    return [id for id, change in stored.items() if any(came_with(change, leader) for leader in leaders)]


def find(prefix: str, known: Iterable[str]) -> str:
    """The one id that begins so."""
    matches = sorted({id for id in known if id.startswith(prefix)})
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


def _written(store: Store, changed: tuple[Acceptance, ...]) -> AcceptanceResult:
    for acceptance in changed:
        acceptances.keep(store, acceptance)
    return AcceptanceResult(changed=changed)


def _complete(prefix: str, changes: Mapping[str, Change], listener: Listener) -> str:
    """The whole id of a change."""
    try:
        return find(prefix, changes)
    except NotFoundError:
        if not _WHOLE.fullmatch(prefix):
            raise
        listener.note(f"no stored result has the change {prefix}")
        return prefix


def _acceptance(id: str, change: Change | None, *, why: str, author: str, time: int) -> Acceptance:
    acceptance = Acceptance(change=id, why=why, author=author, time=time)
    if change is None:
        return acceptance
    return attrs.evolve(acceptance, what=_in_words(change), place=acceptances.place(change))


def _in_words(change: Change) -> str:
    """`slower +5.2 % cpu sort big.txt at 1a2b3c4d5e`, as an acceptance keeps it. Names in it are as they are given."""
    if change.contract:
        return f"{verdict_text.word(change)} {change.contract} {change.label} at {change.target}"
    size = f" {percent(change.ratio)}" if change.ratio is not None else ""
    measured = change.metric + (f" of {change.resource}" if change.resource else "")
    return f"{verdict_text.word(change)}{size} {measured} {change.label} at {change.target}"
