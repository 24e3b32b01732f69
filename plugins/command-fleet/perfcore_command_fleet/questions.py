"""What is asked of the union of a release: its receipts, labels, and the sums of its samples."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from perfcore_fleet_kit.query import Counted, Merged, Query, Selected, counted, merge, select
from perfcore_fleet_kit.stack_order import ITEMS
from perfcore_fleet_kit.state import FleetState

from perfcore.errors import NotFoundError
from perfcore.model.listener import Listener, SilentListener
from perfcore.repository.repository import Repository

EVERYTHING = Query()


def state(repository: Repository, revision: str | None = None) -> FleetState:
    """The receipts of a version. NotFoundError where there are none."""
    read = FleetState.read(repository.store, repository.version(revision))
    if not read.receipts and not read.gone and not read.problems:
        raise nothing_stored(read.version)
    return read


def labels(repository: Repository, revision: str | None = None, query: Query = EVERYTHING) -> dict[str, dict[str, int]]:
    """The samples of each value of each label, both in the order of their names."""
    totals: dict[str, dict[str, int]] = {}
    for selected in select(state(repository, revision), query):
        for part_number, pairs in selected.parts.items():
            for key, value in set(pairs):
                values = totals.setdefault(key, {})
                values[value] = values.get(value, 0) + selected.receipt.samples[part_number]
    return {key: dict(sorted(values.items())) for key, values in sorted(totals.items())}


def merged(
    repository: Repository, revision: str | None, query: Query, listener: Listener | None = None
) -> tuple[FleetState, list[Selected], Merged]:
    """The sum of the samples of a query, as one tree. NotFoundError where there are none."""
    read, selected = _selected(repository, revision, query, listener)
    return read, selected, merge(repository.store, read, selected, text_cache(repository))


def counts(
    repository: Repository,
    revision: str | None,
    query: Query,
    listener: Listener | None = None,
    items: Collection[str] = ITEMS,
) -> tuple[FleetState, list[Selected], Counted]:
    """The counts of the samples of a query, by these items and by file: quicker than those of its tree, and in less
    memory. NotFoundError where there are none."""
    read, selected = _selected(repository, revision, query, listener)
    return read, selected, counted(repository.store, read, selected, text_cache(repository), items)


def text_cache(repository: Repository) -> Path | None:
    """The file of the `TextIndex`; None where it would be outside of the repository."""
    folder = repository.perf / "cache"
    return None if folder.is_symlink() else folder / "fleet-texts"


def nothing_stored(version: str) -> NotFoundError:
    hint = "`perf fleet ingest PATH` brings some; REV names a version"
    return NotFoundError(f"no samples of {version[:10]} are stored", hint=hint)


def _selected(
    repository: Repository, revision: str | None, query: Query, listener: Listener | None
) -> tuple[FleetState, list[Selected]]:
    read = state(repository, revision)
    selected = list(select(read, query))
    if not selected:
        raise NotFoundError("no sample fits the question", hint="`perf fleet labels` lists the labels")
    for problem in read.problems:
        (listener or SilentListener()).note(problem)
    return read, selected
