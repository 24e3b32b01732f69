"""`perf fleet` in real repositories, on traces that are written here."""

from __future__ import annotations

import contextlib
import os
import re
import runpy
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from perfcore_source_statprofiler import packets, writer
from perfcore_source_statprofiler.writer import begin, end, label, main, sample, sub
from perfcore_testing import hostile
from perfcore_testing.project import Project

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
STREAM = (1, 2, 3, 4, 5, 6)
HEAD = writer.header(STREAM, 1)
NOON = 1_700_049_600  # s since 1970 UTC, 12:00


def benchmark(name: str) -> Any:
    """A script of the benchmarks as a module."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return runpy.run_path(str(BENCHMARKS / f"{name}.py"), run_name=name)
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture
def release(project: Project) -> Project:
    """A repository with the release R1."""
    project.commit("release", source="1")
    project.git("tag", "R1")
    return project


def trace(
    path: Path, *records: bytes, stream: writer.Stream = STREAM, number: int = 1, at: int = NOON, whole: bool = True
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    writer.write(path, writer.header(stream, number), records, whole=whole)
    os.utime(path, (at, at))
    return path


def work(weight: int, line: int = 3) -> bytes:
    return sample(weight, "add", [sub("App", "work", "lib/App.pm", line, 2), main("app.pl", 1)])


def total(project: Project, *words: str) -> int:
    samples: int = project.perf("fleet", "report", "--json", *words).json["total"]
    return samples


def test_the_totals_of_a_made_up_fleet(release: Project, tmp_path: Path) -> None:
    totals = benchmark("made_fleet")["make"](tmp_path / "traces", hosts=2, workers=3, boxes=3, samples=200)
    done = release.perf("fleet", "ingest", str(tmp_path / "traces"), "--json").json
    assert (done["new"], done["samples"], done["problems"]) == (len(totals.files), totals.total, [])
    again = release.perf("fleet", "ingest", str(tmp_path / "traces"), "--json").json
    assert (again["new"], again["known"]) == (0, len(totals.files))
    report = release.perf("fleet", "report", "-n", "10000", "--json").json
    assert report["total"] == totals.total
    assert {row["name"]: row["exclusive"] for row in report["rows"] if row["exclusive"]} | dict(totals.exclusive) == {
        row["name"]: row["exclusive"] for row in report["rows"] if row["exclusive"]
    }
    labels = release.perf("fleet", "labels", "--json").json["labels"]
    assert [*labels] == sorted(labels)  # the same in every process, whatever its hashes are
    assert all([*values] == sorted(values) for values in labels.values())
    assert labels["action"] == dict(totals.by_action)
    assert labels["host"] == dict(totals.by_host)
    for action, amount in totals.by_action.items():
        assert total(release, "--where", f"action={action}") == amount
    assert total(release, "--where", "action=cart|list,host=web0.example.net") < totals.by_host["web0.example.net"]
    status = release.perf("fleet", "status", "R1", "--json").json
    assert status["gaps"] == []
    assert sum(box["samples"] for box in status["boxes"]) == totals.total


def test_two_ingesters_that_are_killed_lose_and_double_nothing(tmp_path: Path) -> None:
    """The short form of `benchmarks/torture.py`."""
    torture = benchmark("torture")
    for seed in range(2):
        (tmp_path / str(seed)).mkdir()
        assert torture["one_round"](tmp_path / str(seed), seed)[1] == []


def test_shards_whose_names_end_alike(release: Project, tmp_path: Path) -> None:
    """Files of one stream reach both."""
    paths = [trace(tmp_path / f"web1/{n}", work(n), number=n) for n in (1, 2, 3)]
    release.perf("fleet", "ingest", *map(str, paths[:2]), "--shard", "example", "--release", "R1")
    release.perf("fleet", "ingest", *map(str, paths[1:]), "--shard", "web.example", "--release", "R1")
    assert total(release) == 6
    assert release.perf("fleet", "status", "--json").json["gaps"] == []


def test_boxes_are_of_the_time_of_the_samples(release: Project, tmp_path: Path) -> None:
    trace(tmp_path / "in/web1/a", work(1), at=NOON)
    trace(tmp_path / "in/web1/b", work(2), number=2, at=NOON + 86_400)
    late = trace(tmp_path / "late/web1/c", work(4), number=4, at=NOON)
    release.perf("fleet", "ingest", str(tmp_path / "in"), "--release", "R1")
    release.perf("fleet", "ingest", str(late.parent.parent), "--release", "R1")
    done = release.perf("fleet", "status")
    assert "2023-11-15 00:00  web1         2        1        5  50 ms" in done.out
    assert "missing: " in done.out
    assert "3 samples" not in done.out
    assert total(release, "--since", "2023-11-16") == 2
    assert total(release, "--until", "2023-11-16") == 5


def test_results_are_profiles_like_others(release: Project, tmp_path: Path) -> None:
    paths = [trace(tmp_path / "web1/a", work(3))]
    release.perf("fleet", "ingest", str(tmp_path / "web1"), "--release", "R1")
    release.perf("fleet", "save", "everything", "host=web1|web2")
    release.perf("fleet", "report", "--host", "x", code=2)
    release.perf("fleet", "ingest", *map(str, paths), "--release", "R1", "--host", "web1")
    saved = re.search(r"^saved (\S+)$", release.perf("fleet", "report", "--save").err, re.MULTILINE)
    assert saved is not None
    assert "App::work" in release.perf("show", saved[1]).out
    release.perf("add", "0@p")
    release.commit("next", source="2")
    release.git("tag", "R2")
    trace(tmp_path / "new/a", work(5), stream=(9, 2, 3, 4, 5, 6))
    release.perf("fleet", "ingest", str(tmp_path / "new"), "--release", "R2", "--host", "web1")
    release.perf("fleet", "report", "R2", "--save")
    release.perf("add", "0@p")
    assert "App::work" in release.perf("diff", "R1:0@i", "R2:0@i").out
    history = release.perf("history", "samples", "--json").json
    assert [point["values"] for point in history["series"][0]["points"]] == [[3.0], [5.0]]
    release.perf("fleet", "export", "R2", "-o", "stacks.folded")
    assert "App::work" in (text := (release.path / "stacks.folded").read_text())
    assert release.perf("fleet", "export", "R2", "-o", "-").out == text
    assert not (release.path / "-").exists()


def test_saved_queries_travel(release: Project, tmp_path: Path) -> None:
    trace(tmp_path / "in/web1/a", begin("r"), work(3), label("action", "cart"), end("r"), work(4))
    release.perf("fleet", "ingest", str(tmp_path / "in"), "--release", "R1", "--label", "service=shop")
    release.perf("fleet", "save", "carts", "action=cart,service=shop")
    assert total(release, "--query", "carts") == 3
    assert total(release, "--query", "carts", "--where", "host=web1") == 3
    release.perf("fleet", "report", "--query", "cart", code=3)
    release.perf("remote", "add", "shared", "../shared")
    release.perf("push", "--yes")
    assert "record" in release.perf("push", "shared", "--json").out
    release.git("clone", "-q", "--origin", "shared", ".", "../clone")
    clone = Project(release.path.parent / "clone", release.home)
    clone.perf("init")
    clone.perf("remote", "add", "shared", "../shared")
    pulled = clone.perf("pull", "--json").json
    assert pulled["records"] == 2
    assert total(clone, "R1", "--query", "carts") == 3
    assert clone.perf("pull", "--json").json["records"] == 0


def test_rules_of_sharing_apply_to_what_is_pushed(release: Project, tmp_path: Path) -> None:
    """What comes back is known, also after it was packed or has expired here; a renamed stream does not leave."""
    secret = sample(2, "add", [sub("Secret", "work", "/home/alice/App.pm", 3, 2), main("app.pl", 1)])
    records = [begin("r"), secret, label("user", "alice"), end("r"), work(3)]
    trace(tmp_path / "in/web1.alice.example/a", *records)
    trace(tmp_path / "in/web1.alice.example/b", writer.code("sub { 'alice' }", 1), work(5), number=2, at=NOON + 86_400)
    (tmp_path / "in/web2").mkdir()
    (tmp_path / "in/web2/alice.1.folded").write_text("main;work 7\n")
    release.perf("fleet", "ingest", str(tmp_path / "in"), "--release", "R1", "--shard", "alice-laptop")
    release.perf("fleet", "save", "hers", "user=alice")
    rules = "sharing:\n  omit: [perl]\n  replace:\n    alice: somebody\n"
    (release.path / ".perf/local.yml").write_text((release.path / ".perf/local.yml").read_text() + rules)
    release.perf("remote", "add", "shared", "../shared")
    pushed = release.perf("push", "--yes", "--json")
    assert pushed.json["records"] == 3
    assert "1 record not sent" in pushed.err
    for path in (release.path.parent / "shared").rglob("*"):
        assert not path.is_file() or b"alice" not in unpacked(path.read_bytes())
    assert release.perf("push", "--yes", "--json").json["records"] == 0
    release.git("clone", "-q", "--origin", "shared", ".", "../clone")
    clone = Project(release.path.parent / "clone", release.home)
    clone.perf("init")
    clone.perf("remote", "add", "shared", "../shared")
    clone.perf("pull")
    assert total(clone, "R1") == 10
    assert total(clone, "R1", "--query", "hers") == 2
    labels = clone.perf("fleet", "labels", "R1", "--json").json["labels"]
    assert labels["host"] == {"web1.somebody.example": 10}
    assert "perl" not in labels
    assert "Secret::work  /home/somebody/App.pm:2" in clone.perf("fleet", "report", "R1").out
    clone.perf("fsck")
    assert release.perf("pull", "--json").json["records"] == 0
    release.perf("fleet", "pack")
    assert release.perf("pull", "--json").json["records"] == 0
    assert total(release) == 17
    assert release.perf("fleet", "labels", "--json").json["labels"]["user"] == {"alice": 2}
    release.perf("fleet", "expire", "--before", "2023-11-16")
    release.perf("pull")
    assert total(release) == 12
    release.perf("push", "--yes")
    clone.perf("pull")
    assert total(clone, "R1") == 5
    for path in (release.path.parent / "shared").rglob("*"):
        assert not path.is_file() or b"alice" not in unpacked(path.read_bytes())


def unpacked(data: bytes) -> bytes:
    """Bytes with every stream of zlib that is in them."""
    streams = [data]
    for start in range(len(data)):
        if data[start] == 0x78:
            with contextlib.suppress(zlib.error):
                streams.append(zlib.decompressobj().decompress(data[start:]))
    return b"".join(streams)


def test_packing_and_expiry(release: Project, tmp_path: Path) -> None:
    for n in range(1, 5):
        trace(tmp_path / f"in/web1/{n}", work(n), number=n, at=NOON + (n // 3) * 86_400)
    release.perf("fleet", "ingest", str(tmp_path / "in"), "--release", "R1")
    assert "packed 4 receipts" in release.perf("fleet", "pack").err
    assert total(release) == 10
    assert "would expire 2 segments" in release.perf("fleet", "expire", "--before", "2023-11-16", "--dry-run").err
    assert "expired 0 segments" in release.perf("fleet", "expire", "--before", "2023-11-16", "--keep", "host=web1").err
    assert "expired 2 segments" in release.perf("fleet", "expire", "--before", "2023-11-16").err
    assert total(release) == 7
    assert "2 expired" in release.perf("fleet", "status").out
    release.perf("gc", "--grace", "0s")
    assert total(release) == 7
    release.perf("fsck")
    again = release.perf("fleet", "ingest", str(tmp_path / "in"), "--release", "R1", "--json").json
    assert (again["expired"], again["known"], again["new"]) == (2, 2, 0)


def test_tiers_and_pins_say_how_long_samples_live(release: Project, tmp_path: Path) -> None:
    """A segment lives as long as the longest tier that has it, or a pin; what stays of it is listed."""
    now = int(time.time())
    for n, days in enumerate((1, 10, 40, 40, 40), 1):
        records = [begin("r"), work(n), label("action", "cart" if n == 4 else "list"), end("r")]
        trace(tmp_path / f"in/web{n}/{n}", *records, number=n, at=now - days * 86_400)
    release.perf("fleet", "ingest", str(tmp_path / "in"), "--release", "R1")
    release.perf("fleet", "retain", code=2)
    release.perf("fleet", "pin", "incident", "R1", "--where", "host=web5")
    assert [each["where"] for each in release.perf("fleet", "pins", "--json").json["pins"]] == ["host=web5"]
    tiers = ("--tier", "5d", "--tier", "90d:action=cart")
    assert "would expire 2 segments" in release.perf("fleet", "retain", *tiers, "--dry-run").err
    assert "expired 0 segments" in release.perf("fleet", "expire", "--before", "41d").err
    assert "expired 2 segments" in release.perf("fleet", "retain", *tiers, "--save").err
    assert total(release) == 1 + 4 + 5
    assert "expired 0 segments" in release.perf("fleet", "retain").err
    boxes = release.perf("fleet", "kept", "--json").json["boxes"]
    assert sorted((box["samples"], box["top"][0][1]) for box in boxes) == [(2, 2), (3, 3)]
    assert "app.pl:main" in release.perf("fleet", "kept").out or "App::work" in release.perf("fleet", "kept").out
    release.perf("fleet", "unpin", "incident")
    assert release.perf("fleet", "pins", "--json").json["pins"] == []
    release.perf("fleet", "unpin", "incident", code=3)
    assert "expired 1 segment" in release.perf("fleet", "retain").err
    assert total(release) == 1 + 4
    release.perf("fleet", "retain", "--tier", "x", code=2)
    release.perf("fleet", "retain", "--tier", "5d:action", code=2)


def test_exemplars_name_segments_of_hot_stacks(release: Project, tmp_path: Path) -> None:
    for n in range(1, 6):
        other = sample(1, "add", [sub("App", "rare", "lib/App.pm", 30, 29), main("app.pl", 1)])
        trace(tmp_path / f"in/web{n}/{n}", work(n), other, number=n)
    release.perf("fleet", "ingest", str(tmp_path / "in"), "--release", "R1")
    stacks = release.perf("fleet", "exemplars", "--json").json["stacks"]
    assert [(each["frames"], each["samples"]) for each in stacks] == [
        (["App::work", "main"], 15),
        (["App::rare", "main"], 5),
    ]
    assert [(each["host"], each["number"], each["samples"]) for each in stacks[0]["segments"]] == [
        ("web5", 5, 5),
        ("web4", 4, 4),
        ("web3", 3, 3),
    ]
    assert stacks[0]["segments"][0]["time"] == NOON * 10**9
    only = release.perf("fleet", "exemplars", "--function", "App::rare", "--where", "host=web2")
    assert only.out.splitlines()[0] == "1 samples: App::rare < main"


def test_metadata_are_of_everything_or_of_a_query(release: Project, tmp_path: Path) -> None:
    release.perf("fleet", "save", "carts", "action=cart")
    release.perf("fleet", "meta", "team=shop", "site=eu")
    release.perf("fleet", "meta", "team=cart", "--query", "carts")
    assert release.perf("fleet", "meta", "--json").json["metadata"] == {"site": "eu", "team": "shop"}
    assert release.perf("fleet", "meta", "--query", "carts", "--json").json["metadata"] == {
        "site": "eu",
        "team": "cart",
    }
    trace(tmp_path / "in/web1/a", begin("r"), label("action", "cart"), work(2), end("r"))
    release.perf("fleet", "ingest", str(tmp_path / "in"), "--release", "R1")
    assert "site=eu, team=shop" in release.perf("fleet", "report").err
    assert "site=eu, team=cart" in release.perf("fleet", "report", "--query", "carts").err
    report = release.perf("fleet", "report", "--query", "carts", "--json").json
    assert report["metadata"] == {"site": "eu", "team": "cart"}
    release.perf("fleet", "meta", "site=")
    assert "site" not in release.perf("fleet", "meta").out
    release.perf("fleet", "meta", "--query", "nothing", "a=b", code=3)
    release.perf("fleet", "meta", "a", code=2)


def test_a_spool_is_emptied_and_bad_files_are_put_aside(release: Project, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    whole = trace(spool / "web1/a", work(3))
    growing = trace(spool / "web1/b", work(5), number=2, whole=False)
    beginning = growing.read_bytes()
    bad = spool / "web1/c"
    bad.write_bytes(b"no trace")
    os.utime(bad, (NOON, NOON))
    release.perf("fleet", "ingest", "--watch", "--turns", "1", str(spool), "--release", "R1")
    assert not whole.exists()
    assert growing.exists()
    assert not bad.exists()
    assert "no source" in (spool / "dead-letter/web1/c.reason").read_text()
    assert total(release) == 8
    growing.write_bytes(beginning + writer.packed(work(7) + writer.file_end())[len(packets.MAGIC) + 1 :])
    release.perf("fleet", "ingest", "--watch", "--turns", "1", str(spool), "--release", "R1")
    assert not growing.exists()
    assert total(release) == 15
    release.perf("fleet", "ingest", "--watch", "--turns", "1", "--limit", "0", str(spool), "--release", "R1")
    assert [path for path in (spool / "dead-letter").rglob("*") if path.is_file()] == []


def test_a_file_that_is_being_written_is_not_put_aside(release: Project, tmp_path: Path) -> None:
    path = tmp_path / "spool/web1/c"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"=stat")
    os.utime(path, (time.time() + 60,) * 2)
    release.perf("fleet", "ingest", "--watch", "--turns", "1", str(tmp_path / "spool"), "--release", "R1")
    assert path.exists()


def test_a_damaged_trace_is_told_while_the_others_count(release: Project, tmp_path: Path) -> None:
    trace(tmp_path / "in/web1/a", work(3))
    cut = trace(tmp_path / "in/web1/b", work(5), work(7), number=2)
    cut.write_bytes(cut.read_bytes()[:-3])
    (tmp_path / "in/web1/c").write_bytes(b"=statprofiler\1")
    done = release.perf("fleet", "ingest", str(tmp_path / "in"), "--release", "R1", code=4)
    assert "ends inside of its header" in done.err
    assert "cut short" in done.err
    assert total(release) == 3


def test_a_release_that_is_no_version_is_said(release: Project, tmp_path: Path) -> None:
    path = tmp_path / "in/web1/a"
    path.parent.mkdir(parents=True)
    writer.write(path, writer.header(STREAM, 1, labels={"release": "R9"}), [work(1)])
    assert "R9" in release.perf("fleet", "ingest", str(tmp_path / "in"), code=4).err
    trace(path, work(1))
    assert "its release is not known" in release.perf("fleet", "ingest", str(tmp_path / "in"), code=4).err


def test_names_in_traces_are_text(release: Project, tmp_path: Path) -> None:
    name = "\x1b[31m<script>\x07\u202e"
    path = tmp_path / "in/w\x1b[1meb/a"
    path.parent.mkdir(parents=True)
    head = writer.header(STREAM, 1, labels={"release": "R1", name: name})
    records = [sample(1, "add", [sub(name, name, name, 3, 2)]), begin(name), work(1), label(name, name), end(name)]
    writer.write(path, head, records)
    release.perf("fleet", "ingest", str(tmp_path / "in"))
    for words in (["report"], ["report", "--by", "line"], ["labels"], ["status"], ["report", "--by", "call-site"]):
        done = release.perf("fleet", *words)
        assert hostile.unsafe(done.out + done.err) == set()
        assert hostile.unsafe(release.perf("fleet", *words, "--json").out) == set()


def test_links_in_a_spool_are_not_followed(release: Project, tmp_path: Path) -> None:
    secret = trace(tmp_path / "elsewhere/a", work(3))
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool/link").symlink_to(secret)
    (tmp_path / "spool/folder").symlink_to(secret.parent)
    release.perf("fleet", "ingest", str(tmp_path / "spool"), "--release", "R1")
    release.perf("fleet", "status", code=3)


def test_wrong_words_are_usage(release: Project) -> None:
    release.perf("fleet", "report", "--by", "colour", code=2)
    release.perf("fleet", "report", "--where", "=x", code=2)
    release.perf("fleet", "report", "--since", "yesterday", code=2)
    release.perf("fleet", "status", "--box", "0s", code=2)
    release.perf("fleet", "expire", code=2)
    release.perf("fleet", "ingest", "/nowhere", code=3)
    release.perf("fleet", "ingest", ".", "--label", "x", code=2)


def test_two_releases_are_compared_by_the_shares_of_functions(release: Project, tmp_path: Path) -> None:
    release.commit("next", source="2")
    release.git("tag", "R2")
    slow = sample(30, "add", [sub("App", "slow", "lib/App.pm", 9, 8), main("app.pl", 1)])
    rest = sample(500, "add", [main("app.pl", 1)])
    for host in range(6):
        stream = (host, 2, 3, 4, 5, 6)
        trace(tmp_path / f"old/web{host}/a", work(1000 + host), rest, stream=stream)
        trace(tmp_path / f"new/web{host}/a", work(700 + host), rest, *[slow] * 10, stream=(host, 9, 3, 4, 5, 6))
    release.perf("fleet", "ingest", str(tmp_path / "old"), "--release", "R1")
    release.perf("fleet", "ingest", str(tmp_path / "new"), "--release", "R2")
    changes = release.perf("fleet", "compare", "R1", "R2", "--json").json["changes"]
    assert {change["function"]: change["verdict"] for change in changes}["lib/App.pm:App::slow"] == "shift"
    printed = release.perf("fleet", "compare", "R1").out
    assert "lib/App.pm:App::slow" in printed
    few = release.perf("fleet", "compare", "R1", "R2", "--where", "host=web1", "--json").json["changes"]
    assert {change["verdict"] for change in few} == {"not enough samples"}
    release.perf("fleet", "compare", "R1", "--threshold", "0", code=2)
    release.perf("fleet", "compare", "R1", "R2", "--where", "host=nowhere", code=3)


@pytest.mark.process
def test_a_forking_service_is_sampled(release: Project, tmp_path: Path) -> None:
    """Its label names the release; a section of the child is a label; the exit status is the service's."""
    service = """
import os, sys, time
from perfcore_fleet_sampler import section
def serve(until=1.0):
    end = time.monotonic() + until
    while time.monotonic() < end:
        sum(range(500))
pid = os.fork()
with section("request", action="child" if pid == 0 else "parent"):
    serve()
if pid:
    os.waitpid(pid, 0)
sys.exit(7 if pid else 0)
"""
    spool = tmp_path / "spool"
    words = ("--spool", str(spool), "--label", "service=shop", "--rate", "199", "--", sys.executable, "-c", service)
    release.perf("fleet", "run", *words, code=7)
    done = release.perf("fleet", "ingest", str(spool), "--json").json
    assert (done["new"], done["problems"]) == (2, [])
    labels = release.perf("fleet", "labels", "R1", "--json").json["labels"]
    assert min(labels["action"]["child"], labels["action"]["parent"]) > 60
    assert "<string>::serve" in release.perf("fleet", "report", "--where", "action=child").out
    release.perf("fleet", "run", "--", "/no/such/program", code=6)


def test_verbs_that_draw_nothing_import_nothing_that_draws() -> None:
    script = (
        "import sys, perfcore_command_fleet.fleet_command\n"
        "sys.exit(bool({'numpy', 'perfcore_command_show', 'perfcore_check_kit'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
