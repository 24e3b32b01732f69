"""Whether a file is a profile of pprof."""

from __future__ import annotations

import itertools

from perfcore.errors import FormatError
from perfcore_pprof_kit import schema, wire

# Most writers begin with the metrics, Go with the time in profiles of the CPU and with the period in all others.
_FIRST = bytes(
    (
        schema.SAMPLE_TYPE << 3 | wire.BYTES,
        schema.TIME_NANOS << 3 | wire.VARINT,
        schema.PERIOD_TYPE << 3 | wire.BYTES,
    )
)
_SNIFFED = 16  # fields: a message of another schema has a field of another type among so many


def is_pprof(start: bytes) -> bool:
    """Whether unzipped bytes begin as a profile does: with metrics, each of two texts."""
    if not start or start[0] not in _FIRST:
        return False
    first = b""
    try:
        for key, kind, _, data in itertools.islice(wire.fields(start), _SNIFFED):
            first = first or (data if key == schema.SAMPLE_TYPE else b"")
            expected = wire.BYTES if key <= schema.STRING_TABLE or key == schema.PERIOD_TYPE else wire.VARINT
            if kind != expected and key != schema.COMMENT:
                return False
    except FormatError:
        if not first:
            return False  # else the last field is cut
    try:
        metric = list(wire.fields(first))
    except FormatError:
        return False
    return bool(metric) and all(key in (schema.TYPE, schema.UNIT) and kind == wire.VARINT for key, kind, _, _ in metric)
