"""A key is changed by one at a time: other processes and other threads wait, and not for ever."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from perfcore_storage_local import LocalStorage
from perfcore_storage_local.place import SHARDS

from perfcore.errors import ConflictError, StorageError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    Start = Callable[..., subprocess.Popen[str]]

_HOLD = """
from perfcore_storage_local.place import SHARDS
from perfcore_storage_local.keys import shard
from perfcore.errors import StorageError
from perfcore.locks import Lock
place, key = sys.argv[1:]
os.makedirs(os.path.join(place, "locks"), exist_ok=True)
with Lock(os.path.join(place, "locks", f"{shard(key, SHARDS):02x}")).hold(0, StorageError("held")):
    print("held", flush=True)
    time.sleep(60)
"""


def test_waiting_for_a_lock_ends_with_an_error_that_names_it(
    storage: LocalStorage, python_in_background: Start
) -> None:
    tag = storage.create("a/key", b"1")
    python_in_background(_HOLD, storage.place, "a/key")
    hasty = LocalStorage(storage.place, patience=0.1)
    for write in (
        lambda: hasty.replace("a/key", b"2", tag),
        lambda: hasty.delete("a/key", tag),
        lambda: hasty.touch("a/key"),
    ):
        with pytest.raises(StorageError, match=r"held the lock .*place.locks.[0-3][0-9a-f] for 0.1 s") as raised:
            write()
        assert raised.value.hint
    assert storage.read("a/key").data == b"1"
    assert list(storage.place.joinpath("tmp").iterdir()) == []


def test_reading_and_creating_wait_for_no_lock(storage: LocalStorage, python_in_background: Start) -> None:
    storage.create("a/key", b"1")
    python_in_background(_HOLD, storage.place, "a/key")
    hasty = LocalStorage(storage.place, patience=0)
    assert hasty.read("a/key").data == b"1"
    assert [row.key for row in hasty.list("")] == ["a/key"]
    with pytest.raises(StorageError):
        hasty.touch("a/key")


def test_the_lock_of_a_killed_process_is_free(storage: LocalStorage, python_in_background: Start) -> None:
    tag = storage.create("a/key", b"1")
    holder = python_in_background(_HOLD, storage.place, "a/key")
    holder.kill()
    holder.wait()
    LocalStorage(storage.place, patience=0).replace("a/key", b"2", tag)


def test_an_error_under_the_lock_gives_it_back(storage: LocalStorage) -> None:
    storage.create("a/key", b"1")
    with pytest.raises(ConflictError):
        storage.replace("a/key", b"2", "old")
    LocalStorage(storage.place, patience=0).touch("a/key")


def test_lock_files_stay_and_are_few(storage: LocalStorage) -> None:
    for number in range(200):
        key = f"a/{number}"
        storage.delete(key, storage.create(key, b""))
    names = {path.name for path in storage.place.joinpath("locks").iterdir()}
    assert 1 < len(names) <= SHARDS
    assert names <= {f"{number:02x}" for number in range(SHARDS)}


def test_keys_that_differ_in_case_share_a_lock(storage: LocalStorage, python_in_background: Start) -> None:
    """They are one file on some systems."""
    tag = storage.create("A/Key", b"1")
    python_in_background(_HOLD, storage.place, "a/kEY")
    with pytest.raises(StorageError, match="held the lock"):
        LocalStorage(storage.place, patience=0).replace("A/Key", b"2", tag)


@pytest.mark.parametrize("shared", [True, False], ids=["one instance", "an instance each"])
def test_threads_exclude_each_other(storage: LocalStorage, shared: bool) -> None:
    storage.create("counter", b"0")

    def count() -> None:
        mine = storage if shared else LocalStorage(storage.place)
        for _ in range(20):
            while True:
                data, tag = mine.read("counter")
                try:
                    mine.replace("counter", b"%d" % (int(data) + 1), tag)
                    break
                except ConflictError:
                    continue

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert storage.read("counter").data == b"80"
