"""Whatever instant a process is killed at: the version before is there, or the next one, whole; and nobody's files
are lost."""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_vcs_tagit import Tagit, places, upkeep
from perfcore_vcs_tagit.importing import import_archive
from perfcore_vcs_tagit.repository import Repository
from perfcore_vcs_tagit.state import State

if TYPE_CHECKING:
    from perfcore_vcs_tagit.contract import TagitScript

    from .conftest import Snapshot

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tests fork")
_ENOUGH = 400
_EVENTS = frozenset(
    {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.chmod", "os.truncate", "os.utime"}
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_DIED = 99


def _repository(root: Path) -> Repository:
    return Repository(places.find(root))


def _save(root: Path, tag: str) -> str:
    return _repository(root).save(tag, message="", author="", date=1_700_000_000).id


@pytest.fixture
def root(script: TagitScript) -> Path:
    """Two versions, and changes."""
    script.version("one", {"a": b"1", "gone": b"1", "folder/file": b"1", ".tagitignore": b"*.o\n"})
    script.version("two", {"a": b"2", "gone": None, "new/file": b"2", "large": os.urandom(1 << 17)})
    script.write({"a": b"changed", "new/file": None, "mine": b"mine", "ignored.o": b"built"})
    (script.root / "empty").mkdir()
    (script.root / "link").symlink_to("a")
    return script.root


def _at_every_instant(root: Path, action: Callable[[], object], check: Callable[[int], None]) -> None:
    """Have a process die before each of its operations, each time in the same repository, and check what is left."""
    pristine = root.with_name("pristine")
    shutil.copytree(root, pristine, symlinks=True)
    for number in range(_ENOUGH):
        died = _dies_at(number, action)
        check(number)
        if not died:
            assert number > 5
            return
        shutil.rmtree(root)
        shutil.copytree(pristine, root, symlinks=True)
    pytest.fail(f"it has more than {_ENOUGH} operations")


def test_a_killed_save_leaves_the_versions_before(root: Path, tmp_path: Path, snapshot: Snapshot) -> None:
    before, tree = _repository(root).refs(), snapshot(root)

    def check(number: int) -> None:
        refs = _repository(root).refs()
        assert snapshot(root) == tree
        assert upkeep.fsck(_repository(root)).damage == ()
        if "v3" not in refs.tags:
            assert refs == before
            _save(root, "v3")
        out = tmp_path / f"out {number}"
        Tagit(root).export(_repository(root).resolve("v3"), out)
        assert snapshot(out) == {path: what for path, what in tree.items() if not path.endswith(b".o")}
        upkeep.gc(_repository(root))
        assert upkeep.fsck(_repository(root)).damage == ()
        assert [path.name for path in (root / ".tagit/packs").iterdir() if path.suffix != ".pack"] == []

    _at_every_instant(root, lambda: _save(root, "v3"), check)


def test_a_killed_checkout_is_taken_back_or_done(root: Path, snapshot: Snapshot) -> None:
    _save(root, "v3")
    tree, before = snapshot(root), _repository(root).refs()
    first = before.tags["v1"]
    done = {b"a": b"1", b"gone": b"1", b"folder/file": b"1", b".tagitignore": b"*.o\n", b"ignored.o": b"built"}

    def check(number: int) -> None:
        State(_repository(root)).recover()
        refs = _repository(root).refs()
        assert not Tagit(root).is_dirty()
        assert Tagit(root).saved_state() is None
        if refs.head == first:
            assert {path: what[2] for path, what in snapshot(root).items() if what[0] == "file"} == done
        else:
            assert (refs, snapshot(root)) == (before, tree)
        assert upkeep.fsck(_repository(root)).damage == ()

    _at_every_instant(root, lambda: State(_repository(root)).move(None, first), check)


def test_the_users_changes_survive_a_death_while_other_versions_are_measured(root: Path, snapshot: Snapshot) -> None:
    tree, before = snapshot(root), _repository(root).refs()

    def measure() -> None:
        driver = Tagit(root)
        state = driver.save_state()
        driver.checkout(before.tags["v1"])
        (root / "built").write_bytes(b"1")
        driver.checkout(before.tags["v2"])
        driver.restore_state(state)

    def check(number: int) -> None:
        # Even if whoever puts it back is killed in the middle of that.
        _dies_at(number % 23, lambda: State(_repository(root)).recover())
        State(_repository(root)).recover()
        assert (snapshot(root), _repository(root).refs()) == (tree, before)

    _at_every_instant(root, measure, check)


def test_a_killed_import_is_taken_back_or_done(root: Path, tmp_path: Path, snapshot: Snapshot) -> None:
    shutil.copy(root / ".tagitignore", root / "folder")
    shutil.make_archive(str(tmp_path / "drop"), "zip", root / "folder")
    _save(root, "v3")
    tree, before = snapshot(root), _repository(root).refs()

    def take() -> None:
        import_archive(_repository(root), tmp_path / "drop.zip", "v4", message="", author="", date=1_700_000_000)

    def check(number: int) -> None:
        State(_repository(root)).recover()
        refs = _repository(root).refs()
        assert not Tagit(root).is_dirty()
        if "v4" in refs.tags:
            assert {path for path in snapshot(root) if not path.endswith(b".o")} == {b"file", b".tagitignore"}
        else:
            assert (refs, snapshot(root)) == (before, tree)
        assert upkeep.fsck(_repository(root)).damage == ()

    _at_every_instant(root, take, check)


def test_after_a_killed_init_the_next_one_works(tmp_path: Path) -> None:
    for number in range(_ENOUGH):
        folder = tmp_path / str(number)
        folder.mkdir()
        died = _dies_at(number, lambda folder=folder: Tagit(folder).init())  # type: ignore[misc]
        if died and Tagit.detect(folder) is None:
            Tagit(folder).init()
        assert Tagit.detect(folder) == folder.resolve()
        assert not Tagit(folder).is_dirty()
        if not died:
            return
    pytest.fail("it does not end")


def _dies_at(number: int, action: Callable[[], object]) -> bool:
    """Whether a process that does this got as far as its so many-th operation, right before which it died."""
    pid = os.fork()
    if pid == 0:
        _do(number, action)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, _DIED), f"the process failed before operation {number}"
    return code == _DIED


def _do(number: int, action: Callable[[], object]) -> None:
    left, sync = number, os.fsync

    def count() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os._exit(_DIED)

    def listen(event: str, arguments: tuple[object, ...]) -> None:
        opened = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
        if opened or event in _EVENTS:
            count()

    def counted_sync(fd: int) -> None:
        count()
        sync(fd)

    os.fsync = counted_sync  # type: ignore[assignment]
    sys.addaudithook(listen)
    try:
        action()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
