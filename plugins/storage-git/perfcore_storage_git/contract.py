"""The contract of the kind for the storage `git`, in a bare repository that many processes push to."""

from __future__ import annotations

import contextlib
import functools
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from perfcore_testing.storage import StorageContract

from perfcore_storage_git.driver import GitStorage
from perfcore_storage_git.settings import GitStorageSettings


class GitStorageContract(StorageContract):
    """Several processes on one machine that share a copy, as those of one repository do."""

    # Each write takes several processes of git, and of writers at once all but one try again.
    kills = 6
    lifetime = 1.0
    crowd = 3
    increments = 4

    @pytest.fixture
    def driver(self, tmp_path: Path) -> GitStorage:
        origin = tmp_path / "origin.git"
        subprocess.run(["git", "init", "--quiet", "--bare", str(origin)], check=True)
        return GitStorage(tmp_path / "place", GitStorageSettings(url=str(origin)))

    @pytest.fixture
    def reopen(self, driver: GitStorage) -> Callable[[], GitStorage]:
        return functools.partial(GitStorage, driver.place, driver.settings)

    @pytest.fixture
    def after_kill(self, driver: GitStorage) -> Callable[[], None]:
        """A push that git has begun goes on without its parent."""
        return functools.partial(_wait_for_git, driver.settings.url)


def _wait_for_git(url: str) -> None:
    """Until no process of git reaches this repository; where processes cannot be listed, for a while."""
    if not Path("/proc/self/cmdline").exists():
        time.sleep(1)
        return
    while any(
        url.encode() in words and words.startswith(b"git") for words in map(_words, Path("/proc").glob("[0-9]*"))
    ):
        time.sleep(0.02)


def _words(process: Path) -> bytes:
    with contextlib.suppress(OSError):
        return (process / "cmdline").read_bytes()
    return b""
