"""storage-local keeps the laws of its kind, with hard links and without."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest
from perfcore_storage_local import LocalStorage

from perfcore.testing.storage import StorageContract

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class TestWithLinks(StorageContract):
    kills = 40

    @pytest.fixture
    def driver(self, tmp_path: Path) -> LocalStorage:
        return LocalStorage(tmp_path / "place")


class TestWithoutLinks(StorageContract):
    increments = 20

    @pytest.fixture
    def driver(self, tmp_path: Path) -> LocalStorage:
        return LocalStorage(tmp_path / "place", links=False)

    @pytest.fixture
    def reopen(self, driver: LocalStorage) -> Callable[[], LocalStorage]:
        return functools.partial(LocalStorage, driver.place, links=False)
