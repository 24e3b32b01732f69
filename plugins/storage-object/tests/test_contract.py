"""storage-object keeps the laws of its kind, on a real server."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from perfcore_storage_object import ObjectStorage, ObjectStorageSettings
from perfcore_storage_object.contract import ObjectStorageContract


class TestOnOneMachine(ObjectStorageContract):
    """Every law of the kind."""


def elsewhere(folder: Path, settings: ObjectStorageSettings) -> ObjectStorage:
    """The same store from another machine."""
    return ObjectStorage(folder / uuid.uuid4().hex, settings)


class TestOnSeveralMachines(ObjectStorageContract):
    """The same where nothing is known of the server yet."""

    @pytest.fixture
    def reopen(self, driver: ObjectStorage, tmp_path: Path) -> Callable[[], ObjectStorage]:
        return functools.partial(elsewhere, tmp_path / "machines", driver.settings)
