"""Stores: objects and indexes over a storage, also with many writers, damage, and garbage being collected."""

from __future__ import annotations

import random
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from perfcore_command_store.examination import examine
from perfcore_command_store.garbage import collect_garbage
from perfcore_testing import old_index
from perfcore_testing.memory import MemoryStorage

from perfcore.errors import ConflictError, FormatError, KeyMissingError, NotFoundError, StorageError
from perfcore.store import index as indexes
from perfcore.store import objects
from perfcore.store.objects import Object
from perfcore.store.store import Store, object_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from perfcore.hookspecs import Listed, Storage, Stored
    from perfcore.model import Entry, Profile

    Make = Callable[..., Profile]
    Register = Callable[..., Entry]

VERSION = "c0" * 20
NOTE = Object("note", "x", b"hello")


def test_put_is_idempotent(store: Store, storage: MemoryStorage) -> None:
    id = store.put(NOTE)
    assert store.put(NOTE) == id
    assert store.get(id) == NOTE
    assert [row.key for row in storage.list("")] == [object_key(id)] == [f"objects/{id[:2]}/{id[2:]}"]


def test_what_is_put_again_looks_new(store: Store, storage: MemoryStorage) -> None:
    store.put(NOTE)
    storage.age(10**15)
    (old,) = storage.list("objects/")
    store.put(NOTE)
    (new,) = storage.list("objects/")
    assert new.modified >= old.modified + 10**15
    assert new.tag != old.tag


@pytest.mark.parametrize("wrong", [b"", b"x", b"pidx", objects.encode(Object("note", "x", b"other"))[1]])
def test_what_is_put_again_is_mended(store: Store, storage: MemoryStorage, wrong: bytes) -> None:
    id = store.put(NOTE)
    storage.damage(object_key(id), wrong)
    with pytest.raises(FormatError):
        store.get(id)
    assert store.put(NOTE) == id
    assert store.get(id) == NOTE


def test_what_is_not_there_says_so(store: Store) -> None:
    with pytest.raises(NotFoundError, match="ab" * 20):
        store.get("ab" * 20)
    with pytest.raises(KeyMissingError):
        store.touch(["ab" * 20])


def test_an_object_of_another_kind_is_refused(store: Store, register: Register, make: Make) -> None:
    id = store.put(NOTE)
    with pytest.raises(FormatError, match="is a note, not a profile"):
        store.load(id)
    register(make())
    with pytest.raises(FormatError, match="is the index of a version"):
        store.get(VERSION)


@pytest.mark.parametrize(
    ("table", "type"),
    [
        ("resources", "resources"),
        ("My Table!", "my-table-"),
        ("..", "table"),
        ("", "table"),
        ("ü", "-"),
        ("x" * 90, "x" * 60),
    ],
)
def test_the_type_of_a_piece_is_the_name_of_its_table_as_a_word(store: Store, table: str, type: str) -> None:
    found = store.get(store.put_piece(table, b"piece"))
    assert (found.kind, found.content) == ("table", b"piece")
    assert found.type in (type, "table")


def test_a_registered_profile_is_found_and_loaded(store: Store, register: Register, make: Make) -> None:
    entry = register(make())
    assert store.read_index("git", VERSION).entries == (entry,)
    assert store.load(entry.profile) == make()
    assert store.read_index("git", "d0" * 20).entries == ()
    assert store.read_index("svn", "r5").entries == ()


def test_registering_twice_is_registering_once(store: Store, register: Register, make: Make) -> None:
    assert register(make()) == register(make())
    assert len(store.read_index("git", VERSION).entries) == 1


def test_registering_again_what_was_tagged_meanwhile_changes_nothing(
    store: Store, register: Register, make: Make
) -> None:
    entry = register(make())
    tagged = entry._replace(tags=("best",))
    store.update_index("git", VERSION, lambda index: indexes.add(indexes.bury(index, entry), tagged))
    assert register(make()) == tagged
    assert store.read_index("git", VERSION).live == (tagged,)


def test_two_profiles_of_one_name_in_one_second_are_two(store: Store, register: Register, make: Make) -> None:
    first, second = register(make(1)), register(make(2))
    assert first.name == second.name
    assert first.created == second.created
    assert set(store.read_index("git", VERSION).live) == {first, second}


def test_what_was_taken_off_can_be_registered_again(store: Store, register: Register, make: Make) -> None:
    for round in range(3):
        entry = register(make())
        assert entry.created == make().created + round
        store.update_index("git", VERSION, lambda index, entry=entry: indexes.bury(index, entry))  # type: ignore[misc]
        assert store.read_index("git", VERSION).live == ()
    assert len(store.read_index("git", VERSION).entries) == 3


def test_versions_that_are_no_hash_have_indexes_too(store: Store, register: Register, make: Make) -> None:
    entry = register(make(), version="release/1.0 ünstable\n")
    assert store.read_index("git", "release/1.0 ünstable\n").live == (entry,)
    ((key, index),) = store.indexes()
    assert isinstance(index, indexes.Index)
    assert (index.vcs, index.version) == ("git", "release/1.0 ünstable\n")
    assert key == object_key(indexes.key_name("git", index.version))


def test_an_index_under_the_key_of_another_version_is_refused(
    store: Store, storage: MemoryStorage, register: Register, make: Make
) -> None:
    register(make())
    storage.create(object_key("d0" * 20), storage.read(object_key(VERSION)).data)
    with pytest.raises(FormatError, match=f"is the index of {VERSION}"):
        store.read_index("git", "d0" * 20)


def test_the_next_profile_of_a_version_copies_its_index_once(store: Store, register: Register, make: Make) -> None:
    for number in range(400):
        register(make(number, rows=1, created=number), cmd=f"{number:04}" * 1_000)
    size = len(store.storage.read(object_key(VERSION)).data)
    tracemalloc.start()
    try:
        register(make(400, rows=1, created=400), cmd="0400" * 1_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * size


def test_an_index_of_version_1_is_read_and_goes_on_as_the_newest(store: Store, register: Register, make: Make) -> None:
    entry = register(make(1))
    old = old_index.encode(store.read_index("git", VERSION))
    key = object_key(VERSION)
    store.storage.replace(key, old, store.storage.read(key).tag)
    (read,) = store.read_index("git", VERSION).live
    assert (read.profile, read.name, read.type) == (entry.profile, entry.name, "")
    new = register(make(2))
    assert set(store.read_index("git", VERSION).live) == {read, new}
    assert store.storage.read(key).data[4] == indexes.VERSIONS[-1]


def test_the_many_profiles_of_a_version_say_once_what_they_have_in_common(
    store: Store, register: Register, make: Make
) -> None:
    """So that the thousandth is registered as quickly as the first."""
    for number in range(50):
        register(make(number, rows=1, created=number), cmd="sort" * 1_000)
    assert len(store.storage.read(object_key(VERSION)).data) < 4_000 + 50 * 100


@pytest.mark.parametrize("end", [0, 3, 4, 11, 40, -1])
def test_a_damaged_index_is_named_and_never_overwritten(
    store: Store, storage: MemoryStorage, register: Register, make: Make, end: int
) -> None:
    register(make())
    key = object_key(VERSION)
    wrong = storage.read(key).data[:end]
    storage.damage(key, wrong)
    with pytest.raises(FormatError, match=VERSION):
        store.read_index("git", VERSION)
    with pytest.raises(FormatError, match=VERSION):
        register(make(2))
    assert storage.read(key).data == wrong
    other = register(make(3), version="d0" * 20)
    assert store.read_index("git", "d0" * 20).live == (other,)
    found = dict(store.indexes())
    assert isinstance(found[object_key("d0" * 20)], indexes.Index)
    if end >= 4:
        assert isinstance(found[key], FormatError)


class _Huge(MemoryStorage):
    """Says that every key has 10 GB, and refuses to read any."""

    def list(self, prefix: str) -> Iterator[Listed]:
        return (row._replace(size=10 << 30) for row in super().list(prefix))

    def read(self, key: str) -> Stored:
        raise AssertionError(f"{key} was read")


def test_what_is_too_large_to_be_an_index_is_named_and_not_read() -> None:
    storage = _Huge()
    storage.create(object_key(VERSION), b"pidx")
    ((key, found),) = Store(storage).indexes()
    assert key == object_key(VERSION)
    assert isinstance(found, FormatError)


class _Unreadable(MemoryStorage):
    """Tells how objects begin, and then does not answer any more."""

    def read(self, key: str) -> Stored:
        raise StorageError(f"{key} cannot be read: the disk does not answer")

    def read_range(self, key: str, offset: int, length: int) -> bytes:
        return super().read(key).data[offset : offset + length]


def test_what_cannot_be_read_is_not_called_damaged() -> None:
    storage = _Unreadable()
    id = Store(storage).put(Object("note", "x", random.Random(1).randbytes(1 << 17)))
    ((key, error),) = Store(storage).indexes()
    assert key == object_key(id)
    assert (
        str(error) == f"{key} cannot be read: the disk does not answer; nothing refers to it: it may have been an index"
    )


def test_an_index_is_not_written_when_nothing_changes(store: Store, storage: MemoryStorage) -> None:
    store.update_index("git", VERSION, lambda index: index)
    assert list(storage.list("")) == []


def test_eight_writers_of_one_index_lose_nothing(store: Store, make: Make, register: Register) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: register(make(number, rows=3)), range(64)))
    assert set(store.read_index("git", VERSION).live) == set(found)
    assert len(set(found)) == 64


def test_eight_writers_over_files_lose_nothing(tmp_path: Path, make: Make) -> None:
    local = pytest.importorskip("perfcore_storage_local")
    stores = [Store(local.LocalStorage(tmp_path / "place")) for _ in range(8)]

    def work(number: int) -> Entry:
        store = stores[number % 8]
        data, tables = store.encode_profile(make(number))
        id, _ = objects.encode(Object("profile", "time", data))
        entry = _entry(id, tables)
        return store.register("git", VERSION, data, "time", entry)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(24)))
    assert set(stores[0].read_index("git", VERSION).live) == set(found)
    assert not list(examine(stores[0]))


def _entry(id: str, tables: tuple[str, ...]) -> Entry:
    from perfcore.model import Entry

    return Entry(profile=id, created=0, name="x", type="time", tables=tables)


class Interrupting(MemoryStorage):
    """Does something else just before one of its methods does its work for the n-th time."""

    def __init__(self, method: str, at: int, action: Callable[[Storage], Any]) -> None:
        super().__init__()
        self.method, self.left, self.action = method, at, action

    def _before(self, method: str) -> None:
        if method == self.method and self.left >= 0:
            self.left -= 1
            if self.left < 0:
                self.action(self)

    def read(self, key: str) -> Any:
        self._before("read")
        return super().read(key)

    def create(self, key: str, data: bytes) -> str:
        self._before("create")
        return super().create(key, data)

    def replace(self, key: str, data: bytes, tag: str | None) -> str:
        self._before("replace")
        return super().replace(key, data, tag)

    def touch(self, key: str) -> None:
        self._before("touch")
        super().touch(key)


def _collect(storage: Storage) -> None:
    """All garbage goes, without any grace."""
    collect_garbage(Store(storage), older_than=2**62)


@pytest.mark.parametrize("method", ["read", "create", "replace", "touch"])
@pytest.mark.parametrize("at", range(6))
def test_garbage_collected_at_any_step_takes_nothing_from_a_writer(make: Make, method: str, at: int) -> None:
    storage = Interrupting(method, at, _collect)
    store = Store(storage)
    data, tables = store.encode_profile(make())
    id, _ = objects.encode(Object("profile", "time", data))
    try:
        entry = store.register("git", VERSION, data, "time", _entry(id, tables))
    except KeyMissingError:  # a piece went before it was registered, and the caller is told
        with pytest.raises(NotFoundError):
            store.get(tables[0])
        return
    assert store.read_index("git", VERSION).live == (entry,)
    loaded = store.load(entry.profile)
    assert loaded.tables["resources"] == make().tables["resources"]


@pytest.mark.parametrize("at", range(3))
def test_another_writer_at_any_step_loses_nothing(make: Make, at: int) -> None:
    def other(storage: Storage) -> None:
        store = Store(storage)
        data, tables = store.encode_profile(make(99))
        id, _ = objects.encode(Object("profile", "time", data))
        store.register("git", VERSION, data, "time", _entry(id, tables))

    for method in ("read", "create", "replace", "touch"):
        store = Store(Interrupting(method, at, other))
        data, tables = store.encode_profile(make(1))
        id, _ = objects.encode(Object("profile", "time", data))
        store.register("git", VERSION, data, "time", _entry(id, tables))
        if isinstance(store.storage, Interrupting) and store.storage.left < 0:
            assert len(store.read_index("git", VERSION).live) == 2
            assert not list(examine(store))


class Contended(MemoryStorage):
    """Somebody else is always faster."""

    def replace(self, key: str, data: bytes, tag: str | None) -> str:
        raise ConflictError(f"{key} was changed")


def test_an_index_that_never_stands_still_is_an_error_in_the_end() -> None:
    with pytest.raises(StorageError, match="keeps changing"):
        Store(Contended()).update_index("git", VERSION, lambda index: index._replace(vcs="x"))


def test_writers_and_collectors_of_garbage_together(make: Make) -> None:
    """Profiles that are registered for good keep all their pieces, whatever is collected meanwhile."""
    storage = MemoryStorage()
    store = Store(storage)
    stop = threading.Event()

    def collect() -> int:
        rounds = 0
        while not stop.is_set():
            _collect(storage)
            rounds += 1
        return rounds

    def write(number: int) -> Entry:
        while True:
            data, tables = store.encode_profile(make(number % 5))
            id, _ = objects.encode(Object("profile", "time", data))
            try:
                return store.register("git", VERSION, data, "time", _entry(id, tables)._replace(created=number))
            except KeyMissingError:
                continue

    with ThreadPoolExecutor(5) as pool:
        collecting = pool.submit(collect)
        try:
            found = list(pool.map(write, range(40)))
        finally:
            stop.set()
        assert collecting.result() > 0
    assert set(store.read_index("git", VERSION).live) == set(found)
    assert not list(examine(store))
