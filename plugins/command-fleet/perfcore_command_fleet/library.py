"""What `perf fleet` stores, lists, packs and lets expire, as functions with results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from perfcore_fleet_kit import retention
from perfcore_fleet_kit.fleet_index import FleetIndex
from perfcore_fleet_kit.query import Condition, Query, select

from perfcore.model.listener import Listener, SilentListener
from perfcore.repository.repository import Repository
from perfcore_command_fleet import keeping
from perfcore_command_fleet.files import Sources, candidates
from perfcore_command_fleet.ingest import Ingested, Ingester
from perfcore_command_fleet.questions import nothing_stored, state
from perfcore_command_fleet.status import FleetStatus, status_of
from perfcore_command_fleet.times import DAY


def ingester(
    repository: Repository,
    *,
    source: str | None = None,
    release: str | None = None,
    labels: Mapping[str, str] | None = None,
    host: str | None = None,
    shard: str | None = None,
    listener: Listener | None = None,
) -> Ingester:
    """What ingests files into a repository."""
    new_ingester = Ingester(
        repository=repository,
        sources=Sources(repository, source),
        listener=listener or SilentListener(),
        release=None if release is None else repository.version(release),
        labels=labels or {},
        host=host,
    )
    if shard:
        new_ingester.shard = shard
    return new_ingester


def ingest(repository: Repository, paths: Sequence[str | Path], **options: object) -> Ingested:
    """Ingest files and folders once; the options are those of `ingester`."""
    files = list(candidates([Path(path) for path in paths]))
    return ingester(repository, **options).ingest(files)  # type: ignore[arg-type]


def status(repository: Repository, revision: str | None = None, box: int = DAY) -> FleetStatus:
    """Hosts, boxes and gaps of a version."""
    index = FleetIndex.read(repository.store, repository.version(revision))
    if not len(index.briefs.table) and not index.problems:
        raise nothing_stored(index.version)
    return status_of(index, box)


def pack(repository: Repository, revision: str | None = None, box: int = DAY, before: int | None = None) -> int:
    """Fold the receipts of closed boxes into packs; gives how many."""
    read = state(repository, revision)
    end = time.time_ns() if before is None else before
    return retention.pack(repository.store, read.version, read, box, end)


def expire(
    repository: Repository,
    revision: str | None,
    before: int,
    *,
    box: int = DAY,
    keep: Sequence[Condition] = (),
    dry_run: bool = False,
) -> int:
    """Let the segments of boxes that ended before a time expire, but those with samples of `keep` or of a pin; gives
    how many."""
    read = state(repository, revision)
    names = {name for name, receipt in read.receipts.items() if retention.box_of(receipt.end, box) + box <= before}
    names -= keeping.pinned(repository, read)
    if keep:
        names -= retention.names_of(selected.receipt for selected in select(read, Query(tuple(keep))))
    if dry_run:
        return len(names)
    return retention.expire(repository.store, read.version, read, names, box, time.time_ns())


def retain(
    repository: Repository, revision: str | None, tiers: Sequence[str], *, box: int = DAY, dry_run: bool = False
) -> int:
    """Let the segments expire that outlived every tier that has them; gives how many."""
    rules = [keeping.Tier.parse(text) for text in tiers]
    read = state(repository, revision)
    names = keeping.outlived(repository, read, rules, box=box)
    if dry_run:
        return len(names)
    return retention.expire(repository.store, read.version, read, names, box, time.time_ns())


def kept(repository: Repository, revision: str | None = None) -> list[dict[str, Any]]:
    """The totals and top functions, (id, inclusive, exclusive), of boxes that have expired."""
    return [msgspec.to_builtins(box) for box in keeping.kept(state(repository, revision))]
