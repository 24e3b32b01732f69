"""The default storage of perfcore: one file per key, in a folder on a local disk."""

from perfcore_storage_local.driver import LocalStorage

__all__ = ["LocalStorage"]
