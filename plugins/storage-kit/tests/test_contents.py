"""What is held is read once, what there is no room for is read again, and nothing is taken for something else."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest
from perfcore_storage_kit.contents import Contents
from perfcore_storage_kit.errors import UnreachableError
from perfcore_testing.memory import MemoryStorage

from perfcore.digests import sha1
from perfcore.errors import StorageError
from perfcore.hookspecs import Stored
from perfcore.store import objects
from perfcore.store.store import OBJECTS, Store, object_key


class Counting(MemoryStorage):
    """A storage that counts reads of whole keys and of ranges."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: Counter[str] = Counter()
        self.ranges: Counter[str] = Counter()

    def read(self, key: str) -> Stored:
        self.reads[key] += 1
        return super().read(key)

    def read_many(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        return ((key, self.read(key).data) for key in keys)

    def read_range(self, key: str, offset: int, length: int) -> bytes:
        self.ranges[key] += 1
        return super().read(key).data[offset : offset + length]


class Concurrent(Counting):
    """One that answers a range only while another one is asked for."""

    concurrent = True

    def __init__(self) -> None:
        super().__init__()
        self._two = threading.Barrier(2)

    def read_range(self, key: str, offset: int, length: int) -> bytes:
        self._two.wait(60)
        return super().read_range(key, offset, length)


def put(store: Store, size: int, number: int) -> str:
    """An object of about so many bytes that no compression makes shorter; gives its id."""
    content = b"".join(sha1(b"%d %d" % (number, part)).digest() for part in range(size // 20))
    return store.put(objects.Object("profile", "time", content))


@pytest.mark.parametrize("room", [0, 5_000, 1 << 20])
def test_every_key_is_given_whatever_there_is_room_for(room: int) -> None:
    storage = Counting()
    store = Store(storage)
    for number in range(40):
        put(store, 400, number)
    contents = Contents(store, room)
    rows = list(storage.list(OBJECTS))
    first = list(contents.beginnings(rows, lambda key, data: True))
    assert [key for key, _ in first] == [row.key for row in rows]
    assert dict(contents.read(row.key for row in rows)) == dict(first)
    twice = sum(count > 1 for count in storage.reads.values())
    assert twice == {0: 40, 5_000: twice, 1 << 20: 0}[room]
    assert (0 < twice < 40) == (room == 5_000)


def test_of_large_objects_the_beginning_is_read() -> None:
    storage = Counting()
    put(Store(storage), 200_000, 1)
    ((key, data),) = Contents(Store(storage)).beginnings(storage.list(OBJECTS), lambda key, data: True)
    assert objects.is_compressed(data)
    assert len(data) == 2
    assert (storage.ranges, storage.reads) == ({key: 1}, {})


def test_a_storage_that_can_be_asked_for_several_at_once_is() -> None:
    storage = Concurrent()
    for number in range(4):
        put(Store(storage), 200_000, number)
    assert len(list(Contents(Store(storage)).beginnings(storage.list(OBJECTS)))) == 4


def test_a_server_that_cannot_be_reached_is_not_asked_for_every_key() -> None:
    class Gone(Counting):
        is_back = ""

        def read(self, key: str) -> Stored:
            stored = super().read(key)
            if key == self.is_back:
                return stored
            raise UnreachableError("nobody is there")

    storage = Gone()
    store = Store(Counting())
    ids = [put(store, 400, number) for number in range(40)]
    for row in store.storage.list(OBJECTS):
        storage.create(row.key, store.storage.read(row.key).data)
    keys = [object_key(id) for id in ids]
    with pytest.raises(UnreachableError, match="nobody is there"):
        list(Contents(Store(storage)).read(keys))
    assert storage.reads.total() == 4  # together with others, and then three alone
    storage.is_back = keys[2]
    answers = Contents(Store(storage)).read(keys[:5])
    assert [isinstance(data, UnreachableError) for _, data in answers] == [True, True, False, True, True]


def test_a_key_that_cannot_be_read_ends_it() -> None:
    class Failing(Counting):
        def read_many(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
            raise StorageError("no")

        def read(self, key: str) -> Stored:
            raise StorageError(f"{key} cannot be read")

    storage = Failing()
    Store(storage).put(objects.Object("profile", "time", b"x"))
    with pytest.raises(StorageError, match="cannot be read"):
        list(Contents(Store(storage)).beginnings(storage.list(OBJECTS)))
