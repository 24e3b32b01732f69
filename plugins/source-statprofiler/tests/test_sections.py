"""Labels of samples: what is written inside of a section belongs to it, over files and in any order."""

from __future__ import annotations

import cProfile
from pathlib import Path
from types import CodeType

import pytest
from perfcore_source_statprofiler import writer
from perfcore_source_statprofiler.testing import STREAM, read, union
from perfcore_source_statprofiler.writer import begin, end, label, main, sample


def line(number: int, weight: int) -> bytes:
    return sample(weight, "add", [main("m.pl", number)])


def write(folder: Path, number: int, *records: bytes, whole: bool = True) -> Path:
    return writer.write(folder / str(number), writer.header(STREAM, number), records, whole=whole)


def total(paths: list[Path], key: str, value: str) -> int:
    return union(read(paths), (key, value)).total


def test_a_section_lasts_over_files(tmp_path: Path) -> None:
    first = write(tmp_path, 1, line(1, 1), begin("req"), line(2, 2))
    second = write(tmp_path, 2, line(3, 4), label("action", "x"), end("req"), line(4, 8))
    for paths in ([first, second], [second, first]):
        counts = union(read(paths), ("action", "x"))
        assert counts.lines == {("m.pl", 2): [2, 2], ("m.pl", 3): [4, 4]}
        assert union(read(paths)).total == 15
    # Alone, each says what it can.
    assert total([second], "action", "x") == 4
    assert total([first], "section", "req") == 2
    assert total([first], "action", "x") == 0


def test_a_section_lasts_over_a_file_without_an_event(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, 1, begin("req"), label("user", "u"), line(1, 1)),
        write(tmp_path, 2, line(2, 2)),
        write(tmp_path, 3, line(3, 4), label("action", "x"), end("req"), line(4, 8)),
    ]
    assert total(paths, "action", "x") == 7
    assert total(paths, "user", "u") == 7
    # Without the one in between it is not known that it is the same section.
    assert total([paths[0], paths[2]], "action", "x") == 4


def test_sections_in_sections(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        1,
        begin("outer"),
        line(1, 1),
        begin("inner"),
        label("action", "i"),
        line(2, 2),
        end("inner"),
        label("action", "o"),
        line(3, 4),
        end("outer"),
        line(4, 8),
    )
    assert total([path], "section", "outer") == 7
    assert total([path], "section", "inner") == 2
    assert total([path], "action", "i") == 2
    assert total([path], "action", "o") == 5


def test_sections_that_overlap(tmp_path: Path) -> None:
    path = write(
        tmp_path, 1, begin("a"), line(1, 1), begin("b"), line(2, 2), end("a"), line(3, 4), end("b"), line(4, 8)
    )
    assert total([path], "section", "a") == 3
    assert total([path], "section", "b") == 6


def test_an_end_without_a_beginning_in_the_first_file_means_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, 1, line(1, 1), end("a"), line(2, 2))
    assert total([path], "section", "a") == 0
    assert union(read([path])).total == 3


def test_a_section_inside_of_one_that_lasts_over_files(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, 1, begin("outer"), line(1, 1)),
        write(tmp_path, 2, begin("inner"), line(2, 2), end("outer"), line(3, 4), end("inner"), line(4, 8)),
    ]
    assert total(paths, "section", "outer") == 3
    assert total(paths, "section", "inner") == 6


def test_a_section_that_is_open_at_the_end_of_a_stream_counts(tmp_path: Path) -> None:
    path = write(tmp_path, 1, begin("a"), label("k", "v"), line(1, 1), begin("b"), line(2, 2))
    assert total([path], "k", "v") == 3
    assert total([path], "section", "b") == 2


@pytest.mark.parametrize("flags", [0, 1])
def test_a_section_that_comes_again_is_parsed_once_whatever_its_size_leaves_out(tmp_path: Path, flags: int) -> None:
    """The original leaves the flags of texts out of sizes, other writers do not."""
    request = [
        writer.record(198, writer.text("request"), flags),
        sample(1, "add", [main("m.pl", 2)]),
        writer.record(200, writer.text("action") + writer.text("cart"), 2 * flags),
        writer.record(199, writer.text("request"), flags),
    ]
    path = write(tmp_path, 1, *request * 50)
    with cProfile.Profile() as profile:
        assert total([path], "action", "cart") == 50
    calls = {call.code.co_name: call.callcount for call in profile.getstats() if isinstance(call.code, CodeType)}
    assert calls["_event"] >= 150
    assert calls["_parse_event"] == 3
