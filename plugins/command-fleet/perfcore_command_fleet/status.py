"""What a fleet has sent: hosts, boxes, gaps, lag."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import msgspec
from perfcore_fleet_kit.receipts import Brief
from perfcore_fleet_kit.state import FleetIndex

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
    hosts: dict[str, dict[int, HostBox]] = {}
    newest = living = 0
    for briefs in index.streams.values():
        own_rows = set[int]()
        for brief in briefs.values():
            boxes = hosts.get(brief.host)
            if boxes is None:
                boxes = hosts[brief.host] = {}
            end, total = brief.end, brief.total
            begin = end // box * box
            row = boxes.get(begin)
            if brief.expired:
                if row is None:
                    row = boxes[begin] = HostBox(brief.host, begin)
                row.expired += 1
                continue
            living += 1
            if end > newest:
                newest = end
            partial = 0 if brief.whole else 1
            if row is None:  # most rows have one segment, and are made with it
                row = boxes[begin] = HostBox(brief.host, begin, 1, 1, total, total * brief.period, partial)
                own_rows.add(id(row))
                continue
            row.segments += 1
            row.samples += total
            row.time += total * brief.period
            row.partial += partial
            if id(row) not in own_rows:
                own_rows.add(id(row))
                row.streams += 1
    return FleetStatus(
        version=index.version,
        boxes=tuple(_sorted(hosts)),
        gaps=tuple(gap for briefs in index.streams.values() for gap in _gaps(briefs)),
        newest=newest,
        receipts=living,
        packs=index.packs,
        problems=tuple(index.problems),
    )


def _sorted(hosts: Mapping[str, Mapping[int, HostBox]]) -> list[HostBox]:
    """By box, and by host in each."""
    rows = [row for host in sorted(hosts) for row in hosts[host].values()]
    rows.sort(key=operator.attrgetter("begin"))
    return rows


def _gaps(briefs: Mapping[int, Brief]) -> Iterator[Gap]:
    """The gaps of one stream. Segments count from 1."""
    if (min(briefs), max(briefs)) == (1, len(briefs)):
        return
    previous, any_brief = 0, next(iter(briefs.values()))
    for number in sorted(briefs):
        if number > previous + 1:
            yield Gap(any_brief.stream, any_brief.host, previous + 1, number - 1)
        previous = number
