"""Laws of the optional methods `read_range`, `read_many`, `missing` and `write_many` of the kind `storage`."""

from __future__ import annotations

import itertools
import random
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from perfcore.errors import ConflictError, KeyMissingError, StorageError
from perfcore_testing import storage_children as children
from perfcore_testing.storage_children import Child, number_key, payload, payload_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from perfcore.hookspecs import Storage

    ReadRange = Callable[[str, int, int], bytes]
    ReadMany = Callable[[Iterable[str]], Iterator[tuple[str, bytes]]]
    Missing = Callable[[Iterable[str]], Iterator[str]]
    CreateMany = Callable[[Iterable[tuple[str, bytes]]], Sequence[str]]
    WriteMany = Callable[[Iterable[tuple[str, bytes, str | None]]], None]

_ENOUGH = 60  # keys: more than one request of a driver that asks for some at a time might hold, in several folders
_LARGE, _LARGE_KEYS = 500_000, 48
_FEW_CONTENTS = 20 * _LARGE  # bytes: less than half of all, so that a driver that holds them all is seen


class BatchLaws:
    """A driver without one of these methods skips its laws."""

    @pytest.fixture
    def read_range(self, driver: Storage) -> ReadRange:
        _require(driver, "read_range")
        return driver.read_range

    @pytest.fixture
    def read_many(self, driver: Storage) -> ReadMany:
        _require(driver, "read_many")
        return driver.read_many

    @pytest.fixture
    def missing(self, driver: Storage) -> Missing:
        _require(driver, "missing")
        return driver.missing

    @pytest.fixture
    def write_many(self, driver: Storage) -> WriteMany:
        _require(driver, "write_many")
        return driver.write_many

    @pytest.fixture
    def create_many(self, driver: Storage) -> CreateMany:
        _require(driver, "create_many")
        return driver.create_many

    # Creating many

    def test_many_new_keys_are_created(self, driver: Storage, create_many: CreateMany) -> None:
        driver.create("objects/old", b"1")
        wanted = {number_key("objects", number): payload(number) for number in range(_ENOUGH)}
        there = create_many(iter([("objects/old", b"2"), *wanted.items(), ("a/b", b"")]))
        assert list(there) == ["objects/old"]
        assert driver.read("objects/old").data == b"1"
        assert {row.key: driver.read(row.key).data for row in driver.list("")} == wanted | {
            "objects/old": b"1",
            "a/b": b"",
        }
        driver.replace("a/b", b"3", driver.read("a/b").tag)
        assert list(create_many(())) == []

    def test_a_key_that_comes_twice_is_created_once(self, driver: Storage, create_many: CreateMany) -> None:
        assert list(create_many([("a", b"1"), ("a", b"2")])) == ["a"]
        assert driver.read("a").data == b"1"

    def test_no_part_of_many_is_created_outside(self, driver: Storage, create_many: CreateMany) -> None:
        with pytest.raises(StorageError):
            create_many([("objects/new", b"1"), ("../outside", b"2")])
        assert {row.key for row in driver.list("")} <= {"objects/new"}

    def test_of_processes_that_create_the_same_each_key_has_one_creator(
        self, driver: Storage, create_many: CreateMany, together: Callable[..., list[list[Any]]]
    ) -> None:
        answers = together(*[(children.create_many, _ENOUGH, child) for child in range(3)])
        created = [key for ((told),) in answers for key in told]
        assert sorted(created) == sorted(number_key("objects", number) for number in range(_ENOUGH))

    def test_what_a_killed_creator_left_is_whole(
        self, driver: Storage, create_many: CreateMany, in_background: Callable[..., Child]
    ) -> None:
        for attempt in range(5):
            child = in_background(children.create_many_for_ever, f"objects/{attempt}")
            time.sleep(0.03 * attempt)
            child.kill()
        for row in driver.list("objects/"):
            assert payload_number(driver.read(row.key).data) is not None

    # Writing together

    def test_keys_are_created_and_replaced_together(self, driver: Storage, write_many: WriteMany) -> None:
        tag = driver.create("objects/old", b"1")
        write_many([("objects/old", b"2", tag), ("objects/a/new", b"3", None), ("objects/b/new", b"", None)])
        contents = {row.key: driver.read(row.key).data for row in driver.list("objects/")}
        assert contents == {"objects/old": b"2", "objects/a/new": b"3", "objects/b/new": b""}
        listed = {row.key: row.tag for row in driver.list("objects/")}
        write_many([("objects/a/new", b"4", listed["objects/a/new"])])
        assert driver.read("objects/a/new").data == b"4"

    def test_all_of_them_are_written_or_none(self, driver: Storage, write_many: WriteMany) -> None:
        tag = driver.create("objects/old", b"1")
        driver.replace("objects/old", b"2", tag)
        refused = [("objects/old", b"3", tag), ("objects/old", b"3", None), ("objects/gone", b"3", tag)]
        for wrong in refused:
            with pytest.raises(ConflictError):
                write_many([("objects/new", b"4", None), wrong])
        assert {row.key: driver.read(row.key).data for row in driver.list("objects/")} == {"objects/old": b"2"}

    def test_nothing_is_written_where_a_key_is_refused(self, driver: Storage, write_many: WriteMany) -> None:
        with pytest.raises(StorageError):
            write_many([("objects/new", b"1", None), ("../outside", b"2", None)])
        assert list(driver.list("objects/")) == []

    def test_many_keys_are_written_together(self, driver: Storage, write_many: WriteMany) -> None:
        write_many((number_key("objects", number), payload(number), None) for number in range(_ENOUGH))
        assert sorted(row.key for row in driver.list("objects/")) == sorted(
            number_key("objects", number) for number in range(_ENOUGH)
        )
        write_many(())

    # Ranges

    def test_a_range_is_a_slice(self, driver: Storage, read_range: ReadRange) -> None:
        data = random.Random(1).randbytes(10_000)
        driver.create("a/key", data)
        for offset, length in ((0, 0), (0, 1), (5, 10), (9_997, 3), (0, 10_000), (4_000, 5_000)):
            assert read_range("a/key", offset, length) == data[offset : offset + length]

    def test_a_range_ends_with_the_key(self, driver: Storage, read_range: ReadRange) -> None:
        driver.create("key", b"0123456789")
        driver.create("empty", b"")
        assert read_range("key", 7, 100) == b"789"
        assert read_range("key", 0, 1 << 40) == b"0123456789"
        for offset in (10, 11, 1 << 40):
            assert read_range("key", offset, 5) == b""
        assert read_range("empty", 0, 5) == b""

    def test_a_range_of_a_large_content(self, driver: Storage, read_range: ReadRange) -> None:
        data = random.Random(2).randbytes(5_000_001)
        driver.create("key", data)
        assert read_range("key", 2_500_000, 2_000_000) == data[2_500_000:4_500_000]

    def test_a_range_of_nothing_says_so(self, driver: Storage, read_range: ReadRange) -> None:
        driver.create("a/b", b"1")
        for key in ("a", "a/c", "b"):
            with pytest.raises(KeyMissingError) as raised:
                read_range(key, 0, 1)
            assert key in str(raised.value)

    def test_a_range_is_of_the_old_content_or_the_new(
        self, driver: Storage, read_range: ReadRange, in_background: Callable[..., Child]
    ) -> None:
        driver.create("a/key", payload(0))
        in_background(children.replace_all_for_ever, ["a/key"])
        contents = {read_range("a/key", 0, 1 << 30) for _ in range(200)}
        assert all(payload_number(content) is not None for content in contents)

    # Many keys

    def test_many_keys_are_read_as_one(self, driver: Storage, read_many: ReadMany) -> None:
        contents = _filled(driver)
        keys = [*contents, "objects/0/unknown", "not/there", "objects"]
        random.Random(3).shuffle(keys)
        answers = list(read_many(keys))
        assert len(answers) == len(contents)
        assert dict(answers) == contents
        assert dict(read_many(iter(keys))) == contents

    def test_the_missing_keys_are_those_that_cannot_be_read(self, driver: Storage, missing: Missing) -> None:
        contents = _filled(driver)
        unknown = ["objects/0/unknown", "not/there", "objects", "objects/0"]
        keys = [*contents, *unknown]
        random.Random(4).shuffle(keys)
        assert sorted(missing(keys)) == sorted(unknown)
        gone = next(iter(contents))
        driver.delete(gone, driver.read(gone).tag)
        assert list(missing([gone])) == [gone]
        driver.create(gone, b"")
        assert list(missing([gone])) == []

    def test_no_keys_have_no_answers(self, driver: Storage, read_many: ReadMany, missing: Missing) -> None:
        for fill in (lambda: None, lambda: _filled(driver)):
            fill()
            assert list(read_many([])) == []
            assert list(missing(())) == []
            assert list(read_many(["a/b"])) == []
            assert list(missing(["a/b"])) == ["a/b"]

    def test_a_key_that_comes_twice_is_given_once_or_twice(
        self, driver: Storage, read_many: ReadMany, missing: Missing
    ) -> None:
        contents = _filled(driver)
        answers = list(read_many([*contents, *contents]))
        assert dict(answers) == contents
        assert len(contents) <= len(answers) <= 2 * len(contents)
        unknown = list(missing(["a", *contents, "b", "a"]))
        assert set(unknown) == {"a", "b"}
        assert len(unknown) <= 3

    @pytest.mark.parametrize("key", ["", "/", "../a", "a//b", "-a", "a b", "a\n", "schön"])
    def test_an_illegal_key_among_others_is_refused(self, driver: Storage, key: str) -> None:
        driver.create("a", b"1")
        calls: dict[str, Callable[[Any], object]] = {
            "read_range": lambda method: method(key, 0, 1),
            "read_many": lambda method: list(method(["a", key])),
            "missing": lambda method: list(method(["a", key])),
        }
        for name, call in calls.items():
            if hasattr(driver, name):
                with pytest.raises(StorageError) as raised:
                    call(getattr(driver, name))
                assert type(raised.value) is StorageError, "the key is not missing: it is no key"

    def test_endless_keys_are_answered_as_they_come(
        self, driver: Storage, read_many: ReadMany, missing: Missing
    ) -> None:
        contents = _filled(driver)
        for key, data in itertools.islice(read_many(itertools.cycle(contents)), 5):
            assert contents[key] == data
        assert set(itertools.islice(missing(itertools.cycle(["a", "b"])), 5)) <= {"a", "b"}

    def test_few_contents_are_in_memory_at_once(self, driver: Storage, read_many: ReadMany) -> None:
        keys = [number_key("objects", number) for number in range(_LARGE_KEYS)]
        for key in keys:
            driver.create(key, random.Random(key).randbytes(_LARGE))
        tracemalloc.start()
        try:
            assert sum(len(data) for _, data in read_many(keys)) == _LARGE * _LARGE_KEYS
            assert tracemalloc.get_traced_memory()[1] < _FEW_CONTENTS
        finally:
            tracemalloc.stop()

    def test_keys_can_be_deleted_while_many_are_read(self, driver: Storage, read_many: ReadMany) -> None:
        contents = _filled(driver)
        staying, going = set(list(contents)[::2]), list(contents)[1::2]
        answered = set()
        for key, data in read_many(list(contents)):
            assert contents[key] == data
            answered.add(key)
            if going:
                driver.delete(going[-1], driver.read(going.pop()).tag)
        assert staying <= answered

    def test_many_contents_are_whole_while_they_are_replaced(
        self, driver: Storage, read_many: ReadMany, missing: Missing, in_background: Callable[..., Child]
    ) -> None:
        keys = [f"objects/{index:02}" for index in range(20)]
        for key in keys:
            driver.create(key, payload(0))
        child = in_background(children.replace_all_for_ever, keys)
        generations = {0}
        while len(generations) < 30:
            child.check_running()
            answers = dict(read_many(keys))
            assert answers.keys() == set(keys), "a key that stays is given, whatever changes meanwhile"
            numbers = {payload_number(data) for data in answers.values()}
            assert None not in numbers, "neither the old content nor the new"
            generations |= {number for number in numbers if number is not None}
            assert list(missing(keys)) == []

    def test_what_a_killed_writer_left_is_read_whole(
        self, driver: Storage, read_many: ReadMany, missing: Missing, in_background: Callable[..., Child]
    ) -> None:
        driver.create("counter", payload(0))
        for _ in range(3):
            in_background(children.write_for_ever, "counter", "objects", 0).kill()
            keys = [row.key for row in driver.list("")]
            answers = dict(read_many(keys))
            assert answers.keys() == set(keys)
            assert all(payload_number(data) is not None for data in answers.values())
            assert list(missing([*keys, "objects/0/unknown"])) == ["objects/0/unknown"]


def _filled(driver: Storage) -> dict[str, bytes]:
    """Keys in several folders with their contents."""
    contents = {number_key("objects", number): b"%d" % number * number for number in range(_ENOUGH)}
    for key, data in contents.items():
        driver.create(key, data)
    return contents


def _require(driver: Storage, name: str) -> None:
    if not hasattr(driver, name):
        pytest.skip(f"the storage has no {name}")
