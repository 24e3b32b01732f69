"""What the store holds, and what may be put there."""

from __future__ import annotations

import hashlib
import zlib

from perfcore_check_kit.run_values import ValueCache
from perfcore_command_kit import decisions
from perfcore_format_perun import index as perun_index
from perfcore_format_perun import reader
from perfcore_storage_object import journal
from perfcore_testing import profiles
from perfcore_testing.memory import MemoryStorage

from perfcore import files
from perfcore.analysis import stored_results
from perfcore.errors import FormatError, NotFoundError
from perfcore.profile import codec, pieces, stacks
from perfcore.profile.stacks import Stacks
from perfcore.store import index, notes, objects, stack_base
from perfcore.store.read_model import ReadModel
from perfcore.store.stack_base import StackBases
from perfcore.store.store import Store

from .law import assert_kept, decoded, folder, summed, target, verified

_ID = "ab" * 20


@target
def profile(data: bytes) -> None:
    """A profile that stands by itself, sealed and not."""
    for whole in (data, _sealed(data)):
        found = decoded(lambda whole=whole: verified(whole, _nowhere))  # type: ignore[misc]
        if found is not None:
            assert_kept(found)


@target
def profile_of_pieces(data: bytes) -> None:
    """A profile and the pieces of its tables, which it names by their numbers, apart by an odd word."""
    text, *parts = data.split(b"\0piece\0")

    def get(id: str) -> bytes:
        number = int(id[:2], 16)
        if number >= len(parts):
            raise NotFoundError(f"object {id} is not in the store")
        return parts[number]

    found = decoded(lambda: verified(text, get))
    if found is None:
        return
    decoded(lambda: codec.for_object(text, lambda name, piece: _ID, where="fuzz"))
    decoded(lambda: codec.chains(codec.shared_pieces(text, "fuzz"), get))
    if stacks.has_stacks(found.tables):
        Stacks.of(found.tables)
    assert_kept(found)


@target
def piece(data: bytes) -> None:
    """A table object."""
    found = decoded(lambda: pieces.decode(data, "fuzz"))
    if found is not None:
        decoded_again, base = pieces.decode(pieces.encode(*found), "fuzz")
        assert (decoded_again, base) == found


@target
def stored_object(data: bytes) -> None:
    """An object as it is stored, and what is in one."""
    for stored in (data, zlib.compress(data, 1)):
        found = decoded(lambda stored=stored: objects.inflate(stored, "fuzz"))  # type: ignore[misc]
        if found is not None:
            id, again = objects.encode(found)
            assert objects.decode(again, id) == found


@target
def version_index(data: bytes) -> None:
    """The index of a version, with its checksum."""
    decoded(lambda: index.decode(data, where="fuzz"))
    found = decoded(lambda: index.decode(summed(data), where="fuzz", vcs="git", version=_ID))
    if found is not None:
        assert index.decode(index.encode(found), where="fuzz") == found
        assert index.merge(found, found) == found
        for entry in found.entries[:3]:
            assert index.add(found, entry) in (found, index.bury(found, entry)) or entry.tombstone


@target
def list_of_notes(data: bytes) -> None:
    decoded(lambda: notes.decode(data, "fuzz"))
    found = decoded(lambda: notes.decode(summed(data), "fuzz"))
    if found is not None:
        assert notes.decode(notes.encode(found), "fuzz") == tuple(sorted(set(found)))


@target
def journal_of_a_bucket(data: bytes) -> None:
    """An entry says which keys may have changed, or that any may: never an error."""
    for entry in (data, data + b"sha1 " + hashlib.sha1(data, usedforsecurity=False).hexdigest().encode() + b"\n"):
        keys = journal.decode(entry)
        if keys is not None:
            assert journal.decode(journal.encode(keys)) == (keys if len(keys) <= journal.MOST_KEYS else None)


@target
def recent_stacks(data: bytes) -> None:
    """What the read model says of stacks, which is believed or not, and never an error."""
    model = ReadModel(folder() / "derived.db")
    known = StackBases(model)
    made = profiles.timed()
    known.note(made, {"stacks": [_ID]})
    model.put("stacks", dict.fromkeys(stack_base.keys(made), data))
    found = known.pieces(made)
    assert codec.chains(found, _nowhere) == {}


@target
def notes_of_checks(data: bytes) -> None:
    """Results of checks, and changes that were accepted, as other stores may have noted them."""
    store = Store(MemoryStorage())
    notes.add(store, decisions.SUBJECT, decisions.TYPE, data)
    decoded(lambda: decisions.accepted(store))
    notes.add(store, f"checks of {_ID[:2]}", stored_results.TYPE, data)
    decoded(lambda: stored_results.headlines(stored_results.Results(store, "git").of(_ID)))


@target
def caches(data: bytes) -> None:
    """The file of the read model and rows of it, which are believed or not, and never an error."""
    model = ReadModel(folder() / "derived.db")
    for _ in range(2):
        model.put("values", {"p": data}, ValueCache(model, "c", "metrics", ()).group)
        for metric in (ValueCache(model, "c", "metrics", ("p",)).get("p") or {}).values():
            assert all(isinstance(value, float) for value in metric.values)
        model.close()
        assert model.path is not None
        model.path.write_bytes(data)
        model.get("values", "p")


@target
def perun_profile(data: bytes) -> None:
    """What Perun wrote; once it was read it is a profile like any other."""
    found = decoded(lambda: reader.decode(data, created=0, where="fuzz"))
    if found is not None:
        stacks.verify(found.tables)
        assert_kept(found)


@target
def perun_store(data: bytes) -> None:
    """Perun's index, and an object of it as it is stored."""
    decoded(lambda: perun_index.decode_index(data, "fuzz"))
    id = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    found = decoded(lambda: perun_index.decode_object(zlib.compress(data, 1), id, "fuzz"))
    assert found is None or data.endswith(found)
    decoded(lambda: perun_index.decode_object(data, id, "fuzz"))


def _sealed(data: bytes) -> bytes:
    """The JSON with a seal that fits, where it is an object."""
    body = data.rstrip()
    return files.seal(body) if body.endswith(b"}") else data


def _nowhere(id: str) -> bytes:
    raise FormatError(f"table object {id} is elsewhere")
