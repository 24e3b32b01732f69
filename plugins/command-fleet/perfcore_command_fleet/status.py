"""What a fleet has sent: hosts, boxes, gaps, lag."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any

import attrs
import msgspec
from perfcore_fleet_kit.fleet_index import FleetIndex

from perfcore.profile.table import Table

SCHEMA = 1


class HostBox(msgspec.Struct, gc=False):
    """The segments of a host in a box. There may be a million of them."""

    host: str
    begin: int
    segments: int = 0
    streams: int = 0
    samples: int = 0
    time: int = 0
    partial: int = 0
    expired: int = 0


@attrs.frozen
class Gap:
    """Segments of a stream that have not arrived: `first` to `last`."""

    stream: str
    host: str
    first: int
    last: int


@attrs.frozen
class FleetStatus:
    """The state of a version. `newest` is the end of the newest segment in ns since 1970 UTC, 0 without one."""

    version: str
    boxes: tuple[HostBox, ...]
    gaps: tuple[Gap, ...]
    newest: int
    receipts: int
    packs: int
    problems: tuple[str, ...]

    @property
    def samples(self) -> int:
        return sum(box.samples for box in self.boxes)

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/fleet-status.json`."""
        return {
            "schema": SCHEMA,
            "version": self.version,
            "samples": self.samples,
            "newest": self.newest,
            "receipts": self.receipts,
            "packs": self.packs,
            "boxes": [msgspec.structs.asdict(box) for box in self.boxes],
            "gaps": [attrs.asdict(gap) for gap in self.gaps],
            "problems": list(self.problems),
        }


def status_of(index: FleetIndex, box: int) -> FleetStatus:
    """The hosts and boxes of a version, boxes of so many ns."""
    table = index.briefs.table
    living = list(map(operator.not_, table["expired"].data))
    return FleetStatus(
        version=index.version,
        boxes=tuple(_boxes(table, box, living)),
        gaps=tuple(_gaps(table)),
        newest=max(compress(table["end"].data, living), default=0),
        receipts=sum(living),
        packs=index.packs,
        problems=tuple(index.problems),
    )


def _boxes(table: Table, box: int, living: Sequence[bool]) -> list[HostBox]:
    """By box, and by host in each. `living` says which segments have not expired."""
    names = sorted(table["host"].dictionary)
    count, rows = len(names), dict[int, HostBox]()
    keys = _box_keys(table, box, names)
    columns = (table[name].data.tolist() for name in ("total", "period", "whole", "expired"))
    for key, samples, period, whole, expired in zip(keys, *columns, strict=True):
        row = rows.get(key)
        if row is None:
            row = rows[key] = HostBox(names[key % count], key // count * box)
        if expired:
            row.expired += 1
            continue
        row.segments += 1
        row.streams = 1
        row.samples += samples
        row.time += samples * period
        if not whole:
            row.partial += 1
    for key, streams in _other_streams(table, keys, living).items():
        rows[key].streams += streams
    return [rows[key] for key in sorted(rows)]


def _other_streams(table: Table, keys: Sequence[int], living: Sequence[bool]) -> Counter[int]:
    """How many streams each box has besides one of them. Most boxes of a host have one, and are no pairs of a set."""
    own_keys, streams = list(compress(keys, living)), list(compress(table["stream"].data, living))
    any_stream = dict(zip(own_keys, streams, strict=True))
    others = {(key, stream) for key, stream in zip(own_keys, streams, strict=True) if any_stream[key] != stream}
    return Counter(key for key, _ in others)


def _box_keys(table: Table, box: int, names: Sequence[str]) -> list[int]:
    """The box and host of each segment as one integer, in the order of boxes and of names."""
    places = {name: place for place, name in enumerate(names)}
    hosts, count = [places[name] for name in table["host"].dictionary], len(names)
    return [end // box * count + hosts[host] for end, host in zip(table["end"].data, table["host"].data, strict=True)]


def _gaps(table: Table) -> Iterator[Gap]:
    """Segments that are missing, stream by stream. Segments count from 1."""
    streams, numbers = table["stream"].data, table["number"].data
    counts, last = Counter(streams), dict[int, int]()
    for stream, number in zip(streams, numbers, strict=True):
        if number > last.get(stream, 0):
            last[stream] = number
    has_odd = min(numbers, default=1) < 1
    gapped = {stream: list[int]() for stream in counts if has_odd or last[stream] != counts[stream]}
    hosts: dict[int, str] = {}
    if gapped:
        for stream, number, host in zip(streams, numbers, table["host"].data, strict=True):
            if stream in gapped:
                gapped[stream].append(number)
                hosts.setdefault(stream, table["host"].dictionary[host])
    for stream, present in gapped.items():
        previous = 0
        for number in sorted(present):
            if number > previous + 1:
                yield Gap(table["stream"].dictionary[stream], hosts[stream], previous + 1, number - 1)
            previous = number
