"""A sealed profile tells when a single bit of it is another one."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import attrs
import pytest
from perfcore_testing import profiles

from perfcore import files
from perfcore.errors import FormatError
from perfcore.model import Header, Profile, Tool
from perfcore.model.record import replace
from perfcore.profile import codec
from perfcore.profile.outline import HeaderSummary, Summary, ToolSummary, outline


def _nowhere(id: str) -> bytes:
    raise AssertionError(id)


def _refused(table: str, piece: bytes) -> str:
    raise AssertionError(table)


def sealed() -> bytes:
    small = replace(profiles.timed(), origin="c0" * 20)
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
        files.verify_seal(sealed().replace(b'"sort"', b'"tros"').replace(b"c0c0", b"c0c1"), "here")
    assert raised.value.hint is not None
    assert "`seal` and `sha1`" in raised.value.hint


def _decoded(data: bytes) -> Profile:
    return codec.decode(data, _nowhere, where="here")


def test_an_outline_is_the_profile_and_decodes_no_table_before_it_is_looked_at() -> None:
    small = profiles.timed()
    misleading = {"a": 1, "tables": {"b": [1]}, "text": ',"tables":{'}
    for collector in (small.collector, replace(small.collector, params=misleading)):
        profile = replace(small, collector=collector, dirty=True, notes=("a note",), machine={"cores": [{"id": 0}]})
        data, _ = codec.encode(profile, _refused, sealed=True)
        decode = Mock(wraps=lambda data=data: _decoded(data))
        listed = outline(data, decode)
        if collector is not small.collector:
            assert listed is None  # the fields end elsewhere than its words say: it is decoded in full
            continue
        assert listed is not None
        assert replace(listed, tables={}) == replace(_decoded(data), tables={})
        assert not decode.called
        assert dict(listed.tables) == dict(_decoded(data).tables)
        assert pickle.loads(pickle.dumps(listed)).tables == dict(_decoded(data).tables)
        assert decode.call_count == 1


def test_what_is_damaged_newer_or_not_sealed_has_no_outline() -> None:
    data = sealed()
    assert outline(data, lambda: _decoded(data)) is not None
    assert not any(outline(damaged, lambda: _decoded(data)) for damaged in damages(data))
    newer = json.loads(data) | {"format": 2}
    del newer["sha1"]
    for odd in (
        newer,
        {**newer, "format": 1, "header": 3},
        {**newer, "format": 1, "created": {}, "collector_info": {"surplus": 3}},
    ):
        text = json.dumps(odd, separators=(",", ":")).encode()
        assert outline(files.seal(text), lambda: _decoded(data)) is None
    plain, _ = codec.encode(profiles.timed(), _refused)
    assert outline(plain, lambda: _decoded(plain)) is None


@pytest.mark.parametrize(("summary", "whole"), [(HeaderSummary, Header), (ToolSummary, Tool), (Summary, Profile)])
def test_a_summary_has_the_fields_and_defaults_of_the_whole(summary: Any, whole: type) -> None:
    fields = {field.name: field.default for field in attrs.fields(whole) if field.name != "tables"}
    fields = {name: {} if default == attrs.Factory(dict) else default for name, default in fields.items()}
    assert fields == {name: summary._field_defaults.get(name, attrs.NOTHING) for name in summary._fields}
