"""The state of a version is a set: any order, any repetition, any split over stores, and kills in between."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
from perfcore_command_remote.memory import Memory
from perfcore_command_remote.transfer import Transferred, transfer
from perfcore_command_store.examination import examine
from perfcore_command_store.garbage import collect_garbage
from perfcore_fleet_kit import retention
from perfcore_fleet_kit.dynamic_code import LineRange, line_ranges, logical_line, named_file
from perfcore_fleet_kit.keys import escaped, receipt_name, version_prefix
from perfcore_fleet_kit.state import FleetState
from perfcore_fleet_kit.testing import HOUR, VERSION, commit, counts, functions, segment
from perfcore_fleet_kit.texts import TextIndex
from perfcore_testing.memory import MemoryStorage

from perfcore.errors import FormatError, StorageError
from perfcore.hookspecs import Part, Section
from perfcore.model.listener import SilentListener
from perfcore.store.read_model import ReadModel
from perfcore.store.store import Store

FOREVER = 1 << 62


@pytest.fixture
def store() -> Store:
    return Store(MemoryStorage())


def read(store: Store) -> FleetState:
    return FleetState.read(store, VERSION)


def bring(source: Store, target: Store) -> Transferred:
    return transfer(source, target, Memory(ReadModel(None)), SilentListener(), declared=("receipts",))


def test_the_same_segment_counts_once(store: Store) -> None:
    first = segment("s", 1, {"main;work": 3})
    assert [c.outcome for c in commit(store, first, first)] == ["new", "known"]
    assert [c.outcome for c in commit(store, first, shard="two")] == ["known"]
    assert functions(store) == {"app.py:main:1": 3, "app.py:work:1": 3}


def test_a_longer_segment_takes_the_place_of_its_beginning(store: Store, tmp_path: Path) -> None:
    part = segment("s", 1, {"main": 3}, folder=tmp_path, data=b"begin", whole=False)
    whole = segment("s", 1, {"main": 5}, folder=tmp_path, data=b"beginning")
    assert [c.outcome for c in commit(store, part)] == ["new"]
    assert [c.outcome for c in commit(store, whole)] == ["replaced"]
    assert [c.outcome for c in commit(store, part)] == ["known"]
    assert counts(store).total == 5


def test_a_segment_with_other_bytes_is_a_conflict_and_not_counted(store: Store, tmp_path: Path) -> None:
    commit(store, segment("s", 1, {"main": 3}, folder=tmp_path, data=b"begin"))
    (committed,) = commit(store, segment("s", 1, {"main": 7}, folder=tmp_path, data=b"another"))
    assert committed.outcome == "conflict"
    assert "other bytes" in committed.reason
    assert counts(store).total == 3
    commit(store, segment("t", 1, {"main": 1}, folder=tmp_path, data=b"begin", whole=False))
    (committed,) = commit(store, segment("t", 1, {"main": 7}, folder=tmp_path, data=b"another"))
    assert committed.outcome == "conflict"
    assert counts(store).total == 4


@pytest.mark.parametrize("seed", range(20))
def test_any_order_over_any_stores_is_the_same(seed: int) -> None:
    """Stores are joined by transfers, in any direction, while receipts are packed."""
    numbers = random.Random(seed)
    segments = [segment(s, n, {"main;work": n, f"main;{s}": 2}) for s in ("web.example", "example") for n in (1, 2, 3)]
    stores = [Store(MemoryStorage()) for _ in range(3)]
    for _ in range(12):
        drawn = numbers.sample(segments, numbers.randint(1, 4))
        commit(numbers.choice(stores), *drawn, shard=numbers.choice(("example", "web.example")))
        if numbers.random() < 0.3:
            chosen = numbers.choice(stores)
            retention.pack(chosen, VERSION, read(chosen), HOUR, FOREVER)
        bring(*numbers.sample(stores, 2))
    commit(stores[0], *segments)
    for source, target in itertools.permutations(stores, 2):
        assert bring(source, target).problems == ()
    for source, target in itertools.permutations(stores, 2):
        bring(source, target)
    for joined in stores:
        assert functions(joined) == {
            "app.py:main:1": 24,
            "app.py:work:1": 12,
            "app.py:web.example:1": 6,
            "app.py:example:1": 6,
        }
        collect_garbage(joined, older_than=FOREVER)
        assert list(examine(joined)) == []
        assert counts(joined).total == 24


def test_ticks_of_two_lengths_are_added_in_time(store: Store) -> None:
    from perfcore_fleet_kit.query import Query, merge, select

    commit(store, segment("a", 1, {"main": 10}, period=1_000_000), segment("b", 1, {"main": 10}, period=10_000_000))
    state = read(store)
    merged = merge(store, state, list(select(state, Query())))
    assert sum(merged.union.time.values()) == 110_000_000
    assert sum(merged.union.samples.values()) == 20


def test_labels_are_asked_for_when_reading(store: Store) -> None:
    parts = [Part((("section", "r"), ("action", "cart"))), Part((("section", "r"), ("action", "list"))), Part()]
    commit(store, segment("a", 1, {"main": 5}, parts=parts), segment("b", 1, {"main": 7}, labels={"host": "web2"}))
    assert counts(store, action="cart").total == 5
    assert counts(store, section="r").total == 10
    assert counts(store, host="web1").total == 15
    assert counts(store, host="web2").total == 7
    assert counts(store, host="web2", action="cart").total == 0


def test_dynamic_code_of_a_parent_is_resolved_when_it_arrives(store: Store) -> None:
    """Nothing stored changes. Of a parent, segments up to the fork count."""
    child = segment("child", 1, {"main;qeval:child/(eval 3):gen": 2}, parent=("parent", 1))
    commit(store, child)
    assert "qeval:child/(eval 3):gen:1" in functions(store)
    commit(store, segment("parent", 2, {"main": 1}, codes={3: "after the fork"}))
    assert "qeval:child/(eval 3):gen:1" in functions(store)
    commit(store, segment("parent", 1, {"main": 1}, codes={3: "text"}))
    assert functions(store)[f"{named_file('text')}:gen:1"] == 2
    commit(store, segment("child", 2, {"main": 1}, parent=("parent", 1), codes={3: "own"}))
    assert functions(store)[f"{named_file('own')}:gen:1"] == 2


def test_lines_of_dynamic_code_are_those_that_its_text_says(store: Store) -> None:
    """Of two texts with the same lines of a file, both count there, and once per sample."""
    texts = {n: f'# {n}\n#line 200 "page.tt"\n1\n#line 9\n2' for n in (1, 2)}
    stacks = {"main;qeval:s/(eval 1):gen": 2, "main;qeval:s/(eval 2):gen": 3}
    stacks |= {"main;qeval:s/(eval 1):gen;qeval:s/(eval 2):gen": 4, "main;qeval:s/(eval 7):gen": 1}
    commit(store, segment("s", 1, stacks, codes=texts))
    of_all = counts(store)
    assert of_all.lines == {("app.py", 3): [10, 0], ("page.tt", 200): [9, 9], ("qeval:s/(eval 7)", 3): [1, 1]}
    assert of_all.files == {"page.tt": 9, "qeval:s/(eval 7)": 1}
    ids = [f"{named_file(text)}:gen:1" for text in texts.values()]
    assert [of_all.functions[id].inclusive for id in ids] == [6, 7]
    assert of_all.call_sites["page.tt", 200, ids[0], ids[1]] == [4, 4]


def test_lines_of_code_whose_text_came_with_its_samples(store: Store) -> None:
    text = '1\n#line 200 "page.tt"\n1\n2'
    commit(store, segment("s", 1, {f"main;{named_file(text)}:gen": 2}, codes={1: text}))
    assert counts(store).lines == {("app.py", 3): [2, 0], ("page.tt", 200): [2, 2]}


def test_an_index_of_texts_is_used_and_may_be_damaged(store: Store, tmp_path: Path) -> None:
    text = '1\n#line 200 "page.tt"\n1\n2'
    commit(store, segment("s", 1, {"main": 1}, codes={1: text}))
    ids = list(read(store).receipts["s.1"].codes.values())
    path = tmp_path / "texts"
    index = TextIndex(path)
    expected = index.files(store, ids)
    assert expected == ({ids[0]: named_file(text)}, {named_file(text): line_ranges(text)})
    index.save()
    assert TextIndex(path).files(Store(MemoryStorage()), ids) == expected
    whole = path.read_bytes()
    for data in (b"", whole[:-1], whole[:30] + b"x" + whole[31:]):
        path.write_bytes(data)
        assert TextIndex(path).files(Store(MemoryStorage()), ids) == ({}, {})
        assert TextIndex(path).files(store, ids) == expected


@pytest.mark.parametrize(("line", "place"), [(2, ("f", 2)), (3, ("a", 5)), (4, ("a", 6)), (5, ("f", 5)), (6, ("a", 1))])
def test_a_range_does_not_have_its_end(line: int, place: tuple[str, int]) -> None:
    ranges = [LineRange(3, 5, "a", 5), LineRange(6, 7, "a", 1)]
    assert logical_line({"f": ranges}, "f", line) == place
    assert logical_line({}, "f", line) == ("f", line)


def test_packing_changes_no_number(store: Store) -> None:
    commit(store, *(segment("s", n, {"main": n}, hour=n // 3) for n in range(1, 9)))
    before = counts(store)
    assert retention.pack(store, VERSION, read(store), HOUR, FOREVER) == 8
    state = read(store)
    assert (len(state.loose), len(state.packs), len(state.receipts)) == (0, 3, 8)
    assert counts(store) == before
    assert [c.outcome for c in commit(store, segment("s", 1, {"main": 1}))] == ["known"]
    collect_garbage(store, older_than=FOREVER)
    assert counts(store) == before
    assert list(examine(store)) == []


def test_a_box_that_is_open_is_not_packed(store: Store) -> None:
    commit(store, segment("s", 1, {"main": 1}), segment("s", 2, {"main": 1}))
    assert retention.pack(store, VERSION, read(store), HOUR, HOUR - 1) == 0


class Killed(MemoryStorage):
    """A storage whose process dies at the nth write."""

    hidden = frozenset(("create_many", "write_many"))
    left = FOREVER

    def _tick(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise StorageError("killed")

    def create(self, key: str, data: bytes) -> str:
        self._tick()
        return super().create(key, data)

    def replace(self, key: str, data: bytes, tag: str | None) -> str:
        self._tick()
        return super().replace(key, data, tag)

    def delete(self, key: str, tag: str) -> None:
        self._tick()
        super().delete(key, tag)


@pytest.mark.parametrize("writes", range(0, 60, 3))
def test_a_kill_anywhere_counts_each_segment_once(writes: int) -> None:
    """Of an ingestion, of a pack, and of an expiry; each is done again afterwards."""
    storage = Killed()
    store = Store(storage)
    segments = [segment("s", n, {"main": 1, f"main;f{n}": n}, hour=n // 3, codes={n: f"text {n}"}) for n in range(1, 7)]
    storage.left = writes
    try:
        commit(store, *segments)
        retention.pack(store, VERSION, read(store), HOUR, FOREVER)
        names = {receipt_name("s", 1), receipt_name("s", 2)}
        retention.expire(store, VERSION, read(store), names, HOUR, 1)
    except StorageError:
        pass
    storage.left = FOREVER
    collect_garbage(store, older_than=FOREVER)
    assert [finding for finding in examine(store) if finding.level == "error"] == []
    commit(store, *segments)
    expired = sum(number for number in (1, 2) if receipt_name("s", number) in read(store).gone)
    assert counts(store).total == 27 - expired - (0 if not expired else 2)
    retention.pack(store, VERSION, read(store), HOUR, FOREVER)
    names = {receipt_name("s", 1), receipt_name("s", 2)}
    retention.expire(store, VERSION, read(store), names, HOUR, 1)
    assert counts(store).total == 27 - 3 - 2
    assert sum(box.samples for tombstone in read(store).tombstones for box in tombstone.boxes) == 5


def test_an_expired_box_leaves_the_others_as_they_were(store: Store) -> None:
    """Their numbers, their sections and the texts of their dynamic code; totals and top functions stay."""
    labels = (("action", "x"),)
    first = segment(
        "s",
        1,
        {"main;qeval:s/(eval 3):gen": 2},
        opened=(Section("r", labels),),
        parts=[Part((), 0, (0,))],
        codes={3: "text"},
    )
    second = segment("s", 2, {"main;qeval:s/(eval 3):gen": 4}, hour=1, ended=(Section("r"),), parts=[Part()])
    commit(store, first, second)
    retention.pack(store, VERSION, read(store), 24 * HOUR, FOREVER)
    assert counts(store, action="x").total == 6
    retention.expire(store, VERSION, read(store), {receipt_name("s", 1)}, HOUR, 1)
    collect_garbage(store, older_than=FOREVER)
    assert list(examine(store)) == []
    assert counts(store, action="x").total == 4
    assert functions(store) == {"app.py:main:1": 4, f"{named_file('text')}:gen:1": 4}
    (tombstone,) = read(store).tombstones
    assert tombstone.boxes[0].top[0] == ("app.py:main:1", 2, 0)
    assert [c.outcome for c in commit(store, first)] == ["expired"]
    assert counts(store).total == 4


def test_expiry_travels(store: Store) -> None:
    other = Store(MemoryStorage())
    commit(store, segment("s", 1, {"main": 1}), segment("s", 2, {"main": 2}))
    bring(store, other)
    retention.expire(store, VERSION, read(store), {receipt_name("s", 1)}, HOUR, 1)
    bring(other, store)
    assert counts(store).total == 2
    bring(store, other)
    assert counts(other).total == 2


def test_a_transfer_says_of_two_records_of_one_rank(store: Store, tmp_path: Path) -> None:
    other = Store(MemoryStorage())
    commit(store, segment("s", 1, {"main": 1}, folder=tmp_path, data=b"12345"))
    commit(other, segment("s", 1, {"main": 2}, folder=tmp_path, data=b"abcde"))
    assert "another record" in bring(store, other).problems[0]
    assert counts(other).total == 2


def test_a_whole_segment_wins_in_a_transfer(store: Store, tmp_path: Path) -> None:
    other = Store(MemoryStorage())
    commit(store, segment("s", 1, {"main": 1}, folder=tmp_path, data=b"1234567", whole=False))
    commit(other, segment("s", 1, {"main": 2}, folder=tmp_path, data=b"12345"))
    assert bring(store, other).records == 0
    assert bring(other, store).records == 1
    assert counts(store).total == counts(other).total == 2


def test_a_damaged_receipt_is_named_while_the_others_count(store: Store) -> None:
    commit(store, segment("s", 1, {"main": 1}), segment("s", 2, {"main": 2}))
    key = version_prefix(VERSION) + receipt_name("s", 1)
    stored = store.storage.read(key)
    store.storage.replace(key, stored.data[:-1], stored.tag)
    state = read(store)
    assert len(state) == 1
    assert key in state.problems[0]
    assert [finding.key for finding in examine(store)] == [key]
    with pytest.raises(FormatError, match="checksum"):  # what it refers to is not known
        collect_garbage(store, older_than=FOREVER)
    other = Store(MemoryStorage())
    assert key in bring(store, other).problems[0]
    assert counts(other).total == 2


def test_garbage_collection_keeps_what_receipts_name(store: Store) -> None:
    commit(store, segment("s", 1, {"main": 1}, codes={1: "text"}))
    assert collect_garbage(store, older_than=FOREVER).removed == ()
    assert counts(store).total == 1


@pytest.mark.parametrize(
    "name",
    ["web1.example.net", "../../etc/passwd", "A", "a", "", "@pack.x", "-x", "Ü", "x" * 500, "x" * 501, "a.", "\0"],
)
def test_any_name_is_a_key_of_its_own(store: Store, name: str) -> None:
    commit(store, segment(name, 1, {"main": 3}), segment("other", 1, {"main": 4}))
    assert counts(store).total == 7
    assert receipt_name(name, 1) in read(store).receipts
    assert not escaped(name).startswith("@")


def test_different_names_have_different_keys() -> None:
    names = ["a", "A", "+61", "a.b", "a+2eb", "x" * 100, "x" * 101, "x" * 102, "", "+"]
    keys = [escaped(name).lower() for name in names]
    assert len(set(keys)) == len(names)
