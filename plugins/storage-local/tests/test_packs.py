"""Keys in packs: nothing that a user of the storage sees tells them from keys with files of their own."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import signal
import struct
import subprocess
import sys
import time
import zlib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from perfcore_storage_local import LocalStorage
from perfcore_storage_local.packing import LARGEST
from perfcore_storage_local.packs import ROW, Pack, Packs, split

from perfcore.errors import ConflictError, FormatError, KeyExistsError, KeyMissingError, PerfError, StorageError

SPACE = "objects/"


def key_of(number: int) -> str:
    id = hashlib.sha1(b"%d" % number, usedforsecurity=False).hexdigest()
    return f"{SPACE}{id[:2]}/{id[2:]}"


def bytes_of(number: int) -> bytes:
    """What the store keeps: objects, and now and then something else."""
    content = b'profile time 9999\0{"format":1,"number":%d,"values":[%d]}' % (number, number**3)
    return content if number % 5 == 0 else zlib.compress(content, 1 if number % 7 == 0 else 6)


def file_count(place: Path) -> int:
    return sum(len(names) for folder, _, names in os.walk(place) if Path(folder).name not in ("locks", "tmp"))


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    storage = LocalStorage(tmp_path / "place")
    for number in range(300):
        storage.create(key_of(number), bytes_of(number))
    return storage


def contents(storage: LocalStorage, prefix: str = SPACE) -> dict[str, bytes]:
    return {row.key: storage.read(row.key).data for row in storage.list(prefix)}


EXPECTED = {key_of(number): bytes_of(number) for number in range(300)}


def test_packed_keys_have_their_bytes_and_few_files(storage: LocalStorage) -> None:
    storage.create("objects/zz/other", b"not an object")
    storage.create("jobs/a.perf", b"1")
    sizes = {key: len(data) for key, data in EXPECTED.items() if key[8] == "0"}
    assert storage.pack(SPACE) == 300
    for reader in (storage, LocalStorage(storage.place)):
        assert contents(reader) == {**EXPECTED, "objects/zz/other": b"not an object"}
        assert dict(reader.read_many(EXPECTED)) == EXPECTED
        assert list(reader.missing([*EXPECTED, key_of(1000)])) == [key_of(1000)]
        assert reader.read_range(key_of(0), 3, 9) == bytes_of(0)[3:12]
        assert reader.read_range(key_of(0), 0, 10_000) == bytes_of(0)
        assert {row.key: row.size for row in reader.list(f"{SPACE}0")} == sizes
        assert [row.key for row in reader.list("")] == sorted([*EXPECTED, "jobs/a.perf", "objects/zz/other"])
    assert file_count(storage.place) == 3


def test_few_keys_and_large_ones_keep_their_files(storage: LocalStorage) -> None:
    large = os.urandom(LARGEST + 1)
    storage.create(key_of(1000), large)
    assert storage.pack(SPACE, least=1000) == 0
    assert file_count(storage.place) == 301
    assert storage.pack(SPACE) == 300
    assert contents(storage) == {**EXPECTED, key_of(1000): large}
    assert file_count(storage.place) == 2


def test_a_packed_key_is_there(storage: LocalStorage) -> None:
    storage.pack(SPACE)
    with pytest.raises(KeyExistsError):
        storage.create(key_of(1), b"other")
    assert storage.create_many([(key_of(2), b"other"), (key_of(1000), b"new")]) == [key_of(2)]
    with pytest.raises(ConflictError):
        storage.replace(key_of(3), b"other", None)
    assert contents(storage) == {**EXPECTED, key_of(1000): b"new"}


def test_a_packed_key_is_replaced_deleted_and_made_again(storage: LocalStorage) -> None:
    other = LocalStorage(storage.place)
    assert other.read(key_of(1)).data == bytes_of(1)
    old = storage.read(key_of(1)).tag
    storage.pack(SPACE)
    tag = storage.replace(key_of(1), b"new", old)
    with pytest.raises(ConflictError):
        storage.replace(key_of(1), b"newer", old)
    assert other.read(key_of(1)).data == b"new"
    storage.delete(key_of(1), tag)
    for reader in (storage, other, LocalStorage(storage.place)):
        with pytest.raises(KeyMissingError):
            reader.read(key_of(1))
        with pytest.raises(KeyMissingError):
            reader.delete(key_of(1), tag)
        assert key_of(1) not in contents(reader)
    storage.create(key_of(1), b"again")
    assert other.read(key_of(1)).data == b"again"
    assert storage.pack(SPACE, least=1) == 1
    for reader in (storage, other, LocalStorage(storage.place)):
        assert reader.read(key_of(1)).data == b"again"


def test_a_listed_tag_of_a_packed_key_is_good_until_it_is_touched(storage: LocalStorage) -> None:
    storage.pack(SPACE)
    rows = list(storage.list(SPACE))
    storage.touch(rows[0].key)
    touched = next(storage.list(rows[0].key))
    assert touched.modified >= rows[0].modified
    assert touched.tag != rows[0].tag
    assert storage.read(rows[0].key).data == EXPECTED[rows[0].key]
    with pytest.raises(ConflictError):
        storage.delete(rows[0].key, rows[0].tag)
    storage.delete(rows[1].key, rows[1].tag)
    storage.delete(rows[0].key, touched.tag)
    assert set(contents(LocalStorage(storage.place))) == set(EXPECTED) - {rows[0].key, rows[1].key}


def test_a_packed_key_never_looks_older_than_it_is(storage: LocalStorage) -> None:
    before = {row.key: row.modified for row in storage.list(SPACE)}
    storage.pack(SPACE)
    assert all(before[row.key] <= row.modified < before[row.key] + 10**9 for row in storage.list(SPACE))


def test_packs_are_joined_so_that_they_stay_few(storage: LocalStorage) -> None:
    expected = dict(EXPECTED)
    for number in range(300, 2_000):
        storage.create(key_of(number), bytes_of(number))
        expected[key_of(number)] = bytes_of(number)
        if number % 100 == 0:
            storage.pack(SPACE)
            assert len(list((storage.place / "packs" / "objects").glob("*.pack"))) <= 5
    assert contents(storage) == contents(LocalStorage(storage.place)) == expected


def test_a_pack_of_many_deleted_keys_is_written_anew(storage: LocalStorage) -> None:
    storage.pack(SPACE)
    (before,) = (storage.place / "packs" / "objects").glob("*.pack")
    for row in list(storage.list(SPACE))[:200]:
        storage.delete(row.key, row.tag)
    left = contents(storage)
    reader = LocalStorage(storage.place)
    assert contents(reader) == left
    assert storage.pack(SPACE) == 0
    (after,) = (storage.place / "packs" / "objects").iterdir()
    assert after.stat().st_size < before.stat().st_size / 2 if before.exists() else after != before
    assert contents(storage) == contents(reader) == contents(LocalStorage(storage.place)) == left


def test_marks_without_a_pack_are_pruned(storage: LocalStorage) -> None:
    storage.pack(SPACE)
    orphan = storage.place / "packs" / "objects" / f"{'0' * 40}.gone"
    orphan.write_bytes(b"\xff")
    assert storage.prune(0) == 0
    assert storage.prune(time.time_ns() + 10**9) == 1
    assert not orphan.exists()
    assert contents(storage) == EXPECTED


def test_stamps_tell_changes_of_packed_keys(storage: LocalStorage) -> None:
    def settle() -> None:
        for folder, _, names in os.walk(storage.place):
            for name in [".", *names]:
                os.utime(Path(folder, name), ns=(10**18, 10**18))

    settle()
    before = storage.stamps(SPACE)
    storage.pack(SPACE)
    settle()
    packed = storage.stamps(SPACE)
    assert set(packed) == set(before)
    assert all(packed.values())
    assert storage.stamps(SPACE) == packed
    row = next(storage.list(SPACE))
    storage.delete(row.key, row.tag)
    assert storage.stamps(SPACE)[row.key[:11]] != packed[row.key[:11]]


def test_the_many_are_packed_by_themselves(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "place")
    numbers = range(12_000)
    storage.create_many((key_of(number), bytes_of(number)) for number in numbers)
    assert file_count(storage.place) < 3_000
    assert dict(storage.read_many(map(key_of, numbers))) == {key_of(number): bytes_of(number) for number in numbers}


def test_reading_many_opens_no_file_for_each_key_of_a_pack(storage: LocalStorage, tmp_path: Path) -> None:
    storage.pack(SPACE)
    script = """
import sys
from pathlib import Path
from perfcore_storage_local import LocalStorage
storage, opened = LocalStorage(Path(sys.argv[1])), []
keys = [row.key for row in storage.list("objects/")]
sys.addaudithook(lambda event, arguments: opened.append(arguments[0]) if event == "open" else None)
print(len(list(storage.read_many(keys))), len(opened) < len(keys) / 10, len(opened))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(storage.place)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("300 True "), done


def test_what_is_read_together_is_the_newest_although_a_pack_has_an_older_row(storage: LocalStorage) -> None:
    storage.pack(SPACE)
    storage.replace(key_of(1), b"new", storage.read(key_of(1)).tag)
    storage.delete(key_of(2), storage.read(key_of(2)).tag)
    expected = {**EXPECTED, key_of(1): b"new"}
    del expected[key_of(2)]
    assert dict(storage.read_many(EXPECTED)) == expected
    storage.pack(SPACE, least=1)
    assert dict(storage.read_many(EXPECTED)) == expected


def test_what_ends_with_its_own_checksum_comes_back_with_it(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "place")
    sealed = {}
    for number in range(50):
        content = b"pidx%d" % number
        sealed[key_of(number)] = content + hashlib.sha1(content, usedforsecurity=False).digest()
    sealed[key_of(50)] = hashlib.sha1(usedforsecurity=False).digest()
    storage.create_many(sealed.items())
    storage.pack(SPACE, least=1)
    assert contents(LocalStorage(storage.place)) == sealed
    (pack,) = Packs(str(storage.place)).of("objects")
    assert sum(pack.block(pack.blocks)) < 24 + sum(map(len, sealed.values()))


def test_every_flipped_byte_of_a_pack_is_found(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "place")
    expected = {key_of(number): bytes_of(number) for number in range(20)}
    storage.create_many(expected.items())
    storage.pack(SPACE, least=1)
    (path,) = (storage.place / "packs" / "objects").glob("*.pack")
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes((whole[place] ^ 0x55,)) + whole[place + 1 :])
        assert LocalStorage(storage.place).damaged(SPACE), place
        try:
            found = contents(LocalStorage(storage.place))
        except PerfError:
            continue
        # What is not damage of the table is seen by whoever verifies a content by its id.
        assert found.keys() != expected.keys() or len(found) == len(expected)
    path.write_bytes(whole)
    assert not LocalStorage(storage.place).damaged(SPACE)


def packed(place: Path, count: int = 40) -> tuple[dict[str, bytes], Path]:
    """What a place holds in a pack, a part of it deleted; and the pack."""
    storage = LocalStorage(place)
    storage.create_many((key_of(number), bytes_of(number)) for number in range(count))
    storage.pack(SPACE, least=1)
    for number in range(0, count, 7):
        storage.delete(key_of(number), storage.read(key_of(number)).tag)
    (path,) = (storage.place / "packs" / "objects").glob("*.pack")
    return contents(LocalStorage(place)), path


def answers(place: Path, expected: dict[str, bytes], absent: list[str]) -> None:
    """Fails where a reader gives other keys than there are without an error. Other bytes of a key are seen by whoever
    verifies them: contents have ids, indexes and lists checksums."""
    with suppress(PerfError):
        assert {row.key for row in LocalStorage(place).list(SPACE)} == set(expected)
    storage = LocalStorage(place)
    for key in expected:
        try:
            storage.read(key)
        except KeyMissingError:
            raise AssertionError(key) from None
        except PerfError:
            continue
    for key in absent:
        with pytest.raises(PerfError):
            storage.read(key)
    with suppress(PerfError):
        assert set(storage.missing([*expected, *absent])) == set(absent)


def test_no_wrong_bit_of_a_table_hides_a_key_or_brings_one_back(tmp_path: Path) -> None:
    expected, path = packed(tmp_path / "place")
    absent = [key_of(number) for number in range(0, 40, 7)]
    marks = path.with_suffix(".gone")
    table = 40 * 21 + 1024 + 1024 + 2056 + 40 * 20 + 28 + 16 * 8  # from the fields of the rows on, and some of blocks
    for file, start in ((path, len(path.read_bytes()) - table), (marks, 0)):
        whole = file.read_bytes()
        for place in range(start, len(whole), 3):
            damaged = whole[:place] + bytes((whole[place] ^ 1 << place % 8,)) + whole[place + 1 :]
            file.write_bytes(damaged)
            answers(tmp_path / "place", expected, absent)
            assert LocalStorage(tmp_path / "place").damaged(SPACE), (file, place)
        file.write_bytes(whole)
    assert contents(LocalStorage(tmp_path / "place")) == expected


def test_marks_that_are_cut_short_bring_nothing_back(tmp_path: Path) -> None:
    expected, path = packed(tmp_path / "place")
    marks = path.with_suffix(".gone")
    whole = marks.read_bytes()
    for length in range(len(whole)):
        marks.write_bytes(whole[:length])
        answers(tmp_path / "place", expected, [key_of(0)])
        assert LocalStorage(tmp_path / "place").damaged(SPACE)


def test_a_damaged_pack_is_not_written_anew_under_a_checksum_that_fits(tmp_path: Path) -> None:
    expected, path = packed(tmp_path / "place")
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes((whole[100] ^ 4,)) + whole[101:])
    storage = LocalStorage(tmp_path / "place")
    storage.create_many((key_of(number), bytes_of(number)) for number in range(100, 140))
    with pytest.raises(FormatError, match="checksum"):
        storage.pack(SPACE, least=1)
    path.write_bytes(whole)
    assert storage.pack(SPACE, least=1) == 40
    assert expected.items() <= contents(LocalStorage(tmp_path / "place")).items()


def older(path: Path, version: int) -> None:
    """Replace a pack by one of an older version: rows are whole, and have no checksums in version 1."""
    pack, data = Pack(str(path.parent), path.stem), path.read_bytes()
    rows = [ROW.pack(pack.id(number), *pack.row(number)[2:]) for number in range(len(pack))]
    counts = [sum(row[0] <= first for row in rows) for first in range(256)]
    checks = [zlib.crc32(b"".join(row for row in rows if row[0] == first)) for first in range(256)]
    parts = [data[:4], struct.pack("<I", version), data[8 : pack.block(pack.blocks)[1]], struct.pack("<256I", *counts)]
    parts += [struct.pack("<256I", *checks)] if version == 2 else []
    parts += [*rows, data[len(data) - 28 - 16 * (pack.blocks + 1) : -20]]
    digest = hashlib.sha1(b"".join(parts), usedforsecurity=False).digest()
    path.with_name(f"{digest.hex()}.pack").write_bytes(b"".join(parts) + digest)
    path.with_suffix(".gone").rename(path.with_name(f"{digest.hex()}.gone"))
    path.unlink()


@pytest.mark.parametrize("version", [1, 2])
def test_a_pack_of_an_older_version_is_read_and_written_anew(tmp_path: Path, version: int) -> None:
    expected, path = packed(tmp_path / "place")
    older(path, version)
    storage = LocalStorage(tmp_path / "place")
    assert contents(storage) == expected
    assert not storage.damaged(SPACE)
    storage.create_many((key_of(number), bytes_of(number)) for number in range(100, 200))
    assert storage.pack(SPACE) == 100
    (newer,) = path.parent.glob("*.pack")
    assert newer.read_bytes()[4] == 3
    assert expected.items() <= contents(LocalStorage(tmp_path / "place")).items()


def test_a_folder_in_the_place_of_a_key_is_no_missing_key(storage: LocalStorage) -> None:
    (storage.place / key_of(1)).unlink()
    (storage.place / key_of(1)).mkdir()
    with pytest.raises(FormatError, match="a folder stands where"):
        storage.read(key_of(1))


@pytest.mark.skipif(os.name != "posix", reason="a link to a folder needs rights on Windows")
def test_packs_are_not_read_through_a_link(storage: LocalStorage, tmp_path: Path) -> None:
    storage.pack(SPACE)
    (storage.place / "packs").rename(tmp_path / "elsewhere")
    (storage.place / "packs").symlink_to(tmp_path / "elsewhere")
    reader = LocalStorage(storage.place)
    for call in (lambda: reader.read(key_of(1)), lambda: list(reader.list("")), lambda: reader.pack(SPACE)):
        with pytest.raises(StorageError, match="link"):
            call()


def test_a_pack_that_is_cut_short_is_told(storage: LocalStorage) -> None:
    storage.pack(SPACE)
    (path,) = (storage.place / "packs" / "objects").glob("*.pack")
    whole = path.read_bytes()
    for length in (0, 10, 1000, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(FormatError, match=r"\.pack is damaged"):
            LocalStorage(storage.place).read(key_of(1))


class PackedModel(RuleBasedStateMachine):
    """Any order of calls by two drivers of one place gives what a dict gives."""

    numbers = st.integers(0, 12)
    which = st.integers(0, 1)

    @initialize()
    def start(self) -> None:
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.drivers = [LocalStorage(Path(self.folder.name, "place")) for _ in range(2)]
        self.model: dict[str, bytes] = {}

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    @rule(which=which, number=numbers, data=st.sampled_from((b"", b"1", bytes_of(1), bytes_of(2))))
    def create(self, which: int, number: int, data: bytes) -> None:
        key = key_of(number)
        try:
            self.drivers[which].create(key, data)
            assert key not in self.model
            self.model[key] = data
        except KeyExistsError:
            assert key in self.model

    @rule(which=which, number=numbers, data=st.sampled_from((b"", b"1", bytes_of(1), bytes_of(3))))
    def replace(self, which: int, number: int, data: bytes) -> None:
        key = key_of(number)
        if key in self.model:
            tag = self.drivers[1 - which].read(key).tag
            self.drivers[which].replace(key, data, tag)
            self.model[key] = data

    @rule(which=which, number=numbers, listed=st.booleans())
    def delete(self, which: int, number: int, listed: bool) -> None:
        key = key_of(number)
        driver = self.drivers[which]
        if key in self.model:
            driver.delete(key, next(driver.list(key)).tag if listed else driver.read(key).tag)
            del self.model[key]
        else:
            with pytest.raises(KeyMissingError):
                driver.delete(key, "tag")

    @rule(which=which, number=numbers)
    def touch(self, which: int, number: int) -> None:
        key = key_of(number)
        try:
            self.drivers[which].touch(key)
            assert key in self.model
        except KeyMissingError:
            assert key not in self.model

    @rule(which=which, least=st.integers(1, 3))
    def pack(self, which: int, least: int) -> None:
        self.drivers[which].pack(SPACE, least=least)

    @invariant()
    def same(self) -> None:
        for driver in getattr(self, "drivers", ()):
            assert contents(driver) == self.model
            assert [row.key for row in driver.list("")] == sorted(self.model)
            assert set(driver.missing(map(key_of, range(13)))) == set(map(key_of, range(13))) - set(self.model)


TestPackedModel = PackedModel.TestCase
TestPackedModel.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def test_rows_of_a_pack_that_was_removed_count_no_more_for_those_who_have_it_open(tmp_path: Path) -> None:
    place = tmp_path / "place"
    storage = LocalStorage(place)
    storage.create_many([(key_of(number), b"old") for number in range(3)])
    storage.pack(SPACE, least=1)
    (held,) = Packs(str(place)).of("objects")
    row = held.find(split(key_of(0))[1])  # type: ignore[index]
    assert row is not None
    assert not row.is_gone
    for number in range(2):
        storage.replace(key_of(number), b"new", storage.read(key_of(number)).tag)
    storage.pack(SPACE, least=1)
    assert not Path(held.path).exists()
    assert row.is_gone


def _pack_for_ever(place: Path) -> None:
    while True:
        LocalStorage(place).pack(SPACE, least=1)


def _write_for_ever(place: Path, seed: int) -> None:
    """Replace counters, each by the next number."""
    chance = random.Random(seed)
    storage = LocalStorage(place)
    while True:
        key = key_of(chance.randrange(40))
        try:
            stored = storage.read(key)
            storage.replace(key, b"%d" % (int(stored.data) + 1), stored.tag)
        except ConflictError:
            continue


@pytest.mark.skipif(os.name != "posix", reason="processes are killed by a signal of POSIX")
def test_killed_packers_and_writers_lose_nothing(tmp_path: Path) -> None:
    """Counters only grow, no key is ever missing, and what is there stays, whoever is killed when."""
    place = tmp_path / "place"
    storage = LocalStorage(place)
    steady = {key_of(number): bytes_of(number) for number in range(40, 200)}
    storage.create_many([(key_of(number), b"0") for number in range(40)])
    storage.create_many(steady.items())
    context = multiprocessing.get_context("spawn")
    seen = dict.fromkeys(map(key_of, range(40)), 0)
    chance = random.Random(7)
    kills = 0
    for round in range(12):
        workers = [context.Process(target=_pack_for_ever, args=(place,), daemon=True) for _ in range(2)]
        workers += [context.Process(target=_write_for_ever, args=(place, round), daemon=True)]
        for worker in workers:
            worker.start()
        end, latest = time.monotonic() + 0.6 + chance.random(), time.monotonic() + 6000
        while time.monotonic() < (end if any(seen.values()) else latest):  # a busy machine starts processes slowly
            rows = [row.key for row in storage.list(SPACE)]
            assert rows == sorted({*seen, *steady})
            for key, last in seen.items():
                seen[key] = int(storage.read(key).data)
                assert seen[key] >= last
        for worker in workers:
            os.kill(worker.pid or 0, signal.SIGKILL)
            kills += 1
            worker.join()
        assert {key: storage.read(key).data for key in steady} == steady
        assert dict(LocalStorage(place).read_many(steady)) == steady
    assert kills == 36
    assert sum(seen.values()) > 0
