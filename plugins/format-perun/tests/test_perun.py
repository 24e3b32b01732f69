"""The format `perun`: forms of rows, whole instances, and what is damaged or means harm.

`tests/golden/perun` was made by Perun 0.28.3 in a repository of two empty commits of Ada's; the facts about the
machine are invented.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import tracemalloc
import zlib
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_command_exchange.native import PerfFormat
from perfcore_format_perun import index as perun_index
from perfcore_format_perun.contract import PerunContract
from perfcore_format_perun.reader import PerunFormat, decode, read_instance
from perfcore_format_perun.rows import amount
from perfcore_testing import hostile

from perfcore.errors import FormatError
from perfcore.hookspecs import VersionedProfile
from perfcore.profile.stacks import Stacks

if TYPE_CHECKING:
    from perfcore_testing.project import Project

    from perfcore.model import Profile
    from perfcore.profile.table import Table

GOLDEN = Path(__file__).parent / "golden"
ONE, TWO = "c380209ff119831ab95220150b3397995cc6f8f1", "144cd01eb0b54a6fd6420d2f9c2a5463fab5d472"
FORMAT = PerunFormat()
CREATED = 1_600_000_000_000_000_000


def perun(**changes: Any) -> dict[str, Any]:
    header = {"type": "time", "cmd": "./sort", "args": "-n", "workload": "'big file.txt'", "units": {"time": "s"}}
    made = {"origin": ONE, "header": header, "machine": {}, "collector_info": {"name": "probe", "params": {"x": 1}}}
    return made | {"postprocessors": []} | changes


def read(made: Any) -> Profile:
    data = made if isinstance(made, bytes) else json.dumps(made).encode()
    return decode(data, created=CREATED, where="file 7")


def resources(*rows: dict[str, Any], **changes: Any) -> Table:
    return read(perun(resources=list(rows), **changes)).tables["resources"]


def by_type(rows: list[dict[str, Any]], varying: tuple[str, ...]) -> dict[str, Any]:
    """The rows as Perun keeps them today: what differs as lists, what is shared once."""
    blocks: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    for row in rows:
        same = {key: value for key, value in row.items() if key not in varying}
        fields = [key for key in varying if key in row]
        name = json.dumps([same, fields], sort_keys=True)
        shared[name] = same
        block = blocks.setdefault(name, {key: [] for key in fields})
        for key in fields:
            block[key].append(row[key])
    return {"resources": blocks, "resource_type_map": shared}


class TestPerun(PerunContract):
    """Every law of the kind format."""


def test_it_is_found_by_its_name() -> None:
    (point,) = [p for p in entry_points(group="perfcore.format") if p.name == "perun"]
    assert point.load() is PerunFormat


@pytest.mark.parametrize("path", sorted((GOLDEN / "jobs").glob("*.perf")), ids=lambda path: path.name)
def test_its_files_are_told_from_ours(path: Path, tmp_path: Path) -> None:
    assert FORMAT.sniff(path.read_bytes()[:4096], path.name)
    assert not PerfFormat().sniff(path.read_bytes()[:4096], path.name)
    PerfFormat().write(FORMAT.read(path), tmp_path / "ours.perf")
    ours = (tmp_path / "ours.perf").read_bytes()
    assert not FORMAT.sniff(ours[:4096], "ours.perf")
    assert PerfFormat().read(tmp_path / "ours.perf").tables == dict(FORMAT.read(path).tables)


@pytest.mark.parametrize("head", [b'{"header": 5}', b'{"resources": "of mankind"}', b'{"x": {"amount": 1}}', b"[{}]"])
def test_other_json_is_not_taken_for_it(head: bytes) -> None:
    assert not FORMAT.sniff(head, "x.perf")


def test_what_the_header_says_is_kept() -> None:
    made = perun(
        header={
            "type": "Mixed 2",
            "cmd": "./sort",
            "args": "-n",
            "workload": "'big file.txt'",
            "label": "first",
            "units": {"Mixed 2": "us"},
            "exitcode": [0, -11, "?"],
        },
        machine={"architecture": "x86_64", "cpu": {"total": 8}, "memory": {"total_ram": "15.5 GiB"}, "host": "h"},
        postprocessors=[{"name": "regression_analysis", "params": {"method": "full"}}, {"name": "clusterizer"}],
    )
    profile = read(made)
    assert profile.header.type == "mixed-2"
    assert profile.header.argv == ("./sort", "-n", "big file.txt")
    assert (profile.header.cmd, profile.header.workload, profile.header.exitcode) == ("./sort", "'big file.txt'", -11)
    assert profile.header.tags == ("first",)
    assert (profile.collector.name, dict(profile.collector.params)) == ("probe", {"x": 1})
    assert [tool.name for tool in profile.postprocessors] == ["regression_analysis", "clusterizer"]
    assert dict(profile.postprocessors[0].params) == {"method": "full"}
    assert (profile.origin, profile.created) == (ONE, CREATED)
    facts = dict(profile.machine)
    assert facts.pop("perun") == made["machine"]
    assert facts == {"arch": "x86_64", "cpus": 8, "memory_gib": 16, "host": "h"}


def test_profiles_are_comparable_when_perun_compared_them() -> None:
    same, other = perun(origin=TWO, machine={"host": "x"}), perun(header={"type": "time", "cmd": "./other"})
    assert read(perun()).config_id == read(same).config_id != ""
    assert read(perun()).config_id != read(other).config_id
    assert read(perun(postprocessors=[{"name": "filter"}])).config_id != read(perun()).config_id


def test_each_type_subtype_and_unit_is_a_column_of_values() -> None:
    table = resources(
        {"type": "time", "subtype": "real", "amount": 1.5, "uid": "a"},
        {"type": "time", "amount": 2, "uid": "a"},
        {"type": "memory", "subtype": "malloc", "amount": "12MB", "uid": "a"},
        {"amount": 3, "uid": "b"},
    )
    values = {c.name: (c.unit, c.role, list(c)) for c in table.columns if c.name != "uid"}
    assert values == {
        "time.real": ("s", "value", [1.5, None, None, None]),
        "time": ("s", "value", [None, 2, None, None]),
        "memory.malloc": ("MB", "value", [None, None, 12, None]),
        "amount": ("", "value", [None, None, None, 3]),
    }


@given(st.permutations([1, "2MB", "3 KB", "4B"]))
def test_units_of_one_metric_are_columns_apart_whatever_comes_first(amounts: list[Any]) -> None:
    """What the header says has the plain name, so profiles of one kind have the same columns."""
    header = {"type": "memory", "units": {"memory": "B"}}
    rows = [{"type": "memory", "amount": each, "uid": "a"} for each in amounts]
    table = resources(*rows, header=header)
    by_types = read(perun(**by_type(rows, ("amount",)), header=header)).tables["resources"]
    assert said(by_types) == said(table)
    assert {c.name: c.unit for c in table.values()} == {"memory": "B", "memory (KB)": "KB", "memory (MB)": "MB"}
    assert {value for value in table["memory"] if value is not None} == {1, 4}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (5, (5, None)),
        (0.5, (0.5, None)),
        ("5", (5, None)),
        ("12MB", (12, "MB")),
        (" -0.5 ms ", (-0.5, "ms")),
        ("1e3s", (1000.0, "s")),
        ("9007199254740993B", (2**53 + 1, "B")),
        (2**64 - 1, (2**64 - 1, None)),
        (".5 B/s", (0.5, "B/s")),
        ("100%", (100, "%")),
        (None, None),
        ("-inf", (-float("inf"), None)),
    ],
)
def test_amounts_are_parsed(said: Any, meant: Any) -> None:
    assert amount(said) == meant
    assert type((amount(said) or [0])[0]) is type((meant or [0])[0])


@pytest.mark.parametrize("wrong", ["", "MB", "12MB3", "0x10", True, [], {}, [1], "1" * 1000, "1 2", "--1", "five"])
def test_what_is_no_amount_is_a_format_error(wrong: Any) -> None:
    with pytest.raises(FormatError, match="is no amount"):
        amount(wrong)
    with pytest.raises(FormatError, match="file 7"):
        read(perun(resources=[{"amount": wrong, "uid": "a", "type": "time"}]))


@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1])
@pytest.mark.parametrize("form", ["rows", "types"])
def test_integers_beyond_doubles_survive(number: int, form: str) -> None:
    rows = [{"amount": number, "address": number, "uid": {"function": "f", "line": number}, "type": "memory"}]
    made = {"resources": rows} if form == "rows" else by_type(rows, ("amount", "address"))
    table = read(perun(**made)).tables["resources"]
    assert [list(table[name]) for name in ("memory", "address", "line")] == [[number]] * 3


def test_a_uid_is_a_name_or_an_object() -> None:
    table = resources(
        {"amount": 1, "uid": "plain"},
        {"amount": 2, "uid": {"function": "f", "source": "a.c", "line": 7, "column": 3}},
        {"amount": 3, "uid": {"source": "a.c", "line": 8}},
        {"amount": 4},
    )
    assert list(table["uid"]) == ["plain", "f", "a.c:8", None]
    assert list(table["file"]) == [None, "a.c", "a.c", None]
    assert list(table["line"]) == [None, 7, 8, None]
    assert list(table["uid:column"]) == [None, 3, None, None]


def test_fields_of_all_kinds_find_a_place() -> None:
    table = resources(
        {"amount": 1, "uid": "a", "structure-unit-size": 3, "new": {"x": [1]}, "mood": 1, "file": "b", "order": 4},
        {"amount": 1, "uid": {"function": "f", "source": "a"}, "file": "b", "mood": "good", "odd": None},
        {"amount": 1, "uid": "a", "mood": [1], "huge": 10**30, "exclusive": 5, "ok": True},
    )
    assert [dict(row) for row in table.iter_rows()][1] | {"amount": 1} == {
        "amount": 1,
        "uid": "f",
        "structure-unit-size": None,
        "new:x": None,
        "mood": "good",
        "file": "a",
        "file (more)": "b",
        "order": None,
        "odd": None,
        "huge": None,
        "exclusive": None,
        "ok": None,
    }
    assert list(table["mood"]) == ["1", "good", "[1]"]
    assert table["huge"][2] == str(10**30)
    assert {c.name for c in table.values()} == {"amount", "exclusive"}
    assert {c.name for c in table.columns if c.role == "order"} == {"order"}


def test_a_metric_keeps_its_value_beside_a_field_of_its_name() -> None:
    table = resources({"amount": 1, "type": "uid", "uid": "a"})
    assert list(table.iter_rows()) == [{"uid": "a", "uid (amount)": 1}]


def test_traces_become_stacks() -> None:
    """Perun's begin with the innermost frame."""
    main, grow = {"function": "main", "source": "a.c", "line": 5}, {"function": "grow", "source": "a.c", "line": 9}
    profile = read(
        perun(
            resources=[
                {"amount": 1, "uid": "a", "trace": [grow, main]},
                {"amount": 2, "uid": "a"},
                {"amount": 3, "uid": "a", "trace": []},
                {"amount": 4, "uid": "a", "trace": [main]},
                {"amount": 5, "uid": "a", "trace": ["odd", {"func": "x"}, 7]},
            ]
        )
    )
    stacks = Stacks.of(profile.tables)
    found = list(profile.tables["resources"]["stack"])
    named = [None if s is None else [stacks.names[f] for f in stacks.path(int(s))] for s in found]
    assert named == [["main", "grow"], None, None, ["main"], ["7", "x", "odd"]]
    assert stacks.line(int(found[0] or 0)) == 9


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "amount": st.integers(-(2**63), 2**63 - 1),
            "uid": st.sampled_from(["f", "g", {"function": "f", "source": "a.c", "line": 3}]),
            "type": st.sampled_from(["time", "memory"]),
            "subtype": st.sampled_from(["real", "x y"]),
        },
        optional={"order": st.integers(0, 9), "thread": st.sampled_from(["a", "b"]), "trace": st.just([{"func": "f"}])},
    ),
    max_size=8,
)


def said(table: Table) -> list[str]:
    """What the rows say, in any order of rows and of columns."""
    rows = ({key: value for key, value in row.items() if value is not None} for row in table.iter_rows())
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


@given(ROWS, st.sampled_from([("amount",), ("amount", "order"), ("amount", "order", "uid", "trace")]))
def test_all_forms_of_rows_say_the_same(rows: list[dict[str, Any]], varying: tuple[str, ...]) -> None:
    forms: list[dict[str, Any]] = [
        {"resources": rows},
        {"global": {"resources": rows, "time": "0.0"}},
        {"global": rows},
        by_type(rows, varying),
        {"resources": rows[:2], "global": {"resources": rows[2:]}},
    ]
    tables = [read(perun(**form)).tables["resources"] for form in forms]
    assert [said(table) for table in tables] == [said(tables[0])] * len(forms)
    assert all(table.rows == len(rows) for table in tables)


NAMES_OF_FIELDS = st.sampled_from((*hostile.NAMES, "amount", "type", "subtype", "snapshot", "time", "uid", "tag", ""))


@given(st.lists(NAMES_OF_FIELDS, max_size=6, unique=True), st.data())
def test_rows_of_one_shape_are_read_as_any_others_are(names: list[str], data: st.DataObject) -> None:
    values = st.none() | st.integers(-(2**63), 2**63 - 1) | st.just("5") | st.just("7ms")
    rows = data.draw(st.lists(st.fixed_dictionaries(dict.fromkeys(names, values)), min_size=1, max_size=4))
    alike, mixed = (read(perun(resources=made)).tables["resources"] for made in (rows, [*rows, {}]))
    assert said(mixed.slice(0, len(rows))) == said(alike)


def test_long_lists_of_rows_are_read_in_order() -> None:
    """Fields, types and traces that begin or end somewhere on the way."""
    rows: list[dict[str, Any]] = []
    for number in range(10_000):
        row: dict[str, Any] = {"amount": number, "uid": f"f{number % 9}", "type": "time" if number % 2 else "memory"}
        row |= {"late": number} if number > 6_000 else {}
        row |= {"trace": [{"func": f"g{number % 5}"}]} if number < 5_000 else {}
        rows.append(row)
    profile = read(perun(resources=rows))
    table, stacks = profile.tables["resources"], Stacks.of(profile.tables)
    assert list(table["time"]) == [number if number % 2 else None for number in range(10_000)]
    assert list(table["late"]) == [number if number > 6_000 else None for number in range(10_000)]
    leaves = [None if stack is None else stacks.names[stacks.path(int(stack))[-1]] for stack in table["stack"]]
    assert leaves == [f"g{number % 5}" if number < 5_000 else None for number in range(10_000)]


@given(st.lists(ROWS, min_size=1, max_size=3))
def test_snapshots_are_rows_of_their_number(parts: list[list[dict[str, Any]]]) -> None:
    snapshots = [{"time": f"{number}.5", "resources": rows} for number, rows in enumerate(parts)]
    together = [{**row, "snapshot": number} for number, rows in enumerate(parts) for row in rows]
    profile = read(perun(snapshots=snapshots))
    assert said(profile.tables["resources"]) == said(resources(*together))
    times = profile.tables["snapshots"]
    assert list(times["snapshot"]) == list(range(len(parts)))
    assert list(times["time"]) == [number + 0.5 for number in range(len(parts))]
    assert times["time"].unit == "s"


def test_the_repetitions_of_the_collector_of_times_are_runs() -> None:
    rows = [{"amount": 1, "uid": "a", "order": number} for number in (1, 2)]
    table = resources(*rows, collector_info={"name": "time"})
    assert (table["run"].role, list(table["run"])) == ("order", [1, 2])


def test_models_stand_in_a_table_of_their_own() -> None:
    models: list[dict[str, Any]] = [
        {"uid": "f", "r_square": 0.5, "coeffs": [{"name": "b0", "value": 1}]},
        {"uid": "g", "x": None},
    ]
    form: dict[str, Any]
    for form in ({"models": models}, {"global": {"models": models, "resources": []}}):
        table = read(perun(**form)).tables["models"]
        assert list(table["r_square"]) == [0.5, None]
        assert json.loads(str(table["coeffs"][0])) == models[0]["coeffs"]


def test_what_python_writes_as_json_is_read() -> None:
    """NaN and infinity, and names of files that are no UTF-8."""
    row = {"amount": float("nan"), "uid": "caf\udce9: NaN, -Infinity"}
    profile = read(perun(resources=[row, {"amount": -float("inf"), "uid": "b"}], machine={"x": float("inf")}))
    table = profile.tables["resources"]
    assert [str(value) for value in table["amount"]] == ["nan", "-inf"]
    assert table["uid"][0] == "caf\\udce9: NaN, -Infinity"
    assert profile.machine["perun"] == {"x": "inf"}


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff{}",
        b"[" * 300_000,
        perun(header={}),
        perun(header={"type": "..."}),
        perun(header=[]),
        perun(collector_info="time"),
        perun(postprocessors=[1]),
        perun(origin=5),
        perun(resources=5),
        perun(resources=[1]),
        perun(resources={"a#0": {"amount": [1]}}),
        perun(resources={"a#0": {"amount": 1}}, resource_type_map={"a#0": {}}),
        perun(resources={"a#0": {"amount": [1], "order": [1, 2]}}, resource_type_map={"a#0": {}}),
        perun(resources={"a#0": []}, resource_type_map={"a#0": {}}),
        perun(resources=[{"amount": 2**64, "uid": "a"}]),
        perun(resources=[{"amount": 2**53 + 1, "uid": "a"}, {"amount": 0.5, "uid": "a"}]),
        perun(**{"global": 5}),
        perun(snapshots=[5]),
        perun(snapshots=[{"resources": {}}]),
    ],
)
def test_what_is_no_profile_is_a_format_error(wrong: Any) -> None:
    with pytest.raises(FormatError, match=r"^file 7"):
        read(wrong)


@pytest.mark.parametrize("field", ["machine", "unheard", "resources", "models"])
@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_deep_json_is_a_format_error(field: str, opening: bytes) -> None:
    deep = opening * 300_000 + b"1" + {b"[": b"]", b'{"a":': b"}"}[opening] * 300_000
    with pytest.raises(FormatError, match=r"^file 7"):
        read(json.dumps(perun()).encode()[:-1] + b', "%s": %s}' % (field.encode(), deep))


@pytest.mark.parametrize("name", hostile.NAMES)
def test_any_name_is_a_name_and_harmless_in_errors(name: str) -> None:
    table = resources({"amount": 1, "uid": name, "type": name, "subtype": name, f"_{name}": name})
    assert table["uid"][0] == table[f"_{name}"][0] == name
    with pytest.raises(FormatError) as caught:
        resources({"amount": name + "!", "uid": "a"})
    assert not hostile.unsafe(str(caught.value))
    with pytest.raises(FormatError) as caught:
        read(perun(resources={name: {"amount": [1]}}))
    assert not hostile.unsafe(str(caught.value))


MANY = 5000


@pytest.mark.parametrize(
    "said",
    [
        {"resources": [{f"f{number}": 1} for number in range(MANY)]},
        {"resources": [{"amount": 1, "type": f"t{number}"} for number in range(MANY)]},
        {
            "resources": {"a": {"amount": [0] * MANY}},
            "resource_type_map": {"a": {f"f{number}": 1 for number in range(MANY)}},
        },
        {
            "resources": {"a": {"amount": [0] * MANY}},
            "resource_type_map": {"a": {"uid": {f"f{number}": 1 for number in range(MANY)}}},
        },
        {
            "resources": {"a": {"amount": [0] * MANY, "uid": [{f"f{number}": 1} for number in range(MANY)]}},
            "resource_type_map": {"a": {}},
        },
        {"models": [{f"f{number}": 1} for number in range(MANY)]},
    ],
    ids=["fields", "types", "shared fields", "shared objects", "objects", "models"],
)
def test_fields_that_nearly_no_row_has_do_not_grow_without_bound(said: Any) -> None:
    data = json.dumps({"header": {"type": "x"}, "collector_info": {"name": "x"}, **said}).encode()
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="cells"):
            decode(data, created=0, where="x")
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


def test_a_text_without_an_end_is_looked_at_once() -> None:
    with pytest.raises(FormatError):
        decode(b'{"header":"' + b'\\"' * 500_000, created=0, where="x")


def test_a_long_column_is_never_a_long_list_of_rows() -> None:
    rows = 50_000
    columns = {f"c{number}": list(range(rows)) for number in range(12)}
    made = perun(resources={"a": {**columns, "amount": columns["c0"]}}, resource_type_map={"a": {"uid": "a"}})
    data = json.dumps(made).encode()
    tracemalloc.start()
    try:
        table = read(data).tables["resources"]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (table.rows, table["c11"][rows - 1]) == (rows, rows - 1)
    one_column_of_objects = rows * (8 + 32)
    assert peak < 14 * 8 * rows * 2 + 13 * one_column_of_objects


class Instance:
    """A folder as Perun makes it, byte by byte."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "objects").mkdir(parents=True)
        (root / "jobs").mkdir()

    def put(self, place: str, data: bytes) -> Path:
        path = self.root / "objects" / place[:2] / place[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path

    def object(self, made: Any, *, header: str = "profile time {}", id: str | None = None) -> str:
        body = made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)
        whole = header.format(len(body)).encode() + b"\0" + body.encode()
        id = id or hashlib.sha1(whole).hexdigest()
        self.put(id, zlib.compress(whole))
        return id

    def index(self, version: str, *entries: bytes, number: int = 1, count: int | None = None, cut: int = 0) -> Path:
        data = struct.pack("<4sii", b"pidx", number, len(entries) if count is None else count) + b"".join(entries)
        return self.put(version, data[: len(data) - cut])

    def read(self) -> tuple[list[VersionedProfile], list[str]]:
        found = list(read_instance(self.root))
        errors = [str(each) for each in found if isinstance(each, FormatError)]
        assert not [each for each in errors if hostile.unsafe(each)]
        return [each for each in found if isinstance(each, VersionedProfile)], errors


def entry(id: str, path: str = "a.perf") -> bytes:
    return struct.pack("<I20s", 1_600_000_000, bytes.fromhex(id)) + path.encode() + b"\0"


def entry_2(id: str, path: str = "a.perf") -> bytes:
    texts = ("time", "./sort", "naïve", "", "probe", "filter clusterizer")
    return entry(id, path) + b"".join(struct.pack("<I", len(each.encode())) + each.encode() for each in texts)


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    return Instance(tmp_path / ".perun")


@pytest.mark.parametrize(("number", "make"), [(1, entry), (2, entry_2)])
def test_both_versions_of_the_index_are_read(instance: Instance, number: int, make: Any) -> None:
    first = instance.object(perun(resources=[{"amount": 1, "uid": "naïve 日本"}], origin=None))
    second = instance.object(perun(resources=[{"amount": 2, "uid": "b"}]))
    instance.index(ONE, make(first), make(second, "b.perf"), number=number)
    instance.index(TWO, make(first), number=number)
    taken, errors = instance.read()
    assert errors == []
    assert [(each.version, each.name, each.registered) for each in taken] == [
        (TWO, "a.perf", True),
        (ONE, "a.perf", True),
        (ONE, "b.perf", True),
    ]
    assert [each.profile.tables["resources"]["amount"][0] for each in taken] == [1, 1, 2]
    assert {each.profile.created for each in taken} == {CREATED}
    assert {each.profile.origin for each in taken} == {None}
    assert taken[2].profile.notes == ("Perun called it b.perf",)


@pytest.mark.parametrize(("number", "make"), [(1, entry), (2, entry_2)])
def test_of_a_truncated_index_the_whole_entries_are_read(instance: Instance, number: int, make: Any) -> None:
    id = instance.object(perun())
    size = len(make(id))
    for cut in range(1, 2 * size + 1):
        path = instance.index(ONE, make(id), make(id, "b.perf"), number=number, cut=cut)
        taken, (error,) = instance.read()
        assert len(taken) == (2 * size - cut) // size
        assert error.startswith(f"{path} is damaged")


@pytest.mark.parametrize("number", [1, 2])
def test_any_flipped_bit_of_an_index_is_a_profile_or_an_error(instance: Instance, number: int) -> None:
    """There is no checksum; but never is a wrong profile read, nor anything left out without a word."""
    id = instance.object(perun())
    path = instance.index(ONE, (entry if number == 1 else entry_2)(id), number=number)
    whole = path.read_bytes()
    for bit in range(len(whole) * 8):
        wrong = bytearray(whole)
        wrong[bit // 8] ^= 1 << bit % 8
        path.write_bytes(wrong)
        taken, errors = instance.read()
        assert len(taken) <= 1
        assert taken or errors
        assert all(each.profile.header.cmd == "./sort" for each in taken)


def test_an_index_of_another_version_is_refused(instance: Instance) -> None:
    for number in (0, 3, -1, 2**31 - 1):
        path = instance.index(ONE, number=number)
        (error,) = read_instance(instance.root)
        assert isinstance(error, FormatError)
        assert str(error) == f"{path} is an index of version {number}, which is not Perun's"
    instance.index(ONE, number=3)
    (error,) = read_instance(instance.root)
    assert isinstance(error, FormatError)
    assert "needs no import" in (error.hint or "")


@pytest.mark.parametrize("count", [-1, 0, 2**31 - 1])
def test_the_count_of_an_index_is_not_believed(instance: Instance, count: int) -> None:
    instance.index(ONE, entry(instance.object(perun())), count=count)
    taken, (error,) = instance.read()
    assert len(taken) == (count > 0)
    assert "is damaged" in error


@pytest.mark.parametrize("magic", [b"pidy", b"PIDX", b"", b"\0\0\0\0", b"nidx"])
def test_a_file_of_no_kind_is_told(instance: Instance, magic: bytes) -> None:
    path = instance.put(ONE, magic + struct.pack("<ii", 1, 0))
    assert instance.read() == ([], [f"{path} is neither an index nor an object"])


def damaged(instance: Instance, kind: str) -> tuple[str, str]:
    """(id, what the error says) of an object that is wrong in this way."""
    id = "ab" * 20
    if kind == "missing":
        return id, "is not there"
    if kind == "length":
        return instance.object(perun(), header="profile time 5"), "does not hold the 5 characters"
    if kind == "longer":
        return instance.object(perun(), header="profile time 999"), "does not hold the 999 characters"
    if kind == "bomb":
        instance.put(id, zlib.compress(b"profile time 100000000000\0" + bytes(100_000_000), 9))
        return id, "claims to hold 100,000,000,000 characters"
    if kind == "another":
        return instance.object(perun(), id=id), "does not have this id"
    if kind == "header":
        return instance.object(perun(), header="note time {}"), "header of a profile"
    if kind == "json":
        return instance.object("[" * 300_000), "is not a profile of Perun"
    if kind == "cut":
        whole = instance.object(perun(metadata=["cut"]))
        path = instance.root / "objects" / whole[:2] / whole[2:]
        path.write_bytes(path.read_bytes()[:-5])
        return whole, "does not hold the"
    if kind == "folder":
        (instance.root / "objects" / id[:2] / id[2:]).mkdir(parents=True)
        return id, "a folder"
    assert kind == "pipe"
    (instance.root / "objects" / id[:2]).mkdir()
    os.mkfifo(instance.root / "objects" / id[:2] / id[2:])
    return id, "a pipe"


KINDS = ["missing", "length", "longer", "bomb", "another", "header", "json", "cut", "folder"]


@pytest.mark.parametrize("kind", [*KINDS, *(["pipe"] if hasattr(os, "mkfifo") else [])])
def test_a_damaged_object_is_told_by_its_file_and_the_rest_is_read(instance: Instance, kind: str) -> None:
    good = instance.object(perun())
    id, why = damaged(instance, kind)
    instance.index(ONE, entry(id, "bad\n\x1b[31m.perf"), entry(good))
    tracemalloc.start()
    try:
        taken, errors = instance.read()
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()
    assert [each.name for each in taken] == ["a.perf"]
    told = [each for each in errors if each.startswith(f"bad\\n\\x1b[31m.perf of {ONE[:10]}: ")]
    assert told == errors
    assert len(told) == 1
    assert str(Path(id[:2]) / id[2:]) in told[0]
    assert why in told[0]


def test_pending_profiles_stay_pending_and_damage_among_them_is_told(instance: Instance) -> None:
    (instance.root / "jobs" / "good\n.perf").write_text(json.dumps(perun(origin="a\nb")))
    (instance.root / "jobs" / "bad.perf").write_text("{")
    (instance.root / "jobs" / ".index").write_bytes(b"pidx")
    (taken,), (error,) = instance.read()
    assert (taken.version, taken.name, taken.registered) == ("a\nb", "good\n.perf", False)
    assert "bad.perf is not a profile of Perun" in error


def test_a_folder_that_is_no_instance_is_an_error(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "not there"):
        with pytest.raises(FormatError, match="is no instance of Perun"):
            list(read_instance(place))


@given(st.binary(max_size=100))
def test_any_bytes_are_an_index_an_object_or_a_format_error(data: bytes) -> None:
    for wrong in (data, b"pidx" + data, struct.pack("<4sii", b"pidx", 2, 3) + data):
        try:
            assert perun_index.decode_index(wrong, "x").entries is not None
        except FormatError:
            continue
    for wrong in (data, zlib.compress(data), zlib.compress(b"profile time 3\0" + data)):
        with pytest.raises(FormatError):
            perun_index.decode_object(wrong, "00" * 20, "x")


def test_the_instance_that_perun_made_is_read() -> None:
    found = list(read_instance(GOLDEN))
    taken = [each for each in found if isinstance(each, VersionedProfile)]
    assert len(taken) == len(found) == 5
    registered = {(each.version, each.name) for each in taken if each.registered}
    timed = "time-[nap.sh]-[0.02]-2026-11-21-19-04-04.perf"
    assert registered == {(ONE, timed), (ONE, "memory-tree.perf"), (TWO, "complexity-list.perf")}
    assert {each.version for each in taken if not each.registered} == {TWO}
    profiles = {each.name: each.profile for each in taken}
    memory = profiles["memory-tree.perf"]
    assert [dict(row) for row in memory.tables["resources"].iter_rows()][1] == {
        "snapshot": 0,
        "uid": "insert",
        "file": "tree.c",
        "line": 41,
        "address": 2**64 - 1,
        "stack": 3,
        "memory.free": None,
        "memory.malloc": 2**53 + 1,
    }
    assert said(memory.tables["resources"]) == said(profiles["memory-pending.perf"].tables["resources"])
    assert list(memory.tables["snapshots"]["time"]) == [0.025, 0.05]
    assert memory.created == 1_795_287_847_000_000_000
    mixed = profiles["complexity-list.perf"].tables
    assert {c.name: (c.unit, list(c)) for c in mixed["resources"].values()} == {
        "mixed.memory": ("MB", [None, 12]),
        "mixed.time delta": ("us", [11, None]),
    }
    assert list(mixed["models"]["model"]) == ["linear"]
    times = profiles[timed].tables["resources"]
    assert {c.name: c.unit for c in times.values()} == {"time.real": "s", "time.user": "s", "time.sys": "s"}
    assert list(times["run"]) == [1, 2, 3] * 3
    assert list(times["time.real"])[:3] == [0.02, 0.02, 0.02]


@pytest.fixture
def ada(empty_project: Project) -> Project:
    """The repository in which Perun was run: its commits have the same ids wherever they are made."""
    empty_project.git("init", "--quiet", "--initial-branch=main")
    for subject, date in (("one", "1750000000 +0000"), ("two", "1750000100 +0000")):
        who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in ADA.items()}
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        empty_project.git("commit", "--quiet", "--allow-empty", "--message", subject, env=who | dates)
    assert empty_project.git("rev-parse", "HEAD").out.strip() == TWO
    empty_project.perf("init")
    shutil.copytree(GOLDEN, empty_project.path / ".perun")
    return empty_project


ADA = {"NAME": "Ada", "EMAIL": "ada@example.org"}


def test_a_whole_instance_is_taken_over(ada: Project) -> None:
    done = ada.perf("import", "perun", ".perun")
    assert "imported 5 profiles" in done.err
    repository = ada.perf("fsck")
    assert repository.code == 0
    assert "memory" in ada.perf("show", f"{ONE}:0@i").out + ada.perf("show", f"{ONE}:1@i").out
    assert len(ada.perf("status", "--json").json["pending"]) == 2
    before = ada.perf("log", "--json").out
    for path in (ada.path / ".perf" / "jobs").iterdir():
        path.unlink()
    ada.perf("import", "perun", ".")
    assert ada.perf("log", "--json").out == before, "what is taken over again is there once"


def test_what_is_left_out_is_told_and_the_exit_code_is_not_0(ada: Project) -> None:
    objects = ada.path / ".perun" / "objects"
    memory = objects / "e2" / "19399945492336da40f51ded9e707bf2082a33"
    memory.write_bytes(memory.read_bytes()[:-1])
    instance = Instance(ada.path / "other")
    instance.index("ff" * 20, entry(instance.object(perun()), "evil\n\x1b[2J"))
    (instance.root / "jobs" / "odd.perf").write_text(json.dumps(perun(origin="--upload-pack=x\n\x1b[2J")))
    done = ada.perf("import", "perun", ".perun", code=4)
    assert "imported 4 profiles" in done.err
    assert str(memory.relative_to(ada.path)) in done.err
    done = ada.perf("import", "perun", "other", code=4)
    assert "imported 0 profiles" in done.err
    assert done.err.count("(left out)") == 2
    assert not hostile.unsafe(done.err + done.out)
    assert ada.perf("status", "--json").json["pending"] != []


def test_a_file_of_perun_is_read_wherever_a_profile_is(ada: Project) -> None:
    path = ".perun/jobs/memory-pending.perf"
    assert "insert" in ada.perf("show", path).out
    ada.perf("import", path)
    assert len(ada.perf("status", "--json").json["pending"]) == 1
