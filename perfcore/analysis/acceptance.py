"""Changes that somebody accepted for good: notes, of which the newest on a change counts.

A note is never changed. Taking an acceptance back is another note; where two stores are joined, the notes of both are
there, and the newest still counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs
import msgspec

from perfcore.analysis.note_keys import ACCEPTED
from perfcore.errors import FormatError
from perfcore.model import Change
from perfcore.store import notes
from perfcore.store.store import Store
from perfcore.text import encodable

FORMAT = 1  # of the stored note; a newer one is an error that names the upgrade
SUBJECT = ACCEPTED
TYPE = "acceptance"


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


def keep(store: Store, acceptance: Acceptance) -> str:
    """Write an acceptance; gives the id of the note."""
    values = {key: encodable(v) if isinstance(v, str) else v for key, v in attrs.asdict(acceptance).items()}
    values["place"] = [encodable(text) for text in acceptance.place]
    return notes.add(store, SUBJECT, TYPE, msgspec.json.encode(values))


def place(change: Change) -> tuple[str, ...]:
    """The identity of a change without its method: configuration, metric and two versions; empty for a contract. In a
    history also the earliest version that may have brought it."""
    if change.contract:
        return ()
    texts = (change.config_id, change.metric, change.resource, change.kind, change.baseline, change.target)
    return tuple(map(encodable, (*texts, change.earliest) if change.earliest else texts))


def of_changes(changes: Iterable[Change], known: Mapping[str, Acceptance]) -> dict[str, Acceptance]:
    """The acceptances that hold for these changes, by the id of the change: those of the same id, and those of a change
    that another method, or a scan of fewer data, reported at one of the versions that it may have come with."""
    acceptances = {change.id: known.get(change.id) or _at(change, known.values()) for change in changes}
    return {id: acceptance for id, acceptance in acceptances.items() if acceptance is not None}


def _at(change: Change, known: Iterable[Acceptance]) -> Acceptance | None:
    mine = place(change)
    if not mine:
        return None
    # More data can move a change of a history by some versions: it stays accepted at any that may have brought it.
    ends = {mine[5], *(encodable(version[:10]) for version in (change.earliest, change.latest) if version), *mine[6:]}
    same = [a for a in known if a.place[:4] == mine[:4] and not ends.isdisjoint(a.place[5:])]
    if not (change.earliest or change.latest):  # of two versions, not of a history
        same = [acceptance for acceptance in same if acceptance.place[:6] == mine]
    return same[-1] if same else None


def accepted(store: Store) -> dict[str, Acceptance]:
    """The acceptances that hold, by the id of the change, oldest first."""
    every = sorted(
        (_decode(note.content) for note in notes.read(store, SUBJECT)),
        key=lambda acceptance: (acceptance.time, attrs.astuple(acceptance)),  # joined stores may have equal times
    )
    newest = {acceptance.change: acceptance for acceptance in every}
    return {id: acceptance for id, acceptance in newest.items() if acceptance.accepted}


def _decode(content: bytes) -> Acceptance:
    try:
        acceptance = msgspec.json.decode(content, type=Acceptance)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"a note on accepted changes cannot be read: {error}") from error
    if acceptance.format != FORMAT:
        raise FormatError(f"a note on accepted changes has the format {acceptance.format}", hint="upgrade perfcore")
    return acceptance
