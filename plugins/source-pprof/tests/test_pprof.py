"""Profiles that Node and Go write, and messages that are cut, damaged or hostile."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from perfcore_pprof_kit import schema
from perfcore_pprof_kit.wire import message, number, packed
from perfcore_source_pprof import PprofSource
from perfcore_source_pprof.contract import profile
from perfcore_source_pprof.driver import PprofSettings
from perfcore_testing import npm

from perfcore.hookspecs import Segment

MILLISECOND = 1_000_000  # ns
RECORDED = """
const fs = require("fs"), zlib = require("zlib");
const { time } = require("@datadog/pprof");
const begin = Date.now();
time.start({ durationMillis: 60000, intervalMicros: 5000, withContexts: true });
const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
function busy(milliseconds) {
  const end = used() + milliseconds;
  let x = 0;
  while (used() < end) for (let i = 0; i < 100000; i++) x += i % 7;
  return x;
}
function checkout() { time.setContext({ route: "checkout" }); busy(400); }
function list() { time.setContext({ route: "list" }); busy(200); }
checkout(); list();
const profile = time.stop(false, ({ context }) => (context && context.context) || {});
console.log(begin, Date.now());
fs.writeFileSync(process.argv[2], zlib.gzipSync(profile.encode()));
"""


def read(path: Path, **settings: str) -> Segment:
    (segment,) = PprofSource(PprofSettings(**settings)).read([path], "")
    assert isinstance(segment, Segment), segment
    return segment


def error(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    (item,) = PprofSource().read([path], "")
    assert not isinstance(item, Segment)
    return item[1].message


def by_part(segment: Segment) -> Counter[tuple[tuple[str, str], ...]]:
    rows = segment.profile.tables["resources"]
    counts = Counter[tuple[tuple[str, str], ...]]()
    for part, samples in zip(rows["part"].data, rows["samples"].data, strict=True):
        counts[segment.parts[part].labels] += samples
    return counts


def test_a_recording_of_node(tmp_path: Path) -> None:
    """Labels of samples, the duration and the rate are those that the profiler wrote; its time is that of the end."""
    node = shutil.which("node") or pytest.skip("Node is not installed")
    modules = npm.install(tmp_path, "@datadog/pprof@5")
    (tmp_path / "record.js").write_text(RECORDED)
    path = tmp_path / "shop.3.pb.gz"
    done = subprocess.run([node, "record.js", str(path)], cwd=modules.parent, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the profiler does not run here: {done.stderr[-200:]}")
    assert PprofSource().sniff(path.read_bytes()[:4096], path.name)
    segment = read(path)
    assert (segment.stream, segment.number, segment.clock, segment.whole) == ("shop", 3, "samples", True)
    counts = by_part(segment)
    assert counts[(("route", "checkout"),)] > counts[(("route", "list"),)] > 0
    assert {"busy", "checkout", "list"} <= set(segment.profile.tables["functions"]["name"])
    began, ended = (int(word) * MILLISECOND for word in done.stdout.split())
    assert began <= segment.begin + MILLISECOND  # Node rounds the times of the message
    assert segment.end <= ended
    sampled = sum(counts.values()) * int(segment.profile.collector.sampling["period"])
    assert (segment.end - segment.begin) / 2 < sampled < (segment.end - segment.begin) * 1.1


GO = """\
package shop

import (
	"context"
	"runtime/pprof"
	"testing"
)

var sink uint64

func spin(rounds int) {
	for i := 0; i < rounds; i++ {
		sink = sink*6364136223846793005 + 1442695040888963407
	}
}

func Checkout() { spin(3000000) }

func List() { spin(1000000) }

func BenchmarkShop(b *testing.B) {
	for i := 0; i < b.N; i++ {
		pprof.Do(context.Background(), pprof.Labels("route", "checkout"), func(context.Context) { Checkout() })
		pprof.Do(context.Background(), pprof.Labels("route", "list"), func(context.Context) { List() })
	}
}
"""


@pytest.mark.process
def test_a_recording_of_go(tmp_path: Path) -> None:
    """By `go test -cpuprofile`, with labels of goroutines: one does three times the work of the other."""
    go = shutil.which("go") or pytest.skip("Go is not installed")
    (tmp_path / "shop_test.go").write_text(GO)
    (tmp_path / "go.mod").write_text("module example.org/shop\n")
    path = tmp_path / "shop.4.pb.gz"
    environment = {**os.environ, "GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    words = ["test", "-run", "^$", "-bench", ".", "-benchtime", "400x", "-cpuprofile", str(path)]
    done = subprocess.run([go, *words, "."], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert PprofSource().sniff(path.read_bytes()[:4096], path.name)
    segment = read(path)
    assert (segment.stream, segment.number, segment.clock, segment.whole) == ("shop", 4, "samples", True)
    counts = by_part(segment)
    assert counts[(("route", "checkout"),)] > 1.5 * counts[(("route", "list"),)] > 0
    names = segment.profile.tables["functions"]["name"]
    assert {"example.org/shop.Checkout", "example.org/shop.List", "example.org/shop.spin"} <= set(names)
    assert segment.profile.collector.sampling["period"] == 10_000_000  # 100 a second


def test_a_profile_that_begins_with_its_time_is_recognised() -> None:
    """As Go writes it; a time without metrics is no profile."""
    time = number(schema.TIME_NANOS, 1_700_000_000_000_000_000)
    assert PprofSource().sniff(time + profile(1), "cpu")
    assert PprofSource().sniff(gzip.compress(time + profile(1)), "cpu")
    assert not PprofSource().sniff(time, "cpu")
    assert not PprofSource().sniff(b"Handler;work 12\nHandler 3\n", "cpu")


def test_samples_are_counted_and_time_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a.pb.gz"
    path.write_bytes(gzip.compress(profile(3)))
    segment = read(path)
    assert by_part(segment) == {(): 3, (("route", "/cart"),): 2}
    assert segment.profile.collector.sampling["period"] == 10_000_000
    assert (segment.begin, segment.end - segment.begin) == (1_700_000_000_000_000_000, 60_000_000_000)
    timed = read(path, metric="cpu")
    assert sum(by_part(timed).values()) == 50_000_000
    assert timed.profile.collector.sampling["period"] == 1
    (item,) = PprofSource(PprofSettings(metric="alloc")).read([path], "")
    assert "no metric alloc" in str(item)


@pytest.mark.parametrize("compressed", [True, False])
def test_a_file_that_is_cut_gives_no_sample_that_is_not_there(tmp_path: Path, compressed: bool) -> None:
    """At each byte. Plain bytes of which the end is missing are not whole."""
    data = profile(2)
    data = gzip.compress(data) if compressed else data
    path = tmp_path / "a"
    for size in range(len(data)):
        path.write_bytes(data[:size])
        (item,) = PprofSource().read([path], "")
        if isinstance(item, Segment):
            assert not compressed
            assert not item.whole
            assert sum(by_part(item).values()) == 4
    path.write_bytes(data)
    assert read(path).whole


def test_numbers_that_name_nothing_are_no_labels(tmp_path: Path) -> None:
    """Sizes of objects would make a set of labels each."""
    texts = ("", "samples", "count", "bytes", "tid")
    labels = [number(schema.KEY, 3) + number(schema.NUM, 512), number(schema.KEY, 4) + number(schema.NUM, 7)]
    row = packed(schema.VALUE, [1]) + b"".join(message(schema.LABEL, label) for label in labels)
    parts = [message(schema.SAMPLE_TYPE, number(schema.TYPE, 1) + number(schema.UNIT, 2)), message(schema.SAMPLE, row)]
    path = tmp_path / "a"
    path.write_bytes(b"".join([*parts, *(message(schema.STRING_TABLE, text.encode()) for text in texts)]))
    assert by_part(read(path)) == {(("tid", "7"),): 1}


def test_hostile_messages_are_refused(tmp_path: Path) -> None:
    kind = message(schema.SAMPLE_TYPE, number(schema.TYPE, 0))
    path = tmp_path / "a"
    assert "negative" in error(path, kind + message(schema.SAMPLE, packed(schema.VALUE, [-1])))
    assert "2 values" in error(path, kind + message(schema.SAMPLE, packed(schema.VALUE, [1, 1])))
    assert "no location" in error(
        path, kind + message(schema.SAMPLE, packed(schema.LOCATION_ID, [1 << 60]) + packed(schema.VALUE, [1]))
    )
    assert "can be counted" in error(path, kind + message(schema.SAMPLE, packed(schema.VALUE, [2**63 - 1])) * 2)
    assert "no text" in error(path, message(schema.SAMPLE_TYPE, number(schema.TYPE, 1 << 40)))
    assert "unzips to more" in error(path, gzip.compress(bytes(600 << 20), 9))
    lines = message(schema.LINE, b"") * 30_000
    deep = message(schema.LOCATION, number(schema.ID, 1) + lines) + message(schema.FUNCTION, b"")
    row = message(schema.SAMPLE, packed(schema.LOCATION_ID, [1]) + packed(schema.VALUE, [1]))
    assert "too many frames" in error(path, kind + deep + row)


def test_sets_of_labels_are_bounded(tmp_path: Path) -> None:
    kind = message(schema.SAMPLE_TYPE, number(schema.TYPE, 0))
    texts = message(schema.STRING_TABLE, b"") + message(schema.STRING_TABLE, b"key")
    rows = []
    for at in range(5_000):
        texts += message(schema.STRING_TABLE, b"%d" % at)
        label = number(schema.KEY, 1) + number(schema.STR, 2 + at)
        rows.append(message(schema.SAMPLE, packed(schema.VALUE, [1]) + message(schema.LABEL, label)))
    path = tmp_path / "a"
    path.write_bytes(kind + b"".join(rows) + texts)
    counts = by_part(read(path))
    assert len(counts) <= 4_097
    assert counts.total() == 5_000


def test_a_text_is_no_profile() -> None:
    for head in (b"\n\x05main;work 3", b"\x1f\x8b" + bytes(40), b"", b"\n"):
        assert not PprofSource().sniff(head, "a.pb.gz")
