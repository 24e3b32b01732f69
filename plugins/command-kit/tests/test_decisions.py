"""What was accepted stays accepted until somebody takes it back."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from perfcore_command_kit import decisions
from perfcore_command_store.examination import examine
from perfcore_command_store.garbage import collect_garbage
from perfcore_testing import hostile, results
from perfcore_testing.memory import MemoryStorage

from perfcore.errors import FormatError
from perfcore.model import Change
from perfcore.model.decisions import Decision
from perfcore.model.record import replace
from perfcore.store import notes
from perfcore.store.store import Store


@pytest.fixture
def accept() -> Callable[..., Decision]:
    return results.acceptance


@pytest.fixture
def change() -> Callable[..., Change]:
    return results.change


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def store(storage: MemoryStorage) -> Store:
    return Store(storage)


def test_nothing_is_accepted_at_first(store: Store) -> None:
    assert decisions.accepted(store) == {}


def test_author_reason_and_time_are_kept(store: Store, accept: Callable[..., Decision]) -> None:
    given = accept("1f", why="it is safer", author="Ann <ann@example.org>", time=5, what="cpu slower")
    decisions.keep(store, given)
    assert decisions.accepted(store) == {"1f": given}


def test_the_newest_counts_in_whatever_order_they_come(accept: Callable[..., Decision]) -> None:
    given = [accept("1f", time=1), accept("1f", time=2, accepted=False), accept("1f", time=3, why="again")]
    for order in itertools.permutations(given):
        store = Store(MemoryStorage())
        for each in order:
            decisions.keep(store, each)
        assert decisions.accepted(store)["1f"].why == "again"
    decisions.keep(store, accept("1f", time=4, accepted=False))
    assert decisions.accepted(store) == {}


def test_what_another_method_finds_between_the_same_two_versions_is_accepted_too(
    store: Store, accept: Callable[..., Decision], change: Callable[..., Change]
) -> None:
    given = change("degradation", id="1")
    decisions.keep(store, accept("1", place=decisions.place(given)))
    others = {
        "same": change("degradation", id="same", ratio=3.0),
        "metric": change("degradation", id="metric", metric="wall"),
        "baseline": change("degradation", id="baseline", baseline="0000000000"),
        "kind": change("cannot tell", id="kind"),
        "contract": change("degradation", id="contract", contract="sort: cpu at most 1 ms"),
    }
    assert set(decisions.of_changes((given, *others.values()), decisions.accepted(store))) == {"1", "same"}


def test_a_change_without_a_known_place_is_accepted_by_its_id_only(
    accept: Callable[..., Decision], change: Callable[..., Change]
) -> None:
    known = {"1": accept("1")}
    assert decisions.of_changes((change(id="1"), change(id="2"), change(id="3", contract="x")), known) == known


def test_they_are_no_garbage_and_nothing_is_wrong_with_them(
    store: Store, storage: MemoryStorage, accept: Callable[..., Decision]
) -> None:
    decisions.keep(store, accept("1f"))
    storage.age(10**18)
    assert collect_garbage(store, older_than=2**63 - 1).removed == ()
    assert list(examine(store)) == []


def test_hostile_texts_come_back(store: Store, accept: Callable[..., Decision]) -> None:
    for name in hostile.NAMES:
        decisions.keep(store, accept(name, why=name, author=name, what=name))
    found = decisions.accepted(store)
    assert {(each.why, each.author, each.what) for each in found.values()} == {(n, n, n) for n in hostile.NAMES}
    decisions.keep(store, accept("x", why="\udcff"))
    assert decisions.accepted(store)["x"].why == "\\udcff"


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"change":"a","why":"","author":"","time":1,"format":2}'])
def test_a_note_that_is_none_is_an_error(store: Store, content: bytes) -> None:
    notes.add(store, decisions.SUBJECT, decisions.TYPE, content)
    with pytest.raises(FormatError, match="a note on accepted changes"):
        decisions.accepted(store)


def test_a_note_at_byte_level(store: Store) -> None:
    """What was written once is read for ever, also beside fields that nobody knows."""
    notes.add(
        store, "accepted changes", "acceptance", b'{"format":1,"change":"1","why":"x","author":"A","time":7,"n":0}'
    )
    assert decisions.accepted(store) == {"1": Decision(change="1", why="x", author="A", time=7)}


def test_what_a_history_finds_a_version_later_is_still_accepted(
    store: Store, accept: Callable[..., Decision], change: Callable[..., Change]
) -> None:
    """More data moved the estimate, and the state that knew its first name is gone."""
    first = change(id="1", target="b" * 10, earliest="b" * 40, latest="c" * 40)
    moved = replace(first, id="2", baseline="b" * 10, target="c" * 10, earliest="b" * 40)
    elsewhere = replace(moved, target="d" * 10, earliest="d" * 40, latest="d" * 40)
    decisions.keep(store, accept("1", place=decisions.place(first)))
    known = decisions.accepted(store)
    assert list(decisions.of_changes([moved], known)) == ["2"]
    assert decisions.of_changes([elsewhere, replace(moved, metric="wall")], known) == {}


def test_a_change_that_moved_is_still_accepted_where_its_earliest_version_was_not_measured(
    store: Store, accept: Callable[..., Decision], change: Callable[..., Change]
) -> None:
    first = change(id="1", target="b" * 10, earliest="a" * 40, latest="b" * 40)
    moved = replace(first, id="2", baseline="b" * 10, target="c" * 10, latest="c" * 40)
    decisions.keep(store, accept("1", place=decisions.place(first)))
    known = decisions.accepted(store)
    assert list(decisions.of_changes([moved], known)) == ["2"]
    compared = replace(first, id="3", earliest="", latest="")
    assert list(decisions.of_changes([compared], known)) == ["3"], "the check of these two versions, too"
    assert decisions.of_changes([replace(moved, earliest="c" * 40)], known) == {}
