"""storage-local keeps the laws of its kind, with hard links and without."""

from __future__ import annotations

import functools
import os
import time
from typing import TYPE_CHECKING

import pytest
from perfcore_storage_local import LocalStorage
from perfcore_testing.storage import StorageContract

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Local(StorageContract):
    @pytest.fixture
    def settle(self, driver: LocalStorage) -> Callable[[], None]:
        def settle() -> None:
            then = time.time_ns() - 3600 * 10**9
            for folder, _, _ in os.walk(driver.place):
                os.utime(folder, ns=(then, then))

        return settle


class TestWithLinks(Local):
    kills = 40

    @pytest.fixture
    def driver(self, tmp_path: Path) -> LocalStorage:
        return LocalStorage(tmp_path / "place")


class TestWithoutLinks(Local):
    increments = 20

    @pytest.fixture
    def driver(self, tmp_path: Path) -> LocalStorage:
        return LocalStorage(tmp_path / "place", links=False)

    @pytest.fixture
    def reopen(self, driver: LocalStorage) -> Callable[[], LocalStorage]:
        return functools.partial(LocalStorage, driver.place, links=False)
