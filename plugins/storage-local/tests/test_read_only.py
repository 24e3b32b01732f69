"""Readers never write, so that a place nobody may write to can be read."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_storage_local import LocalStorage

from perfcore.errors import KeyExistsError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator


def _state(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Everything below a folder with what a write would change of it."""
    paths = [folder, *sorted(folder.rglob("*"))]
    return {str(p): (s.st_mtime_ns, s.st_ctime_ns, s.st_size) for p in paths for s in [p.lstat()]}


def _read_everything(storage: LocalStorage) -> dict[str, bytes]:
    storage.warnings()
    return {row.key: storage.read(row.key).data for row in storage.list("")}


@pytest.fixture
def read_only(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A place with the key `a/b` that cannot be written: permissions do not stop root, so there it is mounted."""
    as_root = sys.platform == "linux" and os.geteuid() == 0
    folder: Path = request.getfixturevalue("small_disk") if as_root else tmp_path
    LocalStorage(folder / "place").create("a/b", b"1")
    if as_root:
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        yield folder / "place"
        return
    if sys.platform == "win32":
        pytest.skip("folders cannot be made read-only by permissions")
    folders = [path for path in [folder, *folder.rglob("*")] if path.is_dir()]
    for path in folders:
        path.chmod(0o500)
    yield folder / "place"
    for path in folders:
        path.chmod(0o700)


def test_a_read_only_place_is_read(read_only: Path) -> None:
    storage = LocalStorage(read_only)
    assert _read_everything(storage) == {"a/b": b"1"}
    assert storage.prune(0) == 0


def test_writing_to_a_read_only_place_says_so(read_only: Path) -> None:
    storage = LocalStorage(read_only)
    tag, listed = storage.read("a/b").tag, next(storage.list("")).tag
    writes: dict[str, Callable[[], object]] = {
        "create": lambda: storage.create("a/c", b"2"),
        "replace": lambda: storage.replace("a/b", b"2", tag),
        "delete": lambda: storage.delete("a/b", listed),
        "touch": lambda: storage.touch("a/b"),
    }
    for name, write in writes.items():
        with pytest.raises(StorageError, match=f"cannot {name} .*place/a/.: (Read-only|Permission)") as raised:
            write()
        assert raised.value.hint
    with pytest.raises(KeyExistsError):
        storage.create("a/b", b"2")


def test_reading_changes_nothing(storage: LocalStorage) -> None:
    for key in ("a/b", "objects/ab/cdef"):
        storage.create(key, b"1")
    before = _state(storage.place)
    assert len(_read_everything(LocalStorage(storage.place))) == 2
    assert _state(storage.place) == before


def test_reading_a_place_without_tmp_and_locks_makes_none(tmp_path: Path) -> None:
    (tmp_path / "place" / "a").mkdir(parents=True)
    (tmp_path / "place" / "a" / "b").write_bytes(b"1")
    before = _state(tmp_path)
    storage = LocalStorage(tmp_path / "place")
    assert _read_everything(storage) == {"a/b": b"1"}
    assert storage.prune(2**63) == 0
    assert _state(tmp_path) == before


def test_reading_a_place_that_is_not_there_does_not_make_it(tmp_path: Path) -> None:
    assert _read_everything(LocalStorage(tmp_path / "place")) == {}
    assert list(tmp_path.iterdir()) == []
