"""Files as protobuf and a package of npm read and write them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from perfcore_format_pprof import PprofFormat
from perfcore_sample_kit import SampleRecorder
from perfcore_testing import npm, profiles
from perfcore_testing.project import Project

from perfcore.errors import FormatError
from perfcore.model import Profile, Tool
from perfcore.profile.columns import ColumnSpec
from perfcore.profile.stacks import Frame, Stacks
from perfcore.profile.table import column

# profile.proto of pprof as message, field, number, type: i, u and s are int64, uint64 and string, * is repeated.
SCHEMA = """
ValueType type 1 i;ValueType unit 2 i;Label key 1 i;Label str 2 i;Label num 3 i;Label num_unit 4 i
Sample location_id 1 u*;Sample value 2 i*;Sample label 3 Label*;Line function_id 1 u;Line line 2 i;Line column 3 i
Mapping id 1 u;Mapping memory_start 2 u;Mapping memory_limit 3 u;Mapping file_offset 4 u;Mapping filename 5 i
Mapping build_id 6 i;Location id 1 u;Location mapping_id 2 u;Location address 3 u;Location line 4 Line*
Function id 1 u;Function name 2 i;Function system_name 3 i;Function filename 4 i;Function start_line 5 i
Profile sample_type 1 ValueType*;Profile sample 2 Sample*;Profile mapping 3 Mapping*;Profile location 4 Location*
Profile function 5 Function*;Profile string_table 6 s*;Profile drop_frames 7 i;Profile keep_frames 8 i
Profile time_nanos 9 i;Profile duration_nanos 10 i;Profile period_type 11 ValueType;Profile period 12 i
Profile comment 13 i*;Profile default_sample_type 14 i;Profile doc_url 15 i
"""
READER = """
const { Profile } = require("pprof-format");
const profile = Profile.decode(require("zlib").gunzipSync(require("fs").readFileSync(process.argv[2])));
const text = (number) => profile.stringTable.strings[Number(number)];
const functions = new Map(profile.function.map((each) => [each.id, each]));
const locations = new Map(profile.location.map((each) => [each.id, each]));
const name = (id) => text(functions.get(locations.get(id).line[0].functionId).name);
console.log(JSON.stringify({
  metrics: profile.sampleType.map(({ type, unit }) => [text(type), text(unit)]),
  samples: profile.sample.map(({ locationId, value }) => [locationId.map(name), value.map(Number)]),
}));
"""

GO = """\
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
)

var kept [][]byte

func grow() {
	for i := 0; i < 100; i++ {
		kept = append(kept, make([]byte, 1<<20))
	}
}

func main() {
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	grow()
	var lock sync.Mutex
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for j := 0; j < 1000; j++ {
				lock.Lock()
				runtime.Gosched()
				lock.Unlock()
			}
		}()
	}
	all.Wait()
	for _, name := range os.Args[1:] {
		file, _ := os.Create(name)
		pprof.Lookup(name).WriteTo(file, 0)
		file.Close()
	}
}
"""


@pytest.fixture(scope="session")
def message() -> Any:
    """The class Profile that protobuf makes of the schema."""
    names = ("descriptor_pb2", "descriptor_pool", "message_factory")
    descriptor_pb2, descriptor_pool, message_factory = (
        pytest.importorskip(f"google.protobuf.{name}") for name in names
    )
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="p", syntax="proto3")
    kinds = {"i": "TYPE_INT64", "u": "TYPE_UINT64", "s": "TYPE_STRING"}
    messages: dict[str, Any] = {}
    for entry in SCHEMA.replace("\n", ";").strip(";").split(";"):
        owner, name, number, kind = entry.split()
        if owner not in messages:
            messages[owner] = file.message_type.add(name=owner)
        label = "LABEL_REPEATED" if kind.endswith("*") else "LABEL_OPTIONAL"
        field = messages[owner].field.add(name=name, number=int(number), label=label)
        kind = kind.rstrip("*")
        if kind in kinds:
            field.type = field.Type.Value(kinds[kind])
        else:
            field.type, field.type_name = field.TYPE_MESSAGE, f".p.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.Profile"))


def written(profile: Profile, path: Path) -> bytes:
    PprofFormat().write(profile, path)
    return gzip.decompress(path.read_bytes())


def said(profile: Profile, metric: str) -> dict[tuple[str, ...], Any]:
    """The amount of each stack."""
    stacks, resources = Stacks.of(profile.tables), profile.tables["resources"]
    return {
        tuple(stacks.names[function] for function in stacks.path(stack)): amount
        for stack, amount in zip(resources["stack"], resources[metric], strict=True)
        if isinstance(stack, int)
    }


def threaded() -> Profile:
    """Two threads of a process, with samples and seconds."""
    recorder = SampleRecorder([ColumnSpec("samples", "i64", "", "value"), ColumnSpec("cpu", "f64", "s", "value")])
    for at, (thread, name) in enumerate((("main", "parse"), ("worker", "read"), ("main", "write"))):
        stack = recorder.stacks.add([Frame("run", "a.py", 7, 3), Frame(name, "b.py", 20 + at, 20)])
        recorder.add(stack, (at + 1, 0.25), time=at, thread=thread, process="p 1")
    return recorder.profile(Tool(name="test"), created=1_750_000_000_000_000_000, name="program")


def test_protobuf_reads_what_is_written(message: Any, tmp_path: Path) -> None:
    profile = message.FromString(written(threaded(), tmp_path / "x.pb.gz"))
    text = list(profile.string_table)
    assert text[0] == ""
    assert [(text[each.type], text[each.unit]) for each in profile.sample_type] == [
        ("samples", "count"),
        ("cpu", "nanoseconds"),
    ]
    functions = {each.id: each for each in profile.function}
    locations = {each.id: each for each in profile.location}
    names = [
        [text[functions[locations[id].line[0].function_id].name] for id in sample.location_id]
        for sample in profile.sample
    ]
    assert names == [["parse", "run"], ["read", "run"], ["write", "run"]]
    assert [list(sample.value) for sample in profile.sample] == [[1, 250_000_000], [2, 250_000_000], [3, 250_000_000]]
    assert [[(text[label.key], text[label.str]) for label in sample.label] for sample in profile.sample][1] == [
        ("process", "p 1"),
        ("thread", "worker"),
    ]
    assert {text[each.name]: (text[each.filename], each.start_line) for each in profile.function}["run"] == ("a.py", 3)
    assert [locations[1].line[0].line, profile.time_nanos] == [20, 1_750_000_000_000_000_000]
    profile.DiscardUnknownFields()
    assert profile == message.FromString(written(threaded(), tmp_path / "y.pb.gz"))


def test_a_package_of_npm_reads_what_is_written(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    npm.install(tmp_path, "pprof-format@2")
    written(profiles.sampled(), tmp_path / "x.pb.gz")
    (tmp_path / "reader.js").write_text(READER)
    done = subprocess.run([node, "reader.js", "x.pb.gz"], cwd=tmp_path, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert answer["metrics"] == [["samples", "count"]]
    stacks: Mapping[tuple[str, ...], int] = {tuple(reversed(names)): values[0] for names, values in answer["samples"]}
    assert stacks == said(profiles.sampled(), "samples")


def test_what_protobuf_writes_is_read(message: Any, tmp_path: Path) -> None:
    """With what we do not write: inlined functions, addresses without a function, unpacked numbers, other fields."""
    text = ["", "cpu", "nanoseconds", "main", "a.c", "inlined", "/lib/libc.so", "tid", "alloc", "bytes"]
    profile = message(string_table=text, default_sample_type=8, duration_nanos=5, doc_url=1)
    profile.sample_type.add(type=1, unit=2)
    profile.sample_type.add(type=8, unit=9)
    profile.mapping.add(id=1, filename=6)
    profile.function.add(id=7, name=3, filename=4, start_line=10)
    profile.function.add(id=8, name=5, filename=4)
    outer = profile.location.add(id=1)
    outer.line.add(function_id=8, line=99)
    outer.line.add(function_id=7, line=12)
    profile.location.add(id=2, mapping_id=1, address=0x1234)
    sample = profile.sample.add(location_id=[2, 1], value=[-5, 64])
    sample.label.add(key=7, num=42)
    path = tmp_path / "p.pb"
    path.write_bytes(profile.SerializeToString())
    assert PprofFormat().sniff(path.read_bytes(), path.name)
    read = PprofFormat().read(path)
    assert said(read, "cpu") == {("main", "inlined", "0x1234"): -5}
    resources = read.tables["resources"]
    assert [(each.name, each.unit) for each in resources.values()] == [("alloc", "B"), ("cpu", "ns")]
    assert list(resources["thread"]) == ["42"]
    stacks = Stacks.of(read.tables)
    assert (list(stacks.files), [stacks.line(0), stacks.line(1)]) == (["a.c", "a.c", "/lib/libc.so"], [12, 99])


@pytest.mark.parametrize(
    ("change", "message_text"),
    [
        (lambda p: p.sample[0].location_id.append(9), "no location 9"),
        (lambda p: p.sample[0].value.append(9), "2 values, not 1"),
        (lambda p: p.location[0].line.add(function_id=9), "no function 9"),
        (lambda p: p.sample_type.add(type=99), "no text 99"),
        (lambda p: p.ClearField("sample_type"), "names no metrics"),
        (lambda p: p.ClearField("sample"), "no samples"),
    ],
)
def test_references_to_nothing_are_refused(message: Any, tmp_path: Path, change: Any, message_text: str) -> None:
    profile = message.FromString(written(profiles.sampled(), tmp_path / "x.pb.gz"))
    change(profile)
    (tmp_path / "x.pb").write_bytes(profile.SerializeToString())
    with pytest.raises(FormatError, match=message_text):
        PprofFormat().read(tmp_path / "x.pb")


def test_threads_and_metrics_come_back(tmp_path: Path) -> None:
    written(threaded(), tmp_path / "x.pb.gz")
    resources = PprofFormat().read(tmp_path / "x.pb.gz").tables["resources"]
    assert [list(resources[name]) for name in ("thread", "samples", "cpu")] == [
        ["main", "worker", "main"],
        [1, 2, 3],
        [250_000_000] * 3,
    ]


def test_amounts_beyond_64_bits_are_refused(tmp_path: Path) -> None:
    profile = profiles.sampled()
    odd = profile.tables["resources"].with_columns(column("samples", [1e30] * 6, role="value"))
    with pytest.raises(FormatError, match="64 bits"):
        PprofFormat().write(profile.replace_tables(resources=odd), tmp_path / "x.pb.gz")


def test_the_command_line_imports_and_exports(project: Project, tmp_path: Path) -> None:
    written(threaded(), tmp_path / "in.pb.gz")
    project.perf("import", str(tmp_path / "in.pb.gz"))
    project.perf("export", "0@p", "--format", "pprof", "-o", str(tmp_path / "out.pb.gz"))
    assert PprofFormat().read(tmp_path / "out.pb.gz").tables == PprofFormat().read(tmp_path / "in.pb.gz").tables


@pytest.mark.process
def test_every_kind_of_profile_that_go_writes_is_shown_as_by_pprof(project: Project, tmp_path: Path) -> None:
    """Beside that of the CPU, which the source of the same files reads."""
    go = shutil.which("go") or pytest.skip("Go is not installed")
    (tmp_path / "grow.go").write_text(GO)
    kinds = {"heap": "inuse_space", "allocs": "alloc_space", "goroutine": "goroutine", "threadcreate": "threadcreate"}
    kinds |= {"block": "delay", "mutex": "delay"}
    environment = {**os.environ, "GOCACHE": str(tmp_path / "cache"), "GOTOOLCHAIN": "local", "GO111MODULE": "off"}
    words = [go, "run", "grow.go", *kinds]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for kind, metric in kinds.items():
        project.perf("import", str(tmp_path / kind))
        shown = PprofFormat().read(tmp_path / kind).tables["resources"].values()
        assert shown[0].name == metric, kind
