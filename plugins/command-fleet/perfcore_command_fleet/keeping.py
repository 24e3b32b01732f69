"""How long samples are kept: tiers of age, pins that hold segments beyond them, and what stays for ever."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
from perfcore_fleet_kit import retention
from perfcore_fleet_kit.query import Condition, Query, select
from perfcore_fleet_kit.receipts import ExpiredBox
from perfcore_fleet_kit.state import FleetState

from perfcore.config.settings import parse_seconds
from perfcore.errors import FormatError, NotFoundError, UsageError
from perfcore.repository.repository import Repository
from perfcore_command_fleet.named import NamedRecords
from perfcore_command_fleet.saved import parse_where

_NS = 1_000_000_000
_TIERS = "default"  # the name under which tiers are saved


@attrs.frozen
class Tier:
    """Segments with samples of `where` live for `age` ns; all segments for a tier without conditions."""

    age: int
    where: tuple[Condition, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Tier:
        """`7d`, or `30d:action=checkout`."""
        age, _, label_conditions = text.partition(":")
        try:
            seconds = parse_seconds(age)
        except ValueError as error:
            raise UsageError(f"a tier is an age such as 7d or 30d:action=checkout, got {text!r}: {error}") from error
        if not seconds > 0:
            raise UsageError(f"the age of a tier is above 0, got {text!r}")
        return cls(int(seconds * _NS), parse_where(label_conditions))


@attrs.frozen
class Pin:
    """Samples of one version that do not expire."""

    name: str
    version: str
    query: Query


def pin(repository: Repository, name: str, revision: str | None, query: Query) -> Pin:
    """Keep the segments that have samples of a query, now and later, whatever their age."""
    new_pin = Pin(name, repository.version(revision), query)
    NamedRecords(repository, "pins").save(
        name, version=new_pin.version, where=query.text, since=query.since, until=query.until
    )
    return new_pin


def unpin(repository: Repository, name: str) -> None:
    """NotFoundError where there is no such pin."""
    records = NamedRecords(repository, "pins")
    if name not in records.all():
        raise NotFoundError(f"there is no pin '{name}'", hint="`perf fleet pins` lists them")
    records.remove(name)


def pins(repository: Repository) -> list[Pin]:
    """All pins by name. FormatError for one that cannot be read: nothing it may hold must expire then."""
    return [_pin(name, values) for name, values in NamedRecords(repository, "pins").all().items()]


def pinned(repository: Repository, state: FleetState) -> set[str]:
    """The names of the receipts that pins hold."""
    held: set[str] = set()
    for pin_of_version in pins(repository):
        if pin_of_version.version == state.version:
            held |= retention.names_of(selected.receipt for selected in select(state, pin_of_version.query))
    return held


def save_tiers(repository: Repository, tiers: Sequence[str]) -> None:
    """Keep tiers for all versions. UsageError for what is none."""
    for text in tiers:
        Tier.parse(text)
    NamedRecords(repository, "tiers").save(_TIERS, tiers=list(tiers))


def tiers(repository: Repository) -> list[str]:
    """The tiers that are saved, as they were written."""
    return [str(tier) for tier in NamedRecords(repository, "tiers").all().get(_TIERS, {}).get("tiers", [])]


def outlived(
    repository: Repository, state: FleetState, rules: Iterable[Tier], *, box: int, now: int | None = None
) -> set[str]:
    """The names of receipts in boxes that ended before every tier that has them, and that no pin holds."""
    now = time.time_ns() if now is None else now
    names = set(state.receipts)
    for tier in rules:
        boxes = {
            name: retention.box_of(receipt.end, box) + box for name, receipt in state.receipts.items() if name in names
        }
        living = {name for name, end in boxes.items() if end > now - tier.age}
        if tier.where:
            living &= retention.names_of(selected.receipt for selected in select(state, Query(tier.where)))
        names -= living
    return names - pinned(repository, state)


def kept(state: FleetState) -> list[ExpiredBox]:
    """What stays of boxes that have expired, in their order."""
    boxes = [box for tombstone in state.tombstones for box in tombstone.boxes]
    return sorted(boxes, key=lambda box: (box.begin, box.hosts, box.samples))


def _pin(name: str, values: dict[str, Any]) -> Pin:
    version, since, until = (values.get(key) for key in ("version", "since", "until"))
    if not isinstance(version, str) or not all(time is None or isinstance(time, int) for time in (since, until)):
        raise FormatError(f"the pin '{name}' is damaged", hint="`perf fleet unpin` removes it")
    return Pin(name, version, Query(parse_where(str(values.get("where", ""))), since, until))
