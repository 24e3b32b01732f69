"""Records of sets: a transfer unites the sets of two stores, and of two records of one name brings the higher rank."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

import attrs
from perfcore_storage_kit import sets

from perfcore.errors import FormatError, PerfError
from perfcore.store.store import Store
from perfcore_command_remote.holdings import Holdings
from perfcore_command_remote.redaction import Translation


@attrs.frozen
class RecordChange:
    """A record that the target lacks, with the tag of the one that it takes the place of."""

    data: bytes
    ids: tuple[str, ...]
    tag: str | None


def plan_records(
    source: Store,
    theirs: Holdings,
    declared: Iterable[str],
    versions: Container[str] | None,
    translation: Translation,
    problems: list[str],
) -> dict[str, RecordChange]:
    """What the target lacks of the declared sets, by key, as the translation says; a record whose objects it lost, too.
    What is damaged on either side, or has another source at equal rank, goes to `problems`."""
    target = theirs.store
    changes: dict[str, RecordChange] = {}
    for prefix in map(sets.space, declared):
        ours = {row.key for row in source.storage.list(prefix) if _is_chosen(row.key, versions)}
        tags = {row.key: row.tag for row in target.storage.list(prefix)} if ours else {}
        common = dict(_decoded(target, {key: None for key in tags if key in ours}, problems))
        for key, (data, record) in _decoded(source, dict.fromkeys(sorted(ours)), problems):
            if key not in tags or (key in common and common[key][1].rank < record.rank):
                translated = translation.record(key, data, record, problems)
                if translated is not None:
                    changes[key] = RecordChange(*translated, tags.get(key))
            elif key in common and common[key][1].rank == record.rank and common[key][1].of != record.of:
                problems.append(f"{key} is another record on the other side, where it stays")
            elif key in common and common[key][0] == data and not all(map(theirs.has, record.ids)):
                changes[key] = RecordChange(data, record.ids, tags[key])
    return changes


def plan_marks(target: Store, records: Iterable[str]) -> dict[str, bytes]:
    """The marks that the target lacks of the sets that it gets records of: (key, bytes)."""
    names = {key.partition("/")[0] for key in records}
    return dict(map(sets.marking, sorted(names.difference(sets.marked(target) if names else ()))))


def _is_chosen(key: str, versions: Container[str] | None) -> bool:
    """The first folder of a set is the version that its records are of."""
    return versions is None or key.split("/")[1] in versions


def _decoded(
    store: Store, keys: Mapping[str, None], problems: list[str]
) -> Iterator[tuple[str, tuple[bytes, sets.Record]]]:
    for key, data in store.read_many(keys):
        try:
            if isinstance(data, PerfError):
                raise data
            yield key, (data, sets.decode(data, key))
        except FormatError as error:
            problems.append(error.message)
