"""Acceptances of changes in the file of the repository, and the list of all that are accepted: the part of `perf check
ack` that is not triage."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence

from perfcore_command_kit import accepted_file, decisions
from perfcore_command_kit.accepted_file import Entry

from perfcore.analysis.note_keys import ACCEPTED_FILE
from perfcore.model import Change
from perfcore.model.decisions import Decision
from perfcore.model.record import replace
from perfcore.repository.repository import Repository
from perfcore.text import percent
from perfcore_command_ack import entries_file, triage
from perfcore_command_ack.triage import SCHEMA, TriageResult

__all__ = ["SCHEMA", "accept_in_file", "current", "take_back_in_file"]


def accept_in_file(repository: Repository, changes: Sequence[str], why: str, author: str) -> TriageResult:
    """Accept changes, and the other metrics that changed with them, by entries of the repository's file. Only one that
    a stored result has can be named: the entry says what it is."""
    stored = triage.changes_by_id(repository)
    named = triage.named(changes, stored, lambda word: triage.find(word, stored))
    present = {entry.change for entry in accepted_file.of_tree(repository)}
    ids = [id for id in dict.fromkeys([*named, *triage.companions(named, stored)]) if id not in present]
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    added = [Entry.of(stored[id], why=why, author=author, date=date) for id in ids]
    if added:
        entries_file.add(repository.root / ACCEPTED_FILE, added)
    return TriageResult(changed=tuple(_of_entry(entry, stored.get(entry.change)) for entry in added))


def take_back_in_file(repository: Repository, changes: Sequence[str]) -> TriageResult:
    """Take the entries of these changes out of the file, and those of the other metrics that changed with them."""
    entries = accepted_file.of_tree(repository)
    stored = triage.changes_by_id(repository)
    in_file = _ids(entries)
    accepted = {id: change for id, change in stored.items() if id in in_file}
    named = triage.named(changes, accepted, lambda word: triage.find(word, in_file))
    reasons = {(entry.why, entry.author, entry.date) for entry in entries if entry.change in named}
    ids = {*named, *triage.companions(named, stored)}
    removed = [e for e in entries if e.change in ids and (e.why, e.author, e.date) in reasons]
    entries_file.remove(repository.root / ACCEPTED_FILE, removed)
    withdrawn = (_of_entry(entry, stored.get(entry.change)) for entry in removed)
    return TriageResult(changed=tuple(replace(acceptance, accepted=False) for acceptance in withdrawn))


def current(repository: Repository) -> list[Decision]:
    """The acceptances that the store holds, and those of the file in the working tree, oldest first."""
    kept = decisions.accepted(repository.store)
    in_file = (_of_entry(entry, None) for entry in accepted_file.of_tree(repository) if entry.change not in kept)
    return sorted([*kept.values(), *in_file], key=lambda each: (each.time, each.change))


def _ids(entries: Iterable[Entry]) -> list[str]:
    return [entry.change for entry in entries if entry.change]


def _of_entry(entry: Entry, change: Change | None) -> Decision:
    limit = f"up to {percent(1 + entry.limit)}" if entry.limit is not None else ""
    fields = (limit, entry.metric or entry.contract, entry.benchmark and f"of {entry.benchmark}", entry.command)
    words = triage.in_words(change) if change is not None else " ".join(filter(None, fields))
    return replace(entry.acceptance(entry.change), what=words)
