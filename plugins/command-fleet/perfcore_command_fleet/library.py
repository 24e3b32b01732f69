"""Everything that `perf fleet` does, as functions with results."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import msgspec
from perfcore_fleet_kit import retention, shares
from perfcore_fleet_kit.keys import SPACE, escaped
from perfcore_fleet_kit.query import Condition, Counted, Merged, Query, Selected, counted, merge, profile_of, select
from perfcore_fleet_kit.shares import ShareChange, sample_of
from perfcore_fleet_kit.state import FleetIndex, FleetState

from perfcore.errors import FormatError, KeyMissingError, NotFoundError, UsageError
from perfcore.model import Profile
from perfcore.model.listener import Listener, SilentListener
from perfcore.repository.repository import Repository
from perfcore.store import sets
from perfcore_command_fleet.files import Sources, candidates
from perfcore_command_fleet.ingest import Ingested, Ingester
from perfcore_command_fleet.status import FleetStatus, status_of

DAY = 86_400_000_000_000  # ns
_CONDITION = re.compile(r"\s*([^=,]+?)\s*=\s*([^,]*?)\s*")
_ALL = Query()
_QUERIES = f"{SPACE}@queries/"


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
    made = Ingester(
        repository=repository,
        sources=Sources(repository, source),
        listener=listener or SilentListener(),
        release=None if release is None else repository.version(release),
        labels=labels or {},
        host=host,
    )
    if shard:
        made.shard = shard
    return made


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
    if not index.streams and not index.problems:
        raise _nothing(index.version)
    return status_of(index, box)


def labels(repository: Repository, revision: str | None = None, query: Query = _ALL) -> dict[str, dict[str, int]]:
    """The samples of each value of each label."""
    totals: dict[str, dict[str, int]] = {}
    for selected in select(state(repository, revision), query):
        for part, pairs in selected.parts.items():
            for key, value in set(pairs):
                values = totals.setdefault(key, {})
                values[value] = values.get(value, 0) + selected.receipt.samples[part]
    return totals


def parse_where(text: str | None) -> tuple[Condition, ...]:
    """The conditions of `action=checkout,host=web1|web2`."""
    conditions = []
    for part in (text or "").split(","):
        if part.strip():
            match = _CONDITION.fullmatch(part)
            if match is None:
                raise UsageError(f"--where wants LABEL=VALUE[|VALUE], got {part!r}")
            conditions.append((match[1], frozenset(value.strip() for value in match[2].split("|"))))
    return tuple(sorted(conditions, key=lambda condition: condition[0]))


def merged(
    repository: Repository, revision: str | None, query: Query, listener: Listener | None = None
) -> tuple[FleetState, list[Selected], Merged]:
    """The sum of the samples of a query, as one tree. NotFoundError where there are none."""
    read, selected = _selected(repository, revision, query, listener)
    return read, selected, merge(repository.store, read, selected)


def counts(
    repository: Repository, revision: str | None, query: Query, listener: Listener | None = None
) -> tuple[FleetState, list[Selected], Counted]:
    """The counts of the samples of a query: quicker than those of its tree, and in less memory. NotFoundError where
    there are none."""
    read, selected = _selected(repository, revision, query, listener)
    return read, selected, counted(repository.store, read, selected, _cache(repository))


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


def _cache(repository: Repository) -> Path | None:
    """The folder for ordered trees; None where it would be outside of the repository."""
    folder = repository.perf / "cache"
    return None if folder.is_symlink() else folder / "fleet"


def profile(
    repository: Repository,
    revision: str | None = None,
    query: Query = _ALL,
    name: str = "",
    listener: Listener | None = None,
) -> Profile:
    """The samples of a query as a profile of the version."""
    return profile_with_state(repository, revision, query, name, listener)[1]


def profile_with_state(
    repository: Repository, revision: str | None, query: Query, name: str, listener: Listener | None = None
) -> tuple[FleetState, Profile]:
    """The same with the state of the version that it was read from."""
    read, _, sum_of_all = merged(repository, revision, query, listener)
    return read, profile_of(sum_of_all, query, read.version, time.time_ns(), name, sum_of_all.problems)


def save_query(repository: Repository, name: str, where: str) -> None:
    """Keep conditions under a name. The newest counts, also of those that other stores have."""
    parse_where(where)
    payload = msgspec.json.encode({"format": 1, "name": name, "where": where})
    data = sets.encode(sets.Record(time.time_ns(), "0" * 40, (), payload))
    storage = repository.store.storage
    key = _QUERIES + escaped(name)
    try:
        tag: str | None = storage.read(key).tag
    except KeyMissingError:
        tag = None
    storage.replace(key, data, tag)


def queries(repository: Repository) -> dict[str, str]:
    """The saved conditions by name."""
    saved = {}
    for row in repository.store.storage.list(_QUERIES):
        data = repository.store.read_key(row.key)
        if data is not None:
            try:
                document = msgspec.json.decode(sets.decode(data, row.key).payload, type=dict[str, str | int])
            except msgspec.MsgspecError as error:
                raise FormatError(f"{row.key} is damaged: {error}") from error
            saved[str(document.get("name", ""))] = str(document.get("where", ""))
    return dict(sorted(saved.items()))


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
    """Let the segments of boxes that ended before a time expire, but those with samples of `keep`; gives how many."""
    read = state(repository, revision)
    names = {name for name, receipt in read.receipts.items() if retention.box_of(receipt.end, box) + box <= before}
    if keep:
        names -= retention.names_of(selected.receipt for selected in select(read, Query(tuple(keep))))
    if dry_run:
        return len(names)
    return retention.expire(repository.store, read.version, read, names, box, time.time_ns())


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
