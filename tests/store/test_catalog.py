"""What is kept of the indexes is never believed when it could be wrong, and never missed when it is gone."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from perfcore_testing.memory import MemoryStorage

from perfcore.errors import FormatError
from perfcore.store import catalog as catalogs
from perfcore.store import index as indexes
from perfcore.store import objects
from perfcore.store.catalog import Catalog
from perfcore.store.read_model import ReadModel
from perfcore.store.store import Store, object_key

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from perfcore.hookspecs import Listed, Stored
    from perfcore.model import Entry, Profile

    Ask = Callable[..., list[str]]
    Everything = Callable[[], list[tuple[str, list[str]]]]
    Make = Callable[..., Profile]
    Register = Callable[..., Entry]

A, B, C = "aa" * 20, "ab" * 20, "aa" * 19 + "cc"


class Counting(MemoryStorage):
    """Tells how much is read and listed."""

    def __init__(self) -> None:
        super().__init__()
        self.work = 0

    def read(self, key: str) -> Stored:
        self.work += 1
        return super().read(key)

    def list(self, prefix: str) -> Iterator[Listed]:
        self.work += 1
        return super().list(prefix)


class Stampless(Counting):
    """A storage without the optional method."""

    def __getattribute__(self, name: str) -> Any:
        if name == "stamps":
            raise AttributeError(name)
        return super().__getattribute__(name)


class Asked(ReadModel):
    """Counts how often it is asked, and for which rows."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path)
        self.times = 0
        self.keys: set[str] = set()

    def get(self, space: str, key: str, group: str = "") -> bytes | None:
        self.times += 1
        return super().get(space, key, group)

    def many(self, space: str, keys: Collection[str], group: str = "") -> dict[str, bytes]:
        self.times += 1
        self.keys |= set(keys)
        return super().many(space, keys, group)


@pytest.fixture
def storage(request: pytest.FixtureRequest) -> Counting:
    made: type[Counting] = getattr(request, "param", Counting)
    return made()


@pytest.fixture(params=["whole", "in parts"], autouse=True)
def row_of_a(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the row that has the index of `A`: that of its folder, or of a sixteenth of it."""
    if request.param == "whole":
        return A[:2]
    monkeypatch.setattr(catalogs, "_LARGE", 0)
    return A[:3]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "derived.db"


@pytest.fixture
def model(place: Path) -> ReadModel:
    return ReadModel(place)


@pytest.fixture
def ask(store: Store, model: ReadModel) -> Ask:
    """The names of the profiles of a version, sorted, from a new catalog whose findings are kept."""

    def asked(version: str = A) -> list[str]:
        catalog = Catalog(store, model)
        found = sorted(entry.name for entry in catalog.entries("git", version))
        catalog.save()
        return found

    return asked


@pytest.fixture
def everything(store: Store, model: ReadModel) -> Everything:
    def listed() -> list[tuple[str, list[str]]]:
        catalog = Catalog(store, model)
        found = [row for row in catalog.everywhere() if not isinstance(row, FormatError)]
        catalog.save()
        return [(version, [entry.name for entry in entries]) for version, entries in found]

    return listed


def _resealed(model: ReadModel, row: str, change: Callable[[list[Any]], object]) -> None:
    """Change what a row says and make its checksum fit."""
    data = model.get("indexes", row)
    assert data is not None
    head = data[: data.index(b"\n") + 1]
    kept = msgspec.msgpack.decode(data[len(head) :])
    change(kept)
    model.put("indexes", {row: head + msgspec.msgpack.encode(kept)})


def _kept(register: Register, make: Make, store: Store, model: ReadModel) -> dict[str, Any]:
    """The entries of 64 versions in as many folders, which a catalog has read and kept."""
    versions = [f"{number:02x}" * 20 for number in range(64)]
    for number, version in enumerate(versions):
        register(make(number), version)
    catalog = Catalog(store, model)
    entries = {version: catalog.entries("git", version) for version in versions}
    catalog.save()
    return entries


def test_it_says_what_the_indexes_say(register: Register, make: Make, store: Store, ask: Ask) -> None:
    register(make(1), A, name="first", tags=("x", "schön"), collector="time", config_id="c")
    register(make(2), A, name="second", postprocessors=("filter",), cmd="sort", args="-n", workload="big")
    for _ in range(2):
        assert ask() == ["first", "second"]
    assert Catalog(store, ReadModel(None)).entries("git", A) == store.read_index("git", A).live


def test_what_was_kept_is_the_same_entry_for_entry(
    register: Register,
    make: Make,
    store: Store,
    ask: Ask,
    model: ReadModel,
    storage: Stampless,
) -> None:
    register(make(1), A, tags=("x", "schön"), collector="time", config_id="c", environment_id="e")
    register(make(2), A, postprocessors=("filter", "sum"), cmd="sort", args="-n", workload="big\n\x1b")
    ask()
    before = storage.work
    again = Catalog(store, model).entries("git", A)
    assert storage.work == before, "it was read from its row"
    assert again == store.read_index("git", A).live


def test_nothing_is_read_again_while_nothing_changes(
    register: Register,
    make: Make,
    ask: Ask,
    everything: Everything,
    storage: Stampless,
) -> None:
    register(make(1), A)
    register(make(2), B)
    for asked in (lambda: ask(A), lambda: ask(C), everything):
        asked()
        before = storage.work
        again = asked()
        assert storage.work == before
        assert again == asked()


def test_a_walk_asks_for_the_rows_of_many_folders_at_once(
    register: Register, make: Make, store: Store, storage: Counting, model: ReadModel, place: Path, row_of_a: str
) -> None:
    before = _kept(register, make, store, model)
    versions = list(before)
    again, work = Asked(place), storage.work
    catalog = Catalog(store, again)
    assert {version: catalog.entries("git", version) for version in reversed(versions)} == before
    assert again.times <= (30 if row_of_a == A[:2] else len(versions)), "a few parts are few bytes"
    assert storage.work == work


def test_a_look_at_few_versions_reads_the_rows_of_their_folders_only(
    register: Register, make: Make, store: Store, model: ReadModel, place: Path
) -> None:
    """Each has a 256th of all indexes, and a part of it is enough where that is many."""
    before = _kept(register, make, store, model)
    versions = list(before)
    again = Asked(place)
    catalog = Catalog(store, again)
    assert [catalog.entries("git", version) for version in versions[:20]] == list(before.values())[:20]
    assert again.keys == {version[:length] for version in versions[:20] for length in (2, 3)}


def test_a_folder_that_has_grown_large_is_kept_in_parts(
    register: Register, make: Make, store: Store, model: ReadModel, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row from before says nothing any more, and is not read for ever after."""
    monkeypatch.setattr(catalogs, "_LARGE", 2)
    versions = [f"aa{digit}" + "0" * 37 for digit in "0123"]
    for number, version in enumerate(versions):
        register(make(number), version)
        for _ in range(2):
            catalog = Catalog(store, model)
            found = [catalog.entries("git", each) for each in versions]
            assert list(map(len, found)) == [1] * (number + 1) + [0] * (3 - number)
            assert found == [store.read_index("git", each).live for each in versions]
            catalog.save()
    assert [bool(model.get("indexes", name)) for name in ("aa", "aa0", "aa3", "aa4")] == [False, True, True, True]
    again = Asked(place)
    assert Catalog(store, again).entries("git", versions[2]) == found[2]
    assert again.keys == {"aa", "aa2"}


def test_a_version_without_profiles_has_none(register: Register, make: Make, ask: Ask) -> None:
    register(make(1), A)
    for _ in range(2):
        assert ask(B) == []
        assert ask(C) == []


@pytest.mark.parametrize("first", ["ask", "everything", "nothing"])
def test_every_change_is_seen(
    register: Register,
    make: Make,
    store: Store,
    ask: Ask,
    everything: Everything,
    first: str,
) -> None:
    looks: dict[str, Callable[[], object]] = {"ask": ask, "everything": everything, "nothing": lambda: None}
    look = looks[first]
    look()
    one = register(make(1), A, name="one")
    assert ask() == ["one"]
    look()
    register(make(2), A, name="two")
    assert ask() == ["one", "two"]
    look()
    store.update_index("git", A, lambda index: indexes.bury(index, one))
    assert ask() == ["two"]
    assert everything() == [(A, ["two"])]
    look()
    store.storage.delete(object_key(A), store.storage.read(object_key(A)).tag)
    assert ask() == []
    assert everything() == []


def test_everywhere_gives_what_was_asked_for_and_what_was_not(
    register: Register,
    make: Make,
    ask: Ask,
    everything: Everything,
) -> None:
    for number, version in enumerate((C, B, A)):
        register(make(number), version, name=f"of {number}")
    ask(A)
    for _ in range(2):
        assert everything() == [(A, ["of 2"]), (C, ["of 0"]), (B, ["of 1"])]


def test_a_change_while_it_is_read_is_not_lost(
    register: Register,
    make: Make,
    store: Store,
    model: ReadModel,
    ask: Ask,
) -> None:
    """What was read before and after a change is kept under the stamp from before."""
    register(make(1), A, name="old")
    catalog = Catalog(store, model)
    catalog.entries("git", C)
    register(make(2), A, name="new")
    catalog.entries("git", A)
    register(make(3), A, name="newer")
    catalog.save()
    assert ask() == ["new", "newer", "old"]


def test_a_damaged_index_stays_damaged_until_it_is_mended(
    register: Register,
    make: Make,
    store: Store,
    storage: Stampless,
    model: ReadModel,
    everything: Everything,
) -> None:
    register(make(1), A, name="one")
    register(make(2), C, name="two")
    key = object_key(A)
    whole = storage.read(key)
    tag = storage.replace(key, whole.data[:-1], whole.tag)
    for _ in range(2):
        catalog = Catalog(store, model)
        with pytest.raises(FormatError, match="damaged"):
            catalog.entries("git", A)
        assert [type(row) for row in catalog.everywhere()] == [FormatError, tuple]
        assert [entry.name for entry in catalog.entries("git", C)] == ["two"]
        catalog.save()
    storage.replace(key, whole.data, tag)
    assert everything() == [(A, ["one"]), (C, ["two"])]


@pytest.mark.parametrize("storage", [Counting, Stampless], indirect=True)
@pytest.mark.parametrize("size", [100, 200_000], ids=["small", "large"])
@pytest.mark.parametrize("known", [False, True], ids=["cold", "warm"])
def test_an_object_in_the_place_of_an_index_is_an_error(
    register: Register,
    make: Make,
    store: Store,
    storage: Counting,
    model: ReadModel,
    size: int,
    known: bool,
) -> None:
    register(make(1), A)
    register(make(2), B)
    other = objects.Object("table", "x", random.Random(size).randbytes(size))
    store.put(other)  # nothing refers to it, and it is whole: no error
    if known:
        catalog = Catalog(store, model)
        assert [type(row) for row in catalog.everywhere()] == [tuple, tuple]
        catalog.save()
    storage.replace(object_key(A), objects.encode(other)[1], storage.read(object_key(A)).tag)
    for _ in range(2):
        catalog = Catalog(store, model)
        assert [type(row) for row in catalog.everywhere()] == [tuple, FormatError]
        assert len(catalog.entries("git", B)) == 1
        with pytest.raises(FormatError, match="not an index"):
            catalog.entries("git", A)
        catalog.save()


def test_the_index_of_another_version_is_no_answer(
    register: Register,
    make: Make,
    store: Store,
    storage: Stampless,
    model: ReadModel,
    everything: Everything,
) -> None:
    register(make(1), A)
    storage.create(object_key(C), storage.read(object_key(A)).data)
    everything()
    assert [type(row) for row in Catalog(store, model).everywhere()] == [tuple, FormatError]
    with pytest.raises(FormatError, match="is the index of"):
        Catalog(store, model).entries("git", C)
    with pytest.raises(FormatError, match="is the index of"):
        Catalog(store, model).entries("hg", A)


def test_without_the_file_only_time_is_lost(
    register: Register, make: Make, ask: Ask, model: ReadModel, row_of_a: str
) -> None:
    register(make(1), A, name="one")
    ask()
    assert model.path is not None
    model.path.unlink()
    assert ask() == ["one"], "from the file that it has open"
    model.close()
    assert ask() == ["one"]
    assert ReadModel(model.path).get("indexes", row_of_a)


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: kept.__setitem__(0, "0"),
        lambda kept: kept.__setitem__(0, ""),
        lambda kept: kept.__setitem__(0, None),
        lambda kept: kept.__setitem__(1, []),
        lambda kept: kept.__setitem__(2, 5),
        lambda kept: kept.pop(),
        lambda kept: kept[1].__setitem__(A, ["git", A, "entries"]),
        lambda kept: kept[1].__setitem__(A, ["git", A, [{"profile": 5}]]),
        lambda kept: kept[1].__setitem__(A, ["git", A, [{}]]),
        lambda kept: kept[1].__setitem__(A, ["git", B, []]),
        lambda kept: kept[1].__setitem__(A, None),
    ],
)
def test_a_forged_row_is_not_believed_and_breaks_nothing(
    register: Register,
    make: Make,
    ask: Ask,
    everything: Everything,
    model: ReadModel,
    row_of_a: str,
    change: Callable[[list[Any]], object],
) -> None:
    register(make(1), A, name="one")
    ask()
    _resealed(model, row_of_a, change)
    assert ask() == ["one"]
    _resealed(model, row_of_a, lambda kept: kept[1].__setitem__(A, "nonsense"))
    assert everything() == [(A, ["one"])]


def test_a_row_of_another_perfcore_is_not_believed(
    register: Register, make: Make, ask: Ask, model: ReadModel, row_of_a: str
) -> None:
    register(make(1), A, name="one")
    ask()
    data = model.get("indexes", row_of_a) or b""
    model.put("indexes", {row_of_a: data.replace(b"environment_id", b"somewhere_else", 1)})
    assert ask() == ["one"]


class TestWithoutStamps:
    @pytest.fixture
    def storage(self) -> Stampless:
        return Stampless()

    def test_everything_is_read_as_it_is(
        self,
        register: Register,
        make: Make,
        ask: Ask,
        everything: Everything,
        place: Path,
    ) -> None:
        for number, version in enumerate((A, B)):
            register(make(number), version, name=f"of {number}")
        assert ask(A) == ["of 0"]
        assert ask(C) == []
        assert everything() == [(A, ["of 0"]), (B, ["of 1"])]
        assert not place.exists()


def test_the_names_of_the_fields_are_part_of_the_head() -> None:
    assert b"environment_id" in catalogs._HEAD
