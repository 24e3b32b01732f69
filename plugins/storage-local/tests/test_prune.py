"""What a killed process leaves behind is harmless, and can be removed."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from perfcore_storage_local import LocalStorage

    Python = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="ends a process by a signal in mid-write")

# The kernel kills it within the write, after 100,000 bytes.
_DIE_WRITING = """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
storage = LocalStorage(Path(sys.argv[1]))
storage.replace("a/key", b"x" * 1_000_000, storage.read("a/key").tag)
"""
LATER = 10**9 * 3600


def _die_writing(python: Python, storage: LocalStorage) -> None:
    assert python(_DIE_WRITING, storage.place).returncode < 0


def test_a_leftover_is_no_key_and_in_nobody_s_way(storage: LocalStorage, python: Python) -> None:
    tag = storage.create("a/key", b"old")
    _die_writing(python, storage)
    (leftover,) = (storage.place / "tmp").iterdir()
    assert leftover.stat().st_size == 100_000
    assert [row.key for row in storage.list("")] == ["a/key"]
    assert storage.read("a/key").data == b"old"
    storage.replace("a/key", b"new", tag)


def test_only_leftovers_before_the_time_are_removed(storage: LocalStorage, python: Python) -> None:
    storage.create("a/key", b"old")
    begun = time.time_ns() - LATER
    for _ in range(2):
        _die_writing(python, storage)
    first, second = sorted((storage.place / "tmp").iterdir())
    os.utime(second, ns=(begun - 5 * LATER,) * 2)
    assert storage.prune(begun - 10 * LATER) == 0
    assert storage.prune(begun) == 1
    assert list((storage.place / "tmp").iterdir()) == [first]
    assert storage.prune(time.time_ns() + LATER) == 1
    assert storage.read("a/key").data == b"old"


def test_what_others_keep_in_tmp_stays(storage: LocalStorage) -> None:
    storage.create("a", b"1")
    (storage.place / "tmp" / "worktree").mkdir()
    (storage.place / "tmp" / "write-1").write_bytes(b"")
    assert storage.prune(time.time_ns() + LATER) == 0
    assert len(list((storage.place / "tmp").iterdir())) == 2


def test_a_leftover_that_is_also_a_key_leaves_the_key(storage: LocalStorage) -> None:
    """A process may die after it linked its file to the key and before it removed the temporary name."""
    storage.create("a", b"1")
    os.link(storage.place / "a", storage.place / "tmp" / "write-1-0123456789abcdef")
    assert storage.prune(time.time_ns() + LATER) == 1
    assert storage.read("a").data == b"1"
