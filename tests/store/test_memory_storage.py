"""The storage in memory keeps the contract of storages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from perfcore_testing.memory import MemoryStorage
from perfcore_testing.storage import StorageContract

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfcore.hookspecs import Storage


class TestContract(StorageContract):
    processes = False

    @pytest.fixture
    def driver(self) -> MemoryStorage:
        return MemoryStorage()

    @pytest.fixture
    def reopen(self, driver: MemoryStorage) -> Callable[[], Storage]:
        return lambda: driver
