"""Notes and their lists."""

from __future__ import annotations

import hashlib
import struct
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_testing.strategies import IDS

from perfcore.errors import FormatError
from perfcore.store import notes
from perfcore.store.store import object_key

if TYPE_CHECKING:
    from perfcore_testing.memory import MemoryStorage

    from perfcore.store.store import Store

SUBJECT = "change of <script>\n"


def sealed(payload: bytes) -> bytes:
    return payload + hashlib.sha1(payload).digest()


def test_notes_are_found_by_their_subject(store: Store) -> None:
    ids = [notes.add(store, SUBJECT, "check", text) for text in (b"one", b"two", b"one")]
    assert len(set(ids)) == 2
    found = notes.read(store, SUBJECT)
    assert sorted(note.content for note in found) == [b"one", b"two"]
    assert {(note.kind, note.type) for note in found} == {("note", "check")}
    assert notes.read(store, "another") == []


def test_many_writers_lose_no_note(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: notes.add(store, SUBJECT, "check", b"%d" % i), range(40)))
    assert {note.content for note in notes.read(store, SUBJECT)} == {b"%d" % i for i in range(40)}


@given(st.lists(IDS, max_size=5))
def test_a_list_reads_back_sorted(ids: list[str]) -> None:
    assert notes.decode(notes.encode(tuple(ids)), "x") == tuple(sorted(set(ids)))


def test_a_list_at_byte_level() -> None:
    payload = struct.pack("<4sII", b"nidx", 1, 2) + b"\x01" * 20 + b"\x02" * 20
    assert notes.encode(("02" * 20, "01" * 20)) == sealed(payload)
    assert notes.key("s") == object_key(hashlib.sha1(b"note\0s").hexdigest())


def test_every_truncation_and_every_flipped_bit_is_detected() -> None:
    data = notes.encode(("01" * 20, "02" * 20))
    for end in range(len(data)):
        with pytest.raises(FormatError, match="list 7"):
            notes.decode(data[:end], "list 7")
    for bit in range(len(data) * 8):
        wrong = bytearray(data)
        wrong[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FormatError, match="list 7"):
            notes.decode(bytes(wrong), "list 7")


def test_counts_are_not_believed_and_later_versions_are_refused() -> None:
    for count in (0, 2, 2**32 - 1):
        with pytest.raises(FormatError):
            notes.decode(sealed(struct.pack("<4sII", b"nidx", 1, count) + bytes(20)), "x")
    with pytest.raises(FormatError, match="version 2") as caught:
        notes.decode(sealed(struct.pack("<4sII", b"nidx", 2, 0)), "x")
    assert caught.value.hint == "upgrade perfcore"


def test_a_damaged_list_is_named_and_never_overwritten(store: Store, storage: MemoryStorage) -> None:
    notes.add(store, SUBJECT, "check", b"one")
    key = notes.key(SUBJECT)
    wrong = storage.read(key).data[:-1]
    storage.damage(key, wrong)
    with pytest.raises(FormatError, match="is damaged"):
        notes.read(store, SUBJECT)
    with pytest.raises(FormatError, match="is damaged"):
        notes.add(store, SUBJECT, "check", b"two")
    assert storage.read(key).data == wrong
