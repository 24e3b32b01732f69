"""Decisions of people about changes: notes, of which the newest on a change counts.

A note is never changed. Another decision, or its withdrawal, is another note; where two stores are joined, the notes of
both are there, and the newest still counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import asdict

from perfcore.analysis.note_keys import ACCEPTED
from perfcore.errors import FormatError
from perfcore.model import EMPTY, Change
from perfcore.model.decisions import Decision
from perfcore.model.record import defaults, replace
from perfcore.store import notes
from perfcore.store.store import Store
from perfcore.text import encodable

FORMAT = 1  # of the stored note; a newer one is an error that names the upgrade
SUBJECT = ACCEPTED
TYPE = "acceptance"
_LATER = Decision.__struct_fields__[8:]  # fields that came after version 0.1
_OPTIONAL = {name: default for name, default in defaults(Decision).items() if name in _LATER}


def keep(store: Store, decision: Decision) -> str:
    """Write a decision; gives the id of the note. Fields that plain acceptances lack are left out of these."""
    values = asdict(decision)
    stored = {key: _encodable(value) for key, value in values.items() if value != _OPTIONAL.get(key, b"")}
    return notes.add(store, SUBJECT, TYPE, msgspec.json.encode(stored))


def place(change: Change) -> tuple[str, ...]:
    """The identity of a change without its method: configuration, metric and two versions; empty for a contract. In a
    history also the earliest version that may have brought it."""
    if change.contract:
        return ()
    texts = (change.config_id, change.metric, change.resource, change.kind, change.baseline, change.target)
    return tuple(map(encodable, (*texts, change.earliest) if change.earliest else texts))


def of_changes(changes: Iterable[Change], known: Mapping[str, Decision]) -> dict[str, Decision]:
    """The decisions on these changes, by the id of the change: those on the same id, and those on a change that another
    method, or a scan of fewer data, reported at one of the versions that it may have come with."""
    decisions = {change.id: known.get(change.id) or _at(change, known.values()) for change in changes}
    return {id: decision for id, decision in decisions.items() if decision is not None and not decision.withdrawn}


def _at(change: Change, known: Iterable[Decision]) -> Decision | None:
    mine = place(change)
    if not mine:
        return None
    # More data can move a change of a history by some versions: a decision holds at any that may have brought it.
    ends = {mine[5], *(encodable(version[:10]) for version in (change.earliest, change.latest) if version), *mine[6:]}
    same = [d for d in known if d.place[:4] == mine[:4] and not ends.isdisjoint(d.place[5:]) and not d.withdrawn]
    if not (change.earliest or change.latest):  # of two versions, not of a history
        same = [decision for decision in same if decision.place[:6] == mine]
    return same[-1] if same else None


def accepted(store: Store) -> dict[str, Decision]:
    """The decisions by which changes fail no check, by the id of the change, oldest first."""
    return {id: decision for id, decision in newest(store).items() if decision.accepted and not decision.withdrawn}


def newest(store: Store, renamed: Mapping[str, str] = EMPTY) -> dict[str, Decision]:
    """The newest decision on every change, by the id of the change, oldest first; withdrawals are among them. `renamed`
    has new names of benchmarks by old ones: a change has another id by then, and its decision is found by its place."""
    decisions: dict[str, Decision] = {}
    for decision in every(store):
        decisions.pop(decision.change, None)  # so that the order is that of the decisions that count
        decisions[decision.change] = _on_renamed(decision, renamed)
    return decisions


def _on_renamed(decision: Decision, renamed: Mapping[str, str]) -> Decision:
    config, metric, resource, *rest = decision.place or ("", "", "")
    if resource not in renamed:
        return decision
    return replace(decision, place=(config, metric, encodable(renamed[resource]), *rest))


def every(store: Store) -> list[Decision]:
    """All decisions that were ever made, oldest first."""
    return sorted(
        (_decode(note.content) for note in notes.read(store, SUBJECT)),
        key=lambda decision: (decision.time, repr(decision)),  # joined stores may have equal times
    )


def _encodable(value: Any) -> Any:
    if isinstance(value, tuple):
        return [encodable(text) for text in value]
    return encodable(value) if isinstance(value, str) else value


def _decode(content: bytes) -> Decision:
    try:
        decision = msgspec.json.decode(content, type=Decision)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"a note on accepted changes cannot be read: {error}") from error
    if decision.format != FORMAT:
        raise FormatError(f"a note on accepted changes has the format {decision.format}", hint="upgrade perfcore")
    return decision
