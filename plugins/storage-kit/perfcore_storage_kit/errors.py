"""Errors of storages that the commands tell apart."""

from __future__ import annotations

from perfcore.errors import StorageError


class UnreachableError(StorageError):
    """A server does not answer, or its network is broken, so that the next requests fail as well."""
