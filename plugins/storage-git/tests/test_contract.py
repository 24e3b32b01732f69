"""storage-git keeps the laws of its kind, in a bare repository that many processes push to at once."""

from __future__ import annotations

import contextlib
import functools
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from perfcore_storage_git import GitStorage, GitStorageSettings
from perfcore_testing.storage import StorageContract

from .conftest import bare


class Git(StorageContract):
    # Each write takes several processes of git, and of writers at once all but one try again.
    kills = 6
    lifetime = 1.0
    crowd = 3
    increments = 4

    @pytest.fixture
    def after_kill(self, driver: GitStorage) -> Callable[[], None]:
        """A push that git has begun goes on without its parent."""
        return lambda: _wait_for_git(driver.settings.url)


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


class TestWithOneCopy(Git):
    """Several processes on one machine, as those of one repository."""

    @pytest.fixture
    def driver(self, storage: GitStorage) -> GitStorage:
        return storage

    @pytest.fixture
    def reopen(self, driver: GitStorage) -> Callable[[], GitStorage]:
        return functools.partial(GitStorage, driver.place, driver.settings)


def elsewhere(folder: Path, settings: GitStorageSettings) -> GitStorage:
    """The same store from another machine."""
    return GitStorage(folder / uuid.uuid4().hex, settings)


class TestWithCopiesOfTheirOwn(Git):
    """Processes on several machines."""

    @pytest.fixture
    def driver(self, tmp_path: Path) -> GitStorage:
        return GitStorage(tmp_path / "place", GitStorageSettings(url=str(bare(tmp_path / "origin.git"))))

    @pytest.fixture
    def reopen(self, driver: GitStorage, tmp_path: Path) -> Callable[[], GitStorage]:
        return functools.partial(elsewhere, tmp_path / "machines", driver.settings)
