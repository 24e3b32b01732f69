"""A store in a bucket of an object store: S3 and what speaks its protocol, Google Cloud Storage, Azure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore_storage_object.settings import ObjectStorageSettings

if TYPE_CHECKING:
    from perfcore_storage_object.driver import ObjectStorage

__all__ = ["ObjectStorage", "ObjectStorageSettings"]


def __getattr__(name: str) -> object:
    """The driver, whose modules are not needed by those who only list plugins."""
    if name == "ObjectStorage":
        from perfcore_storage_object.driver import ObjectStorage

        return ObjectStorage
    raise AttributeError(name)
