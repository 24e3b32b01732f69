"""Pending profiles."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from perfcore_command_store.examination import examine
from perfcore_command_store.garbage import collect_garbage
from perfcore_testing.hostile import NAMES
from perfcore_testing.memory import MemoryStorage

from perfcore.errors import ConflictError, FormatError, KeyMissingError
from perfcore.model.record import replace
from perfcore.store import pending
from perfcore.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfcore.model import Profile

    Make = Callable[..., Profile]

SAFE = re.compile(r"[A-Za-z0-9._+][A-Za-z0-9._+-]*")


def test_a_saved_profile_is_listed_and_read(store: Store, make: Make) -> None:
    saved = pending.save(store, make(origin="c0ffee"))
    assert saved.name == "time-sort-big.txt-20250615T150640.perf"
    (found,) = pending.walk(store)
    assert found == saved._replace(profile=found.profile)
    assert found.profile == make(origin="c0ffee")
    read, data = pending.read(store, saved.name)
    assert read.profile == found.profile
    assert b'"c0ffee"' in data


def test_what_could_never_be_registered_is_not_kept(store: Store, make: Make) -> None:
    profile = make()
    with pytest.raises(FormatError, match="no type"):
        pending.save(store, replace(profile, header=replace(profile.header, type="../x")))
    assert list(pending.walk(store)) == []


def test_two_of_one_name_in_one_second_are_two(store: Store, make: Make) -> None:
    names = [pending.save(store, make(i)).name for i in range(3)]
    stem = names[0].removesuffix(".perf")
    assert names == [f"{stem}.perf", f"{stem}-2.perf", f"{stem}-3.perf"]
    assert [p.profile for p in pending.walk(store)] == [make(1), make(2), make(0)]


def test_many_at_once_get_names_of_their_own(store: Store, make: Make) -> None:
    with ThreadPoolExecutor(8) as pool:
        saved = list(pool.map(lambda i: pending.save(store, make(i, rows=1)), range(40)))
    assert len({each.name for each in saved}) == 40
    found = [p.profile.tables["resources"]["wall"][0] for p in pending.walk(store) if p.profile]
    assert set(found) == set(range(40))


def test_the_oldest_comes_first(store: Store, make: Make) -> None:
    for created in (3, 1, 2):
        pending.save(store, make(created=created * 10**9))
    assert [p.created for p in pending.walk(store)] == [10**9, 2 * 10**9, 3 * 10**9]


@pytest.mark.parametrize("name", [*NAMES, "../../etc/passwd", "/", "-rf", "CON", "a" * 300, "caf\udce9", ".."])
def test_any_command_gives_a_harmless_name(store: Store, make: Make, name: str) -> None:
    profile = make(rows=1)
    profile = replace(profile, header=replace(profile.header, cmd=name, workload=name))
    saved = pending.save(store, profile)
    assert SAFE.fullmatch(saved.name)
    assert len(saved.name) < 150
    assert pending.read(store, saved.name)[0].profile is not None


@pytest.mark.parametrize("created", [0, -1, 2**63 - 1, -(2**63)])
def test_any_time_gives_a_name(make: Make, created: int) -> None:
    assert SAFE.fullmatch(pending.suggest_name(make(rows=1, created=created)))


@pytest.mark.parametrize("wrong", [b"", b"{", b'{"format": 1}', b'{"format": 99}', b"\0" * 100, b"[" * 100_000])
def test_a_damaged_one_is_listed_and_disturbs_nothing(
    store: Store, storage: MemoryStorage, make: Make, wrong: bytes
) -> None:
    saved = pending.save(store, make())
    storage.create("jobs/broken.perf", wrong)
    broken, whole = pending.walk(store)
    assert (broken.name, broken.profile) == ("broken.perf", None)
    assert "broken.perf" in broken.damage
    assert whole.name == saved.name
    assert [f.key for f in examine(store)] == ["jobs/broken.perf"]


def test_other_files_are_not_profiles(store: Store, storage: MemoryStorage) -> None:
    for key in ("jobs/readme.txt", "jobs/deep/x.perf", "jobs/.perf.swp"):
        storage.create(key, b"{}")
    assert pending.walk(store) == []


def test_removing_is_of_what_was_seen(store: Store, storage: MemoryStorage, make: Make) -> None:
    saved = pending.save(store, make())
    pending.remove(store, saved)
    pending.remove(store, saved)
    assert pending.walk(store) == []
    with pytest.raises(KeyMissingError):
        pending.read(store, saved.name)
    changed = pending.save(store, make())
    storage.replace(changed.key, b"{}", changed.tag)
    with pytest.raises(ConflictError):
        pending.remove(store, changed)


class Sweeping(MemoryStorage):
    """Everything that is garbage goes whenever a pending profile is about to be written."""

    def create(self, key: str, data: bytes) -> str:
        if key.startswith("jobs/"):
            collect_garbage(Store(self), older_than=2**62)
        return super().create(key, data)


def test_garbage_collected_while_saving_takes_no_table(make: Make) -> None:
    store = Store(Sweeping())
    pending.save(store, make())
    (found,) = pending.walk(store)
    assert found.profile is not None
    assert found.profile.tables["resources"] == make().tables["resources"]
    assert not list(examine(store))
