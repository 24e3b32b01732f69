"""What version 1 of the formats wrote opens for ever: the content of a `.perf` by perfcore 0.1.0, value by value.

`python tests/test_golden.py` adds what is not there yet; a file that is there stays as it was written.
"""

from __future__ import annotations

import json
import math
import shutil
import struct
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from perfcore_command_store.examination import examine
from perfcore_storage_local import LocalStorage
from perfcore_testing import old_index
from perfcore_testing.memory import MemoryStorage

from perfcore.model import Entry, Header, Profile, Tool
from perfcore.model.record import replace
from perfcore.profile import codec, pieces
from perfcore.profile.columns import Value
from perfcore.profile.stacks import Frame, StackBuilder, Stacks
from perfcore.profile.table import ColumnSpec, TableBuilder
from perfcore.store import index as indexes
from perfcore.store import notes, objects, pending
from perfcore.store.store import Store, object_key

GOLDEN = Path(__file__).with_name("golden") / "v1" / "perf"
PACKS = GOLDEN.parent.parent / "packs"
HASHED, NAMED, OLD = "c0ffee" + "0" * 34, "release/1.0 ünstable", "01d" + "0" * 37
STACKED = "57ac" + "0" * 36
RELATED = "3e1a" + "0" * 36
UNSEALED = "unsealed.perf"
CREATED = 1_750_000_000_123_456_789
ROWS = 65_536 + 1_000

Columns = dict[ColumnSpec, list[Any]]
TABLES: dict[str, dict[str, Columns]] = {
    "timed": {
        "resources": {
            ColumnSpec("run", "i64", role="order"): [0, 1, 2],
            ColumnSpec("wall", "i64", "ns", "value"): [12_345_678, 12_345_679, -1],
            ColumnSpec("throughput", "f64", "B/s", "value", "higher"): [1e9, 0.1, None],
        },
        "runs": {
            ColumnSpec("run", "i64", role="order"): [0, 1, 2],
            ColumnSpec("warmup", "bool"): [True, False, None],
            ColumnSpec("session", "str"): ["5e55", "5e55", None],
        },
    },
    "everything": {
        "resources": {
            ColumnSpec("i", "i64", "ns", "value"): [-(2**63), 2**63 - 1, 2**53 + 1, None],
            ColumnSpec("u", "u64", "", "value"): [2**64 - 1, 2**63, 0, None],
            ColumnSpec("f", "f64", "µs", "value"): [math.nan, -math.inf, -0.0, None],
            ColumnSpec("odd nan", "f64"): [float(struct.unpack("<d", b"\1\0\0\0\0\0\xf8\xff")[0]), 5e-324, 0.1, 1e308],
            ColumnSpec("b", "bool"): [True, False, None, True],
            ColumnSpec("s", "str"): ["naïve\n<script>\x1b[31m\0", "", None, "🚀"],
            ColumnSpec("never", "str"): [None, None, None, None],
            ColumnSpec("", "i64"): [1, 2, 3, 4],
        },
        "no columns": {},
        "no rows": {ColumnSpec("x", "f64"): []},
    },
    "long": {
        "resources": {
            ColumnSpec("row", "i64", role="order"): list(range(ROWS)),
            ColumnSpec("u", "u64"): [2**64 - 1 - row % 3 for row in range(ROWS)],
            ColumnSpec("f", "f64"): [None if row % 4 == 0 else row / 4 for row in range(ROWS)],
            ColumnSpec("b", "bool"): [row % 2 == 0 for row in range(ROWS)],
            ColumnSpec("s", "str"): [None if row % 5 == 0 else f"f{row % 5}" for row in range(ROWS)],
            ColumnSpec("same", "i64"): [7] * ROWS,
        },
    },
    # Decimals are of format 2 of a chunk; differences from the row's number and from the value before are of format 3.
    "related": {
        "resources": {
            ColumnSpec("decimals", "f64", "s", "value"): [
                None if row % 7 == 0 else (row - 50) / 1000 for row in range(ROWS)
            ],
            ColumnSpec("follows its row", "i64"): [
                None if row % 7 == 0 else row // 9 if row % 8 == 0 else row - 1 for row in range(ROWS)
            ],
            ColumnSpec("climbs", "i64"): [0 if row % 900 == 0 else 10**6 + 5 * row + row % 4 for row in range(ROWS)],
        },
    },
}


def profile(name: str) -> Profile:
    builders = {}
    for table, columns in TABLES[name].items():
        builders[table] = TableBuilder(table, list(columns))
        builders[table].extend({spec.name: values for spec, values in columns.items()})
    return Profile(
        header=Header(
            type="x-quantum.7",
            argv=("./sort", "-n", "big file.txt"),
            cmd="./sort",
            args="-n",
            workload="'big file.txt'",
            shell=True,
            units={"amount": "B"},
            exitcode=-9,
            tags=("baseline", "<script>"),
        ),
        created=CREATED,
        collector=Tool(name="time", version="0.1.0", params={"repeat": 5}, sampling={"clock": ["monotonic", 1.5]}),
        postprocessors=(Tool(name="filter", params={"expression": "<20"}), Tool(name="again")),
        machine={"cpu": "Example 9000", "cpus": 8, "nested": {"x": [None, True, 2**53 + 1]}},
        config_id="c0" * 20,
        environment_id="e0" * 20,
        sources=("ab" * 20,),
        notes=("the machine was loaded",),
        tables={table: builder.build() for table, builder in builders.items()},
    )


def entry(name: str, id: str, tables: tuple[str, ...]) -> Entry:
    return Entry(
        profile=id,
        created=CREATED,
        name=f"{name}.perf",
        type="x-quantum.7",
        tables=tables,
        cmd="./sort",
        args="-n",
        workload="'big file.txt'",
        collector="time",
        postprocessors=("filter", "again"),
        tags=("baseline", "<script>"),
        config_id="c0" * 20,
        environment_id="e0" * 20,
    )


def stacked(version: int) -> Profile:
    """The same calls in each version, with some more at the end and all code moved down by some lines."""
    stacks, calls = StackBuilder(), range(2_200 + 5 * version)
    frames = [
        (
            Frame("main", "m.c", 10, 3),
            Frame(f"walk<{call % 20}>", "w.c", 100 * version + call % 7, 100 * version),
            Frame(f"leaf {call}\n", "naïve.c", call if call % 3 else None),
        )
        for call in calls
    ]
    columns: dict[ColumnSpec, Sequence[Value]] = {
        ColumnSpec("stack", "i64"): [None if call % 11 == 0 else stacks.add(frames[call]) for call in calls],
        ColumnSpec("amount", "i64", "ns", "value"): [call * 2**40 for call in calls],
    }
    builder = TableBuilder("resources", list(columns))
    builder.extend({spec.name: values for spec, values in columns.items()})
    return replace(profile("timed"), tables={"resources": builder.build(), **stacks.tables()})


def calls(profile: Profile) -> list[Any]:
    """What the resources of a profile say, whatever numbers its stacks have."""
    stacks, rows = Stacks.of(profile.tables), profile.tables["resources"].iter_rows()
    return [(row["amount"], None if row["stack"] is None else place(stacks, row["stack"])) for row in rows]


def place(stacks: Stacks, stack: Any) -> Any:
    path = stacks.path(stack)
    return [(stacks.names[f], stacks.files[f], stacks.first_lines[f]) for f in path], stacks.line(stack)


def head(piece: bytes) -> Any:
    """The JSON that a piece of a table begins with."""
    (length,) = struct.unpack_from("<I", piece)
    return json.loads(piece[4 : 4 + length])


def write(store: Store) -> None:
    found = {}
    for name, version in (("timed", HASHED), ("everything", NAMED), ("related", RELATED), ("long", HASHED)):
        data, tables = store.encode_profile(profile(name))
        id, _ = objects.encode(objects.Object("profile", "x-quantum.7", data))
        found[name] = store.register("git", version, data, "x-quantum.7", entry(name, id, tables))
    gone = store.register("git", HASHED, data, "x-quantum.7", found["long"]._replace(name="gone.perf"))
    store.update_index("git", HASHED, lambda index: indexes.bury(index, gone))
    old = indexes.Index(vcs="git", version=OLD, entries=(found["timed"]._replace(name="old.perf"),))
    store.storage.create(object_key(OLD), old_index.encode(old))
    for text in (b"one", b"two"):
        notes.add(store, "a subject\n", "check", text)
    waiting = replace(profile("everything"), origin=HASHED, dirty=True)
    pending.save(store, waiting)
    store.storage.create(f"jobs/{UNSEALED}", store.encode_profile(waiting)[0])
    shared: dict[str, list[str]] = {}
    for edition in (1, 2):
        data, tables = store.encode_profile(stacked(edition), partial(codec.chains, shared, store.get_piece))
        shared = codec.shared_pieces(data, "the one before")
        id, _ = objects.encode(objects.Object("profile", "x-quantum.7", data))
        store.register("git", STACKED, data, "x-quantum.7", entry(f"stacked {edition}", id, tables))


@pytest.fixture(params=["files", "packs of version 1", "packs of version 2", "packs of version 3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """The keys of the golden folder: in memory, or with the small ones in packs that a perfcore of that time wrote."""
    storage: Any = MemoryStorage() if request.param == "files" else LocalStorage(packed(tmp_path, request.param[-1]))
    held = {row.key for row in storage.list("")}
    for path in sorted(GOLDEN.rglob("*")):
        key = path.relative_to(GOLDEN).as_posix()
        if path.is_file() and key not in held:
            storage.create(key, path.read_bytes())
    return Store(storage)


def packed(folder: Path, version: str) -> Path:
    """A store in this folder that has the golden packs of a version and nothing else."""
    shutil.copytree(PACKS / version, folder / "packs" / "objects")
    return folder


def bits(value: Any) -> Any:
    return struct.pack("<d", value) if isinstance(value, float) else value


def check(read: Profile, of: str) -> None:
    expected = profile(of)
    for name in Profile.__struct_fields__:
        if name not in ("tables", "origin", "dirty"):
            assert getattr(read, name) == getattr(expected, name), name
    assert set(read.tables) == set(TABLES[of])
    for table, columns in TABLES[of].items():
        assert [c.spec for c in read.tables[table].columns] == list(columns)
        for spec, values in columns.items():
            assert list(map(bits, read.tables[table][spec.name])) == list(map(bits, values)), spec


def test_the_golden_folder_is_whole(store: Store) -> None:
    assert [finding.text for finding in examine(store)] == []


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_a_pack_gives_the_keys_that_were_written_in_their_order(version: str, tmp_path: Path) -> None:
    storage = LocalStorage(packed(tmp_path, version))
    written = (path for path in GOLDEN.joinpath("objects").rglob("*") if path.is_file())
    small = {path.relative_to(GOLDEN).as_posix(): path for path in written if path.stat().st_size < 2_000}
    assert [row.key for row in storage.list("objects/")] == sorted(small)
    for key, path in small.items():
        stored, data = storage.read(key).data, path.read_bytes()
        assert stored == data or zlib.decompress(stored) == zlib.decompress(data), "another zlib may compress otherwise"
    packs = [path.read_bytes() for path in PACKS.joinpath(version).glob("*.pack")]
    assert {struct.unpack_from("<4sI", pack) for pack in packs} == {(b"ppck", int(version))}
    (marks,) = PACKS.joinpath(version).glob("*.gone")
    assert {0, 255} == set(marks.read_bytes()), "some rows do not count any more"
    assert list(storage.damaged("objects/")) == []


def test_the_index_of_a_hashed_version(store: Store) -> None:
    index = store.read_index("git", HASHED)
    by_name = {e.name: e for e in index.entries}
    assert set(by_name) == {"timed.perf", "long.perf", "gone.perf"}
    assert {e.name for e in index.live} == {"timed.perf", "long.perf"}
    for name in ("timed", "long"):
        found = by_name[f"{name}.perf"]
        assert found == entry(name, found.profile, found.tables)
        check(store.load(found.profile), name)
    assert by_name["timed.perf"].tables == ()
    assert len(by_name["long.perf"].tables) == 2


def test_the_index_of_a_named_version(store: Store) -> None:
    (found,) = store.read_index("git", NAMED).live
    assert found == entry("everything", found.profile, ())
    check(store.load(found.profile), "everything")


def test_the_chunks_of_format_3(store: Store) -> None:
    (found,) = store.read_index("git", RELATED).live
    assert found == entry("related", found.profile, found.tables)
    check(store.load(found.profile), "related")
    heads = [head(store.get_piece(id)) for id in found.tables]
    assert [made["format"] for made in heads] == [3, 2]  # the last rows are few
    columns = {column["name"]: column for column in heads[0]["columns"]}
    assert columns["decimals"]["decimals"] == 3
    assert columns["follows its row"]["relative"]
    assert columns["climbs"]["relative"]


def test_the_index_of_version_1(store: Store) -> None:
    (found,) = store.read_index("git", OLD).live
    assert (found.name, found.created) == ("old.perf", CREATED // 10**9 * 10**9)
    check(store.load(found.profile), "timed")


def test_the_notes(store: Store) -> None:
    assert sorted(note.content for note in notes.read(store, "a subject\n")) == [b"one", b"two"]


def test_the_pending_profiles(store: Store) -> None:
    """One that is closed with a checksum, and one that is not."""
    found = {waiting.name: waiting.profile for waiting in pending.walk(store)}
    assert set(found) == {"x_quantum.7-sort-big_file.txt-20250615T150640.perf", UNSEALED}
    for waiting in found.values():
        assert waiting is not None
        assert (waiting.origin, waiting.dirty) == (HASHED, True)
        check(waiting, "everything")
    sealed = [b'"seal":' in store.storage.read(f"jobs/{name}").data for name in sorted(found)]
    assert sealed == [False, True]


def test_the_profiles_that_share_stacks(store: Store) -> None:
    first, second = (each for each in sorted(store.read_index("git", STACKED).live, key=lambda each: each.name))
    for version, found in ((1, first), (2, second)):
        assert found == entry(f"stacked {version}", found.profile, found.tables)
        assert calls(store.load(found.profile)) == calls(stacked(version))
    assert len(set(first.tables) & set(second.tables)) == 3
    bases = [pieces.decode(store.get_piece(id), id)[1] for id in set(second.tables) - set(first.tables)]
    assert {base.id for base in bases if base} <= set(first.tables)
    assert any(bases)


if __name__ == "__main__":
    memory = MemoryStorage()
    write(Store(memory))
    for row in memory.list(""):
        path = GOLDEN.joinpath(*row.key.split("/"))
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(memory.read(row.key).data)
