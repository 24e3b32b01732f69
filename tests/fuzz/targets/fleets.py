"""What the hosts of a fleet send, and the records that are stored of it."""

from __future__ import annotations

import functools
import zlib

from perfcore_fleet_kit import receipts
from perfcore_fleet_kit.briefs import Briefs
from perfcore_fleet_kit.receipts import Pack, Receipt, Tombstone
from perfcore_source_otel import OtelSource
from perfcore_source_pprof import PprofSource
from perfcore_source_statprofiler import StatprofilerSource, storable, writer
from perfcore_source_statprofiler.report import StatprofilerReportSource
from perfcore_storage_kit import sets

from perfcore.hookspecs import Segment, Source
from perfcore.profile import stacks

from .law import decoded, target, written


@target
def trace_of_statprofiler(data: bytes) -> None:
    """The bytes of a file; and, as the packing hides most of them, those of the records in it."""
    head = writer.header((1, 2, 3, 4, 5, 6), 1)
    for content in (data, writer.packed(data), writer.packed(head + data, 1 + len(data) % 50)):
        _assert_read(StatprofilerSource(), content)


@target
def report_of_statprofiler(data: bytes) -> None:
    for content in (data, b"pst0\5\x0b" + data):
        decoded(functools.partial(storable.loads, content))
        _assert_read(StatprofilerReportSource(), content)


@target
def samples_of_pprof(data: bytes) -> None:
    _assert_read(PprofSource(), data)


@target
def samples_of_opentelemetry(data: bytes) -> None:
    _assert_read(OtelSource(), data)


def _assert_read(source: Source, data: bytes) -> None:
    assert source.sniff(data[:4096], "file") in (True, False)
    for item in source.read([written(data, "file")], ""):
        if isinstance(item, Segment):
            stacks.verify(dict(item.profile.tables))
            rows = item.profile.tables["resources"]
            assert all(amount > 0 for amount in rows["samples"].data)
            assert all(0 <= part < len(item.parts) for part in rows["part"].data)


@target
def record_of_a_set(data: bytes) -> None:
    record = decoded(lambda: sets.decode(data, "a record"))
    if record is not None:
        assert sets.decode(sets.encode(record), "again") == record._replace(ids=tuple(sorted(set(record.ids))))
    for payload in (data, zlib.compress(data)):
        record = sets.Record(0, "0" * 40, (), payload)
        decoded(functools.partial(receipts.decode, record, Receipt, "it"))
        decoded(functools.partial(receipts.decode, record, Pack, "it"))
        decoded(functools.partial(receipts.decode, record, Tombstone, "it"))
    for payload in (data, len(data).to_bytes(4, "little") + data):
        decoded(functools.partial(receipts.decode_briefs, sets.Record(0, "0" * 40, (), payload), "it"))
    decoded(functools.partial(Briefs.decode, zlib.compress(data), "it"))
