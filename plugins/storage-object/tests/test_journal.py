"""A remembered list of a bucket, completed from the journal, is that of the server, whatever its writers do."""

from __future__ import annotations

import os
import random
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from perfcore_storage_object import ObjectStorage, ObjectStorageSettings
from perfcore_storage_object import journal as journals
from perfcore_storage_object.bucket import Bucket
from perfcore_storage_object.contract import BUCKET, server
from perfcore_storage_object.journal import Journal

from perfcore.errors import ConflictError

from .proxy import Change, passing

DAY = 86_400.0


@attrs.define
class World:
    """A bucket behind a server that notes requests, and changes listings."""

    folder: Path
    url: str
    listings: list[str] = attrs.field(factory=list)
    requests: list[str] = attrs.field(factory=list)
    change: Change = bytes

    def storage(self, name: str, recall: float = DAY) -> ObjectStorage:
        return ObjectStorage(self.folder / name, ObjectStorageSettings(url=self.url, recall=recall))

    def bucket(self) -> Bucket:
        return Bucket(self.url)

    def listed(self) -> set[tuple[str, int, str]]:
        """What the server says."""
        return _rows(self.storage("plain", recall=0))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    environment = server()
    if environment is None:
        pytest.skip("moto is not installed: pip install 'moto[server]', and PERFCORE_TEST_HARNESSES names its bin")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    made = World(tmp_path, f"s3://{BUCKET}/{uuid.uuid4().hex}")

    def note(command: str, path: str) -> None:
        (made.listings if "list-type" in path else made.requests).append(f"{command} {path}")

    with passing(os.environ["AWS_ENDPOINT_URL"], note=note, change=lambda body: made.change(body)) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        yield made


def _rows(storage: ObjectStorage) -> set[tuple[str, int, str]]:
    return {(row.key, row.size, row.tag) for row in storage.list("")}


def _key(dice: random.Random) -> str:
    return f"objects/{dice.randrange(256):02x}/{dice.randrange(30):038x}"


@pytest.mark.parametrize("seed", range(3))
def test_a_remembered_list_is_always_that_of_the_server(world: World, seed: int) -> None:
    """Two writers, one after the other and within each other, some of whom are killed on the way."""
    dice = random.Random(seed)
    writers = [world.storage(f"writer{number}") for number in range(2)]
    readers = [world.storage(f"reader{number}") for number in range(2)]
    with writers[0].announced(["objects/first"]):
        writers[0].create("objects/first", b"1")
    assert all(_rows(reader) == world.listed() for reader in readers)
    world.listings.clear()
    for _ in range(10):
        _act(writers, readers, dice)
        reader = dice.choice(readers)
        before = len(world.listings)
        rows = _rows(reader)
        assert len(world.listings) == before, "all keys were listed"
        assert rows == world.listed()


def _act(writers: list[ObjectStorage], readers: list[ObjectStorage], dice: random.Random) -> None:
    """A session of one writer, or of both at once, in which somebody may read at any instant."""
    sessions = []
    for writer in dice.sample(writers, dice.randint(1, 2)):
        keys = [_key(dice) for _ in range(dice.randint(1, 4))]
        context = writer.announced(keys)
        context.__enter__()
        sessions.append((writer, keys, context))
    for writer, keys, _ in sessions:
        for key in keys[: dice.randint(0, len(keys))]:
            _write(writer, key, dice)
            if dice.random() < 0.3:
                _rows(dice.choice(readers))
    for _, _, context in sessions:
        if dice.random() < 0.8:  # others are killed
            context.__exit__(None, None, None)


def _write(writer: ObjectStorage, key: str, dice: random.Random) -> None:
    there = {row.key: row.tag for row in writer.list(key)}
    if key not in there:
        writer.create(key, dice.randbytes(dice.randrange(50)))
    elif dice.random() < 0.4:
        writer.touch(key)
    elif dice.random() < 0.5:
        writer.replace(key, dice.randbytes(20), writer.read(key).tag)
    else:
        writer.delete(key, writer.read(key).tag)


def _begin(world: World) -> tuple[ObjectStorage, ObjectStorage]:
    """A writer, and a reader that has listed everything."""
    writer, reader = world.storage("writer"), world.storage("reader")
    with writer.announced(["objects/a"]):
        writer.create("objects/a", b"1")
    assert _rows(reader) == world.listed()
    return writer, reader


def test_what_is_written_after_a_look_at_its_announcement_is_seen_by_the_next(world: World) -> None:
    writer, reader = _begin(world)
    with writer.announced(["objects/b", "objects/c"]):
        writer.create("objects/b", b"1")
        world.listings.clear()
        assert [row.key for row in reader.list("objects/")] == ["objects/a", "objects/b"]
        writer.create("objects/c", b"1")
    assert [row.key for row in reader.list("objects/")] == ["objects/a", "objects/b", "objects/c"]
    requests = len(world.requests)
    assert len(list(reader.list("objects/"))) == 3
    assert len(world.requests) - requests == 2  # what has come to its end is looked at no more
    assert not world.listings


def test_a_conflict_ends_an_announcement_and_an_error_leaves_it_open(world: World) -> None:
    writer, _ = _begin(world)
    with pytest.raises(ConflictError), writer.announced(["objects/b"]):
        writer.replace("objects/b", b"", "another")
    with pytest.raises(ZeroDivisionError), writer.announced(["objects/b"]):
        raise ZeroDivisionError
    assert Journal(world.bucket()).overview().open == {3}


def test_what_is_written_without_an_announcement_lets_everybody_list_all_keys(world: World) -> None:
    writer, reader = _begin(world)
    writer.create("objects/b", b"1")
    writer.create("objects/c", b"1")
    world.listings.clear()
    for number in range(2):  # and it may write more
        writer.create(f"objects/d{number}", b"1")
        assert _rows(reader) == world.listed()
        assert world.listings
    with writer.announced(None):
        writer.create("objects/e", b"1")
    writer.create("objects/f", b"1")
    assert _rows(reader) == world.listed()


def test_any_key_within_an_announcement_is_any_key_no_more_afterwards(world: World) -> None:
    writer, reader = _begin(world)
    with writer.announced(None):
        writer.delete("objects/a", writer.read("objects/a").tag)
    assert _rows(reader) == world.listed() == set()
    world.listings.clear()
    assert _rows(reader) == set()
    assert not world.listings
    writer.create("objects/b", b"1")
    assert _rows(reader) == world.listed() != set()


def test_a_writer_of_an_older_perfcore_is_noticed_when_the_list_is_too_old(world: World) -> None:
    _, reader = _begin(world)
    assert world.bucket().create("objects/b", b"random bytes 16 content")
    assert [row.key for row in reader.list("objects/")] == ["objects/a"]
    assert len(list(world.storage("reader", recall=1e-9).list("objects/"))) == 2
    assert len(list(reader.list("objects/"))) == 2  # which remembers what that one listed
    world.bucket().remove("objects/b")
    reader.forget_listing()
    assert len(list(reader.list("objects/"))) == 1


def test_of_a_bucket_without_a_journal_nothing_is_remembered(world: World) -> None:
    reader = world.storage("reader")
    for name in ("objects/a", "objects/b"):
        assert world.bucket().create(name, b"random bytes 16 content")
        assert _rows(reader) == world.listed() != set()


@pytest.mark.parametrize("gone", [1, 2])
def test_a_journal_that_was_cut_or_set_back_lets_everybody_list_all_keys(world: World, gone: int) -> None:
    """Entries are missing, or another one has the number of the last."""
    writer, reader = _begin(world)
    with writer.announced(["objects/b"]):
        writer.create("objects/b", b"1")
    assert len(_rows(reader)) == 2
    bucket = world.bucket()
    for number in range(3 - gone, 3):
        bucket.remove(f"-journal/{number:010d}")
    bucket.remove("objects/b")
    if gone == 1:
        other = world.storage("other")
        with other.announced(["objects/c"]):
            other.create("objects/c", b"1")
    assert _rows(reader) == world.listed()


def test_an_entry_that_cannot_be_read_lets_everybody_list_all_keys(world: World) -> None:
    for number, body in enumerate([b"", b"pjnl 2 of a newer format", journals.encode(["objects/a"])[:-1]], 2):
        _, reader = _begin(attrs.evolve(world, url=f"{world.url}/{number}"))
        bucket = Bucket(reader.settings.url)
        assert bucket.create("objects/b", b"random bytes 16 content")
        assert bucket.create("-journal/0000000002", body)
        assert len(_rows(reader)) == 2


def test_a_list_that_ends_too_early_is_not_remembered(world: World) -> None:
    writer, _ = _begin(world)
    with writer.announced(["objects/b"]):
        writer.create("objects/b", b"1")
    reader = world.storage("late")
    world.change = lambda body: re.sub(rb"<Contents>(?:(?!</Contents>).)*(?:0002|objects/b).*?</Contents>", b"", body)
    assert len(_rows(reader)) == 1
    world.change = bytes
    assert _rows(reader) == world.listed()
    assert len(_rows(reader)) == 2


def test_old_entries_are_removed_and_who_remembers_one_lists_all_keys(world: World) -> None:
    writer, reader = _begin(world)
    late = world.storage("late")
    assert len(_rows(late)) == 1
    for number in range(5):
        with writer.announced([f"objects/b{number}"]):
            writer.create(f"objects/b{number}", b"1")
    assert _rows(reader) == world.listed()
    Journal(world.bucket()).prune()  # of which all are too young
    assert Journal(world.bucket()).tag(1) is not None
    Journal(world.bucket()).prune(kept=2, age=0)
    names = [name for name, _ in world.bucket().list("-journal")]
    assert sorted(names) == [f"-journal/000000000{number}{end}" for number in (5, 6) for end in ("", "-done")]
    world.listings.clear()
    assert _rows(reader) == world.listed()
    assert len(world.listings) == 1  # that of the server
    assert _rows(late) == world.listed()


def test_many_changes_are_listed_instead_of_looked_at(world: World) -> None:
    writer, reader = _begin(world)
    keys = [f"objects/b{number}" for number in range(101)]
    with writer.announced(keys):
        writer.create_many((key, b"1") for key in keys)
    requests = len(world.requests)
    assert len(_rows(reader)) == 102
    assert len(world.requests) - requests < 10


def test_entries_say_any_key_where_there_are_very_many() -> None:
    keys = [f"objects/{number:04x}" for number in range(journals.MOST_KEYS + 1)]
    assert journals.decode(journals.encode(keys[1:])) == frozenset(keys[1:])
    assert journals.decode(journals.encode(keys)) is None
    assert journals.decode(journals.encode(None)) is None
    assert journals.encode(["a"]) != journals.encode(["a"])
