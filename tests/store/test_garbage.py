"""Garbage, and what fsck says."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from perfcore_command_store.examination import examine
from perfcore_command_store.garbage import collect_garbage
from perfcore_testing.memory import MemoryStorage

from perfcore.errors import FormatError
from perfcore.store import index as indexes
from perfcore.store import notes, pending
from perfcore.store.objects import Object
from perfcore.store.objects import encode as encode_object
from perfcore.store.store import Store, object_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfcore.hookspecs import Storage, Stored
    from perfcore.model import Entry, Profile

    Make = Callable[..., Profile]
    Register = Callable[..., Entry]

VERSION = "c0" * 20
HOUR = 3600 * 10**9
ALL = 2**62


def keys(storage: MemoryStorage) -> set[str]:
    return {row.key for row in storage.list("objects/")}


def findings(store: Store) -> dict[str, str]:
    return {found.key: found.text for found in examine(store)}


def test_what_is_reachable_stays(store: Store, storage: MemoryStorage, make: Make, register: Register) -> None:
    register(make(1))
    register(make(2), version="release/1.0")
    pending.save(store, make(3))
    notes.add(store, "subject", "check", b"one")
    before = keys(storage)
    swept = collect_garbage(store, older_than=ALL)
    assert (swept.removed, swept.bytes, swept.kept) == ((), 0, len(before))
    assert keys(storage) == before
    assert findings(store) == {}


def test_an_object_in_the_place_of_an_index_stops_the_collection(
    store: Store, storage: MemoryStorage, make: Make, register: Register
) -> None:
    """Whatever the index listed would be garbage."""
    entry, other = register(make(1)), register(make(2), version="release/1.0")
    key = object_key(indexes.key_name("git", VERSION))
    whole = storage.read(object_key(other.profile)).data
    storage.replace(key, whole, storage.read(key).tag)
    before = keys(storage)
    for dry_run in (True, False):
        with pytest.raises(FormatError, match=f"{key} is damaged, and might have been an index"):
            collect_garbage(store, older_than=ALL, dry_run=dry_run)
    assert keys(storage) == before
    assert object_key(entry.profile) in before


def test_what_nothing_refers_to_goes(store: Store, storage: MemoryStorage, make: Make, register: Register) -> None:
    kept = register(make(1))
    gone = register(make(2))
    stray = object_key(store.put(Object("note", "x", b"stray")))
    sizes = {row.key: row.size for row in storage.list("objects/")}
    store.update_index("git", VERSION, lambda index: indexes.bury(index, gone))
    swept = collect_garbage(store, older_than=ALL)
    expected = {object_key(id) for id in (gone.profile, *gone.tables)} | {stray}
    assert set(swept.removed) == expected
    assert swept.bytes == sum(sizes[key] for key in expected)
    assert expected.isdisjoint(keys(storage))
    assert store.load(kept.profile) == make(1)
    assert findings(store) == {}


def test_a_table_that_two_profiles_share_stays_with_either(
    store: Store, make: Make, register: Register, storage: MemoryStorage
) -> None:
    first, second = register(make()), register(make(created=5))
    assert first.tables == second.tables
    store.update_index("git", VERSION, lambda index: indexes.bury(index, first))
    assert collect_garbage(store, older_than=ALL).removed == (object_key(first.profile),)
    assert store.load(second.profile) == make(created=5)


def test_grace_keeps_what_is_young(store: Store, storage: MemoryStorage) -> None:
    store.put(Object("note", "x", b"old"))
    storage.age(2 * HOUR)
    young = store.put(Object("note", "x", b"young"))
    swept = collect_garbage(store, older_than=time.time_ns() - HOUR)
    assert len(swept.removed) == 1
    assert keys(storage) == {object_key(young)}


def test_what_is_touched_is_young(store: Store, storage: MemoryStorage) -> None:
    id = store.put(Object("note", "x", b"old"))
    storage.age(2 * HOUR)
    store.touch([id])
    assert collect_garbage(store, older_than=time.time_ns() - HOUR).removed == ()


def test_a_dry_run_says_the_same_and_removes_nothing(store: Store, storage: MemoryStorage) -> None:
    store.put(Object("note", "x", b"stray"))
    before = keys(storage)
    dry = collect_garbage(store, older_than=ALL, dry_run=True)
    assert keys(storage) == before
    assert collect_garbage(store, older_than=ALL) == dry
    assert keys(storage) == set()


def test_the_sources_of_a_pending_profile_stay(
    store: Store, storage: MemoryStorage, make: Make, register: Register
) -> None:
    source = register(make(1))
    store.update_index("git", VERSION, lambda index: indexes.bury(index, source))
    pending.save(store, make(2, sources=(source.profile, "ab" * 20)))
    collect_garbage(store, older_than=ALL)
    assert store.load(source.profile) == make(1)


class Touching(MemoryStorage):
    """Somebody takes over what is to be deleted, just before it is."""

    def delete(self, key: str, tag: str) -> None:
        self.touch(key)
        super().delete(key, tag)


class Gone(MemoryStorage):
    """Somebody else collects too, and is faster."""

    def delete(self, key: str, tag: str) -> None:
        super().delete(key, tag)
        super().delete(key, tag)


def test_a_concurrent_writer_wins() -> None:
    store = Store(Touching())
    id = store.put(Object("note", "x", b"stray"))
    assert collect_garbage(store, older_than=ALL).removed == ()
    assert store.get(id).content == b"stray"


def test_a_concurrent_collector_is_no_failure() -> None:
    store = Store(Gone())
    store.put(Object("note", "x", b"stray"))
    assert collect_garbage(store, older_than=ALL).removed == ()
    assert list(store.storage.list("")) == []


class Registering(MemoryStorage):
    """A profile becomes reachable between the listing of keys and the reading of indexes."""

    action: Callable[[Storage], object] | None = None

    def read(self, key: str) -> Stored:
        action, self.action = self.action, None
        if action:
            action(self)
        return super().read(key)


def test_what_becomes_reachable_meanwhile_stays(make: Make) -> None:
    storage = Registering()
    store = Store(storage)
    store.encode_profile(make())
    store.put(Object("note", "x", b"so that something is read"))
    storage.action = lambda storage: pending.save(Store(storage), make())
    collect_garbage(store, older_than=ALL)
    (found,) = pending.walk(store)
    assert found.profile is not None
    assert found.profile.tables["resources"] == make().tables["resources"]


@pytest.mark.parametrize("end", [0, 1, 3, 4, 20, -1])
def test_a_damaged_index_stops_everything(
    store: Store, storage: MemoryStorage, make: Make, register: Register, end: int
) -> None:
    register(make())
    key = object_key(VERSION)
    storage.damage(key, storage.read(key).data[:end])
    before = keys(storage)
    with pytest.raises(FormatError, match=VERSION[2:]):
        collect_garbage(store, older_than=ALL)
    assert keys(storage) == before
    assert list(findings(store)) == [key]


def test_an_index_that_no_longer_looks_like_one_stops_everything(
    store: Store, storage: MemoryStorage, make: Make, register: Register
) -> None:
    """Whatever bit of its first bytes was flipped, and when all of it is zero."""
    register(make())
    key = object_key(VERSION)
    data = storage.read(key).data
    before = keys(storage)
    for bit in range(32):
        wrong = bytearray(data)
        wrong[bit // 8] ^= 1 << bit % 8
        storage.damage(key, bytes(wrong))
        with pytest.raises(FormatError):
            collect_garbage(store, older_than=ALL)
    storage.damage(key, bytes(len(data)))
    with pytest.raises(FormatError):
        collect_garbage(store, older_than=ALL)
    assert keys(storage) == before


def test_a_damaged_pending_profile_stops_everything(store: Store, storage: MemoryStorage) -> None:
    store.put(Object("note", "x", b"stray"))
    storage.create("jobs/broken.perf", b"{")
    with pytest.raises(FormatError, match=r"broken\.perf") as caught:
        collect_garbage(store, older_than=ALL)
    assert "jobs/broken.perf" in (caught.value.hint or "")
    assert len(keys(storage)) == 1


def test_a_damaged_list_of_notes_stops_everything(store: Store, storage: MemoryStorage) -> None:
    id = notes.add(store, "subject", "check", b"one")
    key = notes.key("subject")
    storage.damage(key, storage.read(key).data[:-1])
    with pytest.raises(FormatError, match="list of notes"):
        collect_garbage(store, older_than=ALL)
    assert store.get(id).content == b"one"


def test_fsck_names_what_is_damaged(store: Store, storage: MemoryStorage, make: Make, register: Register) -> None:
    entry = register(make())
    stray = object_key(store.put(Object("note", "x", b"stray")))
    key = object_key(entry.tables[0])
    for damaged in (key, stray):
        data = bytearray(storage.read(damaged).data)
        data[len(data) // 2] ^= 4
        storage.damage(damaged, bytes(data))
    found = findings(store)
    assert set(found) == {key, stray, object_key(VERSION), object_key(entry.profile)}
    assert "damaged" in found[key]
    assert entry.tables[0] in found[object_key(VERSION)]
    assert all(each.level == "error" for each in examine(store))


def test_fsck_names_what_is_missing(store: Store, storage: MemoryStorage, make: Make, register: Register) -> None:
    entry = register(make())
    waiting = pending.save(store, make())
    for id in (entry.profile, *entry.tables):
        storage.delete(object_key(id), storage.read(object_key(id)).tag)
    found = list(examine(store))
    texts = {(each.key, each.text) for each in found}
    assert texts == {
        (object_key(VERSION), f"profile {entry.profile} is missing or damaged"),
        (object_key(VERSION), f"table {entry.tables[0]} is missing or damaged"),
        (waiting.key, f"table {entry.tables[0]} is missing or damaged"),
    }


def test_fsck_looks_into_the_tables_of_pending_profiles(store: Store, storage: MemoryStorage) -> None:
    table = '{"rows":2,"columns":[{"name":"x","dtype":"i64","values":[1]}]}'
    fields = '"header":{"type":"time"},"created":0,"collector_info":{"name":"time"}'
    storage.create("jobs/short.perf", f'{{"format":1,{fields},"tables":{{"t":{table}}}}}'.encode())
    (found,) = examine(store)
    assert (found.key, found.level) == ("jobs/short.perf", "error")
    assert "1 rows, not 2" in found.text


def test_garbage_that_a_killed_collection_left_half_removed_is_no_damage(
    store: Store, storage: MemoryStorage, make: Make, register: Register
) -> None:
    entry = register(make())
    store.update_index("git", VERSION, lambda index: indexes.bury(index, entry))
    table = object_key(entry.tables[0])
    storage.delete(table, storage.read(table).tag)
    unreferred, found = examine(store)
    assert (unreferred.level, entry.profile[:10] in unreferred.text) == ("note", True)
    assert (found.key, found.level) == (object_key(entry.profile), "note")
    assert entry.tables[0] in found.text
    collect_garbage(store, older_than=ALL)
    assert list(examine(store)) == []


def test_fsck_names_what_is_of_another_kind(store: Store, make: Make, register: Register) -> None:
    note = store.put(Object("note", "x", b"no profile"))
    entry = register(make())._replace(profile=note)
    store.update_index("git", VERSION, lambda index: indexes.add(index, entry))
    assert findings(store) == {object_key(VERSION): f"{note} should be a profile and is a note"}


@pytest.mark.parametrize(
    ("item", "text"),
    [(Object("profile", "time", b"{}"), "is not a profile"), (Object("table", "x", b"xx"), "cut short")],
)
def test_fsck_looks_into_objects(store: Store, item: Object, text: str) -> None:
    key = object_key(store.put(item))
    assert text in findings(store)[key]


def test_fsck_names_an_index_in_another_place(
    store: Store, storage: MemoryStorage, make: Make, register: Register
) -> None:
    register(make())
    wrong = object_key("d0" * 20)
    storage.create(wrong, storage.read(object_key(VERSION)).data)
    assert list(findings(store)) == [wrong]


def test_fsck_names_an_object_under_another_id(store: Store, storage: MemoryStorage) -> None:
    wrong = object_key("d0" * 20)
    storage.create(wrong, encode_object(Object("note", "x", b"hello"))[1])
    assert list(findings(store)) == [wrong]


@pytest.mark.parametrize("key", ["objects/ab", "objects/ab/cd", "objects/xy/" + "z" * 38, "objects/ab/cd/ef"])
def test_fsck_names_files_that_are_no_objects(store: Store, storage: MemoryStorage, key: str) -> None:
    storage.create(key, b"what is this")
    assert list(findings(store)) == [key]
