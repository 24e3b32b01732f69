"""What may lie in a place, and where a place may lie."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import metadata
from typing import TYPE_CHECKING

import pytest
from perfcore_storage_local import LocalStorage
from perfcore_testing import profiles

from perfcore.errors import FormatError, KeyExistsError, KeyMissingError, StorageError
from perfcore.model.record import replace
from perfcore.store import pending
from perfcore.store.store import Store

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Python = Callable[..., subprocess.CompletedProcess[str]]

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs links or pipes of POSIX")


def _keys(storage: LocalStorage, prefix: str = "") -> list[str]:
    return [row.key for row in storage.list(prefix)]


def test_it_is_found_by_its_entry_point() -> None:
    (point,) = metadata.entry_points(group="perfcore.storage", name="local")
    assert point.load() is LocalStorage


def test_importing_it_is_cheap(python: Python) -> None:
    """`perf status` only reads; it must not pay for more."""
    ended = python("print(*{'attrs', 'filelock', 'shutil', 'subprocess', 'tempfile'} & set(sys.modules))")
    assert ended.stdout.split() == [], ended.stderr


def test_a_key_is_a_file_with_its_bytes(storage: LocalStorage) -> None:
    storage.create("objects/ab/cdef", b"\0content\r\n")
    assert (storage.place / "objects" / "ab" / "cdef").read_bytes() == b"\0content\r\n"


def test_a_moved_place_goes_on_working(storage: LocalStorage, tmp_path: Path) -> None:
    tag = storage.create("a/b", b"1")
    listed = next(storage.list("")).tag
    (tmp_path / "elsewhere").mkdir()
    moved = LocalStorage(storage.place.rename(tmp_path / "elsewhere" / "new name ü"))
    assert moved.read("a/b").data == b"1"
    moved.replace("a/b", b"2", listed)
    moved.create("a/c", tag.encode())
    assert _keys(moved) == ["a/b", "a/c"]


def test_a_relative_place_does_not_follow_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    storage = LocalStorage(type(tmp_path)("place"))
    storage.create("a", b"1")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert storage.read("a").data == b"1"
    assert list((tmp_path / "other").iterdir()) == []


@posix
def test_the_place_itself_may_be_a_link(storage: LocalStorage, tmp_path: Path) -> None:
    storage.place.mkdir()
    (tmp_path / "link").symlink_to(storage.place)
    linked = LocalStorage(tmp_path / "link")
    tag = linked.create("a/b", b"1")
    linked.touch("a/b")
    linked.delete("a/b", tag)
    storage.create("a/b", b"2")
    assert _keys(linked) == ["a/b"]


@posix
def test_links_inside_a_place_are_refused(storage: LocalStorage, tmp_path: Path) -> None:
    """A store that comes with a cloned repository must not reach the files beside it."""
    storage.place.mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "ab").write_bytes(b"precious")
    (storage.place / "objects").symlink_to(outside)
    before = (outside / "ab").stat()
    for call in (
        lambda: storage.read("objects/ab"),
        lambda: list(storage.list("objects/")),
        lambda: storage.delete("objects/ab", storage.read("objects/ab").tag),
        lambda: storage.delete("objects/ab", "1.2.3"),
        lambda: storage.touch("objects/ab"),
        lambda: storage.create("objects/new", b""),
        lambda: storage.replace("objects/ab", b"", "1.2.3"),
    ):
        with pytest.raises(StorageError, match="link"):
            call()
    assert [path.name for path in outside.iterdir()] == ["ab"]
    assert (outside / "ab").stat() == before


@posix
def test_a_link_in_the_place_of_a_file_is_listed_and_not_followed(storage: LocalStorage, tmp_path: Path) -> None:
    tag = storage.create("a/real", b"precious")
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    before = outside.stat()
    (storage.place / "a" / "link").symlink_to(outside)
    row = next(storage.list("a/link"))
    for call in (
        lambda: storage.read("a/link"),
        lambda: storage.touch("a/link"),
        lambda: storage.replace("a/link", b"", tag),
        lambda: storage.delete("a/link", tag),
    ):
        with pytest.raises(StorageError, match="link"):
            call()
    storage.delete("a/link", row.tag)
    assert _keys(storage) == ["a/real"]
    assert outside.stat() == before


@posix
def test_the_driver_s_own_folders_cannot_be_links(storage: LocalStorage, tmp_path: Path) -> None:
    storage.create("a", b"")
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(storage.place / "locks")
    (storage.place / "locks").symlink_to(outside)
    with pytest.raises(StorageError, match="link"):
        storage.touch("a")
    (storage.place / "tmp").rmdir()
    (storage.place / "tmp").symlink_to(outside)
    with pytest.raises(StorageError, match="link"):
        storage.create("b", b"")
    with pytest.raises(StorageError, match="link"):
        storage.prune(2**63)
    assert list(outside.iterdir()) == []


@posix
def test_a_lock_cannot_be_a_link(storage: LocalStorage, tmp_path: Path) -> None:
    storage.create("a", b"")
    storage.touch("a")
    (lock,) = (storage.place / "locks").iterdir()
    lock.unlink()
    lock.symlink_to(tmp_path / "made by opening the lock")
    with pytest.raises(StorageError, match="link"):
        storage.touch("a")
    assert list(tmp_path.iterdir()) == [storage.place]


@posix
def test_a_pipe_in_the_place_of_a_file_holds_nobody(storage: LocalStorage) -> None:
    storage.create("a/b", b"1")
    os.mkfifo(storage.place / "a" / "pipe")
    with pytest.raises(StorageError, match="not a regular file"):
        storage.read("a/pipe")
    assert _keys(storage) == ["a/b", "a/pipe"]
    storage.delete("a/pipe", next(storage.list("a/pipe")).tag)


def test_a_folder_is_no_key(storage: LocalStorage) -> None:
    storage.create("a/b/c", b"1")
    for key in ("a", "a/b"):
        with pytest.raises(KeyMissingError):
            storage.read(key)
        with pytest.raises(KeyMissingError):
            storage.delete(key, "tag")
        with pytest.raises(KeyMissingError):
            storage.touch(key)
        with pytest.raises(StorageError, match="folder") as raised:
            storage.create(key, b"2")
        assert type(raised.value) is StorageError
    with pytest.raises(KeyMissingError):
        storage.read("a/b/c/d")
    with pytest.raises(StorageError, match="a/b/c/d"):
        storage.create("a/b/c/d", b"2")
    assert _keys(storage) == ["a/b/c"]


@pytest.mark.parametrize("key", ["tmp/a", "locks/00", "TMP/a", "Locks/a/b", "tmp", "locks"])
def test_the_driver_s_own_folders_are_not_written(storage: LocalStorage, key: str) -> None:
    storage.create("a", b"1")
    for call in (
        lambda: storage.create(key, b""),
        lambda: storage.replace(key, b"", None),
        lambda: storage.replace(key, b"", "tag"),
        lambda: storage.delete(key, "tag"),
        lambda: storage.touch(key),
    ):
        with pytest.raises(StorageError, match="belong to the storage"):
            call()
    assert _keys(storage) == ["a"]


def test_the_driver_s_own_folders_are_listed_only_if_asked_for(storage: LocalStorage) -> None:
    storage.create("tmpx/a", b"")
    storage.touch("tmpx/a")
    (storage.place / "tmp" / "left").write_bytes(b"")
    assert _keys(storage) == ["tmpx/a"]
    assert _keys(storage, "tmp") == ["tmpx/a"]
    assert _keys(storage, "tmp/") == ["tmp/left"]
    assert len(_keys(storage, "locks/")) == 1


@pytest.mark.parametrize("key", ["con", "a/NUL", "aux.perf", "Com1/x", "lpt9.txt.gz", "prn/prn"])
def test_names_of_windows_devices_are_refused_everywhere(storage: LocalStorage, key: str) -> None:
    with pytest.raises(StorageError, match="is not a key"):
        storage.create(key, b"")


@pytest.mark.parametrize("key", ["console", "a/nul-1.perf", "auxiliary", "com10", "lpt", "xcon"])
def test_names_like_those_of_devices_are_fine(storage: LocalStorage, key: str) -> None:
    storage.create(key, b"1")
    assert _keys(storage, key) == [key]


@posix
def test_names_that_are_no_keys_are_not_listed(storage: LocalStorage) -> None:
    storage.create("a/b", b"1")
    for name in ("with blank", "-rf", "new\nline", "schön", "dot.", "~", b"\xff".decode(errors="surrogateescape")):
        (storage.place / "a" / name).write_bytes(b"")
        (storage.place / f"{name} folder").mkdir()
        (storage.place / f"{name} folder" / "c").write_bytes(b"")
    assert _keys(storage) == ["a/b"]


@posix
def test_folders_nested_without_end_do_not_stop_a_listing(storage: LocalStorage) -> None:
    """A hostile repository can hold them; a listing that calls itself would overflow."""
    storage.create("b", b"")
    path = storage.place
    for _ in range(1_200):
        path = path / "a"
        path.mkdir()
    assert _keys(storage) == ["b"]
    while path != storage.place:  # what cleans up after tests would overflow, too
        path.rmdir()
        path = path.parent


@posix
@pytest.mark.parametrize("key", ["x" * 256, "/".join(["x" * 200] * 30)])
def test_a_name_that_is_too_long_is_named(storage: LocalStorage, key: str) -> None:
    with pytest.raises(StorageError, match="File name too long") as raised:
        storage.create(key, b"")
    assert raised.value.hint


def test_a_place_under_a_missing_folder_is_named(tmp_path: Path) -> None:
    """It is not made: the disk may just not be mounted."""
    storage = LocalStorage(tmp_path / "missing" / "place")
    with pytest.raises(StorageError, match="missing"):
        storage.create("a", b"")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "place").write_bytes(b"")
    storage = LocalStorage(tmp_path / "place")
    with pytest.raises(KeyMissingError):
        storage.read("a")
    with pytest.raises(StorageError, match="place"):
        storage.create("a", b"")
    assert _keys(storage) == []


@posix
def test_a_hostile_place_is_shown_harmless(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "\x1b[31m\nred")
    with pytest.raises(KeyMissingError) as missing:
        storage.read("a")
    storage.create("a", b"")
    with pytest.raises(KeyExistsError) as exists:
        storage.create("a", b"")
    (storage.place / "b").mkdir()
    with pytest.raises(StorageError) as folder:
        storage.create("b", b"")
    for raised in (missing, exists, folder):
        assert str(raised.value).isprintable()


def test_a_removed_folder_is_made_again(storage: LocalStorage) -> None:
    storage.delete("a/b", storage.create("a/b", b""))
    (storage.place / "a").rmdir()
    (storage.place / "tmp").rmdir()
    storage.create("a/b", b"1")
    assert storage.read("a/b").data == b"1"


def test_the_content_tag_does_not_change_with_touch(storage: LocalStorage) -> None:
    """So that making an index look new does not fail who is about to replace it."""
    tag = storage.create("a", b"1")
    storage.touch("a")
    assert storage.read("a").tag == tag
    storage.replace("a", b"2", tag)


def test_touch_moves_on_from_a_time_in_the_future(storage: LocalStorage) -> None:
    storage.create("a", b"1")
    future = 4_000_000_000 * 10**9
    os.utime(storage.place / "a", ns=(future, future))
    row = next(storage.list(""))
    storage.touch("a")
    assert next(storage.list("")).tag != row.tag
    assert next(storage.list("")).modified >= row.modified


@posix
def test_files_have_the_permissions_that_the_umask_leaves(storage: LocalStorage) -> None:
    old = os.umask(0o027)
    try:
        tag = storage.create("a/b", b"1")
        storage.replace("a/b", b"2", tag)
    finally:
        os.umask(old)
    assert (storage.place / "a" / "b").stat().st_mode & 0o777 == 0o640
    assert (storage.place / "a").stat().st_mode & 0o777 == 0o750


@posix
def test_a_file_system_without_hard_links_is_found_out(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str, target: str) -> None:
        raise PermissionError(1, "Operation not permitted", source, None, target)

    monkeypatch.setattr(os, "link", refuse)
    storage.create("a/b", b"1")
    with pytest.raises(KeyExistsError):
        storage.create("a/b", b"2")
    assert storage.read("a/b").data == b"1"
    assert list((storage.place / "tmp").iterdir()) == []


def test_a_file_that_is_too_large_to_be_ours_is_named_and_not_read(storage: LocalStorage) -> None:
    storage.create("a/key", b"1")
    path = storage.place / "a/key"
    with path.open("r+b") as file:
        file.truncate(10 << 30)
    with pytest.raises(FormatError, match=r"a/key is damaged: it has 10,737,418,240 bytes"):
        storage.read("a/key")
    (row,) = storage.list("a/")
    storage.delete("a/key", row.tag)
    assert _keys(storage) == []


@pytest.mark.parametrize("kind", ["file", *(["pipe"] if hasattr(os, "mkfifo") else [])])
@pytest.mark.parametrize("folder", ["jobs", "objects", "objects/ab"])
def test_what_takes_the_place_of_a_folder_of_the_store_is_named(storage: LocalStorage, folder: str, kind: str) -> None:
    storage.create("objects/cd/" + "0" * 38, b"1")
    path = storage.place / folder
    if path.exists():
        path.rename(storage.place.parent / "aside")
    if kind == "file":
        path.write_bytes(b"")
    else:
        os.mkfifo(path)
    key = "jobs/x.perf" if folder == "jobs" else "objects/ab/" + "0" * 38
    space = f"{folder}/"
    for look in (
        lambda: storage.read(key),
        lambda: list(storage.read_many([key])),
        lambda: list(storage.missing([key])),
        lambda: list(storage.list(space)),
        lambda: storage.stamps(space),
    ):
        with pytest.raises(StorageError, match=f"{folder} is no folder") as raised:
            look()
        assert raised.value.hint


@pytest.mark.parametrize("holds", ["nothing", "a file"])
def test_a_folder_in_the_place_of_a_pending_profile_keeps_its_number(storage: LocalStorage, holds: str) -> None:
    store = Store(storage)  # type: ignore[arg-type]
    names = [pending.save(store, replace(profiles.timed(1, 1), created=second * 10**9)).name for second in (1, 2, 3)]
    path = storage.place / "jobs" / names[1]
    path.unlink()
    path.mkdir()
    if holds == "a file":
        (path / "file").touch()
    waiting = pending.walk(store)
    assert [each.name for each in waiting] == names
    assert [each.profile is None for each in waiting] == [False, True, False]
    assert f"a folder stands where jobs/{names[1]} should be" in waiting[1].damage
