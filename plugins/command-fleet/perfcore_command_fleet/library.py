"""Everything that `perf fleet` does, as functions with results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import msgspec
from perfcore_fleet_kit import cells, retention, shares
from perfcore_fleet_kit.fleet_index import FleetIndex
from perfcore_fleet_kit.query import Condition, Counted, Merged, Query, Selected, counted, merge, profile_of, select
from perfcore_fleet_kit.shares import ShareChange, sample_of
from perfcore_fleet_kit.state import FleetState

from perfcore.errors import NotFoundError
from perfcore.model import Profile
from perfcore.model.listener import Listener, SilentListener
from perfcore.repository.repository import Repository
from perfcore_command_fleet import keeping
from perfcore_command_fleet.files import Sources, candidates
from perfcore_command_fleet.ingest import Ingested, Ingester, text_cache
from perfcore_command_fleet.named import NamedRecords
from perfcore_command_fleet.status import FleetStatus, status_of

DAY, HOUR = 86_400_000_000_000, 3_600_000_000_000  # ns
_ALL = Query()
parse_where = keeping.parse_where


@attrs.frozen
class ShareComparison:
    """The functions of two releases with their shares; `cells` and `samples` are those before and after."""

    old: str
    new: str
    where: str
    cells: tuple[int, int]
    samples: tuple[int, int]
    changes: tuple[ShareChange, ...]
    problems: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/fleet-compare.json`."""
        return {"schema": 1, **attrs.asdict(self)}


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


def state(repository: Repository, revision: str | None = None) -> FleetState:
    """The receipts of a version. NotFoundError where there are none."""
    read = FleetState.read(repository.store, repository.version(revision))
    if not read.receipts and not read.gone and not read.problems:
        raise _nothing(read.version)
    return read


def _nothing(version: str) -> NotFoundError:
    hint = "`perf fleet ingest PATH` brings some; REV names a version"
    return NotFoundError(f"no samples of {version[:10]} are stored", hint=hint)


def status(repository: Repository, revision: str | None = None, box: int = DAY) -> FleetStatus:
    """Hosts, boxes and gaps of a version."""
    index = FleetIndex.read(repository.store, repository.version(revision))
    if not len(index.briefs.table) and not index.problems:
        raise _nothing(index.version)
    return status_of(index, box)


def labels(repository: Repository, revision: str | None = None, query: Query = _ALL) -> dict[str, dict[str, int]]:
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
    repository: Repository, revision: str | None, query: Query, listener: Listener | None = None
) -> tuple[FleetState, list[Selected], Counted]:
    """The counts of the samples of a query: quicker than those of its tree, and in less memory. NotFoundError where
    there are none."""
    read, selected = _selected(repository, revision, query, listener)
    return read, selected, counted(repository.store, read, selected, text_cache(repository))


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


def profile(
    repository: Repository,
    revision: str | None = None,
    query: Query = _ALL,
    name: str = "",
    listener: Listener | None = None,
) -> Profile:
    """The samples of a query as a profile of the version, with cells of an hour for the check `shares`."""
    read, selected, sum_of_all = merged(repository, revision, query, listener)
    made = profile_of(sum_of_all, query, read.version, time.time_ns(), name, sum_of_all.problems)
    sample = cells.folded(sample_of(repository.store, selected, HOUR))
    return made.replace_tables(**cells.cell_tables(sample, made.tables))


def profile_with_state(
    repository: Repository, revision: str | None, query: Query, name: str, listener: Listener | None = None
) -> tuple[FleetState, Profile]:
    """The same with the state of the version that it was read from."""
    read, _, sum_of_all = merged(repository, revision, query, listener)
    return read, profile_of(sum_of_all, query, read.version, time.time_ns(), name, sum_of_all.problems)


def save_query(repository: Repository, name: str, where: str) -> None:
    """Keep conditions under a name. The newest counts, also of those that other stores have."""
    parse_where(where)
    NamedRecords(repository, "queries").save(name, where=where)


def queries(repository: Repository) -> dict[str, str]:
    """The saved conditions by name."""
    return {name: str(values.get("where", "")) for name, values in NamedRecords(repository, "queries").all().items()}


def set_metadata(repository: Repository, values: Mapping[str, str], query: str | None = None) -> None:
    """Set metadata of everything, or of a saved query; an empty value removes one. NotFoundError for a query that is
    not there."""
    if query is not None:
        query_named(repository, query)
    name = _metadata_name(query)
    records = NamedRecords(repository, "metadata")
    joined = {**records.all().get(name, {}).get("values", {}), **values}
    records.save(name, values={key: value for key, value in sorted(joined.items()) if value})


def metadata(repository: Repository, query: str | None = None) -> dict[str, str]:
    """The metadata of everything, for a query with its own in front of them."""
    saved = NamedRecords(repository, "metadata").all()
    names = [_metadata_name(None), *([] if query is None else [_metadata_name(query)])]
    joined = {key: str(value) for name in names for key, value in saved.get(name, {}).get("values", {}).items()}
    return dict(sorted(joined.items()))


def _metadata_name(query: str | None) -> str:
    """A query has its name behind a mark, so that no query is that of everything."""
    return "" if query is None else f"query {query}"


def query_named(repository: Repository, name: str) -> tuple[Condition, ...]:
    """The conditions of a saved query. NotFoundError for an unknown name."""
    saved = queries(repository)
    if name not in saved:
        raise NotFoundError(f"there is no query '{name}'", hint=f"there are {', '.join(saved) or 'none'}")
    return parse_where(saved[name])


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


def compare(
    repository: Repository,
    old: str,
    new: str | None = None,
    query: Query = _ALL,
    *,
    box: int = DAY,
    threshold: float = 0.01,
) -> ShareComparison:
    """The shares of functions in two releases."""
    from perfcore_check_pair.inference import student_quantile

    states = [state(repository, revision) for revision in (old, new)]
    samples = [sample_of(repository.store, list(select(read, query)), box) for read in states]
    for read, sample in zip(states, samples, strict=True):
        if not sample.total:
            raise NotFoundError(f"no sample of {read.version[:10]} fits the question")
    changes = shares.compare(samples[0], samples[1], student_quantile, threshold=threshold)
    return ShareComparison(
        old=states[0].version,
        new=states[1].version,
        where=query.text,
        cells=(len(samples[0].cells), len(samples[1].cells)),
        samples=(samples[0].total, samples[1].total),
        changes=tuple(changes),
        problems=tuple(problem for sample in samples for problem in sample.problems),
    )
