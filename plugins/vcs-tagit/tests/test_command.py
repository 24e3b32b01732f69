"""The command `tagit`, and what it promises."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_testing.hostile import NAMES, unsafe
from perfcore_vcs_tagit import Tagit, cache, line, places
from perfcore_vcs_tagit.line import Refs
from perfcore_vcs_tagit.repository import Repository
from perfcore_vcs_tagit.revisions import Revisions

from perfcore.errors import FormatError, UsageError, VersionError

if TYPE_CHECKING:
    from perfcore_vcs_tagit.contract import TagitScript

    from .conftest import Snapshot

BAD_TAGS = [name for name in NAMES if name not in ("<script>alert('x')</script>", "=1+1")] + [
    *("HEAD", "a b", "a~1", "a:b", "a@i", ".hidden", "-x", "/a", "a/", "a//b", "a..b", "f" * 40, "F" * 40, "a\\b", "a*")
]


def test_a_second_init_is_an_error(script: TagitScript) -> None:
    id = script.version("one", {"a": b"1"})
    assert "already" in script.really("init", code=3).stderr
    assert Tagit(script.root).get_minor_head() == id


def test_a_tag_is_given_once(script: TagitScript) -> None:
    script.write({"a": b"1"})
    script.save("v1.0")
    script.write({"a": b"2"})
    assert "'v1.0' already" in script.tagit("save", "v1.0", code=2).stderr
    script.tagit("branch", "v1.0", code=2)
    script.tagit("save", "main", code=2)
    assert script.quickly("log").count("\n") == 1


@pytest.mark.parametrize("name", BAD_TAGS, ids=ascii)
def test_what_cannot_be_a_tag_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        line.valid(name)
    assert unsafe(caught.value.message) == set()


@pytest.mark.parametrize("name", ["v1", "1.0", "2024-06-01", "release/1.0", "日本", "ž", "abcd", "v1_2+3", "a.b"])
def test_what_can_be_a_tag_names_its_version(script: TagitScript, name: str) -> None:
    script.write({"a": b"1"})
    id = script.save(name)
    assert Tagit(script.root).massage_parameter(name) == id
    assert json.loads(script.quickly("log", "--json"))["versions"][0]["tag"] == name


def test_an_ambiguous_beginning_lists_what_it_may_be() -> None:
    tags = {"v1": "abcd1" + "0" * 35, "v2": "abcd2" + "0" * 35, "abcd": "1" * 40, "v3": "2" * 40}
    revisions = Revisions(Refs(tags={name: id for name, id in tags.items() if name != "abcd"}), lambda id: None)
    with pytest.raises(VersionError, match=r"abcd10000000 \(v1\), abcd20000000 \(v2\)"):
        revisions.resolve("abcd")
    assert revisions.resolve("ABCD1") == tags["v1"]
    assert Revisions(Refs(tags=tags), lambda id: None).resolve("abcd") == "1" * 40, "a tag is meant first"
    with pytest.raises(VersionError):
        revisions.resolve("222")


def test_ancestors_are_named_by_steps(script: TagitScript) -> None:
    ids = script.grow(4)
    driver = Tagit(script.root)
    steps = {"HEAD": 3, "HEAD~": 2, "HEAD^": 2, "main~2": 1, "v4^^": 1, "HEAD~1~1^": 0, f"{ids[2]}~2": 0, "v1~0": 0}
    assert {text: driver.massage_parameter(text) for text in steps} == {text: ids[n] for text, n in steps.items()}
    for wrong in ("HEAD~4", "v1^", "HEAD^2", "~1", "^"):
        with pytest.raises(VersionError):
            driver.massage_parameter(wrong)


def test_a_version_by_itself_is_on_no_line(script: TagitScript) -> None:
    first, second = script.grow(2)
    script.tagit("checkout", "v1")
    assert (script.root / "number").read_bytes() == b"0\n"
    assert script.tagit("status").stdout.startswith(f"on no line at {first[:10]} v1\n")
    script.write({"number": b"other\n"})
    assert "tagit branch" in script.tagit("save", "v1b", code=3).stderr
    script.tagit("branch", "fixes")
    side = script.save("v1b")
    script.tagit("checkout", "main")
    assert (Tagit(script.root).get_minor_head(), (script.root / "number").read_bytes()) == (second, b"1\n")
    assert script.tagit("lines").stdout == f"  fixes {side[:10]} v1b\n* main {second[:10]} v2\n"
    script.tagit("branch", "--delete", "main", code=2)
    script.tagit("branch", "--delete", "none", code=3)
    script.tagit("branch", "--delete", "fixes")
    assert Tagit(script.root).massage_parameter("v1b") == side


def test_checkout_refuses_to_lose_changes(script: TagitScript, snapshot: Snapshot) -> None:
    script.grow(2)
    script.write({"number": b"mine\n", "new": b"mine\n"})
    before = snapshot(script.root)
    assert "new, number" in script.tagit("checkout", "v1", code=3).stderr
    assert snapshot(script.root) == before
    script.tagit("checkout", "--force", "v1")
    assert snapshot(script.root) == {b"number": ("file", 0o644, b"0\n")}
    assert len(list((script.root / ".tagit/packs").iterdir())) == 2, "what was thrown away is gone"


def test_ignored_files_stay_and_are_never_overwritten(script: TagitScript) -> None:
    script.version("one", {"build/out": b"1", "a": b"1"})
    script.version("two", {".tagitignore": b"build/\n*.o\n!keep.o\n", "keep.o": b"1", "x.o": b"1", "line\n": b"1"})
    assert script.tagit("diff", "v1", "v2", "--names").stdout == (
        "A .tagitignore\nD build/out\nA keep.o\nA line\\n\n" if sys.platform != "win32" else ""
    )
    script.write({"build/new": b"1", "y.o": b"1"})
    assert script.changes() == []
    assert "build/out" in script.tagit("checkout", "v1", code=3).stderr
    script.write({"build/out": None})
    script.tagit("checkout", "v1")
    assert (script.root / "build/out").read_bytes() == b"1"
    assert (script.root / "x.o").is_file()


def test_a_pattern_ignores_no_name_with_a_line_break(script: TagitScript) -> None:
    if sys.platform == "win32":
        pytest.skip("names have no line breaks there")
    script.version("one", {".tagitignore": b"data\n", "data": b"ignored", "data\n": b"kept"})
    assert Tagit(script.root).changed_files(None, Tagit(script.root).get_minor_head()) == (".tagitignore", "data\n")


def test_patterns_of_the_repository_are_in_no_version(script: TagitScript) -> None:
    script.write({".tagit/ignore": b"*.o\nbuild/\n", ".tagitignore": b"!keep.o\n"})
    id = script.version("one", {"a.o": b"1", "keep.o": b"1", "build/x": b"1", "a": b"1"})
    assert Tagit(script.root).changed_files(None, id) == (".tagitignore", "a", "keep.o")
    driver = Tagit(script.root)
    state = driver.save_state()
    driver.restore_state(state)
    assert (script.root / "build/x").is_file()
    script.write({".tagit/ignore": b"\n!\n"})
    assert "line 2 of .tagit/ignore" in script.tagit("status", code=3).stderr


def test_a_line_that_is_no_pattern_is_named(script: TagitScript) -> None:
    script.write({".tagitignore": b"*.o\n!\n", "a": b"1"})
    assert "line 2 of .tagitignore" in script.tagit("save", "v1", code=3).stderr


def test_a_folder_of_ignored_files_is_no_change_and_an_empty_one_stays(script: TagitScript) -> None:
    (script.root / "logs").mkdir()
    script.version("one", {".tagitignore": b"*.log\n*.pyc\n"})
    script.write({"logs/a.log": b"1", "__pycache__/a.pyc": b"1"})
    assert script.changes() == []
    (script.root / "empty").mkdir()
    assert script.changes() == [("A", "empty")]


@pytest.mark.skipif(sys.platform == "win32", reason="no such files there")
def test_what_is_no_file_is_left_out_and_told(script: TagitScript, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(script.root)
    os.mkfifo("pipe\x1b[31m")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        script.write({"a": b"1"})
        done = script.tagit("save", "v1")
        assert sorted(done.stderr.splitlines()) == ["left out: pipe\\x1b[31m", "left out: socket"]
        assert Tagit(script.root).changed_files(None, Tagit(script.root).get_minor_head()) == ("a",)
        assert not Tagit(script.root).is_dirty()


@pytest.mark.skipif(sys.platform != "linux", reason="only here are names any bytes")
def test_hostile_names_are_printed_as_escapes(script: TagitScript) -> None:
    for name in (b"\x1b]0;title\x07", b"two\nlines", b"\xff\xfe", "\u202egnp".encode(), b"<script>"):
        (script.root / os.fsdecode(name)).write_bytes(b"\x1b[2J\n")
    shown = "<script>\ntwo\\nlines\n\\x1b]0;title\\x07\n\\u202egnp\n\\xff\\xfe\n"
    assert sorted(script.tagit("status").stdout.splitlines()[1:]) == sorted(f"A {name}" for name in shown.split())
    script.save("v1", "-m", "\x1b[31mred")
    for words in (["show"], ["log"], ["diff", "v1"], ["status"], ["show", "--json"]):
        assert unsafe(script.tagit(*words).stdout) == set()
    script.write({"two\nlines": b"\x1b[3J\n"})
    assert "+\\x1b[3J" in script.tagit("diff").stdout


def test_diff_shows_lines(script: TagitScript) -> None:
    script.version("one", {"a": b"1\n2\n3\n", "binary": b"\0", "same": b"1"})
    script.version("two", {"a": b"1\ntwo\n3\n", "binary": b"\0\0", "new": b"no end"})
    expected = (
        "M a\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\nM binary\n  (not shown: binary or large)\nA new\n@@ -0,0 +1,2 @@\n"
    )
    assert script.tagit("diff", "v1", "v2").stdout.startswith(expected)
    script.write({"a": b"1\n2\n3\n"})
    assert script.tagit("diff").stdout == "M a\n@@ -1,3 +1,3 @@\n 1\n-two\n+2\n 3\n"


def test_cat_gives_the_bytes(script: TagitScript, tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    script.version("one", {"data": data})
    command = [sys.executable, "-c", "from perfcore_vcs_tagit.cli import main; main()", "cat", "v1", "data"]
    assert subprocess.run(command, cwd=script.root, stdout=subprocess.PIPE, check=True).stdout == data
    script.tagit("cat", "v1", "none", code=3)
    script.tagit("export", "v1", str(tmp_path / "out"))
    assert (tmp_path / "out/data").read_bytes() == data
    script.tagit("export", "v1", str(tmp_path / "out"), code=3)


def test_blobs_have_the_ids_that_git_gives(script: TagitScript) -> None:
    repository = Repository(places.find(script.root))
    id = script.version("one", {"a": b"hello\n"})
    assert [entry.id for entry in repository.get(repository.tree_of(id))] == [
        "ce013625030ba8dba906f756967f9e9ca394464a"
    ]


def test_what_is_there_already_is_not_stored_again(script: TagitScript) -> None:
    data = os.urandom(1_000_000)
    script.version("one", {"a": data, "b": data})
    script.version("two", {"c/d": data, "small": b"1"})
    assert sum(path.stat().st_size for path in (script.root / ".tagit/packs").iterdir()) < 1_010_000


def test_saves_at_once_follow_each_other(script: TagitScript) -> None:
    script.write({f"{n}": os.urandom(10_000) for n in range(50)})
    program = "import sys; from perfcore_vcs_tagit.cli import main; sys.exit(main())"
    running = [
        subprocess.Popen([sys.executable, "-c", program, "save", f"v{n}"], cwd=script.root, stdout=subprocess.DEVNULL)
        for n in range(4)
    ]
    assert [process.wait() for process in running] == [0, 0, 0, 0]
    versions = json.loads(script.quickly("log", "--json"))["versions"]
    assert sorted(version["tag"] for version in versions) == ["v0", "v1", "v2", "v3"]
    script.tagit("fsck")


def test_a_status_of_unchanged_files_reads_none(script: TagitScript, driver: Tagit) -> None:
    script.write({f"folder {n % 20}/{n}": b"%d" % n for n in range(2000)})
    script.save("v1")
    script.tagit("checkout", "v1")
    opened: list[str] = []
    listening = True

    def listen(event: str, arguments: tuple[object, ...]) -> None:
        if listening and event == "open" and "folder " in str(arguments[0]):
            opened.append(str(arguments[0]))

    sys.addaudithook(listen)
    os.utime(script.root / "folder 7/7", (1, 1))
    dirty = driver.is_dirty()
    listening = False
    assert not dirty
    assert [name.rsplit("/")[-1].rstrip("'") for name in opened] == ["7"]


def test_a_change_that_hides_is_seen(script: TagitScript, driver: Tagit) -> None:
    for number in range(50):
        script.write({"a": b"%02d" % number})
        script.save(f"v{number}")
        before = (script.root / "a").stat()
        script.write({"a": b"xx"})
        os.utime(script.root / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
        assert driver.is_dirty()


def test_the_cache_may_be_lost_or_damaged(script: TagitScript, driver: Tagit) -> None:
    script.grow(1)
    place = script.root / ".tagit/cache"
    for data in (b"", b"tagit cache 2\n", place.read_bytes()[:-1], bytes(20) + b"tagit cache 2\n" + bytes(100)):
        place.write_bytes(data)
        assert cache.read(place).files == {}
        assert not driver.is_dirty()
    place.unlink()
    assert not driver.is_dirty()


def test_damage_is_found_and_told(script: TagitScript, tmp_path: Path) -> None:
    script.version("one", {"a": os.urandom(10_000)})
    script.version("two", {"b": os.urandom(10_000)})
    script.tagit("fsck")
    first, second = sorted((script.root / ".tagit/packs").iterdir())
    data = first.read_bytes()
    for place in (5, 2000, len(data) - 60, len(data) - 5):
        first.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert script.tagit("fsck", code=4).stdout != ""
    first.write_bytes(data[:100])
    script.tagit("fsck", code=4)
    script.tagit("gc", code=4)
    first.write_bytes(data)
    script.tagit("fsck")
    second.unlink()
    assert "missing" in script.tagit("fsck", code=4).stdout


def test_damaged_names_are_told(script: TagitScript, driver: Tagit) -> None:
    script.grow(1)
    place = script.root / ".tagit/refs"
    data = place.read_bytes()
    for damaged in (b"", data[:-1], data + b"x", data.replace(b"main", b"mein"), b"tagit 2\n" + data[8:]):
        place.write_bytes(damaged)
        with pytest.raises(FormatError):
            driver.get_minor_head()
        script.tagit("log", code=4)
        script.tagit("save", "v9", code=4)
        assert place.read_bytes() == damaged


def test_usage_is_told_in_one_message(script: TagitScript, tmp_path: Path) -> None:
    for words in (["save"], ["nosuch"], ["log", "--nosuch"], ["log", "-n", "x"], ["import", "a", "b", "--limit", "x"]):
        done = script.tagit(*words, code=2)
        assert done.stderr.startswith("tagit: ")
        assert done.stdout == ""
    script.tagit("-C", str(tmp_path / "none"), "log", code=2)
    (tmp_path / "outside").mkdir()
    script.tagit("-C", str(tmp_path / "outside"), "log", code=3)
    assert script.tagit("--version").stdout == script.tagit("-C", ".", "--version").stdout
    assert "Usage" in script.tagit("save", "--help").stdout


def test_a_linked_tree_stays_as_it_is(script: TagitScript, driver: Tagit, tmp_path: Path) -> None:
    ids = script.grow(2)
    driver.worktree(ids[0], tmp_path / "tree")
    for words in (["save", "v9"], ["checkout", "v2"], ["gc"]):
        assert "made to be measured" in script.tagit("-C", str(tmp_path / "tree"), *words, code=3).stderr
    assert script.tagit("-C", str(tmp_path / "tree"), "status").stdout.endswith("v1\nnothing changed\n")
    with pytest.raises(VersionError):
        Tagit(tmp_path / "tree").save_state()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").write_bytes(b"precious")
    with pytest.raises(VersionError):
        driver.remove_worktree(tmp_path / "other")
    assert (tmp_path / "other/file").is_file()


def test_what_a_killed_process_left_is_put_back(script: TagitScript, driver: Tagit, snapshot: Snapshot) -> None:
    ids = script.grow(2)
    script.write({"number": b"mine\n"})
    before = snapshot(script.root)
    program = "import sys, os, pathlib; from perfcore_vcs_tagit import Tagit\n"
    program += "driver = Tagit(pathlib.Path('.')); driver.save_state(); driver.checkout(sys.argv[1]); os._exit(9)"
    subprocess.run([sys.executable, "-c", program, ids[0]], cwd=script.root, check=False)
    assert driver.saved_state() is not None
    assert "killed process" in script.tagit("status").stderr
    assert "restored the files" in script.tagit("branch", "other").stderr
    assert snapshot(script.root) == before


def test_nothing_is_saved_while_other_versions_are_measured(script: TagitScript, driver: Tagit) -> None:
    script.grow(1)
    state = driver.save_state()
    try:
        for words in (["save", "v9"], ["checkout", "v1"], ["gc"], ["branch", "other"]):
            script.tagit(*words, code=3)
    finally:
        driver.restore_state(state)
    script.tagit("save", "v9")


def test_a_large_file_is_never_held(script: TagitScript) -> None:
    if sys.platform != "linux":
        pytest.skip("memory is limited in this way on Linux only")
    with open(script.root / "large", "wb") as file:
        file.truncate(600 << 20)
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))\n"
        "from perfcore_vcs_tagit.cli import main; sys.exit(main())"
    )
    for words in (["save", "v1"], ["status"], ["fsck"], ["export", "v1", "../out"]):
        subprocess.run([sys.executable, "-c", program, *words], cwd=script.root, check=True, capture_output=True)
    assert (script.root.parent / "out/large").stat().st_size == 600 << 20
