"""History streams from one process, in an order that holds whatever the clocks said, and reads like git's own."""

from __future__ import annotations

import gc
import os
import random
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from perfcore_testing.processes import PATIENCE
from perfcore_vcs_git import Git, kept_walk
from perfcore_vcs_git.command import Runner

from perfcore.errors import VersionError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from perfcore_vcs_git.contract import GitScript

    Python = Callable[..., subprocess.CompletedProcess[str]]

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def imported(script: GitScript, stream: Iterator[bytes]) -> str:
    """Fill a repository from a stream of `git fast-import`; gives the head of main."""
    script.git("fast-import", "--quiet", "--date-format=raw", stdin=b"".join(stream))
    return script.git("rev-parse", "main")


def line(count: int, *, start: int = 1_300_000_000) -> Iterator[bytes]:
    """A straight history as a stream of `git fast-import`."""
    for number in range(count):
        subject = b"Change number %d of a long history" % number
        yield b"commit refs/heads/main\nmark :%d\n" % (number + 1)
        yield b"committer Jana Nov\xc3\xa1k <jana@example.org> %d +0100\n" % (start + number * 600)
        yield b"data %d\n%s\n" % (len(subject), subject)
        yield b"from :%d\n\n" % number if number else b"\n"


def tangle(count: int, seed: int) -> Iterator[bytes]:
    """A history full of merges, made on machines whose clocks were wrong."""
    chance = random.Random(seed)
    for number in range(count):
        time = 1_300_000_000 + number * 600 + chance.choice([0, 0, 0, -90_000, 90_000])
        yield b"commit refs/heads/main\nmark :%d\n" % (number + 1)
        yield b"committer A <a@example.org> %d +0000\ndata 1\nx\n" % time
        if number:
            parents = chance.sample(range(max(1, number - 7), number + 1), k=min(number, chance.choice([1, 1, 2, 3])))
            yield b"from :%d\n" % parents[0] + b"".join(b"merge :%d\n" % parent for parent in parents[1:])
        yield b"\n"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("graph", [False, True], ids=["plain", "with a commit-graph"])
def test_no_version_comes_after_its_parents_whatever_the_clocks_said(
    driver: Git, script: GitScript, seed: int, graph: bool
) -> None:
    head = imported(script, tangle(150, seed))
    if graph:
        script.git("commit-graph", "write", "--reachable")
    walked = list(driver.walk_minor_versions(head))
    assert len(walked) == int(script.git("rev-list", "--count", head))
    places = {version.id: place for place, version in enumerate(walked)}
    assert all(places[parent] > places[v.id] for v in walked for parent in v.parents)


def test_git_alone_would_break_the_order(script: GitScript) -> None:
    """The reason for `--date-order`, and that these histories are wild enough to show it."""
    head = imported(script, tangle(150, 0))
    listed = [text.split() for text in script.git("rev-list", "--parents", head).splitlines()]
    places = {words[0]: place for place, words in enumerate(listed)}
    assert any(places[parent] < places[words[0]] for words in listed for parent in words[1:])


def test_a_walk_is_one_process(script: GitScript, python: Python) -> None:
    head = imported(script, line(50))
    done = python(
        """
driver, started = Git(Path(sys.argv[1])), []
sys.addaudithook(lambda event, arguments: started.append(arguments[1]) if event == "subprocess.Popen" else None)
print(len(list(driver.walk_minor_versions(sys.argv[2]))), len(started))
""",
        script.root,
        head,
    )
    assert done.stdout == "50 1\n", done


def test_single_versions_are_asked_of_one_process(script: GitScript, python: Python) -> None:
    ids = script.grow(3)
    done = python(
        """
driver, started = Git(Path(sys.argv[1])), []
sys.addaudithook(lambda event, arguments: started.append(arguments[1]) if event == "subprocess.Popen" else None)
for id in sys.argv[2:]:
    driver.massage_parameter(id[:9])
    driver.get_minor_version_info(id)
    driver.check_minor_version_validity(id)
    driver.read_file(id, "number")
driver.massage_parameter("main~1")
print(len(started))
""",
        script.root,
        *ids,
    )
    assert done.stdout == "1\n", done


@linux
def test_a_walk_that_is_given_up_ends_its_process(driver: Git, script: GitScript) -> None:
    head = imported(script, line(3000))
    earlier = set(git_children())  # of drivers of other tests, which nobody has collected yet
    for end in ("close", "forget"):
        walk = driver.walk_minor_versions(head)
        next(walk)
        assert set(git_children()) - earlier
        if end == "close":
            walk.close()  # type: ignore[attr-defined]
        else:
            del walk
        deadline = time.monotonic() + PATIENCE
        while set(git_children()) - earlier and time.monotonic() < deadline:  # a killed process takes a moment to go
            time.sleep(0.01)
        assert set(git_children()) <= earlier


@linux
def test_closing_the_driver_ends_its_process(script: GitScript, python: Python) -> None:
    script.grow(1)
    for end in ("driver.close()", "del driver", "pass"):
        done = python(
            f"""
driver = Git(Path(sys.argv[1]))
driver.massage_parameter("HEAD")
driver.massage_parameter("main")
print(driver._objects._process.pid)
{end}
""",
            script.root,
        )
        assert done.stderr == ""
        assert not Path("/proc", done.stdout.strip()).exists()


@linux
def test_a_driver_that_nobody_holds_ends_its_process(script: GitScript) -> None:
    script.grow(1)
    driver = Git(script.root)
    driver.massage_parameter("main")
    pid = driver._objects._process.pid
    assert Path("/proc", str(pid)).exists()
    del driver
    gc.collect()
    assert not Path("/proc", str(pid)).exists()


def test_a_closed_driver_answers_again(driver: Git, script: GitScript) -> None:
    (id,) = script.grow(1)
    for _ in range(3):
        assert driver.massage_parameter("main") == id
        driver.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_and_its_parent_do_not_mix_up_their_answers(script: GitScript, python: Python) -> None:
    ids = script.grow(4)
    done = python(
        """
driver = Git(Path(sys.argv[1]))
driver.massage_parameter("HEAD")
child = os.fork()
wanted = sys.argv[2:4] if child else sys.argv[4:6]
for _ in range(50):
    for id in wanted:
        assert driver.get_minor_version_info(id).id == id
if child:
    assert os.waitpid(child, 0)[1] == 0
    print("right", driver.massage_parameter("HEAD") == sys.argv[5])
""",
        script.root,
        *ids,
    )
    assert (done.stdout, done.stderr) == ("right True\n", "")


def test_memory_does_not_grow_with_the_history(script: GitScript, python: Python) -> None:
    head = imported(script, line(20_000))
    done = python(
        """
import tracemalloc
driver = Git(Path(sys.argv[1]))
tracemalloc.start()
count = sum(1 for _ in driver.walk_minor_versions(sys.argv[2]))
print(count, tracemalloc.get_traced_memory()[1])
""",
        script.root,
        head,
    )
    count, peak = map(int, done.stdout.split())
    assert count == 20_000
    assert peak < 3_000_000, "20,000 versions take some 15 MB"


def test_a_hole_in_the_history_is_an_error(driver: Git, script: GitScript) -> None:
    ids = script.grow(5)
    (script.root / ".git/objects" / ids[1][:2] / ids[1][2:]).unlink()
    with pytest.raises(VersionError, match="damaged, or objects are missing") as caught:
        list(driver.walk_minor_versions(ids[-1]))
    assert "git fsck" in (caught.value.hint or "")
    assert [v.id for v in driver.walk_minor_versions(ids[0])] == [ids[0]]


COMMITS = {
    "plain": b"author A B <a@b> 1300000000 +0100\ncommitter C <c@d> 1300000001 -0330\n\nSubject\n",
    "no message": b"author A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\n\n",
    "no final newline": b"author A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\n\nSubject",
    "blank lines first": b"author A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\n\n"
    b"\n  \n\t\n  Subject  \nmore\t\n \nbody\n",
    "long subject": b"author A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\n\none\ntwo  \n three\n\nbody\n",
    "carriage returns": b"author A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\n\none\r\ntwo\r\n\r\nbody\r\n",
    "blanks of Unicode": b"author A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\n\n"
    b"one\xc2\xa0\n\xe2\x80\xa8\nx\x0b\x0c\n\ny",
    "nobody": b"author  <> 1 +0000\ncommitter  <> 2 +0000\n\nx\n",
    "no address": b"author A <> 1 +0000\ncommitter C <> 2 +0000\n\nx\n",
    "odd name": b"author  A  'x' \"y\" <a b@c d> 1 +0000\ncommitter C <c> 2 +0000\n\nx\n",
    "two addresses": b"author A <a> <b> 1 +0000\ncommitter C <c> <d> 2 +0000\n\nx\n",
    "half an address": b"author A a@b> 1 +0000\ncommitter C <c 2 +0000\n\nx\n",
    "no date": b"author A <a@b>\ncommitter C <c@d>\n\nx\n",
    "far future": b"author A <a@b> 1 +0000\ncommitter C <c@d> 99999999999 +0000\n\nx\n",
    "Latin-2": b"author \xae\xfb\xbe <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\nencoding ISO-8859-2\n\n\xae\xb9\xbe\n",
    "a false encoding": b"author \xff\xfe <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\nencoding UTF-8\n\n\xff\xe8\n",
    "an unknown encoding": b"author \xc5\xbe <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\nencoding klingon\n\n\xc5\xbe\n",
    "no encoding": b"author \xe9\xe8 <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\n\nd\xe9j\xe0 vu\n",
    "signed": b"author A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n"
    b" parent 1111111111111111111111111111111111111111\n -----END PGP SIGNATURE-----\n\nSigned\n",
    "other headers": b"author A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\n"
    b"mergetag object x\n author Z <z> 9\nodd\n\nx\n",
    "escapes": b"author \x1b[31m <a\x07@b> 1 +0000\ncommitter C <c@d> 2 +0000\n\n\x1b]0;title\x07\n",
}


@pytest.mark.parametrize("name", COMMITS)
def test_a_commit_reads_the_same_alone_and_in_a_walk(driver: Git, script: GitScript, name: str) -> None:
    (parent,) = script.grow(1)
    tree = script.git("rev-parse", "HEAD^{tree}")
    raw = f"tree {tree}\nparent {parent}\n".encode() + COMMITS[name]
    id = script.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=raw)
    walked = next(driver.walk_minor_versions(id))
    assert walked.id == id
    assert driver.get_minor_version_info(id) == walked


def test_what_a_commit_says_is_kept(driver: Git, script: GitScript) -> None:
    raw = f"tree {script.git('mktree', stdin=b'')}\n".encode() + COMMITS["Latin-2"]
    id = script.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=raw)
    version = driver.get_minor_version_info(id)
    assert (version.author, version.subject, version.date) == ("Žűž", "Žšž", 2)
    assert version.parents == ()


def test_the_date_is_when_it_was_committed(driver: Git, script: GitScript) -> None:
    script.write({"a": b"1"})
    script.git("add", "a")
    script.git("commit", "-qm", "x", GIT_AUTHOR_DATE="1300000000 +0000", GIT_COMMITTER_DATE="1400000000 +0000")
    assert driver.get_minor_version_info(driver.get_minor_head()).date == 1_400_000_000


def git_children() -> list[str]:
    """The pids of git processes that this process started."""
    mine = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            match = re.fullmatch(r"(\d+) \((.*)\) \S (\d+) .*", stat.read_text().strip(), re.DOTALL)
        except OSError:
            continue
        if match and match[2] == "git" and int(match[3]) == os.getpid():
            mine.append(match[1])
    return mine


def kept(script: GitScript) -> Path:
    return script.root / ".git" / "perfcore-walk"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Walks of short histories are kept as well."""
    monkeypatch.setattr(kept_walk, "_LEAST", 1)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("seed", range(6))
def test_a_kept_walk_goes_on_as_git_would(driver: Git, script: GitScript, seed: int) -> None:
    imported(script, tangle(120, seed))
    heads = script.git("rev-list", "--reverse", "main").split()
    chance = random.Random(seed)
    followed = 0
    for head in [*sorted(chance.sample(range(len(heads)), 25)), *chance.sample(range(len(heads)), 10)]:
        before = kept(script).read_bytes() if kept(script).exists() else b""
        walked = list(driver.walk_minor_versions(heads[head]))
        listed = script.git("rev-list", "--date-order", "--parents", heads[head]).splitlines()
        assert [(version.id, version.parents) for version in walked] == [
            (line.split()[0], tuple(line.split()[1:])) for line in listed
        ]
        assert list(driver.walk_minor_versions(heads[head])) == walked
        followed += kept(script).read_bytes() != before
    assert followed


@pytest.mark.usefixtures("few")
def test_only_what_came_since_is_asked_of_git(driver: Git, script: GitScript, monkeypatch: pytest.MonkeyPatch) -> None:
    first = imported(script, line(30))
    list(driver.walk_minor_versions(first))
    script.git("checkout", "--quiet", "main")
    script.git("commit", "--quiet", "--allow-empty", "--message=later")
    head = script.git("rev-parse", "HEAD")
    asked: list[tuple[str, ...]] = []
    start = Runner.start

    def told(runner: Runner, *words: str, **more: Any) -> Any:
        asked.append(words)
        return start(runner, *words, **more)

    monkeypatch.setattr(Runner, "start", told)
    assert [version.subject for version in driver.walk_minor_versions(head)][:2] == [
        "later",
        "Change number 29 of a long history",
    ]
    assert [words[-3:] for words in asked] == [(head, f"^{first}", "--")]
    asked.clear()
    assert len(list(driver.walk_minor_versions(head))) == 31
    assert asked == []


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("how", ["replaced", "packed", "grafted"])
def test_rewritten_parents_are_seen_and_no_walk_of_them_is_kept(driver: Git, script: GitScript, how: str) -> None:
    head = imported(script, line(20))
    assert len(list(driver.walk_minor_versions(head))) == 20
    before = kept(script).read_bytes()
    fifth = script.git("rev-parse", "main~5")
    if how == "grafted":
        (script.root / ".git" / "info").mkdir(exist_ok=True)
        (script.root / ".git" / "info" / "grafts").write_text(f"{fifth}\n")
    else:
        script.git("replace", "--graft", fifth)
        if how == "packed":
            script.git("pack-refs", "--all", "--prune")
    assert len(list(driver.walk_minor_versions(head))) == 6
    assert kept(script).read_bytes() == before
    if how != "grafted":
        script.git("replace", "--delete", fifth)
        assert len(list(driver.walk_minor_versions(head))) == 20


@pytest.mark.usefixtures("few")
def test_a_shallow_clone_that_is_deepened_shows_more(script: GitScript, tmp_path: Path) -> None:
    head = imported(script, line(20))
    script.git("clone", "--quiet", "--depth=5", "--branch=main", f"file://{script.root}", str(tmp_path / "clone"))
    driver = Git(tmp_path / "clone")
    for _ in range(2):
        assert len(list(driver.walk_minor_versions(head))) == 5
    script.git("-C", str(tmp_path / "clone"), "fetch", "--quiet", "--deepen=5")
    for _ in range(2):
        assert len(list(driver.walk_minor_versions(head))) == 10
    driver.close()


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("what", ["folder", "pipe", "link"])
def test_whatever_stands_in_the_place_of_a_walk_is_no_hindrance(driver: Git, script: GitScript, what: str) -> None:
    head = imported(script, line(20))
    if what == "folder":
        kept(script).mkdir()
    elif what == "pipe":
        os.mkfifo(kept(script))
    else:
        kept(script).symlink_to(script.root / "nowhere")
    assert len(list(driver.walk_minor_versions(head))) == 20
    assert len(list(driver.walk_minor_versions(head))) == 20


@pytest.mark.usefixtures("few")
def test_a_damaged_walk_is_not_believed(driver: Git, script: GitScript) -> None:
    head = imported(script, line(20))
    walked = list(driver.walk_minor_versions(head))
    whole = kept(script).read_bytes()
    chance = random.Random(1)
    for number in range(60):
        damaged = bytearray(whole)
        if number % 3:
            damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        else:
            del damaged[chance.randrange(len(whole)) :]
        kept(script).write_bytes(damaged)
        assert list(driver.walk_minor_versions(head)) == walked
        assert kept(script).read_bytes() == whole


def test_walks_of_few_commits_and_parts_of_walks_are_not_kept(driver: Git, script: GitScript) -> None:
    head = imported(script, line(700))
    next(driver.walk_minor_versions(head))
    list(driver.newest_minor_versions(head, 600))
    list(driver.walk_minor_versions(script.git("rev-parse", "main~300")))
    assert not kept(script).exists()
    list(driver.walk_minor_versions(head))
    assert kept(script).exists()
