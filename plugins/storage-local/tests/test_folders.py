"""Folders that hold nothing are removed by `pack`, and no writer notices."""

from __future__ import annotations

import hashlib
import multiprocessing
from pathlib import Path

import pytest
from perfcore_storage_local import LocalStorage

from perfcore.errors import KeyMissingError

SPACE = "objects/"
BUCKETS = 3  # so few that somebody is always about to write where another has just removed the last key
ROUNDS = 60


def key_of(number: int) -> str:
    id = hashlib.sha1(b"%d" % number, usedforsecurity=False).hexdigest()
    return f"{SPACE}{number % BUCKETS:02x}/{id[2:]}"


def folders(place: Path) -> list[str]:
    return sorted(path.name for path in (place / "objects").iterdir())


def test_folders_whose_keys_are_in_a_pack_or_deleted_are_removed(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "place")
    storage.create_many([(key_of(number), b"%d" % number) for number in range(9)])
    tag = storage.create(f"{SPACE}ff/{'0' * 38}", b"deleted")
    storage.create(f"{SPACE}other/name", b"no folder of ids")
    storage.delete(f"{SPACE}other/name", storage.read(f"{SPACE}other/name").tag)
    storage.delete(f"{SPACE}ff/{'0' * 38}", tag)
    assert folders(storage.place) == ["00", "01", "02", "ff", "other"]
    storage.pack(SPACE)  # too few keys for a pack
    assert folders(storage.place) == ["00", "01", "02", "other"]
    storage.pack(SPACE, least=1)
    assert folders(storage.place) == ["other"]
    assert [row.key for row in storage.list(SPACE)] == sorted(map(key_of, range(9)))
    other = LocalStorage(storage.place)
    other.touch(key_of(1))
    storage.create(key_of(9), b"new")
    assert folders(storage.place) == ["00", "01", "other"]
    assert {number: other.read(key_of(number)).data for number in (0, 1, 9)} == {0: b"0", 1: b"1", 9: b"new"}


def test_a_file_in_the_place_of_a_folder_stays(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "place")
    storage.create(key_of(1), b"1")
    (storage.place / "objects" / "aa").write_bytes(b"")
    storage.pack(SPACE, least=1)
    assert folders(storage.place) == ["aa"]


def _write(place: Path, writer: int, together: bool) -> None:
    """Create, replace, touch and delete keys of its own; a failure ends the process with another code than 0."""
    storage = LocalStorage(place)
    for number in range(writer * ROUNDS, (writer + 1) * ROUNDS):
        key, data = key_of(number), b"%d" % number
        if together:
            assert storage.create_many([(key, data)]) == []
        else:
            storage.create(key, data)
        storage.touch(key)
        tag = storage.replace(key, data * 2, storage.read(key).tag)
        if number % 10:
            storage.delete(key, tag)


def _pack_until(place: Path, done: object) -> None:
    while not done.is_set():  # type: ignore[attr-defined]
        LocalStorage(place).pack(SPACE, least=5)


@pytest.mark.process
def test_writers_beside_packers_find_their_folders(tmp_path: Path) -> None:
    place = tmp_path / "place"
    context = multiprocessing.get_context("spawn")
    done = context.Event()
    packer = context.Process(target=_pack_until, args=(place, done))
    writers = [context.Process(target=_write, args=(place, number, number % 2 == 0)) for number in range(4)]
    for process in (packer, *writers):
        process.start()
    for writer in writers:
        writer.join()
    done.set()
    packer.join()
    assert [process.exitcode for process in (packer, *writers)] == [0] * 5
    storage = LocalStorage(place)
    kept = {key_of(number): b"%d" % number * 2 for number in range(0, 4 * ROUNDS, 10)}
    assert {row.key: storage.read(row.key).data for row in storage.list(SPACE)} == kept
    with pytest.raises(KeyMissingError):
        storage.read(key_of(1))
    assert storage.pack(SPACE, least=1) >= 0
    assert folders(place) == []
