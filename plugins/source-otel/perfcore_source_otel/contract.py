"""How the contract of the kind source is tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from perfcore_pprof_kit.wire import FIXED64, encoded, message, number, packed
from perfcore_testing.source import SourceContract

from perfcore_source_otel import schema
from perfcore_source_otel.driver import OtelSource

_TEXTS = ("", "samples", "count", "cpu", "nanoseconds", "main", "work", "app.py", "route")


class OtelContract(SourceContract):
    @pytest.fixture
    def driver(self) -> OtelSource:
        return OtelSource()

    def write(self, folder: Path) -> list[Path]:
        """A message, and a file of two messages as a collector writes it."""
        paths = [folder / "a.otlp", folder / "b.otlp"]
        paths[0].write_bytes(profiles(1))
        paths[1].write_bytes(b"".join(struct.pack(">I", len(data)) + data for data in (profiles(2), profiles(3))))
        return paths


def profiles(id: int, samples: int = 2) -> bytes:
    """A message with a profile: `main` with so many samples, and `work` below with two times and the label `route`."""
    times = message(schema.TIMESTAMPS, struct.pack("<2Q", 1, 2))
    rows = [
        number(schema.STACK, 1) + packed(schema.VALUES, [samples]),
        number(schema.STACK, 2) + packed(schema.SAMPLE_ATTRIBUTES, [1]) + times,
    ]
    sample_type, period_type = (number(schema.TYPE, at) + number(schema.UNIT, at + 1) for at in (1, 3))
    profile = message(schema.SAMPLE_TYPE, sample_type) + b"".join(message(schema.SAMPLES, row) for row in rows)
    profile += encoded(schema.TIME << 3 | FIXED64) + struct.pack("<Q", 1_700_000_000 * 10**9 + id)
    profile += number(schema.DURATION, 60 * 10**9) + message(schema.PERIOD_TYPE, period_type)
    profile += number(schema.PERIOD, 10_000_000) + message(schema.PROFILE_ID, bytes([id]) * 16)
    host = message(schema.KEY, b"host.name") + message(schema.VALUE, message(schema.STRING_VALUE, b"web1"))
    resource = message(schema.RESOURCE, message(schema.RESOURCE_ATTRIBUTES, host))
    scope = message(schema.SCOPE_PROFILES, message(schema.PROFILES, profile))
    return message(schema.RESOURCE_PROFILES, resource + scope) + message(schema.DICTIONARY, _dictionary())


def _dictionary() -> bytes:
    """The tables, each with an empty first row."""
    parts = [message(table, b"") for table in (schema.MAPPINGS, schema.LOCATIONS, schema.FUNCTIONS, schema.STACKS)]
    for at in (1, 2):
        line = number(schema.LINE_FUNCTION, at) + number(schema.LINE_NUMBER, 10 * at)
        names = number(schema.FUNCTION_NAME, 4 + at) + number(schema.FILENAME, 7) + number(schema.START_LINE, at)
        parts.append(message(schema.LOCATIONS, message(schema.LINES, line)) + message(schema.FUNCTIONS, names))
        parts.append(message(schema.STACKS, packed(schema.STACK_LOCATIONS, range(at, 0, -1))))
    value = message(schema.VALUE, message(schema.STRING_VALUE, b"/cart"))
    parts += [message(schema.ATTRIBUTES, b""), message(schema.ATTRIBUTES, number(schema.KEY, 8) + value)]
    return b"".join(parts) + b"".join(message(schema.STRINGS, text.encode()) for text in _TEXTS)
