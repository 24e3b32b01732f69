"""How the contract of the kind source is tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from perfcore_pprof_kit import schema
from perfcore_pprof_kit.wire import message, number, packed
from perfcore_testing.source import SourceContract

from perfcore_source_pprof.driver import PprofSource

_TEXTS = ("", "samples", "count", "cpu", "nanoseconds", "main", "work", "app.go", "route", "/cart")


class PprofContract(SourceContract):
    @pytest.fixture
    def driver(self) -> PprofSource:
        return PprofSource()

    def write(self, folder: Path) -> list[Path]:
        """Two files of two stacks, one of them with a label."""
        paths = [folder / "a.1.pb.gz", folder / "b.pb.gz"]
        for at, path in enumerate(paths, 1):
            path.write_bytes(gzip.compress(profile(at), mtime=0))
        return paths


def profile(samples: int) -> bytes:
    """The message of a profile: `main` with so many samples, and `work` below with 2 and the label `route`."""
    types = [number(schema.TYPE, at) + number(schema.UNIT, at + 1) for at in (1, 3)]
    label = number(schema.KEY, 8) + number(schema.STR, 9)
    amounts = (samples, 10_000_000 * samples)
    rows = [
        packed(schema.LOCATION_ID, [1]) + packed(schema.VALUE, amounts),
        packed(schema.LOCATION_ID, [2, 1]) + packed(schema.VALUE, (2, 20_000_000)) + message(schema.LABEL, label),
    ]
    parts = [message(schema.SAMPLE_TYPE, metric) for metric in types] + [message(schema.SAMPLE, row) for row in rows]
    for at in (1, 2):
        line = number(schema.FUNCTION_ID, at) + number(schema.LINE_NUMBER, 10 * at)
        function = number(schema.FUNCTION_NAME, 4 + at) + number(schema.FILENAME, 7) + number(schema.START_LINE, at)
        parts.append(message(schema.LOCATION, number(schema.ID, at) + message(schema.LINE, line)))
        parts.append(message(schema.FUNCTION, number(schema.ID, at) + function))
    parts += [message(schema.STRING_TABLE, text.encode()) for text in _TEXTS]
    parts.append(number(schema.TIME_NANOS, 1_700_000_000_000_000_000) + number(schema.DURATION_NANOS, 60 * 10**9))
    parts.append(message(schema.PERIOD_TYPE, types[1]) + number(schema.PERIOD, 10_000_000))
    return b"".join(parts)
