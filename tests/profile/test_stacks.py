"""Call stacks: what the tables say does not depend on their numbering, and sharing loses nothing."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfcore_command_store.examination import examine
from perfcore_command_store.garbage import collect_garbage
from perfcore_testing.memory import MemoryStorage

from perfcore.errors import FormatError
from perfcore.model import Header, Profile, Tool
from perfcore.model.record import replace
from perfcore.profile import codec, stack_dedup, stacks
from perfcore.profile.stacks import Frame, StackBuilder, Stacks
from perfcore.profile.table import Column, Table, column, concat, table
from perfcore.store import pending
from perfcore.store.store import Store

Path_ = tuple[Frame, ...]
Samples = list[tuple[Path_, int]]

NAMES = st.sampled_from(["main", "parse", "naïve <script>;\n", "", "a;b"])
FRAMES = st.builds(
    Frame,
    name=NAMES,
    file=st.sampled_from(["a.py", "b c.py", ""]),
    line=st.none() | st.integers(5, 9),
    first_line=st.just(5) | st.none(),
)
SAMPLES: st.SearchStrategy[Samples] = st.lists(
    st.tuples(st.lists(FRAMES, min_size=1, max_size=6).map(tuple), st.integers(0, 9)), min_size=1, max_size=12
)


def tables_of(samples: Samples) -> dict[str, Table]:
    builder = StackBuilder()
    rows = [builder.add(path) for path, _ in samples]
    resources = table(
        "resources",
        (column("stack", rows, dtype="i64"), column("samples", [n for _, n in samples], dtype="i64", role="value")),
    )
    return {"resources": resources, **builder.tables()}


def said(tables: Mapping[str, Table]) -> list[tuple[tuple[tuple[str, str, int | None], ...], int]]:
    """What the samples say, row by row, in words: function, file and line of every frame, and the count."""
    read = Stacks.of(tables)
    found = []
    for stack, count in zip(tables["resources"]["stack"], tables["resources"]["samples"], strict=True):
        path = []
        at = int(stack)  # type: ignore[arg-type]
        while at != stacks.NOWHERE:
            function = read.function[read.frame[at]]
            path.append((read.names[function], read.files[function], read.line(at)))
            at = read.parent[at]
        found.append((tuple(path[::-1]), int(count)))  # type: ignore[arg-type]
    return found


def shuffled(tables: Mapping[str, Table], order: list[int]) -> dict[str, Table]:
    """The same profile with its stacks in another order, children perhaps before their parents."""
    old = tables["stacks"]
    order = [row for row in order if row < old.rows]
    order += [row for row in range(old.rows) if row not in order]
    place = {row: at for at, row in enumerate(order)}
    moved = old.take(order)
    parents = [None if up is None else place[int(up)] for up in moved["parent"]]
    resources = tables["resources"]
    rows = [place[int(row)] for row in resources["stack"]]  # type: ignore[arg-type]
    return {
        **tables,
        "stacks": moved.with_columns(column("parent", parents, dtype="i64")),
        "resources": resources.with_columns(column("stack", rows, dtype="i64")),
    }


def test_a_builder_gives_one_number_to_one_stack() -> None:
    builder = StackBuilder()
    main, work = Frame("main", "a.py", 12, 10), Frame("work", "a.py", 31, 30)
    first = builder.add((main, work))
    assert builder.add((main, work)) == first
    assert builder.add((work,), parent=builder.add((main,))) == first
    tables = builder.tables()
    assert list(tables["stacks"]["parent"]) == [None, 0]
    assert list(tables["frames"]["offset"]) == [2, 1]
    assert Stacks.of(tables).line(first) == 31
    assert Stacks.of(tables).path(first) == [0, 1]


@given(SAMPLES)
def test_the_tables_say_what_was_put_in(samples: Samples) -> None:
    expected = [(tuple((f.name, f.file, f.line) for f in path), count) for path, count in samples]
    assert said(tables_of(samples)) == expected


@given(SAMPLES, st.permutations(range(30)))
def test_renumbering_says_the_same_and_forgets_how_rows_were_numbered(samples: Samples, order: list[int]) -> None:
    tables = tables_of(samples)
    once = stacks.renumbered(tables)
    assert said(once) == said(tables)
    assert stacks.renumbered(once) == once
    assert stacks.renumbered(shuffled(tables, order)) == once


@pytest.mark.parametrize("parents", [[], [None], [None, None, 0, None], [None, 0, None, 1], [None, 0, 1, 0, None, 4]])
def test_leaps_are_the_stacks_that_do_not_stand_on_the_one_before(parents: list[int | None]) -> None:
    builder = StackBuilder()
    builder.add((Frame("main"),))
    rows = table("stacks", (column("parent", parents, dtype="i64"), column("frame", [0] * len(parents), dtype="i64")))
    read = Stacks.of({**builder.tables(), "stacks": rows})
    assert list(read.leaps) == [row for row, parent in enumerate(read.parent) if parent != row - 1]


def test_renumbering_drops_what_nobody_uses() -> None:
    builder = StackBuilder()
    used, _ = builder.add((Frame("main"),)), builder.add((Frame("main"), Frame("unused")))
    resources = table("resources", (column("stack", [used, None], dtype="i64"),))
    found = stacks.renumbered({"resources": resources, **builder.tables()})
    assert [found[name].rows for name in stacks.NAMES] == [1, 1, 1]
    assert list(found["functions"]["name"]) == ["main"]
    assert list(found["resources"]["stack"]) == [0, None]


def test_other_tables_may_refer_to_functions_and_frames() -> None:
    builder = StackBuilder()
    builder.add((Frame("main"), Frame("leaf")))
    models = table("models", (column("function", [1], dtype="i64"), column("coefficient", [0.5])))
    found = stacks.renumbered({"models": models, **builder.tables()})
    assert list(found["functions"]["name"]) == ["leaf"]
    assert list(found["models"]["function"]) == [0]
    assert found["stacks"].rows == 0


@pytest.mark.parametrize(
    ("parents", "frames"),
    [
        ([0], [0]),
        ([1, 0], [0, 0]),
        ([None, 7], [0, 0]),
        ([None], [3]),
        ([-1], [0]),
        ([None, -1], [0, 0]),
        ([None], [-1]),
    ],
)
def test_references_that_lead_nowhere_are_refused(parents: list[int | None], frames: list[int]) -> None:
    builder = StackBuilder()
    builder.add((Frame("main"),))
    wrong = table("stacks", (column("parent", parents, dtype="i64"), column("frame", frames, dtype="i64")))
    with pytest.raises(FormatError, match="stacks"):
        Stacks.of({**builder.tables(), "stacks": wrong})


def chains_of(shared: stack_dedup.Split) -> dict[str, stack_dedup.Chain]:
    whole = {}
    for name, fresh in shared.new_rows.items():
        before = shared.earlier[name].table if name in shared.earlier else fresh.slice(0, 0)
        joined = concat([before, fresh])
        whole[name] = stack_dedup.Chain((b"x",), joined)
    return whole


@given(st.lists(SAMPLES, min_size=1, max_size=4))
@settings(max_examples=60)
def test_what_is_stored_on_top_of_others_is_read_back_as_it_was(versions: list[Samples]) -> None:
    store = Store(MemoryStorage())
    earlier: dict[str, stack_dedup.Chain] = {}
    for number, samples in enumerate(versions):
        tables = tables_of(samples)
        shared = stack_dedup.split(tables, earlier)
        assert shared is not None
        kept = {name: chain.table for name, chain in chains_of(shared).items()}
        beside = shared.local["functions"]
        whole = {**shared.others, **kept, "functions": kept["functions"].with_columns(*beside.columns)}
        assert stacks.renumbered(whole) == stacks.renumbered(tables)
        earlier = chains_of(shared)
        data, ids = codec.encode(made(tables, number), store.put_piece, inline=0, earlier=dict)
        assert dict(store.decode_profile(data, "x").tables) == stacks.renumbered(tables)
        assert ids == codec.piece_ids(data, "x")


def test_a_profile_that_continues_another_takes_little_memory() -> None:
    """Some numbers for each row, and none as an object: imports of millions of stacks continue one another."""

    def program(version: int) -> dict[str, Table]:
        paths = (tuple(Frame(f"f{n * k % 500}") for k in range(30)) for n in range(1, 3_000))
        return tables_of([*((path, 1) for path in paths), ((Frame("f1"), Frame(f"of {version}")), version)])

    first = stack_dedup.split(program(1), {})
    assert first is not None
    earlier, second = chains_of(first), program(2)
    rows = earlier["stacks"].table.rows + second["stacks"].rows
    tracemalloc.start()
    try:
        shared = stack_dedup.split(second, earlier)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert shared is not None
    assert shared.new_rows["stacks"].rows == 1
    assert peak < 60 * rows


def made(tables: Mapping[str, Table], number: int) -> Profile:
    return Profile(
        header=Header(type="sample", cmd="program"),
        created=number,
        collector=Tool(name="sample"),
        config_id="1:" + "c" * 40,
        tables=dict(tables),
    )


def large(version: int) -> dict[str, Table]:
    """Some thousand stacks; ten of them are of this version alone, and one file's lines have moved."""
    samples: Samples = []
    for number in range(3_000):
        name = f"leaf_{number}" if number >= 10 else f"leaf_{number}_of_{version}"
        first = 10 * number + (version if number % 30 == 0 else 0)
        path = (Frame("main", "main.py", 3, 1), Frame(name, f"file{number % 30}.py", first + 2, first))
        samples.append((path, number * version))
    return tables_of(samples)


@pytest.fixture
def shelf(tmp_path: Path) -> Store:
    return Store(MemoryStorage(), tmp_path / "cache" / "derived.db")


def size(store: Store) -> int:
    return sum(listed.size for listed in store.storage.list("objects/"))


def test_a_later_version_takes_little_room(shelf: Store) -> None:
    first = pending.save(shelf, made(large(1), 1))
    before = size(shelf)
    second = pending.save(shelf, made(large(2), 2))
    counts = sum(len(data) for data in map(_counts, (large(2),)))
    assert size(shelf) - before < before / 4 + counts
    for waiting, version in ((first, 1), (second, 2)):
        read = pending.read(shelf, waiting.name)[0].profile
        assert read is not None
        assert dict(read.tables) == stacks.renumbered(large(version))
    assert not list(examine(shelf))


def _counts(tables: Mapping[str, Table]) -> bytes:
    import zlib

    return zlib.compress(tables["resources"]["samples"].data.tobytes())


def test_a_shared_table_is_marked_so_that_a_stranger_knows(shelf: Store) -> None:
    import json

    pending.save(shelf, made(large(1), 1))
    waiting = pending.save(shelf, made(large(2), 2))
    wire = json.loads(pending.read(shelf, waiting.name)[1])["tables"]
    assert all(wire[name]["shared"] and len(wire[name]["pieces"]) == 2 for name in stacks.NAMES)
    assert len(wire["functions"]["beside"]) == 1
    assert wire["functions"]["rows"] == 3_011


def test_a_lost_memory_of_the_last_profile_costs_only_room(shelf: Store, tmp_path: Path) -> None:
    pending.save(shelf, made(large(1), 1))
    (tmp_path / "cache" / "derived.db").write_bytes(b'{"functions": ["truncat')
    waiting = pending.save(shelf, made(large(2), 2))
    read = pending.read(shelf, waiting.name)[0].profile
    assert read is not None
    assert dict(read.tables) == stacks.renumbered(large(2))


def test_pieces_that_went_are_not_continued(shelf: Store) -> None:
    saved = pending.save(shelf, made(large(1), 1))
    pending.remove(shelf, saved)
    collect_garbage(shelf, older_than=2**62)
    assert size(shelf) == 0
    waiting = pending.save(shelf, made(large(2), 2))
    read = pending.read(shelf, waiting.name)[0].profile
    assert read is not None
    codec.verify(read)
    assert not list(examine(shelf))


def test_a_long_list_of_pieces_is_given_up_for_a_fresh_one(shelf: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack_dedup, "MAX_PIECES", 5)  # what 64 takes a while to show
    lengths = []
    for version in range(9):
        tables = tables_of([((Frame("main"), Frame(f"f{n + (n < 5) * version * 10_000}")), 1) for n in range(2_100)])
        waiting = pending.save(shelf, made(tables, version))
        data = pending.read(shelf, waiting.name)[1]
        lengths.append(len(codec.shared_pieces(data, "x")["stacks"]))
    assert lengths == [1, 2, 3, 4, 5, 1, 2, 3, 4]


def test_functions_that_only_their_lines_tell_apart_are_stored_as_they_are(shelf: Store) -> None:
    tables = large(1)
    functions = tables["functions"]
    names = ["<lambda>" if row < 2 else name for row, name in enumerate(functions["name"])]
    files = ["one.py" if row < 2 else name for row, name in enumerate(functions["file"])]
    twins = functions.with_columns(column("name", names, dtype="str"), column("file", files, dtype="str"))
    waiting = pending.save(shelf, made({**tables, "functions": twins}, 1))
    read, data = pending.read(shelf, waiting.name)
    assert read.profile is not None
    assert dict(read.profile.tables) == {**tables, "functions": twins}
    assert codec.shared_pieces(data, "x") == {}


def test_an_exported_profile_is_shared_again_when_it_is_registered(shelf: Store) -> None:
    pending.save(shelf, made(large(1), 1))
    data, _ = codec.encode(made(large(2), 2), shelf.put_piece, inline=2**60)
    before = size(shelf)
    profile = replace(shelf.decode_profile(data, "x"))
    content, ids = codec.for_object(data, shelf.put_piece, where="x", earlier=shelf.earlier(profile))
    assert codec.shared_pieces(content, "x")
    assert size(shelf) - before < before
    assert dict(shelf.decode_profile(content, "x").tables) == stacks.renumbered(large(2))
    assert set(ids) == set(codec.piece_ids(content, "x"))


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("stacks", column("parent", [1, 0, 1], dtype="i64")),  # in a circle
        ("stacks", column("parent", [None, 0, 7], dtype="i64")),
        ("stacks", column("parent", [None, 0, -1], dtype="i64")),
        ("stacks", column("parent", [None, 0, 2], dtype="u64")),  # on itself
        ("stacks", column("parent", [0, 0, 1], dtype="i64")),
        ("stacks", column("frame", [0, -1, 2], dtype="i64")),
        ("frames", column("function", [0, 1, 3], dtype="i64")),
        ("resources", column("stack", [3], dtype="i64")),
    ],
)
def test_stacks_that_cannot_be_followed_are_damage(name: str, changed: Column) -> None:
    tables = tables_of([((Frame("main"), Frame("a"), Frame("b")), 1)])
    codec.verify(made(tables, 1))
    with pytest.raises(FormatError):
        codec.verify(made({**tables, name: tables[name].with_columns(changed)}, 1))


@pytest.mark.parametrize("lost", stacks.NAMES)
def test_shared_stacks_that_lack_a_table_are_damage(shelf: Store, lost: str) -> None:
    import json

    saved = pending.save(shelf, made(large(1), 1))
    wire = json.loads(pending.read(shelf, saved.name)[1])
    del wire["tables"][lost], wire["seal"], wire["sha1"]
    with pytest.raises(FormatError, match=lost):
        codec.verify(shelf.decode_profile(json.dumps(wire).encode(), "x"))


def test_a_verified_profile_counts_its_cells_once(shelf: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = pending.save(shelf, made(large(1), 1))
    tables = large(1)
    monkeypatch.setattr(codec, "MAX_CELLS", sum(one.rows * len(one.columns) for one in tables.values()))
    read = pending.read(shelf, saved.name)[0].profile
    assert read is not None
    codec.verify(read)
    assert dict(read.tables) == stacks.renumbered(tables)


def test_rows_in_the_order_of_their_first_use_are_left_as_they_are() -> None:
    tables = large(1)
    assert stacks.renumbered(tables)["stacks"] is tables["stacks"]
