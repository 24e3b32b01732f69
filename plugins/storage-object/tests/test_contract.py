"""storage-object keeps the laws of its kind, on a real server."""

from __future__ import annotations

from perfcore_storage_object.contract import ObjectStorageContract


class TestObjectStorage(ObjectStorageContract):
    """Every law of the kind."""
