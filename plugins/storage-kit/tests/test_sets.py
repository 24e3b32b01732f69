"""Records of sets: as they were written, or refused."""

from __future__ import annotations

import pytest
from perfcore_storage_kit import sets

from perfcore.errors import FormatError

RECORD = sets.Record(rank=7, of="12" * 20, ids=("ab" * 20, "cd" * 20), payload=b"some bytes")


def test_a_record_with_a_flipped_bit_is_refused() -> None:
    data = sets.encode(RECORD)
    assert sets.decode(data, "it") == RECORD
    for position in range(len(data)):
        with pytest.raises(FormatError, match="it is damaged"):
            sets.decode(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :], "it")
    for length in range(len(data)):
        with pytest.raises(FormatError, match="it is damaged"):
            sets.decode(data[:length], "it")


def test_ids_are_stored_once_in_their_order() -> None:
    twice = RECORD._replace(ids=("cd" * 20, "ab" * 20, "cd" * 20))
    assert sets.encode(twice) == sets.encode(RECORD)
