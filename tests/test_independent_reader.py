"""A reader written from docs/formats.md alone agrees with the real one on everything in a real `.perf`."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import shutil
import struct
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from perfcore_storage_local import LocalStorage
from perfcore_testing import old_index, profiles
from perfcore_testing.memory import MemoryStorage

from perfcore.errors import FormatError
from perfcore.model import Entry
from perfcore.model.record import replace
from perfcore.profile import pieces
from perfcore.profile.pieces import PIECE_ROWS
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import Table, column, table
from perfcore.store import index as indexes
from perfcore.store import notes, objects, pending
from perfcore.store.store import Store, object_key

if TYPE_CHECKING:
    from types import ModuleType

    from perfcore.model import Profile

READER = Path(__file__).with_name("independent_reader.py")
GOLDEN = Path(__file__).with_name("golden")
VERSIONS = ("c0" * 20, "release/1.0 ünstable\n")


@pytest.fixture(scope="module")
def reader() -> ModuleType:
    spec = importlib.util.spec_from_file_location("independent_reader", READER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def long() -> Profile:
    """A table of several pieces, with every dtype and values missing in each."""
    rows = PIECE_ROWS + 4_000
    gaps = [None if row % 7 == 0 else row for row in range(rows)]
    columns = [
        column("run", range(rows), role="order"),
        column("signed", [None if v is None else -v * 10**14 for v in gaps], unit="ns", role="value"),
        column("unsigned", [None if v is None else 2**64 - v for v in gaps]),
        column("real", [None if v is None else v / 7 for v in gaps]),
        column("few decimals", [None if v is None else (v - 5_000) / 1_000 for v in gaps], unit="s", role="value"),
        column("flag", [None if v is None else v % 3 == 0 for v in gaps]),
        column("text", [None if v is None else f"é{v % 50}" for v in gaps]),
        column("never", [None] * rows, dtype="str"),
        column("constant", [12345] * rows),
        column("follows its row", [None if v is None else v // 9 if v % 8 == 0 else v - 1 for v in gaps]),
        column("climbs", [0 if row % 900 == 0 else 10**6 + 5 * row + row % 4 for row in range(rows)]),
    ]
    return profiles.profile({"resources": table("resources", columns), "rows only": Table("rows only", (), 0)})


SAMPLES = {**profiles.SAMPLES, "long": long}


@pytest.fixture(scope="module")
def store() -> Store:
    """A store with all samples, registered for two versions, with indexes of both versions and some tombstones."""
    made = Store(MemoryStorage())
    for number, sample in enumerate(SAMPLES):
        register(made, SAMPLES[sample](), VERSIONS[number % 2], sample)
    gone = register(made, profiles.timed(7), VERSIONS[0], "gone")
    made.update_index("git", VERSIONS[0], lambda index: indexes.bury(index, gone))
    old = register(made, profiles.timed(8), "d0" * 20, "old.perf")
    data = old_index.encode(made.read_index("git", "d0" * 20))
    made.storage.replace(object_key("d0" * 20), data, made.storage.read(object_key("d0" * 20)).tag)
    assert old.name == "old.perf"
    for content in (b"one", b"two", b""):
        notes.add(made, "a subject\n", "check", content)
    pending.save(made, replace(long(), origin=VERSIONS[1]))
    return made


def register(store: Store, profile: Profile, version: str, name: str) -> Entry:
    data, tables = store.encode_profile(profile)
    id, _ = objects.encode(objects.Object("profile", profile.header.type, data))
    header = profile.header
    entry = Entry(
        profile=id,
        created=profile.created,
        name=name,
        type=header.type,
        tables=tables,
        cmd=header.cmd,
        args=header.args,
        workload=header.workload,
        collector=profile.collector.name,
        postprocessors=("filter", "clean"),
        tags=header.tags,
        config_id=profile.config_id,
        environment_id=profile.environment_id,
    )
    return store.register("git", version, data, header.type, entry)


@pytest.fixture(scope="module", params=["files", "packs"])
def perf(store: Store, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The store as files, and as packs: one of them without the rows that count in the other."""
    folder = tmp_path_factory.mktemp("independent") / ".perf"
    for row in store.storage.list(""):
        path = folder.joinpath(*row.key.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store.storage.read(row.key).data)
    if request.param == "packs":
        local = LocalStorage(folder)
        again = [(row.key, local.read(row.key)) for row in list(local.list("objects/"))[::3]]
        for key, stored in again:
            local.replace(key, b"something else", stored.tag)
        assert local.pack("objects/", least=1)
        for key, stored in again:
            local.replace(key, stored.data, local.read(key).tag)
        assert local.pack("objects/", least=1) == len(again)
        assert not list((folder / "objects").glob("??/*"))
    return folder


def bits(value: Any) -> Any:
    return struct.pack("<d", value) if isinstance(value, float) else value


def same_tables(read: dict[str, dict[str, list[Any]]], profile: Profile) -> None:
    assert list(read) == sorted(profile.tables)
    for name, made in profile.tables.items():
        assert tuple(read[name]) == made.names
        for each in made.columns:
            assert list(map(bits, read[name][each.name])) == list(map(bits, each)), (name, each.name)


def test_the_reader_imports_nothing_of_perfcore() -> None:
    tree = ast.parse(READER.read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {
        (node.module or "perfcore").split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    }
    assert imported <= set(sys.stdlib_module_names)
    assert len(READER.read_text().splitlines()) < 280


def test_both_list_the_same_entries(reader: ModuleType, store: Store, perf: Path) -> None:
    real = []
    for key, index in store.indexes():
        assert isinstance(index, indexes.Index)
        version = index.version or key.removeprefix("objects/").replace("/", "")
        real += [(version, entry._asdict()) for entry in index.live]
    read = list(reader.entries(perf))
    assert len(read) == len(real) == len(SAMPLES) + 1
    for (version, entry), (real_version, real_entry) in zip(read, real, strict=True):
        assert version == real_version
        for field, value in entry.items():
            expected = real_entry[field]
            assert value == (list(expected) if isinstance(expected, tuple) else expected), field
        assert set(entry) == set(real_entry) or entry["name"] == "old.perf"


def test_both_find_the_index_of_a_version(reader: ModuleType, perf: Path) -> None:
    for version in VERSIONS:
        key = reader.key_of("git", version)
        found, _ = reader.read_index(reader.stored_keys(perf)[key]())
        assert found == version


def test_both_read_the_same_profiles(reader: ModuleType, store: Store, perf: Path) -> None:
    for _, entry in reader.entries(perf):
        real = store.load(entry["profile"])
        read = reader.read_profile(perf, entry["profile"])
        same_tables(read["tables"], real)
        header = read["header"]
        assert header.get("argv", []) == list(real.header.argv)
        assert header.get("exitcode") == real.header.exitcode
        for field in ("type", "cmd", "args", "workload"):
            assert header.get(field, "") == getattr(real.header, field)
        assert header.get("units", {}) == real.header.units
        assert header.get("tags", []) == list(real.header.tags)
        assert read["created"] == real.created
        assert read["collector_info"]["name"] == real.collector.name
        assert read["collector_info"].get("params", {}) == real.collector.params
        assert read.get("machine", {}) == real.machine
        assert read.get("notes", []) == list(real.notes)
        assert read.get("config_id", "") == real.config_id


def test_samples_hold_what_they_should(reader: ModuleType, perf: Path) -> None:
    """The reader against what was put in, not only against the other reader."""
    by_name = {entry["name"]: entry["profile"] for _, entry in reader.entries(perf)}
    read = reader.read_profile(perf, by_name["long"])["tables"]["resources"]
    assert read["signed"][:3] == [None, -(10**14), -2 * 10**14]
    assert read["unsigned"][1] == 2**64 - 1
    assert read["few decimals"][:3] == [None, -4.999, -4.998]
    assert read["text"][-1] == f"é{(PIECE_ROWS + 3_999) % 50}"
    assert read["follows its row"][14:18] == [None, 14, 1, 16]
    assert read["climbs"][-2:] == [10**6 + 5 * row + row % 4 for row in (PIECE_ROWS + 3_998, PIECE_ROWS + 3_999)]
    assert read["never"] == [None] * (PIECE_ROWS + 4_000)
    unheard = reader.read_profile(perf, by_name["unheard_of"])["tables"]
    assert unheard["resources"]["qubits"] == [3, None, 5, None]
    assert unheard["entanglement"]["pair"] == ["a-b", "b-c"]


def test_both_read_pending_profiles(reader: ModuleType, store: Store, perf: Path) -> None:
    (waiting,) = pending.walk(store)
    assert waiting.profile is not None
    read = reader.parse_profile(perf, (perf / "jobs" / waiting.name).read_bytes())
    assert read["origin"] == VERSIONS[1] == waiting.profile.origin
    same_tables(read["tables"], waiting.profile)


def test_both_read_notes(reader: ModuleType, store: Store, perf: Path) -> None:
    real = [(note.type, note.content) for note in notes.read(store, "a subject\n")]
    assert reader.notes(perf, "a subject\n") == real
    assert sorted(content for _, content in real) == [b"", b"one", b"two"]


def test_both_follow_pieces_that_name_what_they_continue(reader: ModuleType, tmp_path: Path) -> None:
    store = Store(MemoryStorage())
    parts = [table("t", [column("x", values)]) for values in ([1, None], [3], [4, 5])]
    ids: list[str] = []
    rows = 0
    for part in parts:
        base = pieces.Base(ids[-1], rows) if ids else None
        ids.append(store.put_piece("t", pieces.encode(part, base)))
        rows += len(part)
    for row in store.storage.list(""):
        path = tmp_path.joinpath(*row.key.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store.storage.read(row.key).data)
    made = {"format": 1, "header": {"type": "t"}, "created": 0, "collector_info": {"name": "c"}}
    data = json.dumps(made | {"tables": {"t": {"rows": rows, "pieces": ids}}}).encode()
    assert reader.parse_profile(tmp_path, data)["tables"]["t"]["x"] == [1, None, 3, 4, 5]
    assert list(store.decode_profile(data, "x").tables["t"]["x"]) == [1, None, 3, 4, 5]
    wrong = data.replace(ids[0].encode(), ids[2].encode())
    with pytest.raises(ValueError, match="damaged"):
        reader.parse_profile(tmp_path, wrong)
    with pytest.raises(FormatError):
        store.decode_profile(wrong, "x").tables["t"]


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_the_reader_opens_packs_of_each_version(reader: ModuleType, tmp_path: Path, version: str) -> None:
    """And the same keys as the real one, each with the same content."""
    shutil.copytree(GOLDEN / "packs" / version, tmp_path / "packs" / "objects")
    storage = LocalStorage(tmp_path)
    keys = {id: read() for id, read in reader.stored_keys(tmp_path).items()}
    assert keys == {row.key[8:].replace("/", ""): storage.read(row.key).data for row in storage.list("objects/")}
    path = next((tmp_path / "packs" / "objects").glob("*.pack"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="damaged: pack"):
        reader.stored_keys(tmp_path)
    data[len(data) // 2] ^= 1
    data[4] = 4
    digest = hashlib.sha1(data[:-20])
    path.with_stem(digest.hexdigest()).write_bytes(data[:-20] + digest.digest())
    path.unlink()
    with pytest.raises(ValueError, match="newer"):
        reader.stored_keys(tmp_path)


@pytest.fixture(params=["files", "packs/1", "packs/2", "packs/3"])
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The golden folder as it was written, and with its small keys in packs of that time alone."""
    folder = GOLDEN / "v1" / "perf"
    if request.param == "files":
        return folder
    storage = LocalStorage(tmp_path)
    shutil.copytree(GOLDEN / request.param, tmp_path / "packs" / "objects")
    packed = {row.key for row in storage.list("objects/")}
    for path in folder.rglob("*"):
        key = path.relative_to(folder)
        if path.is_file() and key.as_posix() not in packed:
            (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, tmp_path / key)
    return tmp_path


def test_the_reader_opens_what_version_1_wrote(reader: ModuleType, golden: Path) -> None:
    read = {entry["name"]: reader.read_profile(golden, entry["profile"]) for _, entry in reader.entries(golden)}
    stacked = {"stacked 1.perf", "stacked 2.perf"}
    assert set(read) == {"timed.perf", "long.perf", "everything.perf", "old.perf", "related.perf"} | stacked
    for name in stacked:
        tables = read[name]["tables"]
        calls = zip(tables["resources"]["amount"], tables["resources"]["stack"], strict=True)
        innermost = {
            amount // 2**40: reader.read_stack(tables, stack)[-1] for amount, stack in calls if stack is not None
        }
        assert {call for call, frame in innermost.items() if f"leaf {call}\n" in frame} == set(innermost) != set()
    assert read["long.perf"]["tables"]["resources"]["s"][-6:] == [None, "f1", "f2", "f3", "f4", None]
    related = read["related.perf"]["tables"]["resources"]  # in chunks of format 3
    assert related["decimals"][:3] == [None, -0.049, -0.048]
    assert related["follows its row"][14:18] == [None, 14, 1, 16]
    assert related["climbs"][899:902] == [10**6 + 5 * 899 + 3, 0, 10**6 + 5 * 901 + 1]
    assert read["everything.perf"]["tables"]["resources"]["u"] == [2**64 - 1, 2**63, 0, None]


def test_the_reader_notices_damage(reader: ModuleType, store: Store, perf: Path, tmp_path: Path) -> None:
    (id, *_) = (entry["profile"] for _, entry in reader.entries(perf))
    path = tmp_path / "objects" / id[:2] / id[2:]
    path.parent.mkdir(parents=True)
    data = bytearray(reader.stored_keys(perf)[id]())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises((ValueError, zlib.error)):
        reader.read_object(tmp_path, id)


def test_stacks_that_profiles_share_are_read_alike(reader: ModuleType, tmp_path: Path) -> None:
    store = Store(MemoryStorage(), tmp_path / "derived.db")
    saved = [pending.save(store, sampled(version)) for version in (1, 2)]
    for row in store.storage.list(""):
        path = tmp_path.joinpath("perf", *row.key.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store.storage.read(row.key).data)
    for each, version in zip(saved, (1, 2), strict=True):
        data = store.storage.read(each.key).data
        assert json.loads(data)["tables"]["stacks"]["shared"]
        tables = reader.parse_profile(tmp_path / "perf", data)["tables"]
        read = [reader.read_stack(tables, stack) for stack in tables["resources"]["stack"]]
        assert read == [[("main", "m.py", 2), (f"f{n}", "n.py", n + version)] for n in range(version, 3_000)]
        assert tables["resources"]["samples"] == list(range(version, 3_000))


def sampled(version: int) -> Profile:
    builder = StackBuilder()
    numbers = range(version, 3_000)
    stacks = [builder.add((Frame("main", "m.py", 2), Frame(f"f{n}", "n.py", n + version, n))) for n in numbers]
    resources = table("resources", (column("stack", stacks), column("samples", list(numbers), role="value")))
    return replace(profiles.timed(0), tables={"resources": resources, **builder.tables()})
