"""The contract of sources. Inherit from it in your tests:

class TestLaps(SourceContract):
    @pytest.fixture
    def driver(self):
        return Laps()

    def write(self, folder):
        return [new_file(folder / "1.laps"), new_file(folder / "2.laps")]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from perfcore.errors import FormatError, PerfError
from perfcore.hookspecs import Segment
from perfcore.profile import stacks
from perfcore_testing.kinds import misfits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from perfcore.hookspecs import Source

_HEAD = 4096  # bytes that `sniff` is given
_CUTS = 60  # of each file


class SourceContract:
    """What every source keeps. Override `driver` and `write`."""

    @pytest.fixture
    def driver(self) -> Source:
        raise NotImplementedError("override the fixture `driver` and return a source")

    def write(self, folder: Path) -> list[Path]:
        """Write some small files of the source, whole ones with samples, and give them."""
        raise NotImplementedError("override `write` and write files")

    def test_it_fits_the_kind(self, driver: Source) -> None:
        """Its methods have the specification's arguments."""
        assert misfits("source", driver) == []

    def test_its_files_are_recognised(self, driver: Source, tmp_path: Path) -> None:
        """By their beginnings and names; and any bytes get an answer."""
        for path in self.write(tmp_path):
            assert driver.sniff(path.read_bytes()[:_HEAD], path.name) is True
        for head in (b"", b"\0" * _HEAD, bytes(range(256)), b"\xff" * 10, b"{"):
            assert driver.sniff(head, "unknown") in (True, False)

    def test_a_segment_adds_up(self, driver: Source, tmp_path: Path) -> None:
        """Its rows have parts that are there, stacks that can be followed and samples above 0; its sections are there,
        its times are in order, and its digest is that of bytes that were read."""
        for segment in _segments(driver, self.write(tmp_path)):
            tables = segment.profile.tables
            stacks.verify(dict(tables))
            rows = tables["resources"]
            assert rows.rows
            assert all(0 <= part < len(segment.parts) for part in rows["part"].data)
            assert all(samples > 0 for samples in rows["samples"].data)
            for part in segment.parts:
                assert 0 <= part.ended <= len(segment.ended)
                assert all(0 <= at < len(segment.opened) for at in part.opened)
            assert segment.number >= 1
            assert segment.begin <= segment.end
            assert segment.clock in ("samples", "file", "ingestion")
            assert segment.whole
            assert len(segment.digest) == 40
            assert 0 < segment.length <= segment.path.stat().st_size

    def test_reading_again_gives_the_same(self, driver: Source, tmp_path: Path) -> None:
        """In another order and each file alone, too: a segment is recognised wherever it is read."""
        paths = self.write(tmp_path)
        together = _described(_segments(driver, paths))
        assert _described(_segments(driver, paths)) == together
        assert _described(_segments(driver, [*reversed(paths)])) == together
        assert _described(segment for path in paths for segment in _segments(driver, [path])) == together

    def test_a_file_that_lost_its_end_gives_no_more_samples(self, driver: Source, tmp_path: Path) -> None:
        """It is an error, or a segment of fewer samples, which is whole only where nothing is missing."""
        for path in self.write(tmp_path):
            data = path.read_bytes()
            (segment,) = _segments(driver, [path])[:1]
            for size in {len(data) * cut // _CUTS for cut in range(_CUTS)}:
                path.write_bytes(data[:size])
                for item in driver.read([path], ""):
                    if not isinstance(item, Segment):
                        assert isinstance(item[1], FormatError)
                    else:
                        assert _total(item) <= _total(segment)
                        assert not item.whole or _total(item) < _total(segment) or item.digest == segment.digest
            path.write_bytes(data)

    def test_a_file_with_a_wrong_byte_is_read_or_refused(self, driver: Source, tmp_path: Path) -> None:
        """Nothing but a PerfError goes through, and the files beside it are read."""
        first, *others = self.write(tmp_path)
        data = first.read_bytes()
        expected = _described(_segments(driver, others))
        for at in {len(data) * cut // _CUTS for cut in range(_CUTS)}:
            first.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
            try:
                items = list(driver.read([first, *others], ""))
            except PerfError as error:
                pytest.fail(f"an error ended the others: {error}")
            segments = [item for item in items if isinstance(item, Segment) and item.path != first]
            assert _described(segments) == expected

    def test_a_file_that_is_gone_is_unreadable(self, driver: Source, tmp_path: Path) -> None:
        """Somebody else may have been faster."""
        paths = self.write(tmp_path)
        items = list(driver.read([tmp_path / "gone", *paths], ""))
        assert [item[0] for item in items if not isinstance(item, Segment)] == [tmp_path / "gone"]


def _segments(driver: Source, paths: Iterable[Path]) -> list[Segment]:
    items = list(driver.read(paths, ""))
    assert [item for item in items if not isinstance(item, Segment)] == []
    return [item for item in items if isinstance(item, Segment)]


def _total(segment: Segment) -> int:
    return sum(segment.profile.tables["resources"]["samples"].data)


def _described(segments: Iterable[Segment]) -> Sequence[object]:
    """Everything of segments that does not depend on what was read beside them."""
    return sorted(
        (
            segment.stream,
            segment.number,
            segment.digest,
            segment.length,
            segment.whole,
            sorted(segment.labels.items()),
            sorted(_rows(segment)),
        )
        for segment in segments
    )


def _rows(segment: Segment) -> Iterable[tuple[str, int, str]]:
    tables = segment.profile.tables
    followed = stacks.Stacks.of(tables)
    rows = tables["resources"]
    nodes = stacks.references(rows, "stack", tables)
    for stack, samples, part in zip(nodes, rows["samples"].data, rows["part"].data, strict=True):
        functions = [] if stack < 0 else followed.path(stack)
        names = [f"{followed.files[function]}:{followed.names[function]}" for function in functions]
        line = None if stack < 0 else followed.line(stack)
        yield f"{';'.join(names)} {line}", samples, repr(segment.parts[part])
