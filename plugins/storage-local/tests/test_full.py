"""What is refused for want of room leaves everything as it was."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from perfcore_storage_local import LocalStorage

from perfcore.errors import StorageError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Python = Callable[..., subprocess.CompletedProcess[str]]

_LIMITED = """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
storage = LocalStorage(Path(sys.argv[1]))
tag = storage.create("a/old", b"old")
for write in (
    lambda: storage.create("a/new", b"x" * 1_000_000),
    lambda: storage.replace("a/new", b"x" * 1_000_000, None),
    lambda: storage.replace("a/old", b"x" * 1_000_000, tag),
):
    try:
        write()
    except StorageError as error:
        print(type(error).__name__, error, "|", error.hint)
storage.replace("a/old", b"still works", tag)
"""

CALLS = ("create", "create", "replace")


def _leftovers(place: Path) -> list[str]:
    return [path.name for path in (place / "tmp").iterdir()]


def test_a_full_disk_is_named_and_changes_nothing(small_disk: Path) -> None:
    place = small_disk / "place"
    storage = LocalStorage(place)
    tag = storage.create("a/old", b"old")
    filler = storage.create("filler", b"x" * 700_000)
    before = list(storage.list(""))
    writes: tuple[Callable[[], object], ...] = (
        lambda: storage.create("a/new", b"y" * 900_000),
        lambda: storage.replace("a/new", b"y" * 900_000, None),
        lambda: storage.replace("a/old", b"y" * 900_000, tag),
    )
    for write in writes:
        with pytest.raises(StorageError, match=r"place/a/(new|old): No space left on device") as raised:
            write()
        assert raised.value.hint
        assert _leftovers(place) == []
    assert list(storage.list("")) == before
    assert storage.read("a/old").data == b"old"
    storage.touch("a/old")
    storage.delete("filler", filler)
    storage.replace("a/old", b"y" * 500_000, tag)
    assert storage.read("a/old").data == b"y" * 500_000


def test_a_disk_without_a_single_free_byte_can_be_cleared(small_disk: Path) -> None:
    storage = LocalStorage(small_disk / "place")
    storage.create("old", b"old")
    with (small_disk / "filler").open("wb", buffering=0) as filler:
        while filler.write(b"x" * 65536) == 65536:
            pass
    assert os.statvfs(small_disk).f_bfree == 0
    assert [row.key for row in storage.list("")] == ["old"]
    with pytest.raises(StorageError, match="No space"):
        storage.create("new", b"new")
    storage.delete("old", storage.read("old").tag)
    assert list(storage.list("")) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_limit_on_the_size_of_files_is_named_and_changes_nothing(python: Python, tmp_path: Path) -> None:
    ended = python(_LIMITED, tmp_path / "place")
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert [line.split()[:3] for line in lines] == [["StorageError", "cannot", word] for word in CALLS]
    assert all("File too large | the limit on the size of files" in line for line in lines)
    storage = LocalStorage(tmp_path / "place")
    assert [row.key for row in storage.list("")] == ["a/old"]
    assert storage.read("a/old").data == b"still works"
    assert _leftovers(storage.place) == []
