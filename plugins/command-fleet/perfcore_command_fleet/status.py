"""What a fleet has sent: hosts, boxes, gaps, lag."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
from perfcore_fleet_kit.receipts import Receipt
from perfcore_fleet_kit.retention import box_of
from perfcore_fleet_kit.state import FleetState

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


def status_of(state: FleetState, box: int) -> FleetStatus:
    """The hosts and boxes of a version, boxes of so many ns."""
    boxes: dict[tuple[int, str], HostBox] = {}
    for receipt in (*state.receipts.values(), *state.gone.values()):
        key = (box_of(receipt.end, box), receipt.host)
        row = boxes.setdefault(key, HostBox(receipt.host, key[0]))
        if not receipt.profile:
            row.expired += 1
            continue
        row.segments += 1
        row.streams.add(receipt.stream)
        row.samples += receipt.total
        row.time += receipt.total * receipt.period
        row.partial += not receipt.whole
    return FleetStatus(
        version=state.version,
        boxes=tuple(boxes[key] for key in sorted(boxes)),
        gaps=tuple(gap for receipts in state.streams().values() for gap in _gaps(receipts)),
        newest=max((receipt.end for receipt in state.receipts.values()), default=0),
        receipts=len(state.receipts),
        packs=len(state.packs),
        problems=tuple(state.problems),
    )


def _gaps(receipts: list[Receipt]) -> Iterator[Gap]:
    """The gaps of one stream, whose receipts are in order. Segments count from 1."""
    previous = 0
    for receipt in receipts:
        if receipt.number > previous + 1:
            yield Gap(receipt.stream, receipt.host, previous + 1, receipt.number - 1)
        previous = receipt.number
