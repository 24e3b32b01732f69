"""What the user had not committed comes back exactly, whatever happens in between."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_testing.processes import PATIENCE
from perfcore_testing.vcs import content
from perfcore_vcs_git import Git

from perfcore.errors import VersionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfcore_vcs_git.contract import GitScript

    Python = Callable[..., subprocess.CompletedProcess[str]]

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX system")


def snapshot(script: GitScript) -> dict[str, object]:
    """Everything that a user could notice."""
    asked = (
        "status --porcelain=v2 --branch -z --untracked-files=all",
        "ls-files --stage -v -z",
        "ls-files --resolve-undo -z",
        "diff --cached --binary",
        "diff --binary",
        "stash list",
        "for-each-ref",
    )
    found: dict[str, object] = {words: script.git("--no-optional-locks", *words.split()) for words in asked}
    found["HEAD"] = (script.root / ".git/HEAD").read_bytes()
    found["files"] = content(script.root, (".git",))
    return found


def there_and_back(driver: Git, *versions: str) -> None:
    state = driver.save_state()
    for version in versions:
        driver.checkout(version)
    driver.restore_state(state)


@pytest.fixture
def ids(script: GitScript) -> list[str]:
    """Three versions, with every kind of change on top of them."""
    script.write({"file": b"1", "staged": b"1", "both": b"1", "gone": b"1", "run": b"1", "d/x": b"1", "e": b"1"})
    script.write({"only in 1": b"1", "to untrack": b"1", "same": b"1"})
    ids = [script.commit("one")]
    script.write({"only in 1": None})
    ids.append(script.version("two", {"file": b"2", "d/x": b"2", "only in 2/deep": b"2", "new": b"2"}))
    script.write({"only in 2/deep": None})
    ids.append(script.version("three", {"file": b"3", "d/y": b"3"}))
    script.write({"staged": b"staged", "both": b"staged", "added": b"added", "added and gone": b"x"})
    script.git("add", "staged", "both", "added", "added and gone")
    script.git("rm", "-q", "--cached", "to untrack")
    script.write({"file": b"mine\r\n\0", "both": b"mine", "gone": None, "added and gone": None, "untracked": b"mine"})
    script.write({"intended": b"mine", "ignored": b"mine", "sub/untracked": b"mine"})
    script.git("add", "-N", "intended")
    (script.root / ".git/info").mkdir(exist_ok=True)
    (script.root / ".git/info/exclude").write_text("ignored\n")
    if sys.platform != "win32":
        (script.root / "run").chmod(0o755)
        (script.root / "e").unlink()
        (script.root / "e").symlink_to("file")
    return ids


def test_all_kinds_of_changes_come_back(driver: Git, script: GitScript, ids: list[str]) -> None:
    before = snapshot(script)
    state = driver.save_state()
    assert script.git("status", "--porcelain", "--untracked-files=no") == ""
    assert {"untracked", "ignored", "sub/untracked"} < set(content(script.root, (".git",)))
    for version in (ids[0], ids[1], ids[2], ids[0]):
        driver.checkout(version)
        assert script.git("rev-parse", "HEAD") == version
        assert script.git("status", "--porcelain", "--untracked-files=no") == ""
    driver.restore_state(state)
    assert snapshot(script) == before
    assert sorted(path.name for path in (script.root / ".git").glob("perfcore*")) == [
        "perfcore-state.git",
        "perfcore-state.lock",
    ]


@posix
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("first", range(4))
def test_a_kill_at_any_step_is_made_good(script: GitScript, ids: list[str], first: int) -> None:
    words = [sys.executable, "-W", "error", str(Path(__file__).with_name("killed_everywhere.py"))]
    done = subprocess.run(
        [*words, script.root, str(first), "4", ids[0], ids[1]],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stderr == ""
    steps, found = map(int, done.stdout.split())
    assert steps > 60, "the story has this many steps at least"
    assert found > steps // 4 - 10, "nearly every kill left a state behind"


@posix
@pytest.mark.parametrize("file", [0, 3, 17, 39])
def test_a_kill_of_git_with_all_that_it_belongs_to_is_made_good(
    script: GitScript, python: Python, tmp_path: Path, file: int
) -> None:
    """The smudge filter of one file kills the whole group: perf, git and itself."""
    script.version("one", {".gitattributes": b"* filter=odd\n"} | {f"f{n:02}": b"%d" % n for n in range(40)})
    old = script.git("rev-parse", "HEAD")
    script.version("two", {f"f{n:02}": b"new %d" % n for n in range(40)} | {f"added {n}": b"x" for n in range(10)})
    for n in range(10):
        (script.root / f"added {n}").unlink()
    script.version("three", {f"f{n:02}": b"newer %d" % n for n in range(40)})
    (script.root / "f05").write_bytes(b"mine")
    before = snapshot(script)
    killer = tmp_path / "killer"
    killer.write_text(f'#!/bin/sh\ntest "$1" = f{file:02} && test -e {tmp_path}/armed && kill -9 0\nexec cat\n')
    killer.chmod(0o755)
    script.git("config", "--global", "filter.odd.smudge", f"{killer} %f")
    code = """
driver = Git(Path(sys.argv[1]))
driver.save_state()
driver.checkout(sys.argv[3])
open(sys.argv[4], "w").close()
driver.checkout(sys.argv[2])
"""
    done = python(code, script.root, old, script.git("rev-parse", "HEAD~1"), tmp_path / "armed", start_new_session=True)
    assert done.returncode == -9, done
    (tmp_path / "armed").unlink()
    driver = Git(script.root)
    state = driver.saved_state()
    assert state is not None
    driver.restore_state(state)
    assert snapshot(script) == before
    assert list((script.root / ".git").glob("*.lock")) == [script.root / ".git/perfcore-state.lock"]


@posix
def test_restoring_waits_for_the_git_of_a_killed_process(script: GitScript, python: Python, tmp_path: Path) -> None:
    script.version("one", {".gitattributes": b"* filter=slow\n"} | {f"f{n:02}": b"%d" % n for n in range(20)})
    script.version("two", {f"f{n:02}": b"new %d" % n for n in range(20)})
    (script.root / "f05").write_bytes(b"mine")
    before = snapshot(script)
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\necho . >> {tmp_path}/log\ntest -e {tmp_path}/armed && sleep 0.05\nexec cat\n")
    slow.chmod(0o755)
    script.git("config", "--global", "filter.slow.smudge", str(slow))
    code = """
driver = Git(Path(sys.argv[1]))
driver.save_state()
open(sys.argv[2] + "/armed", "w").close()
os.unlink(sys.argv[2] + "/log")
print("ready", flush=True)
driver.checkout(driver.massage_parameter("HEAD~1"))
"""
    command = [
        sys.executable,
        "-c",
        "import os, sys\nfrom pathlib import Path\nfrom perfcore_vcs_git import Git\n" + code,
    ]
    with subprocess.Popen([*command, script.root, tmp_path], stdout=subprocess.PIPE) as victim:
        assert victim.stdout is not None
        victim.stdout.readline()
        while not (tmp_path / "log").exists():
            time.sleep(0.005)
        victim.kill()
    driver = Git(script.root)
    state = driver.saved_state()
    assert state is not None
    (tmp_path / "armed").unlink()
    driver.restore_state(state)
    written = (tmp_path / "log").read_text()
    assert snapshot(script) == before
    time.sleep(0.2)
    assert (tmp_path / "log").read_text() == written, "nobody writes any more"


# --- states of the index and the head


def test_a_detached_head_is_restored(driver: Git, script: GitScript, ids: list[str]) -> None:
    script.git("reset", "-q", "--hard")
    script.git("checkout", "-q", "--detach", ids[1])
    script.write({"file": b"mine"})
    before = snapshot(script)
    there_and_back(driver, ids[0], ids[2])
    assert snapshot(script) == before


def test_a_merge_with_conflicts_is_restored(driver: Git, script: GitScript) -> None:
    base = script.version("base", {"file": b"base\n", "other": b"1"})
    script.branch("side")
    script.version("side", {"file": b"side\n", "added": b"side"})
    script.switch("main")
    script.version("main", {"file": b"main\n"})
    script.git("merge", "side", code=1)
    before = snapshot(script) | {"merge": (script.root / ".git/MERGE_HEAD").read_bytes()}
    assert "<<<<<<<" in (script.root / "file").read_text()
    there_and_back(driver, base)
    assert snapshot(script) | {"merge": (script.root / ".git/MERGE_HEAD").read_bytes()} == before
    script.write({"file": b"resolved\n"})
    assert len(script.commit("merged")) == 40
    assert len(script.git("rev-parse", "HEAD^@").splitlines()) == 2


def test_going_back_to_the_branch_before_still_works(driver: Git, script: GitScript, ids: list[str]) -> None:
    script.git("reset", "-q", "--hard")
    script.branch("side")
    there_and_back(driver, *ids)
    script.git("checkout", "-q", "-")
    assert script.git("symbolic-ref", "--short", "HEAD") == "main"


def test_flags_of_the_index_are_restored(driver: Git, script: GitScript, ids: list[str]) -> None:
    script.git("update-index", "--assume-unchanged", "same")
    script.git("update-index", "--skip-worktree", "d/x")
    before = snapshot(script)
    there_and_back(driver, ids[2], ids[2])
    assert snapshot(script) == before


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
@pytest.mark.parametrize("mine", [b"mine", None])
def test_what_git_was_told_to_overlook_is_not_lost(
    driver: Git, script: GitScript, flag: str, mine: bytes | None
) -> None:
    old = script.version("one", {"settings": b"1", "file": b"1"})
    script.version("two", {"settings": b"2", "file": b"2"})
    script.git("update-index", flag, "settings")
    script.write({"settings": mine, "file": b"changed"})
    before = snapshot(script)
    state = driver.save_state()
    with contextlib.suppress(VersionError):  # as git refuses it for some of them
        driver.checkout(old)
        assert (script.root / "file").read_bytes() == b"1"
    driver.restore_state(state)
    assert snapshot(script) == before


def test_what_git_was_told_to_overlook_survives_a_kill(driver: Git, script: GitScript, python: Python) -> None:
    old = script.version("one", {"settings": b"1", "file": b"1"})
    script.version("two", {"settings": b"1", "file": b"2"})
    script.git("update-index", "--skip-worktree", "settings")
    script.write({"settings": b"mine"})
    before = snapshot(script)
    dead(script, python, old)
    journal = script.root / ".git/perfcore-state"
    journal.write_text(json.dumps(json.loads(journal.read_text()) | {"moving": old}))  # killed a moment earlier
    driver.restore_state(driver.saved_state() or "")
    assert snapshot(script) == before


def test_line_endings_are_restored_byte_for_byte(driver: Git, script: GitScript) -> None:
    script.git("config", "core.autocrlf", "true")
    old = script.version("one", {"file": b"one\r\ntwo\r\n", "other": b"1\r\n"})
    script.version("two", {"file": b"1\r\n", "other": b"2\r\n"})
    mixed = b"one\r\ntwo\nthree\r\n\xff\0"
    script.write({"file": mixed})
    there_and_back(driver, old)
    assert (script.root / "file").read_bytes() == mixed
    assert (script.root / "other").read_bytes() == b"2\r\n"


def test_times_of_changed_files_are_restored(driver: Git, script: GitScript, ids: list[str]) -> None:
    os.utime(script.root / "file", ns=(1_600_000_000_123_456_789, 1_600_000_000_123_456_789))
    there_and_back(driver, ids[0])
    assert (script.root / "file").stat().st_mtime_ns // 1000 == 1_600_000_000_123_456


def test_an_index_that_is_not_there_stays_so(driver: Git, script: GitScript) -> None:
    old, _ = script.grow(2)
    (script.root / ".git/index").unlink()
    there_and_back(driver, old)
    assert not (script.root / ".git/index").exists()
    assert (script.root / "number").read_bytes() == b"1\n"


def test_a_sparse_tree_stays_sparse(driver: Git, script: GitScript) -> None:
    old = script.version("one", {"in/a": b"1", "out/b": b"1"})
    script.version("two", {"in/a": b"2", "out/b": b"2"})
    script.git("sparse-checkout", "set", "in")
    script.write({"in/a": b"mine"})
    before = snapshot(script)
    state = driver.save_state()
    driver.checkout(old)
    assert not (script.root / "out").exists()
    driver.restore_state(state)
    assert snapshot(script) == before


# --- files, folders and links that take each other's place


@posix
@pytest.mark.parametrize("committed", ["file", "folder", "link"])
@pytest.mark.parametrize("now", ["file", "folder", "link", "missing"])
@pytest.mark.parametrize("staged", [False, True])
def test_what_takes_the_place_of_something_else_is_restored(
    driver: Git, script: GitScript, tmp_path: Path, committed: str, now: str, staged: bool
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_bytes(b"precious")

    def put(kind: str, text: bytes) -> None:
        if kind == "file":
            script.write({"place": text})
        elif kind == "folder":
            script.write({"place/x": text, "place/y/z": text})
        elif kind == "link":
            (script.root / "place").symlink_to(tmp_path / "outside")

    (first,) = script.grow(1)
    put(committed, b"committed")
    script.commit("there")
    subprocess.run(["rm", "-rf", script.root / "place"], check=True)
    put(now, b"changed")
    if staged:
        script.git("add", "--all")
    before = snapshot(script)
    if not staged and now != "missing" and "folder" in (now, committed) and now != committed:
        with pytest.raises(VersionError, match="git does not track it"):
            driver.save_state()
        assert snapshot(script) == before
        return
    state = driver.save_state()
    driver.checkout(first)
    assert not os.path.lexists(script.root / "place")
    driver.restore_state(state)
    assert snapshot(script) == before
    assert (tmp_path / "outside" / "x").read_bytes() == b"precious"


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("what", ["file", "folder", "file for a folder"])
def test_what_is_in_the_way_of_a_version_stops_the_checkout(
    driver: Git, script: GitScript, ignored: bool, what: str
) -> None:
    old = script.version("old", {"a": b"1", "place/x" if what == "file for a folder" else "place": b"1"})
    script.git("rm", "-rq", "--cached", "place")
    script.git("commit", "-qm", "new")
    subprocess.run(["rm", "-rf", script.root / "place"], check=True)
    script.write({"place/mine" if what == "folder" else "place": b"mine", "a": b"changed"})
    if ignored:
        (script.root / ".git/info/exclude").write_text("place\n")
    before = snapshot(script)
    state = driver.save_state()
    with pytest.raises(VersionError, match="would overwrite files that git does not track: place") as caught:
        driver.checkout(old)
    assert "measure in a tree elsewhere" in (caught.value.hint or "")
    driver.restore_state(state)
    assert snapshot(script) == before


def test_a_folder_of_tracked_files_gives_way_to_a_file_and_comes_back(driver: Git, script: GitScript) -> None:
    old = script.version("old", {"place": b"1"})
    script.write({"place": None})
    script.version("new", {"place/x": b"2", "place/y/z": b"2"})
    before = snapshot(script)
    state = driver.save_state()
    driver.checkout(old)
    assert (script.root / "place").read_bytes() == b"1"
    driver.restore_state(state)
    assert snapshot(script) == before
    script.write({"place/y/mine": b"mine"})
    state = driver.save_state()
    with pytest.raises(VersionError, match="place/y/mine"):
        driver.checkout(old)
    driver.restore_state(state)
    assert (script.root / "place/y/mine").read_bytes() == b"mine"


# --- refusals


def test_our_own_folder_is_not_put_at_another_version(driver: Git, script: GitScript) -> None:
    old = script.version("old", {".perf/jobs/a": b"1", "file": b"1"})
    script.version("new", {".perf/jobs/a": b"2"})
    before = snapshot(script)
    state = driver.save_state()
    with pytest.raises(VersionError, match=r"would replace \.perf/jobs/a, which git tracks"):
        driver.checkout(old)
    driver.restore_state(state)
    assert snapshot(script) == before
    script.write({".perf/jobs/a": b"changed"})
    with pytest.raises(VersionError, match=r"git tracks \.perf/jobs/a"):
        driver.save_state()
    assert (script.root / ".perf/jobs/a").read_bytes() == b"changed"
    assert driver.saved_state() is None


def test_submodules_are_not_moved_in_place(
    driver: Git, script: GitScript, repository: Callable[..., GitScript]
) -> None:
    inner = repository("inner")
    inner.version("one", {"a": b"1"})
    (first,) = script.grow(1)
    script.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "sub")
    with_sub = script.commit("with a submodule")
    plain = script.version("plain", {"number": b"x"})
    state = driver.save_state()
    driver.checkout(with_sub)
    with pytest.raises(VersionError, match="another commit of the submodule sub"):
        driver.checkout(first)
    driver.checkout(plain)
    driver.restore_state(state)
    assert not driver.is_dirty()
    (script.root / "sub/a").write_bytes(b"changed")
    with pytest.raises(VersionError, match="the submodule sub has changes"):
        driver.save_state()
    assert driver.saved_state() is None
    assert (script.root / "sub/a").read_bytes() == b"changed"


def test_where_git_holds_the_index_nothing_is_touched(driver: Git, script: GitScript, ids: list[str]) -> None:
    lock = script.root / ".git/index.lock"
    lock.write_bytes(b"")
    before = content(script.root, (".git",))
    with pytest.raises(VersionError, match="another git process is at work") as caught:
        driver.save_state()
    assert str(lock) in (caught.value.hint or "")
    lock.unlink()
    state = driver.saved_state() or Git(script.root).saved_state()
    if state is not None:
        driver.restore_state(state)
    assert content(script.root, (".git",)) == before


def test_a_token_of_another_time_restores_nothing(driver: Git, script: GitScript, ids: list[str]) -> None:
    before = snapshot(script)
    driver.restore_state("of yore")
    state = driver.save_state()
    with pytest.raises(VersionError, match="the state that was put aside is"):
        driver.restore_state("of yore")
    driver.restore_state(state)
    assert snapshot(script) == before


# --- the journal


def dead(script: GitScript, python: Python, *versions: str) -> None:
    """A process that was killed with the state put aside."""
    code = "driver = Git(Path(sys.argv[1])); driver.save_state(); [driver.checkout(v) for v in sys.argv[2:]]"
    assert python(code + "\nos.kill(os.getpid(), 9)", script.root, *versions).returncode != 0


def test_the_next_command_puts_the_changes_back_and_says_so(script: GitScript, ids: list[str], python: Python) -> None:
    def perf(command: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "perfcore", command], cwd=script.root, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done
        return done.stderr

    perf("init")
    before = snapshot(script)
    dead(script, python, ids[0])
    assert snapshot(script) != before
    assert "restored the changes that a killed command had put aside" in perf("status")
    assert snapshot(script) == before
    assert perf("status") == ""


def test_the_number_of_a_dead_process_may_be_another_s_now(
    driver: Git, script: GitScript, ids: list[str], python: Python
) -> None:
    before = snapshot(script)
    dead(script, python, ids[0])
    journal = script.root / ".git/perfcore-state"
    journal.write_text(json.dumps(json.loads(journal.read_text()) | {"pid": os.getpid()}))
    state = driver.saved_state()
    assert state is not None
    driver.restore_state(state)
    assert snapshot(script) == before


def test_a_linked_tree_has_a_state_of_its_own(
    driver: Git, script: GitScript, ids: list[str], python: Python, tmp_path: Path
) -> None:
    script.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side", ids[2])
    (tmp_path / "linked" / "file").write_bytes(b"mine there")
    here, there = snapshot(script), content(tmp_path / "linked", (".git",))
    code = "driver = Git(Path(sys.argv[1])); driver.save_state(); driver.checkout(sys.argv[2]); os.kill(os.getpid(), 9)"
    python(code, tmp_path / "linked", ids[0])
    assert driver.saved_state() is None
    linked = Git(tmp_path / "linked")
    state = linked.saved_state()
    assert state is not None
    there_and_back(driver, ids[1])
    linked.restore_state(state)
    assert snapshot(script) == here
    assert content(tmp_path / "linked", (".git",)) == there
    assert linked.get_head_major_version().name == "side"


@pytest.mark.parametrize("text", ["", "{", '{"format": 999}', "[]", "null"])
def test_a_journal_that_cannot_be_read_is_told(driver: Git, script: GitScript, ids: list[str], text: str) -> None:
    (script.root / ".git/perfcore-state").write_text(text)
    for ask in (driver.saved_state, driver.save_state, lambda: driver.restore_state("x")):
        with pytest.raises(VersionError, match="perfcore-state"):
            ask()


def test_a_state_whose_files_are_gone_says_where_it_was(
    driver: Git, script: GitScript, ids: list[str], python: Python
) -> None:
    dead(script, python, ids[0])
    for path in sorted((script.root / ".git/perfcore-saved").iterdir()):
        path.unlink()
    state = driver.saved_state()
    assert state is not None
    with pytest.raises(VersionError, match="could not put the changes back") as caught:
        driver.restore_state(state)
    assert "to give them up, remove" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "entry",
    [
        {"../victim": ["missing"]},
        {"../victim": ["file", "0"]},
        {"../victim": ["link", "/"]},
        {"../victim/x": ["folder"]},
        {"d/../../victim": ["missing"]},
        {"/tmp/../victim": ["missing"]},
        {".git/hooks/post-commit": ["file", "0"]},
        {"d/.GIT/config": ["file", "0"]},
        {"file": ["file", "../../../victim"]},
        {"file": ["device", "0"]},
        {"file": ["file"]},
        {"file": 1},
        ["file"],
        '{"file": ["fi',
    ],
    ids=str,
)
def test_a_state_of_somebody_else_reaches_nothing_but_the_tree(
    driver: Git, script: GitScript, ids: list[str], python: Python, entry: object
) -> None:
    """Who copies a repository brings what a killed process left: it is data."""
    dead(script, python)
    victim = script.root.parent / "victim"
    victim.write_text("mine")
    saved = script.root / ".git/perfcore-saved/files.json"
    saved.write_text(entry if isinstance(entry, str) else json.dumps(entry))
    before = content(script.root, (".git",))
    state = driver.saved_state()
    assert state is not None
    with pytest.raises(VersionError, match=r"files\.json is damaged, and nothing was put back"):
        driver.restore_state(state)
    assert victim.read_text() == "mine"
    assert content(script.root, (".git",)) == before


@pytest.mark.parametrize(
    "change",
    [
        {"moving": "--index-output=VICTIM"},
        {"commit": "--index-output=VICTIM"},
        {"ref": "--delete"},
        {"commit": 1},
        {"ref": 1},
    ],
    ids=str,
)
def test_a_journal_of_somebody_else_is_no_option_of_git(
    driver: Git, script: GitScript, ids: list[str], python: Python, change: dict[str, object]
) -> None:
    dead(script, python, ids[0])
    victim = script.root.parent / "victim"
    victim.write_text("mine")
    journal = script.root / ".git/perfcore-state"
    planted = {
        name: value.replace("VICTIM", str(victim)) if isinstance(value, str) else value
        for name, value in change.items()
    }
    journal.write_text(json.dumps(json.loads(journal.read_text()) | planted))
    with pytest.raises(VersionError, match="perfcore-state is damaged"):
        driver.saved_state()
    assert victim.read_text() == "mine"


def test_a_tree_that_the_configuration_names_is_not_put_back(
    driver: Git, script: GitScript, ids: list[str], python: Python
) -> None:
    """`core.worktree` of a repository that somebody else packed may be the home of its user."""
    before = content(script.root, (".git",))
    dead(script, python, ids[0])
    victim = script.root.parent / "victim"
    victim.mkdir()
    (victim / "file").write_text("mine")
    script.git("config", "core.worktree", str(victim))
    state = Git(script.root).saved_state()
    assert state is not None
    Git(script.root).restore_state(state)
    assert [path.name for path in victim.iterdir()] == ["file"]
    assert (victim / "file").read_text() == "mine"
    assert content(script.root, (".git",)) == before


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
def test_where_nothing_can_be_written_nothing_is_touched(driver: Git, script: GitScript, ids: list[str]) -> None:
    before = snapshot(script)
    (script.root / ".git").chmod(0o555)
    try:
        with pytest.raises(VersionError, match="could not put the changes aside"):
            driver.save_state()
    finally:
        (script.root / ".git").chmod(0o755)
    assert snapshot(script) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_while_saving_touches_nothing(tmp_path: Path, repository: Callable[..., GitScript]) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "small", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        script = repository("disk/project")
        script.grow(1)
        script.version("big", {"big": b"0", "small": b"0"})
        script.write({"big": os.urandom(1_200_000), "small": b"mine"})
        before = snapshot(script)
        driver = Git(script.root)
        with pytest.raises(VersionError, match="could not put the changes aside"):
            driver.save_state()
        assert snapshot(script) == before
        assert driver.saved_state() is None
        driver.close()
    finally:
        subprocess.run(["umount", disk], check=True)
