"""storage-git keeps the laws of its kind, in a bare repository that many processes push to at once."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from perfcore_storage_git import GitStorage, GitStorageSettings
from perfcore_storage_git.contract import GitStorageContract


class TestWithOneCopy(GitStorageContract):
    pass


def elsewhere(folder: Path, settings: GitStorageSettings) -> GitStorage:
    """The same store from another machine."""
    return GitStorage(folder / uuid.uuid4().hex, settings)


class TestWithCopiesOfTheirOwn(GitStorageContract):
    """Processes on several machines."""

    @pytest.fixture
    def reopen(self, driver: GitStorage, tmp_path: Path) -> Callable[[], GitStorage]:
        return functools.partial(elsewhere, tmp_path / "machines", driver.settings)
