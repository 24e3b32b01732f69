"""The engine over storages in memory: whatever the order, the end or the damage, nothing is lost or doubled."""

from __future__ import annotations

import hashlib
import random
import struct
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs
import pytest
from perfcore_command_remote.holdings import Holdings
from perfcore_command_remote.memory import Memory
from perfcore_command_remote.retention import EVERYTHING
from perfcore_command_remote.set_back import Pushed
from perfcore_command_remote.transfer import Transferred, transfer
from perfcore_command_store.examination import examine
from perfcore_command_store.garbage import collect_garbage
from perfcore_storage_kit import sets
from perfcore_testing import old_index, profiles
from perfcore_testing.memory import MemoryStorage

from perfcore.errors import StorageError
from perfcore.hookspecs import Stored
from perfcore.model import Entry
from perfcore.model.listener import SilentListener
from perfcore.model.record import replace
from perfcore.store import index as indexes
from perfcore.store import notes, objects
from perfcore.store.index import Index
from perfcore.store.read_model import ReadModel
from perfcore.store.store import Store, object_key

VCS = "git"


def version(number: int) -> str:
    return f"{number:040x}"


def register(store: Store, number: int, wall: int, *, tags: tuple[str, ...] = ()) -> Entry:
    """A profile of a version; the same numbers give the same profile."""
    made = replace(profiles.timed(3, wall), origin=version(number), created=wall)
    content, tables = store.encode_profile(made)
    entry = Entry(
        profile="0" * 40, created=wall, name=f"p{wall}", type="time", cmd=f"./{wall}", tables=tables, tags=tags
    )
    id = objects.identify(objects.Object("profile", "time", content))
    return store.register(VCS, version(number), content, "time", entry._replace(profile=id))


def entries(store: Store, count: int = 20) -> dict[str, set[Entry]]:
    """What is registered, by version."""
    every = {version(n): set(store.read_index(VCS, version(n)).live) for n in range(count)}
    return {id: registered for id, registered in every.items() if registered}


def bring(source: Store, target: Store, path: Path | None = None, **options: object) -> Transferred:
    memory = Memory.read(ReadModel(path), "x") if path is not None else Memory(ReadModel(None))
    options = {"declared": ["receipts"], **options}
    return transfer(source, target, memory, SilentListener(), **options)  # type: ignore[arg-type]


class CreatingMany(MemoryStorage):
    """A storage that does not write together, as a folder."""

    hidden = frozenset(("write_many",))

    def __getattribute__(self, name: str) -> Any:
        if name in type(self).hidden:
            raise AttributeError(name)
        return super().__getattribute__(name)


class OneByOne(CreatingMany):
    """One that has a method for single keys alone."""

    hidden = frozenset(("write_many", "create_many"))


@pytest.fixture(params=[MemoryStorage, CreatingMany, OneByOne])
def storage(request: pytest.FixtureRequest) -> type[MemoryStorage]:
    made: type[MemoryStorage] = request.param
    return made


@pytest.fixture
def here(storage: type[MemoryStorage]) -> Store:
    return Store(storage())


@pytest.fixture
def there(storage: type[MemoryStorage]) -> Store:
    return Store(storage())


def test_what_one_side_has_comes_to_the_other(here: Store, there: Store) -> None:
    for number in range(5):
        register(here, number, 100 + number, tags=("kept",))
    notes.add(here, "check", "check", b"{}")
    done = bring(here, there)
    assert [len(done.profiles), done.notes, done.problems] == [5, 1, ()]
    assert entries(there) == entries(here)
    assert notes.read(there, "check") == notes.read(here, "check")
    assert list(examine(there)) == []
    assert bring(here, there) == Transferred()


def test_both_sides_are_joined_in_any_order(here: Store, there: Store) -> None:
    for number in range(6):
        register(here, number, 100 + number)
        register(there, number, 200 + number)
    removed = register(here, 7, 7)
    bring(here, there)
    here.update_index(VCS, version(7), lambda index: indexes.bury(index, removed))
    assert bring(here, there).removed == 1
    bring(there, here)
    assert entries(here) == entries(there)
    assert version(7) not in entries(here)  # what was removed stays removed
    assert {len(registered) for registered in entries(here).values()} == {2}


def test_a_profile_with_another_tag_is_not_one_more(here: Store, there: Store) -> None:
    entry = register(here, 1, 100)
    bring(here, there)
    tagged = entry._replace(tags=("release",))
    here.update_index(VCS, version(1), lambda index: indexes.add(indexes.bury(index, entry), tagged))
    done = bring(here, there)
    assert (done.profiles, done.removed, done.objects) == ((), 0, 0)
    assert entries(there) == {version(1): {tagged}}


def retag(store: Store, entry: Entry, tags: tuple[str, ...]) -> Entry:
    """The entry with other tags, as `perf tag` gives them."""

    def swap(index: Index) -> Index:
        current = indexes.current(index, entry)
        assert current is not None
        tagged[:] = [indexes.unburied(current._replace(tags=tags), index)]
        return index if current.tags == tags else indexes.add(indexes.bury(index, current), tagged[0])

    tagged: list[Entry] = []
    store.update_index(VCS, entry.cmd.removeprefix("./").zfill(40), swap)
    return tagged[0]


def everywhere(*stores: Store) -> list[list[tuple[str, ...]]]:
    """Of each store the tags of the profiles that are listed."""
    return [[e.tags for _, listed in sorted(entries(store).items()) for e in sorted(listed)] for store in stores]


def test_a_profile_that_two_clones_tagged_is_listed_once_with_both_tags(
    here: Store, there: Store, storage: type[MemoryStorage]
) -> None:
    other = Store(storage())
    entry = register(here, 1, 1)
    bring(here, there)
    bring(there, other)
    retag(here, entry, ("mine",))
    retag(other, entry, ("theirs",))
    bring(here, there)
    done = bring(other, there)
    assert (done.profiles, done.tagged, done.removed, done.objects) == ((), 1, 0, 0)
    for store in (here, other):
        bring(there, store)
    assert everywhere(here, there, other) == [[("mine", "theirs")]] * 3
    assert [bring(a, b) for a, b in ((here, there), (there, here), (other, there), (there, other))] == 4 * [
        Transferred()
    ]
    retag(here, entry, ("mine",))  # a tag that is taken off stays off
    bring(here, there)
    bring(there, other)
    bring(other, there)
    assert everywhere(here, there, other) == [[("mine",)]] * 3


def test_a_store_that_lists_a_profile_twice_is_set_right(here: Store, there: Store) -> None:
    entry = register(here, 1, 1)
    second = entry._replace(tags=("second",))
    here.update_index(VCS, version(1), lambda index: indexes.add(index, second))
    bring(here, there)
    assert everywhere(there) == [[("second",)]]
    bring(there, here)
    assert everywhere(here) == [[("second",)]]


@pytest.mark.parametrize("seed", range(20))
def test_tags_of_clones_converge_whatever_the_order(seed: int, storage: type[MemoryStorage]) -> None:
    random_numbers = random.Random(seed)
    clones, remote = [Store(storage()) for _ in range(3)], Store(storage())
    known = [register(clones[0], number, number) for number in range(1, 4)]
    for clone in clones:
        bring(clones[0], remote)
        bring(remote, clone)
    for _ in range(40):
        clone, entry = random_numbers.choice(clones), random_numbers.choice(known)
        act = random_numbers.randrange(4)
        if act < 2:
            tags = random_numbers.sample(("a", "b", "c", "d"), random_numbers.randrange(4))
            retag(clone, entry, tuple(tags))
        else:
            bring(*((clone, remote) if act == 2 else (remote, clone)))
    for _ in range(2):
        for clone in clones:
            bring(clone, remote)
            bring(remote, clone)
    joined, *others = everywhere(remote, *clones)
    assert len(joined) == len(known)
    assert others == [joined] * 3
    assert [bring(clone, remote) for clone in clones] == 3 * [Transferred()]


def test_only_some_versions_are_brought(here: Store, there: Store) -> None:
    for number in range(4):
        register(here, number, 100 + number)
    bring(here, there, versions={version(1), version(2)})
    assert entries(there).keys() == {version(1), version(2)}
    bring(here, there)
    assert entries(there) == entries(here)


def test_a_dry_run_says_the_same_and_writes_nothing(here: Store, there: Store) -> None:
    register(here, 1, 100)
    dry = bring(here, there, dry_run=True)
    assert list(there.storage.list("")) == []
    assert attrs.evolve(dry, dry_run=False) == bring(here, there)


@pytest.mark.parametrize("break_it", ["damaged", "missing", "swapped"])
def test_what_is_damaged_is_left_out_and_named_and_the_rest_comes(here: Store, there: Store, break_it: str) -> None:
    """As a remote that lies, or lost something."""
    bad, good = register(here, 1, 100), register(here, 1, 200)
    storage = here.storage
    assert isinstance(storage, MemoryStorage)
    key = object_key(bad.profile)
    if break_it == "missing":
        storage.delete(key, storage.read(key).tag)
    else:
        other = storage.read(object_key(good.profile)).data
        storage.damage(key, other if break_it == "swapped" else other[: len(other) // 2])
    done = bring(here, there)
    assert any(bad.profile in problem for problem in done.problems)
    assert entries(there) == {version(1): {good}}
    assert list(examine(there)) == []


@pytest.mark.parametrize("content", [b"", b"x", b"\0" * 100, b"hello\n"])
def test_a_key_that_may_have_been_an_index_is_named(here: Store, there: Store, content: bytes) -> None:
    good = register(here, 1, 100)
    register(here, 2, 200)
    assert isinstance(here.storage, MemoryStorage)
    here.storage.damage(object_key(version(2)), content)
    for dry_run in (True, False, False):
        done = bring(here, there, dry_run=dry_run)
        assert [object_key(version(2)) in problem for problem in done.problems] == [True]
    assert entries(there) == {version(1): {good}}


@pytest.mark.parametrize("size", [100, 200_000], ids=["small", "large"])
@pytest.mark.parametrize("pushed", [False, True], ids=["first", "again"])
def test_an_object_in_the_place_of_an_index_is_named(
    here: Store, there: Store, tmp_path: Path, size: int, pushed: bool
) -> None:
    good, hidden = register(here, 1, 100), register(here, 2, 200)
    other = objects.Object("table", "x", random.Random(size).randbytes(size))
    here.put(other)  # nothing refers to it, and it is whole: no problem
    memory = tmp_path / "memory"
    if pushed:
        assert bring(here, there, memory).problems == ()
    key = object_key(version(2))
    here.storage.replace(key, objects.encode(other)[1], here.storage.read(key).tag)
    for dry_run in (True, False, False):
        done = bring(here, there, memory, dry_run=dry_run)
        assert [version(2) in problem for problem in done.problems] == [True]
    brought = {version(2): {hidden}} if pushed else {}
    assert entries(there) == {version(1): {good}} | brought


def test_a_list_of_notes_in_the_place_of_an_index_is_named_and_replaced(here: Store, there: Store) -> None:
    lost = register(here, 1, 100)
    notes.add(here, "check", "check", b"{}")
    assert bring(here, there).problems == ()
    key = object_key(version(1))
    here.storage.replace(key, here.storage.read(notes.key("check")).data, here.storage.read(key).tag)
    here.is_version = there.is_version = version(1).__eq__
    (problem,) = bring(here, there).problems
    assert version(1)[2:] in problem
    assert entries(there) == {version(1): {lost}}
    assert bring(there, here, verify=True).problems == ()
    assert entries(here) == {version(1): {lost}}


def test_an_index_under_the_key_of_another_version_is_refused(here: Store, there: Store) -> None:
    register(here, 1, 100)
    data = here.storage.read(object_key(version(1))).data
    here.storage.create(object_key(version(2)), data)
    done = bring(here, there)
    assert len(done.problems) == 1
    assert entries(there).keys() == {version(1)}


def test_what_was_brought_before_is_not_read_again(here: Store, there: Store, tmp_path: Path) -> None:
    for number in range(10):
        register(here, number, 100 + number)
    memory = tmp_path / "memory"
    bring(here, there, memory)
    assert len(Memory.read(ReadModel(memory), "x").joined) == 10
    register(here, 3, 300)
    register(there, 4, 400)
    read: list[str] = []
    original = here.storage.read
    here.storage.read = lambda key: read.append(key) or original(key)  # type: ignore[method-assign, func-returns-value]
    assert len(bring(here, there, memory).profiles) == 1
    assert {key for key in read if key == object_key(version(5))} == set()
    assert version(4) in entries(there)


@pytest.mark.parametrize("damage", [b"", b"\x93\x01", b"\xc1" * 100])
def test_a_memory_that_is_damaged_changes_no_answer(here: Store, there: Store, tmp_path: Path, damage: bytes) -> None:
    register(here, 1, 100)
    memory = tmp_path / "memory"
    bring(here, there, memory)
    memory.write_bytes(damage)
    assert bring(here, there, memory) == Transferred()


def test_a_profile_that_is_registered_during_a_pull_is_not_missed_there(
    here: Store, there: Store, tmp_path: Path
) -> None:
    """Another machine changes the same index meanwhile. What was pushed and went is missed nevertheless."""
    kept, model = register(here, 1, 10), ReadModel(tmp_path / "memory")
    transfer(here, there, Memory.read(model, "x"), SilentListener())
    register(there, 1, 20)
    pushed, listed, remote = Pushed(Memory.read(model, "x"), EVERYTHING), Holdings.of(here), Holdings.of(there)
    assert pushed.lacking(remote, listed) == []
    register(here, 1, 30)
    assert pushed.lacking(remote, listed) == []

    here.update_index(VCS, version(1), lambda index: index._replace(entries=(kept,)))
    transfer(here, there, Memory.read(model, "x"), SilentListener())
    there.update_index(VCS, version(1), lambda index: index._replace(entries=index.entries[1:]))
    (lost,) = Pushed(Memory.read(model, "x"), EVERYTHING).lacking(Holdings.of(there), Holdings.of(here))
    assert "lacks 1 profile that was pushed to it" in lost


def test_a_target_that_was_set_back_gets_everything_again(here: Store, there: Store, tmp_path: Path) -> None:
    """As from a backup: the index is there, and lacks what was brought since."""
    register(here, 1, 100)
    bring(here, there)
    older = Store(MemoryStorage())
    bring(there, older)
    register(here, 1, 200)
    memory = tmp_path / "memory"
    bring(here, there, memory)
    bring(here, older, memory)
    assert entries(older) == entries(here)


class Dying(OneByOne):
    """Refuses every write from the one with this number on, as a process that is killed there would."""

    left = 10**9

    def create(self, key: str, data: bytes) -> str:
        self._write()
        return super().create(key, data)

    def replace(self, key: str, data: bytes, tag: str | None) -> str:
        self._write()
        return super().replace(key, data, tag)

    def _write(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise StorageError("killed")


class DyingOfMany(Dying):
    """The same of a storage that creates many."""

    hidden = CreatingMany.hidden


class DyingTogether(MemoryStorage):
    """The same of a storage that writes together."""

    left = 10**9

    def write_many(self, writes: Iterable[tuple[str, bytes, str | None]]) -> None:
        self.left -= 1
        if self.left < 0:
            raise StorageError("killed")
        super().write_many(writes)


@pytest.mark.parametrize(("dying", "least"), [(Dying, 9), (DyingOfMany, 9), (DyingTogether, 2)])
def test_a_transfer_that_is_killed_at_any_write_goes_on_and_nothing_is_lost(
    here: Store, dying: type[Dying | DyingTogether], least: int
) -> None:
    for number in range(4):
        register(here, number, 100 + number)
        register(here, number, 200 + number)
    notes.add(here, "check", "check", b"{}")
    instants = 0
    for left in range(100):
        storage = dying()
        there = Store(storage)
        storage.left = left
        try:
            bring(here, there)
        except StorageError:
            instants += 1
            assert [finding for finding in examine(there) if finding.level == "error"] == []
            storage.left = 10**9
            bring(here, there)
        assert entries(there) == entries(here)
        assert list(examine(there)) == []
        if left > instants:
            break
    assert instants >= least


def test_many_writers_to_one_place_lose_nothing(there: Store) -> None:
    """Four clones push and pull at once, in an order that the seed decides, with versions that all of them have."""

    def work(clone: Store, seed: int) -> None:
        dice = random.Random(seed)
        for number in range(10):
            register(clone, dice.randrange(5), 1000 * seed + number)
            if dice.random() < 0.5:
                bring(clone, there)
            else:
                bring(there, clone)
        bring(clone, there)

    clones = [Store(MemoryStorage()) for _ in range(4)]
    threads = [threading.Thread(target=work, args=(clone, seed)) for seed, clone in enumerate(clones)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for clone in clones:
        bring(there, clone)
        assert entries(clone) == entries(there)
    assert sum(map(len, entries(there).values())) == 40
    assert list(examine(there)) == []


class Raced(MemoryStorage):
    """Somebody else enters a profile of the same version just before an index comes, once."""

    raced = False

    def write_many(self, writes: Iterable[tuple[str, bytes, str | None]]) -> None:
        writes = list(writes)
        if not self.raced and any(indexes.is_index(data) for _, data, _ in writes):
            self.raced = True
            register(Store(self), 1, 200)
        super().write_many(writes)


def test_what_was_written_before_somebody_was_faster_counts(here: Store) -> None:
    there, undisturbed = Store(Raced()), Store(MemoryStorage())
    entry = register(here, 1, 100)
    once = bring(here, undisturbed)
    done = bring(here, there)
    assert len(entries(there)[version(1)]) == 2
    assert done.profiles == ((version(1), entry),)
    assert (done.objects, done.bytes) == (once.objects, once.bytes) != (0, 0)


def test_garbage_that_is_referred_to_again_is_no_garbage(here: Store, there: Store) -> None:
    """Its objects are there already, and nothing referred to them."""
    entry = register(here, 1, 100)
    bring(here, there)
    there.update_index(VCS, version(1), lambda index: indexes.bury(index, entry))
    again = entry._replace(name="again")
    here.update_index(VCS, version(2), lambda index: indexes.add(index, again))
    assert bring(here, there).objects == 0
    collect_garbage(there, older_than=2**62)
    assert entries(there)[version(2)] == {again}
    assert [finding for finding in examine(there) if finding.level == "error"] == []


class Collecting(OneByOne):
    """Collects garbage just before an index is written, once: as another command may."""

    collected = False

    def replace(self, key: str, data: bytes, tag: str | None) -> str:
        if indexes.is_index(data) and not self.collected:
            self.collected = True
            collect_garbage(Store(self), older_than=2**62)
        return super().replace(key, data, tag)


def test_what_a_collection_of_garbage_takes_meanwhile_is_brought_again(here: Store) -> None:
    there = Store(Collecting())
    entry = register(here, 1, 100)
    bring(here, there)
    assert entries(there) == {version(1): {entry}}
    assert [finding for finding in examine(there) if finding.level == "error"] == []


def test_what_the_other_side_lost_is_brought_again(here: Store, there: Store) -> None:
    entry = register(here, 1, 100)
    bring(here, there)
    key = object_key(entry.profile)
    there.storage.delete(key, there.storage.read(key).tag)
    done = bring(here, there)
    assert (done.objects, done.tagged, done.profiles) == (1, 0, ())
    assert there.load(entry.profile) == here.load(entry.profile)


@pytest.mark.parametrize("break_it", ["missing", "junk", "swapped"])
def test_what_the_other_side_lost_or_holds_damaged_is_mended_where_it_is_verified(
    here: Store, there: Store, break_it: str
) -> None:
    """A profile, a note and an object of a record, each with the bytes of another."""
    entry = register(here, 1, 100)
    notes.add(here, "check", "check", b"{}")
    id = here.put(objects.Object("fleet", "receipt", b"x" * 9))
    here.storage.create("receipts/x/" + "0" * 40, sets.encode(sets.Record(1, "0" * 40, (id,), b"")))
    bring(here, there)
    storage = there.storage
    assert isinstance(storage, MemoryStorage)
    note = objects.identify(notes.read(there, "check")[0])
    keys = [object_key(each) for each in (entry.profile, note, id)]
    other = storage.read(keys[0]).data
    for key in keys:
        if break_it == "missing":
            storage.delete(key, storage.read(key).tag)
        else:
            storage.damage(key, b"junk\n" if break_it == "junk" else other[:-1])
    assert len([finding for finding in examine(there) if finding.level == "error"]) >= 3
    dry = bring(here, there, verify=True, dry_run=True)
    done = bring(here, there, verify=True)
    assert (done.objects, done.problems) == (dry.objects, ()) == (3, ())
    assert list(examine(there)) == []
    assert len(notes.read(there, "check")) == 1
    assert bring(here, there, verify=True) == Transferred()


@pytest.mark.parametrize("break_it", ["empty", "cut", "flip", "of another version"])
def test_a_damaged_index_and_a_damaged_list_of_notes_are_made_anew_where_they_are_verified(
    here: Store, there: Store, break_it: str
) -> None:
    entry = register(here, 1, 100)
    register(here, 2, 100)
    notes.add(here, "check", "check", b"{}")
    bring(here, there)
    storage = there.storage
    assert isinstance(storage, MemoryStorage)
    index, other = object_key(version(1)), storage.read(object_key(version(2))).data
    (listed,) = (row.key for row in storage.list("objects/") if storage.read(row.key).data[:4] == b"nidx")
    for key in (index, listed):
        data = storage.read(key).data
        flipped = data[:12] + bytes([data[12] ^ 1]) + data[13:]
        storage.damage(key, {"empty": b"", "cut": data[:-1], "flip": flipped, "of another version": other}[break_it])
    assert len(bring(here, there).problems) >= 1
    assert bring(here, there, verify=True).problems == ()
    assert list(examine(there)) == []
    assert there.read_index(VCS, version(1)).live == (entry,)
    assert len(notes.read(there, "check")) == 1
    assert bring(here, there, verify=True) == Transferred()


def test_an_index_of_version_1_travels(here: Store, there: Store) -> None:
    """It names neither its version nor the VCS, which are those of the key and of whoever reads it."""
    entry = register(here, 1, 100)
    key = object_key(version(1))
    here.storage.replace(key, old_index.encode(here.read_index(VCS, version(1))), here.storage.read(key).tag)
    for _ in range(2):
        assert bring(here, there).problems == bring(there, here).problems == ()
    assert here.read_index(VCS, version(1)).live == there.read_index(VCS, version(1)).live
    (brought,) = there.read_index(VCS, version(1)).live
    assert (brought.profile, brought.name) == (entry.profile, entry.name)
    assert there.load(entry.profile) == here.load(entry.profile)
    assert bring(here, there) == bring(there, here) == Transferred()
    second = register(there, 1, 200)
    bring(there, here)
    assert {each.profile for each in here.read_index(VCS, version(1)).live} == {entry.profile, second.profile}
    assert list(examine(here)) == list(examine(there)) == []


class Breaking(MemoryStorage):
    """A storage elsewhere, whose network breaks: `failing` are the keys that cannot be read the next `times`."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: set[str] = set()
        self.times = 0

    def read(self, key: str) -> Stored:
        if key in self.failing and self.times:
            self.times -= 1
            raise StorageError("the server cannot be reached")
        return super().read(key)


def test_an_index_that_cannot_be_read_for_a_moment_is_not_made_anew(here: Store) -> None:
    """Where it is verified, as the entries of others would go."""
    storage = Breaking()
    there, other = Store(storage), Store(MemoryStorage())
    theirs = register(other, 1, 100)
    bring(other, there)
    ours = register(here, 1, 200)
    storage.failing, storage.times = {object_key(version(1))}, 2  # together with others, and then alone
    with pytest.raises(StorageError, match="cannot be reached"):
        bring(here, there, verify=True)
    assert storage.times == 0
    bring(here, there, verify=True)
    assert entries(there) == {version(1): {theirs, ours}}


class BreakingWhole(Breaking):
    """One where only whole objects cannot be read."""

    def read_range(self, key: str, offset: int, length: int) -> bytes:
        return MemoryStorage.read(self, key).data[offset : offset + length]


def test_a_profile_that_cannot_be_read_for_a_moment_never_comes_without_its_tables(there: Store) -> None:
    """A large one, which is not held from when the source was looked through."""
    storage = BreakingWhole()
    here, draw = Store(storage), random.Random(1)
    made = profiles.suite({f"b{number}": [draw.random() for _ in range(40)] for number in range(600)})
    made = replace(made, machine={**made.machine, "modules": draw.randbytes(100_000).hex()})
    content, tables = here.encode_profile(made)
    id = objects.identify(objects.Object("profile", "time", content))
    entry = Entry(profile=id, created=1, name="large", type="time", cmd="./large", tables=tables)
    here.register(VCS, version(1), content, "time", entry)
    storage.failing, storage.times = {object_key(id)}, 2  # together with others, and then alone
    done = bring(here, there)
    assert [len(done.profiles), done.problems, storage.times] == [0, ("the server cannot be reached",), 0]
    assert list(examine(there)) == []
    assert entries(there) == {}
    assert [len(bring(here, there).profiles), list(examine(there))] == [1, []]
    assert entries(there) == entries(here)


def test_an_index_of_a_newer_perfcore_is_never_replaced(here: Store, there: Store) -> None:
    register(here, 1, 100)
    bring(here, there)
    storage = there.storage
    assert isinstance(storage, MemoryStorage)
    key = object_key(version(1))
    payload = struct.pack("<4sII", b"pidx", 99, 1) + b"of a kind that comes later"
    newer = payload + hashlib.sha1(payload).digest()
    storage.damage(key, newer)
    (problem,) = bring(here, there, verify=True).problems
    assert problem.endswith("is an index of version 99: upgrade perfcore")
    assert storage.read(key).data == newer
    (finding,) = (each for each in examine(there) if each.level == "error")
    assert finding.text.endswith("is an index of version 99: upgrade perfcore")


def test_what_is_damaged_never_takes_the_place_of_what_is_whole(here: Store, there: Store) -> None:
    entry = register(here, 1, 100)
    bring(here, there)
    for store in (here, there):
        assert isinstance(store.storage, MemoryStorage)
    key = object_key(entry.profile)
    whole = there.storage.read(key).data
    here.storage.damage(key, b"junk\n")  # type: ignore[attr-defined]
    bring(here, there, verify=True)
    assert there.storage.read(key).data == whole
    there.storage.damage(key, b"rubbish\n")  # type: ignore[attr-defined]
    assert any(entry.profile in problem for problem in bring(here, there, verify=True).problems)
    assert there.storage.read(key).data == b"rubbish\n"
