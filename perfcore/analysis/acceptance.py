"""Changes that somebody accepted for good: notes, of which the newest on a change counts.

A note is never changed. Taking an acceptance back is another note; where two stores are joined, the notes of both are
there, and the newest still counts.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from perfcore.analysis.note_keys import ACCEPTED
from perfcore.analysis.stored_results import Results
from perfcore.analysis.verdict_text import in_words
from perfcore.errors import AmbiguousError, FormatError, NotFoundError
from perfcore.model import Change
from perfcore.model.listener import Listener, SilentListener
from perfcore.repository.repository import Repository
from perfcore.store import notes
from perfcore.store.store import Store
from perfcore.text import brief, encodable

FORMAT = 1  # of the stored note; a newer one is an error that names the upgrade
SCHEMA = 1  # of the JSON document
SUBJECT = ACCEPTED
TYPE = "acceptance"
_WHOLE = re.compile(r"[0-9a-f]{20,64}")  # an id that was copied whole: checks give 20 digits, SHA-256 has 64


@attrs.frozen(kw_only=True)
class Acceptance:
    """Who accepted a change (`change` is its id), when and why; or took that back. `what` is the change in words,
    `place` says between which versions of what it is, so that another method's word for it is known."""

    change: str
    why: str
    author: str
    time: int
    what: str = ""
    place: tuple[str, ...] = ()
    accepted: bool = True
    format: int = FORMAT


@attrs.frozen(kw_only=True)
class AcceptanceResult:
    """The acceptances that were written, or taken back."""

    changed: tuple[Acceptance, ...]

    def as_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "changed": [attrs.asdict(acceptance) for acceptance in self.changed]}


def accept(
    repository: Repository, prefixes: Sequence[str], why: str, author: str, listener: Listener | None = None
) -> AcceptanceResult:
    """Accept the changes whose ids begin so, for good. An id that no stored result has is accepted as it is."""
    listener = listener or SilentListener()
    results = Results(repository.store, repository.vcs_name).every()
    changes = {change.id: change for result in results for change in result.changes}
    ids = dict.fromkeys(_complete(prefix, changes, listener) for prefix in prefixes)
    time_now = time.time_ns()
    accepted_now = tuple(_acceptance(id, changes.get(id), why=why, author=author, time=time_now) for id in ids)
    return _written(repository.store, accepted_now)


def take_back(repository: Repository, prefixes: Sequence[str], why: str, author: str) -> AcceptanceResult:
    """Take the acceptances of these changes back."""
    current = accepted(repository.store)
    ids = dict.fromkeys(find(prefix, current) for prefix in prefixes)
    time_now = time.time_ns()
    revoked = (
        attrs.evolve(current[id], why=why, author=author, time=max(time_now, current[id].time + 1), accepted=False)
        for id in ids
    )
    return _written(repository.store, tuple(revoked))


def keep(store: Store, acceptance: Acceptance) -> str:
    """Write an acceptance; gives the id of the note."""
    values = {key: encodable(v) if isinstance(v, str) else v for key, v in attrs.asdict(acceptance).items()}
    values["place"] = [encodable(text) for text in acceptance.place]
    return notes.add(store, SUBJECT, TYPE, msgspec.json.encode(values))


def place(change: Change) -> tuple[str, ...]:
    """The identity of a change without its method: configuration, metric and two versions; empty for a contract."""
    if change.contract:
        return ()
    texts = (change.config_id, change.metric, change.resource, change.kind, change.baseline, change.target)
    return tuple(map(encodable, texts))


def of_changes(changes: Iterable[Change], known: Mapping[str, Acceptance]) -> dict[str, Acceptance]:
    """The acceptances that hold for these changes, by the id of the change: those of the same id, and those of a change
    that another method, or a scan of fewer data, reported at one of the versions that it may have come with."""
    acceptances = {change.id: known.get(change.id) or _at(change, known.values()) for change in changes}
    return {id: acceptance for id, acceptance in acceptances.items() if acceptance is not None}


def _written(store: Store, acceptances: tuple[Acceptance, ...]) -> AcceptanceResult:
    for acceptance in acceptances:
        keep(store, acceptance)
    return AcceptanceResult(changed=acceptances)


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
    return attrs.evolve(acceptance, what=in_words(change), place=place(change))


def _at(change: Change, known: Iterable[Acceptance]) -> Acceptance | None:
    mine = place(change)
    if not mine:
        return None
    ends = {mine[-1], *(encodable(version[:10]) for version in (change.earliest, change.latest) if version)}
    same = [acceptance for acceptance in known if acceptance.place[:4] == mine[:4] and acceptance.place[5] in ends]
    if not (change.earliest or change.latest):  # of two versions, not of a history
        same = [acceptance for acceptance in same if acceptance.place == mine]
    return same[-1] if same else None


def accepted(store: Store) -> dict[str, Acceptance]:
    """The acceptances that hold, by the id of the change, oldest first."""
    every = sorted(
        (_decode(note.content) for note in notes.read(store, SUBJECT)),
        key=lambda acceptance: (acceptance.time, attrs.astuple(acceptance)),
    )
    newest = {acceptance.change: acceptance for acceptance in every}
    return {id: acceptance for id, acceptance in newest.items() if acceptance.accepted}


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


def _decode(content: bytes) -> Acceptance:
    try:
        acceptance = msgspec.json.decode(content, type=Acceptance)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"a note on accepted changes cannot be read: {error}") from error
    if acceptance.format != FORMAT:
        raise FormatError(f"a note on accepted changes has the format {acceptance.format}", hint="upgrade perfcore")
    return acceptance
