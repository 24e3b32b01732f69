"""A sealed profile tells when a single bit of it is another one."""

from __future__ import annotations

import json
from collections.abc import Iterator

import attrs
import pytest
from perfcore_testing import profiles

from perfcore.errors import FormatError
from perfcore.profile import codec, wire


def _nowhere(id: str) -> bytes:
    raise AssertionError(id)


def _refused(table: str, piece: bytes) -> str:
    raise AssertionError(table)


def sealed() -> bytes:
    small = attrs.evolve(profiles.timed(), origin="c0" * 20)
    return codec.encode(small, _refused, sealed=True)[0]


def damages(data: bytes) -> Iterator[bytes]:
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)
    yield from (data[:length] for length in range(len(data)))


def test_every_flipped_bit_and_every_truncation_is_detected() -> None:
    data = sealed()
    for damaged in damages(data):
        with pytest.raises(FormatError, match=r"^here"):
            codec.decode(damaged, _nowhere, where="here")


def test_a_sealed_profile_is_json_with_its_seal_at_both_ends() -> None:
    data = sealed()
    assert data.startswith(b'{"format":1,"seal":"sha1",')
    assert list(json.loads(data))[-1] == "sha1"
    assert codec.decode(data, _nowhere, where="here").origin == "c0" * 20


def test_blanks_at_the_end_are_no_change() -> None:
    codec.decode(sealed() + b"\r\n", _nowhere, where="here")


def test_a_profile_without_a_seal_is_accepted() -> None:
    plain, _ = codec.encode(profiles.timed(), _refused)
    assert b'"seal"' not in plain
    codec.decode(plain, _nowhere, where="here")


def test_what_is_registered_holds_no_seal() -> None:
    content, _ = codec.for_object(sealed(), _refused, where="here")
    assert not {"seal", "sha1", "origin"} & set(json.loads(content))
    codec.decode(content, _nowhere, where="here")


def test_a_profile_that_was_edited_says_how_to_keep_it() -> None:
    with pytest.raises(FormatError) as raised:
        wire.verify_seal(sealed().replace(b'"sort"', b'"tros"').replace(b"c0c0", b"c0c1"), "here")
    assert raised.value.hint is not None
    assert "`seal` and `sha1`" in raised.value.hint
