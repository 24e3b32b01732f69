"""A lock has one holder, and none when its process is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfcore.errors import VersionError
from perfcore.locks import Lock

HOLDER = """
import sys, time
from perfcore.locks import Lock
lock = Lock(sys.argv[1])
assert lock.acquire(0)
print("held", flush=True)
time.sleep(60)
"""


def test_one_at_a_time(tmp_path: Path) -> None:
    one, other = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    assert one.is_free()
    assert not (tmp_path / "lock").exists()
    assert one.acquire(0)
    assert (one.held, other.acquire(0), other.held, other.is_free()) == (True, False, False, False)
    one.release()
    one.release()
    assert other.is_free()
    assert other.acquire(0)
    other.release()


def test_it_is_held_while_it_lasts_and_what_cannot_be_had_is_told(tmp_path: Path) -> None:
    one, other = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    with one.hold(0, VersionError("busy")), one.hold(0, VersionError("busy")):
        with pytest.raises(VersionError, match="busy"), other.hold(0, VersionError("busy")):
            pass
        assert one.held
    assert other.is_free()


def test_whoever_inherits_the_file_holds_it_too(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    assert lock.acquire()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[lock.fd]) as heir:
        lock.release()
        assert not lock.is_free()
        heir.communicate()
    assert lock.is_free()


def test_holding_for_a_while_ends_for_heirs_too(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    with lock.hold(0, VersionError("busy")):
        heir = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[lock.fd])
    assert lock.is_free()
    heir.communicate()


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, lock.path], stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert not lock.acquire(0.05)
        holder.kill()
    assert lock.acquire(0)
    lock.release()


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="this system cannot refuse links when a file is opened")
def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        Lock(tmp_path / "lock").acquire(0)
    assert not (tmp_path / "elsewhere").exists()
