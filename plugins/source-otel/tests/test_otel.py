"""Messages that the official package builds, and messages that are cut or hostile."""

from __future__ import annotations

import gzip
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from perfcore_pprof_kit.wire import message, number, packed
from perfcore_source_otel import OtelSource, schema
from perfcore_source_otel.contract import OtelContract, profiles
from perfcore_source_pprof import PprofSource
from perfcore_source_pprof.contract import profile as pprof_profile

from perfcore.hookspecs import Segment

NOW = 1_700_000_000_000_000_000


@pytest.fixture
def proto() -> Any:
    """The module of the package opentelemetry-proto."""
    return pytest.importorskip("opentelemetry.proto.profiles.v1development.profiles_pb2")


class Builder:
    """Builds messages as an exporter does; `padding` moves the rows of all tables."""

    def __init__(self, proto: Any, padding: int = 0) -> None:
        self.proto = proto
        self.data = proto.ProfilesData()
        self.tables = self.data.dictionary
        for table in ("mapping_table", "location_table", "function_table", "attribute_table", "stack_table"):
            for _ in range(padding + 1):
                getattr(self.tables, table).add()
        self.tables.string_table.extend(["", *(f"padding {at}" for at in range(padding))])

    def text(self, text: str) -> int:
        self.tables.string_table.append(text)
        return len(self.tables.string_table) - 1

    def stack(self, *names: str) -> int:
        """Of functions, the innermost first."""
        stack = self.tables.stack_table.add()
        for line, name in enumerate(names, 10):
            self.tables.function_table.add(
                name_strindex=self.text(name), filename_strindex=self.text("app.py"), start_line=line - 5
            )
            self.tables.location_table.add().lines.add(function_index=len(self.tables.function_table) - 1, line=line)
            stack.location_indices.append(len(self.tables.location_table) - 1)
        return len(self.tables.stack_table) - 1

    def attribute(self, key: str, value: str | int) -> int:
        attribute = self.tables.attribute_table.add(key_strindex=self.text(key))
        if isinstance(value, int):
            attribute.value.int_value = value
        else:
            attribute.value.string_value = value
        return len(self.tables.attribute_table) - 1

    def resource(self, **attributes: str) -> Any:
        """A scope of a new resource."""
        resource = self.data.resource_profiles.add()
        for key, value in attributes.items():
            resource.resource.attributes.add(key=key.replace("_", ".")).value.string_value = value
        return resource.scope_profiles.add()

    def profile(self, scope: Any, metric: str = "samples", unit: str = "count", id: bytes = b"") -> Any:
        made = scope.profiles.add(time_unix_nano=NOW, duration_nano=10**9, period=10_000_000, profile_id=id)
        for each, words in ((made.sample_type, (metric, unit)), (made.period_type, ("cpu", "nanoseconds"))):
            each.type_strindex, each.unit_strindex = map(self.text, words)
        return made

    def write(self, path: Path) -> Path:
        path.write_bytes(self.data.SerializeToString())
        return path


def recording(proto: Any, padding: int = 0, id: bytes = b"i" * 16) -> Builder:
    builder = Builder(proto, padding)
    scope = builder.resource(host_name="web1", service_name="shop", vcs_ref_head_revision="v1", process_pid="4")
    profile = builder.profile(scope, id=id)
    profile.samples.add(stack_index=builder.stack("work", "main"), values=[3])
    route = [builder.attribute("route", "/cart"), builder.attribute("thread.id", 7)]
    profile.samples.add(
        stack_index=builder.stack("other", "main"), attribute_indices=route, timestamps_unix_nano=[NOW, NOW + 1]
    )
    return builder


def read(*paths: Path) -> list[Segment]:
    items = list(OtelSource().read(paths, ""))
    assert all(isinstance(item, Segment) for item in items), items
    return [item for item in items if isinstance(item, Segment)]


def said(segment: Segment) -> Counter[tuple[tuple[tuple[str, str], ...], str]]:
    """Samples by labels and function."""
    tables = segment.profile.tables
    rows, counts = tables["resources"], Counter[tuple[tuple[tuple[str, str], ...], str]]()
    for stack, samples, part in zip(rows["stack"], rows["samples"].data, rows["part"].data, strict=True):
        frame = tables["stacks"]["frame"].data[stack]  # type: ignore[index]
        name = tables["functions"]["name"][tables["frames"]["function"].data[frame]]
        counts[segment.parts[part].labels, str(name)] += samples
    return counts


def test_a_message_of_the_official_package(proto: Any, tmp_path: Path) -> None:
    path = recording(proto).write(tmp_path / "a")
    assert OtelSource().sniff(path.read_bytes()[:4096], "a")
    (segment,) = read(path)
    assert (segment.stream, segment.number, segment.whole) == ((b"i" * 16).hex(), 1, True)
    assert (segment.begin, segment.end, segment.clock) == (NOW, NOW + 10**9, "samples")
    assert dict(segment.labels) == {"host": "web1", "service": "shop", "release": "v1", "process.pid": "4"}
    assert segment.profile.collector.sampling["period"] == 10_000_000
    assert said(segment) == {((), "work"): 3, ((("route", "/cart"), ("thread.id", "7")), "other"): 2}


def test_a_profile_is_the_same_segment_in_any_message(proto: Any, tmp_path: Path) -> None:
    """With other tables, in another file, compressed, and without an id."""
    for id in (b"i" * 16, b""):
        (first,) = read(recording(proto, id=id).write(tmp_path / "a"))
        again = recording(proto, padding=5, id=id)
        (tmp_path / "b").write_bytes(gzip.compress(again.data.SerializeToString()))
        (second,) = read(tmp_path / "b")
        for field in ("stream", "number", "digest", "length"):
            assert getattr(first, field) == getattr(second, field)


def test_a_recording_in_two_metrics_counts_once(proto: Any, tmp_path: Path) -> None:
    builder = Builder(proto)
    scope = builder.resource(host_name="web1")
    stack = builder.stack("work")
    for metric, unit, amount in (
        ("cpu", "nanoseconds", 30_000_000),
        ("samples", "count", 3),
        ("inuse_space", "bytes", 9),
    ):
        builder.profile(scope, metric, unit).samples.add(stack_index=stack, values=[amount])
    (segment,) = read(builder.write(tmp_path / "a"))
    assert said(segment) == {((), "work"): 3}
    only_time = Builder(proto)
    profile = only_time.profile(only_time.resource(), "cpu", "nanoseconds")
    profile.samples.add(stack_index=only_time.stack("work"), values=[5])
    (segment,) = read(only_time.write(tmp_path / "b"))
    assert segment.profile.collector.sampling["period"] == 1


def test_addresses_without_functions_are_of_their_files(proto: Any, tmp_path: Path) -> None:
    builder = Builder(proto)
    builder.tables.mapping_table.add(filename_strindex=builder.text("/lib/libc.so"))
    builder.tables.location_table.add(mapping_index=1, address=0xABC)
    builder.tables.stack_table.add(location_indices=[1])
    builder.profile(builder.resource()).samples.add(stack_index=1, values=[1])
    (segment,) = read(builder.write(tmp_path / "a"))
    functions = segment.profile.tables["functions"]
    assert (functions["name"][0], functions["file"][0]) == ("0xabc", "/lib/libc.so")


def test_a_file_that_is_cut_gives_nothing(tmp_path: Path) -> None:
    """At each byte, of a message, of messages with sizes, and compressed. Whole messages before the cut are a shorter
    file of the collector."""
    single, several = (path.read_bytes() for path in OtelContract().write(tmp_path))
    whole = {len(profiles(2)) + 4}
    path = tmp_path / "cut"
    for data in (single, several, gzip.compress(single)):
        for size in range(len(data)):
            path.write_bytes(data[:size])
            items = list(OtelSource().read([path], ""))
            is_whole = data is several and size in whole
            assert [isinstance(item, Segment) for item in items] == [is_whole]


@pytest.mark.parametrize(
    ("sample", "text"),
    [
        (number(schema.STACK, 99) + packed(schema.VALUES, [1]), "no stack 99"),
        (number(schema.STACK, -1) + packed(schema.VALUES, [1]), "no stack -1"),
        (packed(schema.VALUES, [-1]), "negative"),
        (packed(schema.VALUES, [2**62, 2**62, 2**62]), "can be counted"),
        (packed(schema.VALUES, [1]) + packed(schema.SAMPLE_ATTRIBUTES, [1 << 40]), "no attribute"),
        (packed(schema.VALUES, []), "no profile of samples"),
    ],
)
def test_hostile_samples_are_refused(tmp_path: Path, sample: bytes, text: str) -> None:
    kind = message(schema.SAMPLE_TYPE, number(schema.TYPE, 1) + number(schema.UNIT, 2))
    profile = message(schema.PROFILES, kind + message(schema.SAMPLES, sample))
    strings = b"".join(message(schema.STRINGS, each) for each in (b"", b"samples", b"count"))
    dictionary = message(schema.DICTIONARY, strings + message(schema.STACKS, b""))
    path = tmp_path / "a"
    path.write_bytes(message(schema.RESOURCE_PROFILES, message(schema.SCOPE_PROFILES, profile)) + dictionary)
    (item,) = OtelSource().read([path], "")
    assert not isinstance(item, Segment)
    assert text in item[1].message


@pytest.mark.parametrize(
    ("metric", "unit", "period_unit", "is_read"),
    [
        ("itimer", "count", "ns", True),
        ("itimer", "ns", "ns", True),
        ("cycles", "count", "nanoseconds", True),
        ("alloc", "count", "bytes", False),
        ("alloc", "bytes", "bytes", False),
        ("alloc", "bytes", "nanoseconds", False),
    ],
)
def test_counts_of_what_comes_in_time_are_samples(
    proto: Any, tmp_path: Path, metric: str, unit: str, period_unit: str, is_read: bool
) -> None:
    builder = Builder(proto)
    made = builder.profile(builder.resource(), metric, unit)
    made.period_type.unit_strindex = builder.text(period_unit)
    made.samples.add(stack_index=builder.stack("work", "main"), values=[7])
    (item,) = OtelSource().read([builder.write(tmp_path / "a")], "")
    assert isinstance(item, Segment) == is_read
    assert not isinstance(item, Segment) or list(item.profile.tables["resources"]["samples"]) == [7]


def test_a_size_beyond_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for size in (1, 1 << 20, (1 << 27) - 1):
        path.write_bytes(struct.pack(">I", size))
        (item,) = OtelSource().read([path], "")
        assert not isinstance(item, Segment)


def test_profiles_of_pprof_are_told_apart() -> None:
    assert not OtelSource().sniff(pprof_profile(1), "a")
    assert PprofSource().sniff(pprof_profile(1), "a")
    assert not PprofSource().sniff(profiles(1), "a")
    for head in (b"\n\nmain;work 3", b"\n", b"", bytes(4096), b"\x12\x00"):
        assert not OtelSource().sniff(head, "a")
