"""Results of checks are kept once, and the newest one holds."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from perfcore_command_store.examination import examine
from perfcore_command_store.garbage import collect_garbage
from perfcore_testing import hostile
from perfcore_testing.memory import MemoryStorage

from perfcore.analysis.stored_results import Checked, Results, headlines
from perfcore.errors import FormatError
from perfcore.hookspecs import Stored
from perfcore.model import Change
from perfcore.store import notes
from perfcore.store.store import Store

A, B = Checked(version="a" * 40, config_id="1:x"), Checked(version="b" * 40, config_id="1:x")


class Counting(MemoryStorage):
    """A storage that counts what is read."""

    reads = 0

    def read(self, key: str) -> Stored:
        self.reads += 1
        return super().read(key)


@pytest.fixture
def storage() -> Counting:
    return Counting()


@pytest.fixture
def store(storage: Counting) -> Store:
    return Store(storage)


def opened(store: Store) -> Results:
    return Results(store, "git")


def test_what_was_found_is_found_again(store: Store, change: Callable[..., Change]) -> None:
    slower = change("degradation", baseline_value=1, undone="c" * 40, evidence='"12" <pairs>\n')
    assert opened(store).keep("pair", {A: [slower], B: []}, 7) == 1
    (result,) = opened(store).of(A.version)
    assert (result.method, result.time, result.changes) == ("pair", 7, (slower,))
    assert opened(store).of(B.version) == ()
    assert [each.version for each in opened(store).every()] == [A.version]


def test_the_same_again_adds_nothing(store: Store, storage: Counting, change: Callable[..., Change]) -> None:
    found = {A: [change("degradation"), change("same", ratio=float("nan"))]}
    assert opened(store).keep("pair", found, 7) == 1
    before = [row.key for row in storage.list("")]
    assert opened(store).keep("pair", found, 8) == 0
    evidence = {A: [change("degradation", evidence="other words", p_value=0.1), change("same", ratio=None)]}
    assert opened(store).keep("pair", evidence, 9) == 0
    assert [row.key for row in storage.list("")] == before


def test_what_was_undone_is_no_headline_whatever_another_method_says(
    store: Store, change: Callable[..., Change]
) -> None:
    slower = change("degradation")
    opened(store).keep("changepoint", {A: [change("degradation", undone="c" * 40)]}, 7)
    opened(store).keep("pair", {A: [slower], B: [slower]}, 8)
    assert headlines(opened(store).of(A.version)) == ()
    assert headlines(opened(store).of(B.version)) == (slower,)


def test_the_newest_of_a_method_holds_and_methods_stand_beside_each_other(
    store: Store, change: Callable[..., Change]
) -> None:
    opened(store).keep("pair", {A: [change("degradation")]}, 7)
    opened(store).keep("pair", {A: [change("same")]}, 3)
    opened(store).keep("changepoint", {A: [change("variance")]}, 8)
    other = Checked(version=A.version, config_id="1:y")
    opened(store).keep("pair", {other: [change("optimization")]}, 9)
    found = {(each.config_id, each.method): each.changes[0].kind for each in opened(store).of(A.version)}
    assert found == {("1:x", "pair"): "same", ("1:x", "changepoint"): "variance", ("1:y", "pair"): "optimization"}


def test_what_is_found_no_more_is_gone(store: Store, change: Callable[..., Change]) -> None:
    opened(store).keep("changepoint", {A: [change("degradation")]}, 7)
    assert opened(store).keep("changepoint", {A: []}, 8) == 1
    assert opened(store).of(A.version)[0].changes == ()
    assert opened(store).keep("changepoint", {A: []}, 9) == 0


def test_another_version_control_system_has_its_own(store: Store, change: Callable[..., Change]) -> None:
    Results(store, "tagit").keep("pair", {A: [change()]}, 7)
    assert opened(store).of(A.version) == ()


def test_versions_without_results_cost_one_look_for_many(store: Store, storage: Counting) -> None:
    results, digits = opened(store), "0123456789abcdef"
    versions = [f"{a}{b}{c}".ljust(40, "0") for a, b, c in itertools.product(digits, digits, "01234")]
    for version in versions:
        assert results.of(version) == ()
    assert len(versions) == 1280
    assert storage.reads == 256


def test_a_history_is_kept_in_few_objects(store: Store, storage: Counting, change: Callable[..., Change]) -> None:
    found = {Checked(version=f"{n:040x}"[::-1], config_id="1:x"): [change()] for n in range(2000)}
    assert opened(store).keep("pair", found, 7) == 2000
    assert len(list(storage.list(""))) <= 2 * 256
    assert len(list(opened(store).every())) == 2000


def test_garbage_collection_keeps_them_and_fsck_verifies_them(
    store: Store, storage: Counting, change: Callable[..., Change]
) -> None:
    opened(store).keep("pair", {A: [change()]}, 7)
    storage.age(10**18)
    assert collect_garbage(store, older_than=2**63 - 1).removed == ()
    assert list(examine(store)) == []
    note = next(row.key for row in storage.list("objects/") if row.key != notes.key("checks of aa"))
    storage.damage(note, storage.read(note).data[:-9])
    assert {finding.level for finding in examine(store)} == {"error"}
    with pytest.raises(FormatError, match="damaged"):
        opened(store).of(A.version)
    assert opened(store).of(B.version) == (), "the rest goes on working"


def test_two_stores_are_joined_by_uniting_their_lists(change: Callable[..., Change]) -> None:
    stores = [Store(MemoryStorage()) for _ in range(2)]
    opened(stores[0]).keep("pair", {A: [change("degradation")], B: [change("same")]}, 7)
    opened(stores[1]).keep("pair", {A: [change("same")]}, 8)
    joined = Store(MemoryStorage())
    for store in (*stores, *stores):
        for bucket in ("aa", "bb"):
            for note in notes.read(store, f"checks of {bucket}"):
                notes.add(joined, f"checks of {bucket}", note.type, note.content)
    assert opened(joined).of(A.version)[0].changes[0].kind == "same"
    assert opened(joined).of(B.version)[0].changes[0].kind == "same"


def test_hostile_names_come_back_as_they_can_be_written(store: Store, change: Callable[..., Change]) -> None:
    for number, name in enumerate(hostile.NAMES):
        checked = Checked(version=f"v{name}", config_id=str(number))
        opened(store).keep("pair", {checked: [change(metric=name, label=name, unit=name, evidence=name)]}, 7)
        (made,) = opened(store).of(checked.version)
        assert {made.changes[0].metric, made.changes[0].label, made.changes[0].evidence} == {name}
    opened(store).keep("pair", {Checked(version="\udcff", config_id="1"): [change(label="\udcff")]}, 7)
    assert opened(store).of("\udcff")[0].changes[0].label == "\\udcff"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"format":1,"vcs":"git","method":"pair","time":1,"results":[{"version":1}]}',
        b'{"format":2,"vcs":"git","method":"pair","time":1,"results":[]}',
        b'{"format":1,"vcs":"git","method":"pair","time":1,"results":[{"version":"a","config_id":"x","changes":[{}]}]}',
    ],
)
def test_a_note_that_is_none_is_an_error(store: Store, content: bytes) -> None:
    notes.add(store, "checks of aa", "check", content)
    with pytest.raises(FormatError, match="a result of a check"):
        opened(store).of(A.version)


def test_a_note_at_byte_level(store: Store) -> None:
    """What was written once is read for ever, also beside fields that nobody knows."""
    content = (
        b'{"format":1,"vcs":"git","method":"pair","time":7,"later":1,"results":[{"version":"%s","config_id":"1:x",'
        b'"changes":[{"id":"1","kind":"degradation","metric":"cpu","ratio":2.0,"later":[]}]}]}' % A.version.encode()
    )
    notes.add(store, "checks of aa", "check", content)
    (result,) = opened(store).of(A.version)
    assert result.changes == (Change(id="1", kind="degradation", metric="cpu", ratio=2.0),)
