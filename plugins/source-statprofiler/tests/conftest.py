"""Traces that are written here, and what they count to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from perfcore_fleet_kit.counting import Counts
from perfcore_source_statprofiler import writer
from perfcore_source_statprofiler.testing import STREAM, read, union

Count = Callable[..., Counts]


@pytest.fixture
def counted(tmp_path: Path) -> Count:
    """Gives the counts of a trace of these records."""

    def counts_of(*records: bytes, slow_ops: Sequence[str] = ()) -> Counts:
        path = writer.write(tmp_path / "trace", writer.header(STREAM, 1), records)
        return union(read([path], slow_ops))

    return counts_of
