"""The storage that tests use keeps the laws of its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from perfcore_testing.memory import MemoryStorage
from perfcore_testing.storage import StorageContract

if TYPE_CHECKING:
    from collections.abc import Callable


class TestMemoryStorage(StorageContract):
    processes = False

    @pytest.fixture
    def driver(self) -> MemoryStorage:
        return MemoryStorage()

    @pytest.fixture
    def reopen(self, driver: MemoryStorage) -> Callable[[], MemoryStorage]:
        return lambda: driver
