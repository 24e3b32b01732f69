"""What is read of a trace, whole or not: never a sample that is not whole."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfcore_source_statprofiler import StatprofilerSource, packets, writer
from perfcore_source_statprofiler.testing import STREAM, read, union
from perfcore_source_statprofiler.writer import begin, code, end, evaluated, label, main, sample, sub, xsub

from perfcore.hookspecs import Segment

HEAD = writer.header(STREAM, 1)
_NAMES = ("a", "work", "Ünï", "x" * 300, "(eval 3)", "\x02\x00")


def samples_of(path: Path) -> tuple[int, bool]:
    """(samples, whether it is whole)"""
    (segment,) = read([path])
    return sum(segment.profile.tables["resources"]["samples"].data), segment.whole


def test_a_trace_that_is_cut_anywhere_gives_the_samples_before(tmp_path: Path) -> None:
    """Of whole records of whole packets; nothing is made up, and it says that it is not whole."""
    records = [
        sample(1, "add", [sub("A", "f", "A.pm", 2, 2), main("m.pl", 2)]),
        begin("request"),
        sample(2, "sort", [xsub("A", "x"), main("m.pl", 512)]),
        label("action", "x"),
        end("request"),
        code("1;", 3),
        sample(4, "add", [evaluated("(eval 3)", 1)]),
    ]
    whole = writer.packed(HEAD + b"".join(records) + writer.file_end(), 10)
    path = tmp_path / "trace"
    seen = set()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        (item,) = StatprofilerSource().read([path], "")
        if isinstance(item, Segment):
            assert not item.whole
            seen.add(sum(item.profile.tables["resources"]["samples"].data))
    assert seen == {0, 1, 3, 7}


def test_texts_may_stand_inside_of_a_sample(tmp_path: Path) -> None:
    """Behind the first frame that needs one. Each file has its own, also where the bytes of the sample are the same."""
    frames = [evaluated("(eval 3)", 1), code("my $end = '\x02\x00';", 3), main("m.pl", 2)]
    quick = sample(2, "add", [evaluated("(eval 3)", 1), main("m.pl", 2)])
    plain = sample(4, "add", [code("2;", 4), main("m.pl", 2)])
    records = [sample(1, "add", frames), quick, plain, sample(8, "add", [evaluated("(eval 4)", 1)])]
    paths = [writer.write(tmp_path / f"{n}", writer.header(STREAM, n), records) for n in (1, 2)]
    for segment in read(paths):
        assert segment.whole
        assert len(segment.codes) == 2
        counts = union([segment])
        assert counts.total == 15
        assert sorted(counts.files.values()) == [3, 4, 8]
    whole = paths[0].read_bytes()
    for size in range(len(whole)):
        (tmp_path / "cut").write_bytes(whole[:size])
        (item,) = StatprofilerSource().read([tmp_path / "cut"], "")
        assert not isinstance(item, Segment) or not item.whole


def test_an_empty_sample_may_stand_behind_the_end(tmp_path: Path) -> None:
    empty = writer.record(1, writer.varint(0) + writer.text(""), 1) + writer.record(2, b"")
    records = [sample(3, "add", [main("m.pl", 2)]), begin("request"), end("request"), writer.file_end()]
    for size in (1, 7, packets.PACKET):
        path = writer.write(tmp_path / "trace", HEAD, [*records, empty], whole=False, size=size)
        assert samples_of(path) == (3, True)
        for more in (empty[:-1], empty + empty, empty + b"\x01", sample(1, "", []), sample(0, "x", [])):
            path = writer.write(tmp_path / "trace", HEAD, [*records, more], whole=False, size=size)
            assert samples_of(path) == (3, False)


def test_a_trace_in_packets_of_any_size_is_the_same(tmp_path: Path) -> None:
    records = [sample(n, "add", [sub("A", "f", "A.pm", n, 2), main("m.pl", 2)]) for n in (1, 2, 127, 128, 20_000)]
    expected = None
    for size in (1, 2, 3, 7, 50, packets.PACKET):
        path = writer.write(tmp_path / f"{size}", HEAD, records, size=size)
        counts = union(read([path]))
        expected = expected or counts
        assert counts == expected


@st.composite
def stacks(draw: st.DrawFn) -> tuple[int, str, list[bytes]]:
    """(weight, operation, frames) with numbers and names in which the end of a sample seems to stand."""
    number = st.sampled_from((0, 1, 2, 127, 128, 256, 258, 512, 0x200, 0x10000))
    name = st.sampled_from(_NAMES)
    kinds = (
        st.builds(sub, name, name, name, number, number, st.sampled_from((0, 3))),
        st.builds(xsub, name, name),
        st.builds(main, name, number),
        st.builds(evaluated, name, number),
    )
    frames = draw(st.lists(st.one_of(kinds), max_size=4))
    return draw(number), draw(name), frames


@given(st.lists(stacks(), max_size=8), st.sampled_from((5, 40, 32_000)))
@settings(max_examples=60, deadline=None)
def test_samples_are_counted_whatever_their_bytes(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[int, str, list[bytes]]], size: int
) -> None:
    """Each is read for itself, and together with the others, twice."""
    folder = tmp_path_factory.mktemp("traces")
    records = [sample(*item) for item in drawn]
    path = writer.write(folder / "all", HEAD, [*records, *records], size=size)
    assert samples_of(path) == (2 * sum(weight for weight, _, _ in drawn), True)
    alone: dict[str, int] = {}
    for record in records:
        counts = union(read([writer.write(folder / "one", HEAD, [record])]))
        for name, function in counts.functions.items():
            alone[name] = alone.get(name, 0) + 2 * function.inclusive
    together = union(read([path]))
    assert {name: function.inclusive for name, function in together.functions.items()} == alone


def test_any_bytes_are_read_or_refused(tmp_path: Path) -> None:
    numbers = random.Random(7)
    data = bytearray(
        HEAD + b"".join(sample(3, "add", [sub("A", "f", "A.pm", 9, 2), main("m.pl", 2)]) for _ in range(5))
    )
    path = tmp_path / "trace"
    for _ in range(500):
        changed = bytearray(data)
        for _ in range(numbers.randint(1, 4)):
            changed[numbers.randrange(len(changed))] = numbers.randrange(256)
        path.write_bytes(writer.packed(bytes(changed), numbers.choice((10, 32_000))))
        (item,) = StatprofilerSource().read([path], "")
        assert not isinstance(item, Segment) or not item.whole


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "no trace"),
        (b"=statprofiler", "no trace"),
        (b"=statprofiler\2", "version 2"),
        (b"=statprofiler\1", "ends inside of its header"),
        (b"=statprofiler\1\0\5ab", "cut short"),
        (b"=statprofiler\1\0\5\xff\xff\xff\xff\x07", "larger than the format allows"),
        (writer.packed(b"\xca\x01\xfe"), "names no stream"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, data: bytes, text: str) -> None:
    path = tmp_path / "trace"
    path.write_bytes(data)
    (item,) = StatprofilerSource().read([path], "")
    assert not isinstance(item, Segment)
    assert text in item[1].message


def test_damage_behind_whole_samples_is_told(tmp_path: Path) -> None:
    path = writer.write(tmp_path / "trace", HEAD, [sample(3, "add", [main("m.pl", 1)]), b"\x63\0"])
    (segment,) = read([path])
    assert samples_of(path) == (3, False)
    assert "the record 99 is unknown" in segment.profile.notes[0]


def test_bytes_behind_the_end_are_told(tmp_path: Path) -> None:
    path = writer.write(tmp_path / "trace", HEAD, [sample(3, "add", []), writer.file_end(), sample(4, "add", [])])
    (segment,) = read([path])
    assert samples_of(path) == (3, False)
    assert "behind the end" in segment.profile.notes[0]


def test_a_label_with_a_new_value_each_time_makes_no_part_of_each(tmp_path: Path) -> None:
    """A trace of some kB must not make a profile of some GB."""
    records = [
        item
        for n in range(6_000)
        for item in (begin("r"), sample(1, "add", [main("m.pl", 1)]), label("id", str(n)), end("r"))
    ]
    path = writer.write(tmp_path / "trace", HEAD, records)
    (segment,) = read([path])
    assert len(segment.parts) <= 4_097
    assert samples_of(path) == (6_000, True)


def test_names_are_bounded(tmp_path: Path) -> None:
    path = writer.write(tmp_path / "trace", HEAD, [sample(1, "add", [main("m" * 5_000_000, 1)])])
    (segment,) = read([path])
    assert len(segment.profile.tables["functions"]["file"][0] or "") < 2_000  # type: ignore[arg-type]


def test_a_stream_knows_its_parent(tmp_path: Path) -> None:
    parent = (9, 8, 7, 6, 5, 4)
    head = writer.header(STREAM, 3, parent=parent, parent_number=2, tick=1_000, labels={"release": "R1"})
    (segment,) = read([writer.write(tmp_path / "trace", head, [sample(1, "add", [])])])
    assert segment.number == 3
    assert segment.parent == ("".join(f"{word:08x}" for word in parent), 2)
    assert segment.labels == {"release": "R1", "perl": "5.36.0"}
    assert segment.profile.collector.sampling["period"] == 1_000_000
