"""Many objects at once, from a storage with the optional methods and from one without them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from perfcore_command_store.examination import examine
from perfcore_command_store.garbage import collect_garbage
from perfcore_testing.memory import MemoryStorage

from perfcore.errors import FormatError, PerfError, StorageError
from perfcore.hookspecs import Listed, Stored
from perfcore.store import objects
from perfcore.store.store import Store, object_key

_COUNT = 700  # more than two batches


class _Plain:
    """A storage with the required methods and no others. It counts the bytes that it gave."""

    def __init__(self) -> None:
        self._memory = MemoryStorage()
        self.create, self.replace = self._memory.create, self._memory.replace
        self.delete, self.touch = self._memory.delete, self._memory.touch
        self.given = 0

    def read(self, key: str) -> Stored:
        stored = self._memory.read(key)
        self.given += len(stored.data)
        return stored

    def list(self, prefix: str) -> Iterator[Listed]:
        return self._memory.list(prefix)


class _Batched(_Plain):
    def read_range(self, key: str, offset: int, length: int) -> bytes:
        part = self._memory.read_range(key, offset, length)
        self.given += len(part)
        return part

    def read_many(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        return self._memory.read_many(keys)

    def missing(self, keys: Iterable[str]) -> Iterator[str]:
        return self._memory.missing(keys)


class _Refusing(_Batched):
    """Cannot read one key, whichever way."""

    refused = ""

    def read(self, key: str) -> Stored:
        if key == self.refused:
            raise StorageError(f"cannot read {key}")
        return super().read(key)

    def read_many(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        return ((key, self.read(key).data) for key in keys)


@pytest.fixture(params=[_Plain, _Batched, _Refusing])
def store(request: pytest.FixtureRequest) -> Store:
    return Store(request.param())


def _put(store: Store) -> list[str]:
    return [store.put(objects.Object("note", "text", b"%d" % number)) for number in range(_COUNT)]


def test_many_objects_are_read(store: Store) -> None:
    ids = _put(store)
    answers = dict(store.read_many(map(object_key, [*ids, "f" * 40, *ids[:3]])))
    assert answers == {object_key(id): store.read_stored(id) for id in ids}
    assert dict(store.read_many(())) == {}


def test_the_missing_objects_are_named(store: Store) -> None:
    ids = _put(store)[:50]
    assert sorted(store.missing([*ids, "f" * 40, "0" * 40])) == ["0" * 40, "f" * 40]


def test_one_key_that_cannot_be_read_costs_only_itself() -> None:
    storage: Any = _Refusing()
    store = Store(storage)
    ids = _put(store)
    storage.refused = object_key(ids[300])
    answers = dict(store.read_many(map(object_key, ids)))
    assert isinstance(answers.pop(storage.refused), PerfError)
    assert answers == {object_key(id): store.read_stored(id) for id in ids if id != ids[300]}
    findings = list(examine(store))
    assert [(finding.key, finding.level) for finding in findings] == [(storage.refused, "error")]


def test_damage_is_named_whichever_way_it_is_read(store: Store) -> None:
    ids = _put(store)
    key = object_key(ids[5])
    store.storage.replace(key, b"damaged", store.storage.read(key).tag)
    assert [(finding.key, finding.level) for finding in examine(store)] == [(key, "error")]
    with pytest.raises(FormatError):
        collect_garbage(store, older_than=1 << 62)


def test_a_collection_of_garbage_reads_the_beginning_of_large_objects() -> None:
    storage: Any = _Batched()
    store = Store(storage)
    store.put(objects.Object("table", "resources", random.Random(1).randbytes(300_000)))
    assert storage.given == 0
    report = collect_garbage(store, older_than=1 << 62)
    assert len(report.removed) == 1
    assert storage.given < 100
