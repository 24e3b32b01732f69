"""The contract of the kind `storage`. A plugin's whole test of it is

    from perfcore_testing.storage import StorageContract

    class TestContract(StorageContract):
        @pytest.fixture
        def driver(self, tmp_path):
            return MyStorage(tmp_path / "place")

It runs writers in processes of their own and kills some of them. Where other processes cannot open the
driver's place, set `processes` to False; where `Driver(driver.place)` is not how to open it again, override
`reopen`.
"""

from __future__ import annotations

import functools
import random
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from perfcore.errors import ConflictError, KeyExistsError, KeyMissingError, StorageError
from perfcore_testing import storage_children as children
from perfcore_testing.storage_batch import BatchLaws
from perfcore_testing.storage_children import Child, number_key, payload, payload_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from perfcore.hookspecs import Listed, Storage

    Together = Callable[..., list[list[Any]]]
    Stamps = Callable[[str], Mapping[str, str]]

LEGAL_KEYS = (
    "a",
    "7",
    "objects/ab/cdef0123",
    "jobs/time-sleep-20261120T101010.perf",
    "local.yml",
    ".hidden/.more",
    "..a/...b",
    "A/B/C/D/E/F/G/H/I/J",
    "_",
    "+plus/@at/under_score/dot.dot/mi-nus-",
    "long/" + "x" * 150,
)
ILLEGAL_KEYS = (
    "",
    "/",
    ".",
    "..",
    "./a",
    "../a",
    "a/..",
    "a/../b",
    "a/./b",
    "a/.../b",
    "../../../../../../../../tmp/perfcore-was-here",
    "/etc/passwd",
    "//server/share/a",
    "a/",
    "a//b",
    "-a",
    "a/-rf",
    "a.",
    "a./b",
    "a b",
    " a",
    "a ",
    "a\n",
    "a\nb",
    "a\0b",
    "a\tb",
    "a\\b",
    "..\\a",
    "C:a",
    "a:stream",
    "~",
    "~root/a",
    "$HOME",
    "%TEMP%",
    "*",
    "a?",
    "a|b",
    "<script>",
    '"quoted"',
    "'quoted'",
    "a;b",
    "\x1b[31mred",
    "\u202egnp.exe",
    "schön",
    "ａ",
    "٣",
    "\ud800",
    "\U0001f4a5",
)
ILLEGAL_PREFIXES = (
    "/",
    "../",
    "a/../",
    "./",
    "a//",
    "-",
    "a/-",
    "a b",
    "a\n",
    "a\0",
    "a\\",
    "*",
    "\x1b[31m",
    "ö",
)
# By code points, as S3 lists them: `/` comes after `+`, `-` and `.`, and before digits and letters.
KEYS_IN_ORDER = (
    "C",
    "Z/z",
    "a+b",
    "a-b",
    "a.b",
    "a/b",
    "a/b-/c",
    "a/b.c",
    "a/b0",
    "a0",
    "a@",
    "aB",
    "a_",
    "aa/a",
    "b",
)
# A day in nanoseconds: clocks of file servers may differ by hours (time zones), but no other unit is within a day.
FAR_FROM_NOW = 24 * 3600 * 10**9


class StorageContract(BatchLaws):
    """The laws of `perfcore.hookspecs.Storage`.

    `processes`: other processes can open the place at the same time. `kills`: how many writers are killed, each within
    `lifetime` seconds, in which some should write several times. `increments`: how often each of `crowd` processes
    counts up.
    """

    processes = True
    kills = 20
    lifetime = 0.04
    crowd = 8
    increments = 100

    @pytest.fixture
    def driver(self) -> Storage:
        """A driver at an empty place. To be overridden."""
        raise NotImplementedError

    @pytest.fixture
    def reopen(self, driver: Any) -> Callable[[], Storage]:
        """Opens the place of `driver` once more, also in another process: it can be pickled."""
        kind: Any = type(driver)
        return functools.partial(kind, driver.place)

    @pytest.fixture
    def stamps(self, driver: Any) -> Stamps:
        if not hasattr(driver, "stamps"):
            pytest.skip("the storage has no stamps")
        return driver.stamps  # type: ignore[no-any-return]

    @pytest.fixture
    def settle(self) -> Callable[[], None]:
        """Makes all that is at the place look as if it had been there for an hour, for `stamps` that tell nothing
        just after a change."""
        return lambda: None

    @pytest.fixture
    def together(self, reopen: Callable[[], Storage]) -> Together:
        """Runs functions of `storage_children` in processes of their own, begun at one moment, to their end;
        gives what each told."""
        if not self.processes:
            pytest.skip("the place is this process's own")

        def run(*calls: tuple[Any, ...]) -> list[list[Any]]:
            with ExitStack() as stack:
                crowd = [stack.enter_context(Child(call[0], reopen, *call[1:])) for call in calls]
                for child in crowd:
                    child.wait_until_ready()
                for child in crowd:
                    child.go()
                return [child.told() for child in crowd]

        return run

    @pytest.fixture
    def after_kill(self) -> Callable[[], None]:
        """Waits until what a killed process began has ended, for drivers that start processes of their own."""
        return lambda: None

    @pytest.fixture
    def in_background(
        self, reopen: Callable[[], Storage], after_kill: Callable[[], None]
    ) -> Iterator[Callable[..., Child]]:
        """Starts a function of `storage_children` that is killed at the end of the test."""
        if not self.processes:
            pytest.skip("the place is this process's own")
        with ExitStack() as stack:

            def start(function: Callable[..., None], *arguments: Any) -> Child:
                child = stack.enter_context(Child(function, reopen, *arguments))
                child.after_kill = after_kill
                child.wait_until_ready()
                child.go()
                return child

            yield start

    # Reading and creating

    @pytest.mark.parametrize("key", LEGAL_KEYS)
    def test_a_key_holds_what_was_created(self, driver: Storage, key: str) -> None:
        driver.create(key, b"content")
        assert driver.read(key).data == b"content"
        assert [row.key for row in driver.list(key)] == [key]

    # Line ends and the end-of-file mark of DOS (0x1a) change where a file is opened as text.
    @pytest.mark.parametrize("data", [b"", b"\0", bytes(range(256)), b"\r\n\n\r\x1a", b"x" * 5_000_001])
    def test_bytes_come_back_as_they_are(self, driver: Storage, data: bytes) -> None:
        tag = driver.create("key", data)
        assert driver.read("key").data == data
        tag = driver.replace("key", data + b"!", tag)
        assert driver.read("key").data == data + b"!"
        driver.replace("key", data, tag)
        assert driver.read("key").data == data
        assert [row.size for row in driver.list("key")] == [len(data)]

    @pytest.mark.parametrize("key", ["a", "a/b", "a/b/c"])
    def test_reading_what_is_not_there_says_so(self, driver: Storage, key: str) -> None:
        with pytest.raises(KeyMissingError) as raised:
            driver.read(key)
        assert key in str(raised.value)
        driver.create("a/b/d", b"")
        with pytest.raises(KeyMissingError):
            driver.read(key)

    def test_creating_what_is_there_changes_nothing(self, driver: Storage) -> None:
        driver.create("key", b"old")
        before = driver.read("key"), list(driver.list(""))
        with pytest.raises(KeyExistsError):
            driver.create("key", b"new")
        with pytest.raises(KeyExistsError):
            driver.create("key", b"old")
        assert (driver.read("key"), list(driver.list(""))) == before

    def test_another_instance_sees_what_was_written(self, driver: Storage, reopen: Callable[[], Storage]) -> None:
        tag = driver.create("a/b", b"1")
        second = reopen()
        assert second.read("a/b").data == b"1"
        tag = second.replace("a/b", b"2", tag)
        assert driver.read("a/b").data == b"2"
        driver.delete("a/b", tag)
        assert list(second.list("")) == []

    # Keys

    @pytest.mark.parametrize("key", ILLEGAL_KEYS)
    def test_an_illegal_key_is_refused_by_every_method(self, driver: Storage, key: str) -> None:
        driver.create("a/b", b"1")
        calls: tuple[Callable[[], Any], ...] = (
            lambda: driver.read(key),
            lambda: driver.create(key, b"x"),
            lambda: driver.replace(key, b"x", None),
            lambda: driver.replace(key, b"x", "tag"),
            lambda: driver.delete(key, "tag"),
            lambda: driver.touch(key),
        )
        for call in calls:
            with pytest.raises(StorageError) as raised:
                call()
            assert type(raised.value) is StorageError, "the key is not missing, there or changed: it is no key"
            assert str(raised.value).isprintable()
        assert [row.key for row in driver.list("")] == ["a/b"]

    @pytest.mark.parametrize("key", ["x" * 5_000, "x/" * 5_000 + "x"], ids=["name", "folders"])
    def test_an_endless_key_works_or_is_refused(self, driver: Storage, key: str) -> None:
        try:
            driver.create(key, b"1")
        except StorageError as error:
            message = str(error)
        else:
            assert driver.read(key).data == b"1"
            return
        assert len(message) < 2_000
        with pytest.raises(StorageError):
            driver.read(key)
        assert list(driver.list("")) == []

    @pytest.mark.parametrize("prefix", ILLEGAL_PREFIXES)
    def test_an_illegal_prefix_is_refused(self, driver: Storage, prefix: str) -> None:
        driver.create("a/b", b"1")
        with pytest.raises(StorageError) as raised:
            list(driver.list(prefix))
        assert str(raised.value).isprintable()

    # Compare and swap

    def test_replace_swaps_what_has_the_tag(self, driver: Storage) -> None:
        tag = driver.create("a/b", b"1")
        for content in (b"2", b"22", b"", b"3" * 100_000, b"4"):
            tag = driver.replace("a/b", content, tag)
            assert driver.read("a/b").data == content

    def test_replace_takes_the_tag_of_read(self, driver: Storage) -> None:
        driver.create("key", b"1")
        driver.replace("key", b"2", driver.read("key").tag)
        driver.replace("key", b"3", driver.read("key").tag)
        assert driver.read("key").data == b"3"

    def test_replace_takes_the_tag_of_list(self, driver: Storage) -> None:
        driver.create("key", b"1")
        driver.replace("key", b"2", _listed(driver, "key").tag)
        driver.replace("key", b"3", _listed(driver, "key").tag)
        assert driver.read("key").data == b"3"

    def test_replace_refuses_an_old_tag(self, driver: Storage) -> None:
        created, read = driver.create("key", b"1"), driver.read("key").tag
        listed = _listed(driver, "key").tag
        driver.replace("key", b"2", created)
        for tag in (created, read, listed):
            with pytest.raises(ConflictError):
                driver.replace("key", b"3", tag)
        assert driver.read("key").data == b"2"

    @pytest.mark.parametrize("tag", ["", "nonsense", ".", "1.2.3", "0" * 40, "\n\0\ud800", "x" * 100_000])
    def test_no_key_has_a_tag_that_was_never_given(self, driver: Storage, tag: str) -> None:
        driver.create("key", b"1")
        with pytest.raises(ConflictError):
            driver.replace("key", b"2", tag)
        with pytest.raises(ConflictError):
            driver.delete("key", tag)
        assert driver.read("key").data == b"1"

    def test_replace_without_a_tag_creates(self, driver: Storage) -> None:
        tag = driver.replace("a/b", b"1", None)
        assert driver.read("a/b").data == b"1"
        driver.replace("a/b", b"2", tag)

    def test_replace_without_a_tag_refuses_what_is_there(self, driver: Storage) -> None:
        driver.create("a/b", b"1")
        with pytest.raises(ConflictError):
            driver.replace("a/b", b"2", None)
        assert driver.read("a/b").data == b"1"

    def test_replace_with_a_tag_never_creates(self, driver: Storage) -> None:
        tag = driver.create("key", b"1")
        listed = _listed(driver, "key").tag
        driver.delete("key", tag)
        for old in (tag, listed):
            with pytest.raises(ConflictError):
                driver.replace("key", b"1", old)
        assert list(driver.list("")) == []

    def test_replace_by_the_same_bytes_works(self, driver: Storage) -> None:
        tag = driver.create("key", b"1")
        tag = driver.replace("key", b"1", tag)
        driver.replace("key", b"2", tag)

    def test_tags_change_with_the_bytes_however_quickly(self, driver: Storage) -> None:
        """Also where the size stays the same and the clock of the place has not moved on."""
        driver.create("key", b"000")
        read, listed = driver.read("key").tag, _listed(driver, "key").tag
        for version in range(1, 60):
            driver.replace("key", b"%03d" % version, read)
            row = _listed(driver, "key")
            assert driver.read("key").tag != read
            assert row.tag != listed
            read, listed = driver.read("key").tag, row.tag

    # Deleting

    def test_delete_removes(self, driver: Storage) -> None:
        driver.delete("a/b", driver.create("a/b", b"1"))
        with pytest.raises(KeyMissingError):
            driver.read("a/b")
        assert list(driver.list("")) == []
        driver.create("a/b", b"2")
        driver.delete("a/b", driver.read("a/b").tag)
        driver.create("a/b", b"3")
        driver.delete("a/b", _listed(driver, "a/b").tag)
        assert list(driver.list("")) == []

    def test_delete_refuses_an_old_tag(self, driver: Storage) -> None:
        tag = driver.create("key", b"1")
        listed = _listed(driver, "key").tag
        driver.replace("key", b"2", tag)
        for old in (tag, listed):
            with pytest.raises(ConflictError):
                driver.delete("key", old)
        assert driver.read("key").data == b"2"

    def test_delete_says_that_nothing_is_there(self, driver: Storage) -> None:
        with pytest.raises(KeyMissingError):
            driver.delete("a/b", "tag")
        tag = driver.create("a/b", b"1")
        driver.delete("a/b", tag)
        with pytest.raises(KeyMissingError):
            driver.delete("a/b", tag)

    def test_a_tag_does_not_outlive_a_deletion(self, driver: Storage) -> None:
        tag = driver.create("key", b"1")
        listed = _listed(driver, "key").tag
        driver.delete("key", tag)
        driver.create("key", b"2")
        for old in (tag, listed):
            with pytest.raises(ConflictError):
                driver.delete("key", old)

    # Touching

    def test_touch_changes_the_tag_of_the_listed_key_each_time(self, driver: Storage) -> None:
        driver.create("key", b"1")
        before = _listed(driver, "key")
        for _ in range(30):
            driver.touch("key")
            current = _listed(driver, "key")
            assert current.tag != before.tag
            assert current.modified >= before.modified
            before = current
        assert driver.read("key").data == b"1"

    def test_what_was_touched_since_it_was_listed_is_not_deleted(self, driver: Storage) -> None:
        driver.create("key", b"1")
        row = _listed(driver, "key")
        driver.touch("key")
        with pytest.raises(ConflictError):
            driver.delete(row.key, row.tag)
        with pytest.raises(ConflictError):
            driver.replace(row.key, b"2", row.tag)
        assert driver.read("key").data == b"1"

    def test_touch_says_that_nothing_is_there(self, driver: Storage) -> None:
        with pytest.raises(KeyMissingError):
            driver.touch("a/b")
        driver.create("a/c", b"")
        with pytest.raises(KeyMissingError):
            driver.touch("a/b")
        assert [row.key for row in driver.list("")] == ["a/c"]

    def test_modified_is_in_nanoseconds_since_1970(self, driver: Storage) -> None:
        driver.replace("key", b"2", driver.create("key", b"1"))
        assert abs(_listed(driver, "key").modified - time.time_ns()) < FAR_FROM_NOW
        driver.touch("key")
        assert abs(_listed(driver, "key").modified - time.time_ns()) < FAR_FROM_NOW

    # Listing

    def test_an_empty_place_lists_nothing(self, driver: Storage) -> None:
        for prefix in ("", "a", "a/", "a/b", "a/b/c"):
            assert list(driver.list(prefix)) == []

    def test_a_prefix_is_a_string_like_any_other(self, driver: Storage) -> None:
        for key in KEYS_IN_ORDER:
            driver.create(key, b"")
        begun = {key[:end] for key in KEYS_IN_ORDER for end in range(len(key) + 1)}
        for prefix in sorted(begun | {"c", "a/c", "a/b/c", "aa/a/", "A/"}):
            listed_keys = [row.key for row in driver.list(prefix)]
            assert listed_keys == [key for key in KEYS_IN_ORDER if key.startswith(prefix)], prefix

    def test_keys_are_listed_in_their_order(self, driver: Storage) -> None:
        assert sorted(KEYS_IN_ORDER) == list(KEYS_IN_ORDER)
        for key in random.Random(1).sample(KEYS_IN_ORDER, len(KEYS_IN_ORDER)):
            driver.create(key, b"x" * len(key))
        assert [(row.key, row.size) for row in driver.list("")] == [(key, len(key)) for key in KEYS_IN_ORDER]

    def test_keys_can_be_deleted_while_they_are_listed(self, driver: Storage) -> None:
        for index in range(60):
            driver.create(number_key("objects", index), b"%d" % index)
        deleted = []
        for row in driver.list("objects/"):
            driver.delete(row.key, row.tag)
            deleted.append(row.key)
        assert len(set(deleted)) == len(deleted) == 60
        assert list(driver.list("")) == []

    def test_a_listing_can_be_left_off(self, driver: Storage) -> None:
        for index in range(20):
            driver.create(number_key("objects", index), b"")
        assert next(iter(driver.list(""))).key == "objects/0/0"
        assert len(list(driver.list(""))) == 20

    # Everything together

    @pytest.mark.parametrize("seed", range(4))
    def test_it_behaves_as_a_dictionary(self, driver: Storage, seed: int) -> None:
        """A random walk: the same calls on a dictionary give the same answers."""
        chance, model = random.Random(seed), dict[str, bytes]()
        names = ["a/a", "a/b", "a/b.c", "ab", "b/c/d", "b/c/e", "c"]
        for step in range(150):
            key, data = chance.choice(names), b"%d" % step * chance.randrange(3)
            _same_step(driver, model, chance.choice(("create", "swap", "delete", "touch", "stale")), key, data)
            prefix = chance.choice(names)[: chance.randrange(4)]
            listed = [(row.key, row.size) for row in driver.list(prefix)]
            assert listed == sorted((k, len(v)) for k, v in model.items() if k.startswith(prefix))
        for key in names:
            if key in model:
                assert driver.read(key).data == model[key]

    # Many processes

    def test_of_many_creators_one_succeeds(self, driver: Storage, together: Together) -> None:
        for turn in range(3):
            key = f"objects/{turn}/key"
            answers = together(*[(children.create_once, key, creator) for creator in range(self.crowd)])
            winners = [creator for creator, (won,) in enumerate(answers) if won]
            assert len(winners) == 1
            assert payload_number(driver.read(key).data) == winners[0]

    def test_no_increment_is_lost(self, driver: Storage, together: Together) -> None:
        driver.create("counter", b"0")
        together(*[(children.increment, "counter", self.increments)] * self.crowd)
        assert driver.read("counter").data == b"%d" % (self.crowd * self.increments)

    def test_creations_and_deletions_add_up(self, driver: Storage, together: Together) -> None:
        answers = together(*[(children.come_and_go, "a/key", 50, child) for child in range(4)])
        created, deleted = (sum(counts[i] for (counts,) in answers) for i in (0, 1))
        assert deleted > 0
        assert created - deleted == len(list(driver.list("a/key")))

    def test_a_key_is_either_touched_or_collected(self, driver: Storage, together: Together) -> None:
        """As a collection of garbage needs it: nobody can rely on a key that goes away nevertheless."""
        for attempt in range(100):
            driver.create(f"objects/{attempt:03}", b"%d" % attempt)
        rows = list(driver.list("objects/"))
        used = [row.key for row in rows[::2]]
        ((deleted,), (touched,)) = together((children.delete_listed, rows), (children.touch_all, used))
        assert sorted(deleted + touched) == [row.key for row in rows]
        assert [row.key for row in driver.list("")] == touched

    def test_readers_see_whole_content_while_it_is_replaced(
        self, driver: Storage, in_background: Callable[..., Child]
    ) -> None:
        driver.create("a/key", payload(0))
        child = in_background(children.replace_all_for_ever, ["a/key"])
        numbers = [0]
        while len(set(numbers)) < 30:
            child.check_running()
            version = payload_number(driver.read("a/key").data)
            assert version is not None, "neither the old content nor the new"
            assert version >= numbers[-1], "older than what was read before"
            numbers.append(version)

    def test_a_key_that_stays_is_listed_once_while_keys_are_replaced(
        self, driver: Storage, in_background: Callable[..., Child]
    ) -> None:
        keys = [f"objects/{index:02}" for index in range(30)]
        for key in keys:
            driver.create(key, b"")
        writers = [in_background(children.replace_all_for_ever, part) for part in (keys[::2], keys[1::2])]
        before = {row.tag for row in driver.list("objects/")}
        # Until half of them were replaced: over a network, one of two writers may be the faster one each time.
        while len(before & {row.tag for row in driver.list("objects/")}) > len(keys) // 2:
            assert [row.key for row in driver.list("objects/")] == keys
            for writer in writers:
                writer.check_running()

    # Stamps

    def test_stamps_name_the_folders_at_a_prefix(self, driver: Storage, stamps: Stamps) -> None:
        for key in ("a/b/c", "a/b/d/e", "a/bb/f", "a/g", "h/i/j"):
            driver.create(key, b"")
        assert set(stamps("a/")) >= {"a/b/", "a/bb/"}
        assert set(stamps("a/")) - {"a/g/"} == {"a/b/", "a/bb/"}
        assert set(stamps("a/bb")) == {"a/bb/"}
        assert set(stamps("")) == {"a/", "h/"}
        assert stamps("not/there/") == {}
        for prefix in ILLEGAL_PREFIXES:
            with pytest.raises(StorageError):
                stamps(prefix)

    def test_a_stamp_that_tells_something_tells_of_every_change(
        self, driver: Storage, stamps: Stamps, settle: Callable[[], None]
    ) -> None:
        changes: tuple[Callable[[], Any], ...] = (
            lambda: driver.create("a/b/new", b"1"),
            lambda: driver.replace("a/b/new", b"2", driver.read("a/b/new").tag),
            lambda: driver.replace("a/b/new", b"2", driver.read("a/b/new").tag),
            lambda: driver.delete("a/b/new", driver.read("a/b/new").tag),
        )
        driver.create("a/b/old", b"1")
        driver.create("a/c/other", b"1")
        for change in changes:
            settle()
            before = stamps("a/")
            change()
            assert stamps("a/")["a/b/"] != before["a/b/"], "or else what is known would be taken for what is there"
            assert before["a/b/"], "nothing changed, so the stamp should tell"
            assert stamps("a/")["a/c/"] == before["a/c/"]

    def test_stamps_are_those_of_another_instance(
        self, driver: Storage, stamps: Stamps, reopen: Callable[[], Storage], settle: Callable[[], None]
    ) -> None:
        driver.create("a/b/c", b"1")
        settle()
        second: Any = reopen()
        assert stamps("a/") == second.stamps("a/")

    def test_just_after_a_change_a_stamp_tells_nothing_or_tells_of_the_next(
        self, driver: Storage, stamps: Stamps
    ) -> None:
        """However quickly changes follow one another."""
        driver.create("a/b/c", b"0")
        for attempt in range(60):
            before = stamps("a/")["a/b/"]
            driver.replace("a/b/c", b"%d" % attempt, driver.read("a/b/c").tag)
            assert before == "" or stamps("a/")["a/b/"] != before

    # Kills

    def test_a_writer_may_be_killed_at_any_instant(self, driver: Storage, in_background: Callable[..., Child]) -> None:
        """What it returned from is there; what it was at is there or not; nothing is half done or locked."""
        driver.create("counter", payload(0))
        # Each contract kills at other instants, but at the same ones each time.
        chance = random.Random(type(self).__qualname__)
        created = 0
        for _ in range(self.kills):
            child = in_background(children.write_for_ever, "counter", "objects", created)
            # Some writers are killed before their first write, others after several.
            time.sleep(chance.uniform(0, self.lifetime))
            created = _check_after_kill(driver, child.kill(), created)
        assert created > 0, "no writer lived long enough to write"
        for generation in range(1, created + 1):
            assert payload_number(driver.read(number_key("objects", generation)).data) == generation

    def test_pruning_takes_no_keys(self, driver: Storage, in_background: Callable[..., Child]) -> None:
        prune = getattr(driver, "prune", None)
        if prune is None:
            pytest.skip("there is nothing to prune")
        driver.create("counter", payload(0))
        for _ in range(3):
            in_background(children.write_for_ever, "counter", "objects", 0).kill()
        before = list(driver.list(""))
        assert prune(0) == 0
        prune(time.time_ns() + FAR_FROM_NOW)
        assert prune(time.time_ns() + FAR_FROM_NOW) == 0
        assert list(driver.list("")) == before

    def test_packing_changes_no_key(self, driver: Storage) -> None:
        pack = getattr(driver, "pack", None)
        if pack is None:
            pytest.skip("there is nothing to pack")
        contents = {f"objects/{number:02x}/{number:038x}": b"%d" % number * number for number in range(200)}
        contents["jobs/a"] = b"1"
        for key, data in contents.items():
            driver.create(key, data)
        before = {row.key: row for row in driver.list("")}
        assert 0 <= pack("objects/") <= 200
        assert pack("objects/") == 0
        assert pack("nothing/") == 0
        after = {row.key: row for row in driver.list("")}
        assert list(after) == sorted(contents)
        assert all(row.size == before[key].size and row.modified >= before[key].modified for key, row in after.items())
        assert {key: driver.read(key).data for key in contents} == contents
        assert list(getattr(driver, "damaged", lambda prefix: ())("objects/")) == []
        for key, row in list(after.items())[:50]:
            driver.delete(key, row.tag)
            with pytest.raises(KeyMissingError):
                driver.read(key)
            driver.create(key, b"again")
            driver.replace(key, b"changed", driver.read(key).tag)
            contents[key] = b"changed"
        pack("objects/")
        assert {row.key: driver.read(row.key).data for row in driver.list("")} == contents

    def test_warnings_are_lines_for_people(self, driver: Storage) -> None:
        warnings: Sequence[str] = getattr(driver, "warnings", tuple)()
        assert all(text and text.isprintable() for text in warnings)


def _listed(driver: Storage, key: str) -> Listed:
    (row,) = driver.list(key)
    return row


def _same_step(driver: Storage, model: dict[str, bytes], action: str, key: str, data: bytes) -> None:
    """One call on the driver and its like on a dictionary; they must agree on how it ends."""
    exists = key in model
    if action == "create":
        _agree(lambda: driver.create(key, data), KeyExistsError if exists else None)
        model.setdefault(key, data)
    elif action == "touch":
        _agree(lambda: driver.touch(key), None if exists else KeyMissingError)
    elif action == "stale":
        _agree(lambda: driver.replace(key, data, "stale"), ConflictError)
        _agree(lambda: driver.delete(key, "stale"), ConflictError if exists else KeyMissingError)
    elif action == "swap":
        driver.replace(key, data, driver.read(key).tag if exists else None)
        model[key] = data
    elif exists:
        driver.delete(key, driver.read(key).tag)
        del model[key]


def _agree(call: Callable[[], Any], expected: type[StorageError] | None) -> None:
    if expected is None:
        call()
    else:
        with pytest.raises(expected):
            call()


def _check_after_kill(driver: Storage, told: list[Any], start: int) -> int:
    """The number to which the killed writer counted, begun at `start`."""
    created = max((generation for action, generation in told if action == "created"), default=start)
    replaced = max((generation for action, generation in told if action == "replaced"), default=start)
    stored = driver.read("counter")
    counter = payload_number(stored.data)
    assert counter is not None, "the counter is neither the old content nor the new"
    # A writer that was killed may have done one step more than it could tell.
    assert replaced <= counter <= replaced + 1
    present = {row.key for row in driver.list("objects/")}
    certain = {number_key("objects", generation) for generation in range(1, created + 1)}
    assert certain <= present <= certain | {number_key("objects", created + 1)}
    for generation in range(start + 1, created + 2):
        key = number_key("objects", generation)
        assert key not in present or payload_number(driver.read(key).data) == generation
    try:
        driver.replace("counter", payload(counter), stored.tag)
    except ConflictError:  # the last step of the killed writer was still on its way to another machine
        return _check_after_kill(driver, told, start)
    return counter
