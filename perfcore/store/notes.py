"""Notes: append-only objects about a subject (results of checks, acknowledgements), found through a small list.

The list of a subject stands where the object `note NUL subject` would: `nidx`, version, count, the ids of the
notes in sorted order, and the SHA-1 of all that. Two lists are joined by uniting their ids.
"""

from __future__ import annotations

import struct

from perfcore.digests import sha1
from perfcore.errors import ConflictError, FormatError, KeyMissingError, StorageError
from perfcore.store import objects
from perfcore.store.store import NOTE_LIST, Store, object_key

VERSION = 1  # of the format; a newer one is refused
_HEAD = struct.Struct("<4sII")
_TRIES = 1000  # writers that were faster, before a livelock is reported


def key(subject: str) -> str:
    """The key of a subject's list."""
    return object_key(sha1(f"note\0{subject}".encode()).hexdigest())


def add(store: Store, subject: str, type: str, content: bytes) -> str:
    """Keep a note and enter it in its subject's list; gives its id."""
    for _ in range(_TRIES):
        id = store.put(objects.Object("note", type, content))  # in each try: it may have been collected
        ids, tag = _read(store, subject)
        try:
            if id not in ids:
                store.storage.replace(key(subject), encode((*ids, id)), tag)
            store.touch((id,))  # once more, now that the list refers to it
            return id
        except (ConflictError, KeyMissingError):
            continue
    raise StorageError(f"the notes on {subject} keep changing")


def exist(store: Store, subject: str) -> bool:
    """Whether there is a list of notes on a subject, whole or not."""
    return store.read_key(key(subject)) is not None


def read(store: Store, subject: str) -> list[objects.Object]:
    """All notes on a subject, sorted by id."""
    return [store.get(id, "note") for id in _read(store, subject)[0]]


def encode(ids: tuple[str, ...]) -> bytes:
    unique = sorted(set(ids))
    data = _HEAD.pack(NOTE_LIST, VERSION, len(unique)) + b"".join(bytes.fromhex(id) for id in unique)
    return data + sha1(data).digest()


def decode(data: bytes, where: str) -> tuple[str, ...]:
    """The ids in a list; FormatError when a bit is off."""
    payload, checksum = data[:-20], data[-20:]
    if len(payload) < _HEAD.size or sha1(payload).digest() != checksum:
        raise FormatError(f"{where} is damaged: its checksum does not fit")
    magic, version, count = _HEAD.unpack_from(payload)
    if magic != NOTE_LIST or version != VERSION:
        raise FormatError(f"{where} is a list of notes of version {version}", hint="upgrade perfcore")
    ids = payload[_HEAD.size :]
    if len(ids) != 20 * count:
        raise FormatError(f"{where} is damaged: it does not hold {count} ids")
    return tuple(ids[i : i + 20].hex() for i in range(0, len(ids), 20))


def is_list(data: bytes) -> bool:
    return data.startswith(NOTE_LIST)


def _read(store: Store, subject: str) -> tuple[tuple[str, ...], str | None]:
    try:
        data, tag = store.storage.read(key(subject))
    except KeyMissingError:
        return (), None
    return decode(data, f"the list of notes on {subject}"), tag
