"""Indexes: round trip, damage, and the laws of joining."""

from __future__ import annotations

import contextlib
import hashlib
import struct
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_testing import old_index
from perfcore_testing.strategies import TEXT, entries

from perfcore.errors import FormatError
from perfcore.model import Entry
from perfcore.store import index as indexes
from perfcore.store.index import Index

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = "c0" * 20
ENTRY = Entry(
    profile="ab" * 20,
    created=1_750_000_000_123_456_789,
    name="time-sort.perf",
    type="time",
    tables=("01" * 20, "02" * 20),
    cmd="sort",
    args="-n",
    workload="naïve\n.txt",
    collector="time",
    postprocessors=("filter", ""),
    tags=("<script>",),
    config_id="c" * 40,
    environment_id="e" * 40,
)
OLD = Entry(profile="cd" * 20, created=1_600_000_000_000_000_000, name="old.perf", type="")


def index_of(*found: Entry) -> Index:
    made = Index(vcs="git", version=VERSION)
    for entry in found:
        made = indexes.add(made, entry)
    return made


def test_attrs_takes_an_entry() -> None:
    """Plugins called these when entries were classes of attrs."""
    entry: Any = ENTRY
    assert attrs.evolve(entry, name="b") == ENTRY._replace(name="b")
    assert attrs.asdict(entry, recurse=False) == ENTRY._asdict()
    assert tuple(field.name for field in attrs.fields(Entry)) == Entry._fields  # type: ignore[arg-type]
    assert attrs.fields(type(entry)) is attrs.fields(type(entry))


INDEXES = st.lists(entries(), max_size=6).map(lambda found: index_of(*found))
NEARLY_EQUAL = st.lists(
    st.builds(
        Entry,
        profile=st.sampled_from(["00" * 20, "11" * 20]),
        created=st.sampled_from([0, 1]),
        name=st.sampled_from(["", "a"]),
        type=st.just("t"),
        cmd=st.sampled_from(["x", "x y"]),
        args=st.sampled_from(["", "y"]),
        config_id=st.sampled_from(["", "c"]),
        tombstone=st.booleans(),
    ),
    max_size=6,
).map(lambda found: index_of(*found))


ENCODERS = {1: old_index.encode, 3: old_index.encode_3, 4: indexes.encode}
READ_BACK = st.builds(lambda made, encode: decode(encode(made)), NEARLY_EQUAL, st.sampled_from([*ENCODERS.values()]))
"""As they come from files, of each version of the format: version 1 says less of an entry."""


def sealed(payload: bytes) -> bytes:
    return payload + hashlib.sha1(payload).digest()


def decode(data: bytes) -> Index:
    return indexes.decode(data, where="index 7", vcs="git", version=VERSION)


@given(INDEXES)
def test_versions_3_and_4_read_back(made: Index) -> None:
    assert decode(old_index.encode_3(made)) == decode(indexes.encode(made)) == made


@given(st.lists(entries(), max_size=6))
def test_version_1_keeps_time_id_and_name_of_what_is_live(found: list[Entry]) -> None:
    made = index_of(*found)
    read = decode(old_index.encode(made))
    said = {
        (e.profile, min(max(e.created // 10**9, 0), 2**32 - 1) * 10**9, e.name.replace("\0", "\\0")) for e in made.live
    }
    assert {(e.profile, e.created, e.name) for e in read.entries} == said
    assert (read.vcs, read.version) == ("git", VERSION)
    assert not any(e.tombstone or e.type or e.tables for e in read.entries)


def text(value: str) -> bytes:
    return struct.pack("<I", len(value.encode())) + value.encode()


FIRST = struct.pack("<Bq20sI", 0, ENTRY.created, b"\xab" * 20, 2) + b"\x01" * 20 + b"\x02" * 20 + text(ENTRY.name)
DESCRIPTION = b"".join(map(text, ("time", "sort", "-n", "naïve\n.txt", "time")))
DESCRIPTION += struct.pack("<I", 2) + text("filter") + text("") + struct.pack("<I", 1) + text("<script>")
DESCRIPTION += text("c" * 40) + text("e" * 40)


def number(value: int) -> bytes:
    return struct.pack("<I", value)


def bytes_of(version: int, *parts: bytes, count: int) -> bytes:
    return sealed(struct.pack("<4sII", b"pidx", version, count) + text("git") + text(VERSION) + b"".join(parts))


def test_version_3_at_byte_level() -> None:
    data = bytes_of(3, FIRST, DESCRIPTION, count=1)
    assert decode(data) == index_of(ENTRY)
    assert old_index.encode_3(index_of(ENTRY)) == data


def test_version_4_at_byte_level() -> None:
    """Each description is there once, and the entries after it give its number."""
    others = [ENTRY._replace(created=ENTRY.created + later, name=name) for later, name in ((1, "b"), (2, "c"))]
    others[0] = others[0]._replace(type="", cmd="", args="", workload="", collector="", tags=(), tombstone=True)
    others[0] = others[0]._replace(postprocessors=(), config_id="", environment_id="", tables=())
    second = struct.pack("<Bq20sI", 1, ENTRY.created + 1, b"\xab" * 20, 0) + text("b") + number(1) + bytes(36)
    third = struct.pack("<Bq20sI", 0, ENTRY.created + 2, b"\xab" * 20, 2) + b"\x01" * 20 + b"\x02" * 20 + text("c")
    data = bytes_of(4, FIRST, number(0), DESCRIPTION, second, third, number(0), count=3)
    assert indexes.encode(index_of(ENTRY, *others)) == data
    assert decode(data) == index_of(ENTRY, *others)


@pytest.mark.parametrize("wrong", [1, 2, 2**32 - 1])
def test_a_description_that_was_not_said_is_damage(wrong: int) -> None:
    with pytest.raises(FormatError, match="index 7 is damaged: the description of an entry is missing"):
        decode(bytes_of(4, FIRST, number(wrong), DESCRIPTION, count=1))


def test_an_index_whose_descriptions_would_fill_the_memory_is_refused() -> None:
    """Two megabytes that say a long description for each of thousands of entries."""
    long = text("x" * 1_000_000) + bytes(32)
    entry = struct.pack("<Bq20sI", 0, 0, bytes(20), 0) + text("")
    data = bytes_of(4, entry, number(0), long, *([entry + number(0)] * 20_000), count=20_001)
    with pytest.raises(FormatError, match="index 7 is damaged: its descriptions are longer than"):
        decode(data)


def test_version_1_at_byte_level() -> None:
    payload = struct.pack("<4sII", b"pidx", 1, 1) + struct.pack("<I20s", 1_600_000_000, b"\xcd" * 20) + b"old.perf\0"
    assert decode(sealed(payload)) == index_of(OLD)
    assert old_index.encode(index_of(OLD)) == sealed(payload)


@pytest.mark.parametrize("version", [1, 3, 4])
@pytest.mark.parametrize("found", [(), (ENTRY,), (ENTRY, OLD, ENTRY._replace(name="b", tombstone=True))])
def test_every_truncation_is_detected(version: int, found: tuple[Entry, ...]) -> None:
    data = ENCODERS[version](index_of(*found))
    for end in range(len(data)):
        with pytest.raises(FormatError, match="index 7"):
            decode(data[:end])
    with pytest.raises(FormatError, match="index 7"):
        decode(data + b"\0")


@pytest.mark.parametrize("version", [1, 3, 4])
@pytest.mark.parametrize("found", [(), (ENTRY,), (ENTRY, OLD)])
def test_every_flipped_bit_is_detected(version: int, found: tuple[Entry, ...]) -> None:
    for wrong in flips(ENCODERS[version](index_of(*found))):
        with pytest.raises(FormatError, match="index 7"):
            decode(wrong)


@given(INDEXES, st.sampled_from([1, 3, 4]), st.data())
def test_any_index_notices_a_lost_end_and_a_flipped_bit(made: Index, version: int, data: st.DataObject) -> None:
    whole = ENCODERS[version](made)
    place, bit = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(0, 7))
    flipped = whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :]
    for wrong in (whole[:place], flipped):
        with pytest.raises(FormatError, match="index 7"):
            decode(wrong)


def flips(data: bytes) -> Iterator[bytes]:
    for bit in range(len(data) * 8):
        wrong = bytearray(data)
        wrong[bit // 8] ^= 1 << bit % 8
        yield bytes(wrong)


@pytest.mark.parametrize("version", [1, 3, 4])
def test_wrong_content_under_a_right_checksum_is_a_format_error(version: int) -> None:
    """Such as another program would write. Counts and lengths are never believed beyond the file's end."""
    payload = ENCODERS[version](index_of(ENTRY, OLD))[:-20]
    for end in range(12, len(payload)):
        with pytest.raises(FormatError, match="index 7"):
            decode(sealed(payload[:end]))
    for wrong in flips(payload):
        try:
            decode(sealed(wrong))
        except FormatError:
            continue


def test_enormous_counts_are_not_believed() -> None:
    for version in (1, 3, 4):
        with pytest.raises(FormatError):
            decode(sealed(struct.pack("<4sII", b"pidx", version, 2**32 - 1) + bytes(8)))
    entry = struct.pack("<Bq20sI", 0, 0, bytes(20), 2**32 - 1)
    with pytest.raises(FormatError):
        decode(sealed(struct.pack("<4sII", b"pidx", 3, 1) + bytes(8) + entry))


@pytest.mark.parametrize(
    ("version", "hint"),
    [(0, "perf import FORMAT"), (2, "perf import FORMAT"), (5, "upgrade perfcore"), (2**32 - 1, "upgrade")],
)
def test_other_versions_are_refused_with_a_way_out(version: int, hint: str) -> None:
    data = sealed(struct.pack("<4sII", b"pidx", version, 0))
    with pytest.raises(FormatError, match=f"index 7 is an index of version {version}") as caught:
        decode(data)
    assert hint in (caught.value.hint or "")


def test_a_kind_of_entry_that_came_later_is_refused_politely() -> None:
    payload = bytearray(indexes.encode(index_of(ENTRY))[:-20])
    payload[12 + 4 + 3 + 4 + 40] |= 2
    with pytest.raises(FormatError, match="does not know") as caught:
        decode(sealed(bytes(payload)))
    assert caught.value.hint == "upgrade perfcore"


@given(INDEXES | NEARLY_EQUAL, INDEXES | NEARLY_EQUAL)
def test_merging_is_commutative(a: Index, b: Index) -> None:
    assert indexes.merge(a, b) == indexes.merge(b, a)
    assert indexes.encode(indexes.merge(a, b)) == indexes.encode(indexes.merge(b, a))


@given(INDEXES | NEARLY_EQUAL, INDEXES | NEARLY_EQUAL, NEARLY_EQUAL)
def test_merging_is_associative(a: Index, b: Index, c: Index) -> None:
    assert indexes.merge(indexes.merge(a, b), c) == indexes.merge(a, indexes.merge(b, c))


@given(INDEXES | NEARLY_EQUAL, NEARLY_EQUAL)
def test_merging_is_idempotent(a: Index, b: Index) -> None:
    assert indexes.merge(a, a) == a
    both = indexes.merge(a, b)
    assert indexes.merge(both, b) == both


@given(READ_BACK, READ_BACK, READ_BACK)
def test_the_laws_hold_for_what_is_read_from_both_versions(a: Index, b: Index, c: Index) -> None:
    assert indexes.merge(a, b) == indexes.merge(b, a)
    assert indexes.merge(indexes.merge(a, b), c) == indexes.merge(a, indexes.merge(b, c))
    assert indexes.merge(a, a) == a
    assert decode(indexes.encode(indexes.merge(a, b))) == indexes.merge(a, b)


@given(NEARLY_EQUAL, NEARLY_EQUAL)
def test_tombstones_win(a: Index, b: Index) -> None:
    def buried(index: Index) -> set[Entry]:
        return {e._replace(tombstone=False) for e in index.entries if e.tombstone}

    both = indexes.merge(a, b)
    assert buried(both) == buried(a) | buried(b)
    assert set(both.live) == (set(a.live) | set(b.live)) - buried(both)


def test_indexes_of_two_versions_are_not_merged() -> None:
    a, b = Index(vcs="git", version="11" * 20), Index(vcs="git", version="22" * 20)
    with pytest.raises(FormatError, match="two versions"):
        indexes.merge(a, b)
    with pytest.raises(FormatError, match="two versions"):
        indexes.merge(a, a._replace(vcs="hg"))
    nameless = indexes.decode(old_index.encode(index_of(OLD)), where="x")
    assert indexes.merge(nameless, index_of(ENTRY)) == indexes.merge(index_of(ENTRY), nameless) == index_of(ENTRY, OLD)


@given(NEARLY_EQUAL)
def test_entries_are_sorted_by_time_and_id_and_stand_once(made: Index) -> None:
    order = [(e.created, e.profile) for e in made.entries]
    assert order == sorted(order)
    assert len(set(made.entries)) == len(made.entries)


@given(entries(tombstones=False))
def test_what_is_buried_is_gone_for_good(entry: Entry) -> None:
    made = indexes.bury(index_of(entry), entry)
    assert made.live == ()
    assert indexes.add(made, entry).live == ()
    assert indexes.bury(index_of(), entry) == made
    assert decode(indexes.encode(made)) == made


def test_several_entries_may_share_a_name() -> None:
    assert len(index_of(ENTRY, ENTRY._replace(created=5), ENTRY._replace(profile="00" * 20)).live) == 3


def test_an_entry_that_came_from_version_1_can_be_taken_off() -> None:
    """People see it completed with what its profile says."""
    completed = OLD._replace(type="time", cmd="sort", tables=("01" * 20,))
    made = indexes.bury(index_of(OLD, ENTRY), completed)
    assert made.live == (ENTRY,)


def test_names_that_are_no_unicode_compare_as_they_read_back() -> None:
    bad = ENTRY._replace(name="caf\udce9", args="\udc80")
    made = index_of(bad)
    assert decode(indexes.encode(made)) == made
    assert made.live[0].name == "caf\\udce9"
    assert indexes.bury(made, bad).live == ()


@given(TEXT)
def test_the_key_of_a_version_is_forty_digits(version: str) -> None:
    assert indexes.key_name("git", "c0" * 20) == "c0" * 20
    expected = hashlib.sha1(f"svn\0{version}".encode()).hexdigest()
    assert indexes.key_name("svn", version) == expected
    for odd in (version, "C0" * 20, "c0" * 20 + "\n", "c0" * 19):
        assert indexes.key_name("a", odd) != indexes.key_name("b", odd)


@given(st.binary(max_size=100))
def test_any_bytes_are_an_index_or_a_format_error(data: bytes) -> None:
    for wrong in (data, b"pidx" + data, sealed(b"pidx" + data), sealed(struct.pack("<4sII", b"pidx", 3, 1) + data)):
        with contextlib.suppress(FormatError):
            assert decode(wrong).version


@given(READ_BACK, st.lists(entries(), max_size=4), NEARLY_EQUAL)
def test_entering_many_is_entering_one_after_the_other(made: Index, new: list[Entry], close: Index) -> None:
    """Whatever they are: new, there already, the same twice, or hidden by a tombstone."""
    new = [entry._replace(tombstone=False) for entry in (*new, *close.entries, *new[:1])]
    changed, placed, entered = indexes.enter(made, new)
    one_by_one, expected = made, []
    for entry in new:
        existing = indexes.current(one_by_one, entry)
        expected.append(existing or indexes.unburied(entry, one_by_one))
        if existing is None:
            one_by_one = indexes.add(one_by_one, expected[-1])
    assert (changed, placed) == (one_by_one, expected)
    assert set(entered) == set(changed.entries) - set(made.entries)


@given(INDEXES, st.lists(entries(), max_size=3))
def test_what_is_encoded_after_another_index_is_what_is_encoded_at_once(made: Index, new: list[Entry]) -> None:
    for changed in (indexes.enter(made, new)[0], Index("git", VERSION, tuple(new)), indexes.bury(made, ENTRY)):
        written = indexes.encode_after(indexes.encode_after(None, made), changed)
        assert written.data == indexes.encode(changed)
        again = indexes.enter(changed, new[:1])[0]
        assert indexes.encode_after(written, again).data == indexes.encode(again)


@pytest.mark.parametrize("bad", ["", "-x", "a b", "a@i", "a:b", "a/b", "a\\b", "a\nb", "\x1b[31mred", "x" * 101])
def test_tags_that_break_the_rules_are_left_out_when_an_index_is_read(bad: str) -> None:
    """As of an index that was pulled, or of a folder that was copied."""
    made = Index("git", "c0" * 20, (ENTRY._replace(tags=("good", bad, "good")),))
    assert [read.tags for read in indexes.decode(indexes.encode(made), where="x").live] == [("good",)]


def test_an_entry_whose_bad_tag_was_taken_off_stays() -> None:
    tagged = ENTRY._replace(tags=("a b",))
    made = indexes.add(indexes.bury(Index("git", "c0" * 20, (tagged,)), tagged), ENTRY._replace(tags=()))
    read = indexes.decode(indexes.encode(made), where="x")
    assert read.live == (ENTRY._replace(tags=()),)
    assert indexes.decode(indexes.encode(read), where="x") == read


def test_a_removed_entry_with_a_bad_tag_stays_removed() -> None:
    tagged = ENTRY._replace(tags=("a b",))
    removed = indexes.decode(indexes.encode(indexes.bury(Index("git", "c0" * 20, (tagged,)), tagged)), where="x")
    there = indexes.decode(indexes.encode(Index("git", "c0" * 20, (tagged,))), where="x")
    assert not indexes.merge(removed, there).live
