"""What a fleet has sent: hosts, boxes, gaps, lag."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
from perfcore_fleet_kit.receipts import Brief
from perfcore_fleet_kit.retention import box_of
from perfcore_fleet_kit.state import FleetIndex

SCHEMA = 1


@attrs.define
class HostBox:
    """The segments of a host in a box. `gaps` are segments that are missing between others of a stream."""

    host: str
    begin: int
    segments: int = 0
    streams: set[str] = attrs.field(factory=set)
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
        boxes = [{**attrs.asdict(box, recurse=False), "streams": len(box.streams)} for box in self.boxes]
        return {
            "schema": SCHEMA,
            "version": self.version,
            "samples": self.samples,
            "newest": self.newest,
            "receipts": self.receipts,
            "packs": self.packs,
            "boxes": boxes,
            "gaps": [attrs.asdict(gap) for gap in self.gaps],
            "problems": list(self.problems),
        }


def status_of(index: FleetIndex, box: int) -> FleetStatus:
    """The hosts and boxes of a version, boxes of so many ns."""
    boxes: dict[tuple[int, str], HostBox] = {}
    streams: dict[str, list[Brief]] = {}
    newest = living = 0
    for brief in index.briefs.values():
        streams.setdefault(brief.stream, []).append(brief)
        key = (box_of(brief.end, box), brief.host)
        row = boxes.get(key)
        if row is None:
            row = boxes[key] = HostBox(brief.host, key[0])
        if brief.expired:
            row.expired += 1
            continue
        living += 1
        newest = max(newest, brief.end)
        row.segments += 1
        row.streams.add(brief.stream)
        row.samples += brief.total
        row.time += brief.total * brief.period
        row.partial += not brief.whole
    return FleetStatus(
        version=index.version,
        boxes=tuple(boxes[key] for key in sorted(boxes)),
        gaps=tuple(gap for briefs in streams.values() for gap in _gaps(briefs)),
        newest=newest,
        receipts=living,
        packs=index.packs,
        problems=tuple(index.problems),
    )


def _gaps(briefs: list[Brief]) -> Iterator[Gap]:
    """The gaps of one stream. Segments count from 1."""
    previous = 0
    for number in sorted(brief.number for brief in briefs):
        if number > previous + 1:
            yield Gap(briefs[0].stream, briefs[0].host, previous + 1, number - 1)
        previous = number
