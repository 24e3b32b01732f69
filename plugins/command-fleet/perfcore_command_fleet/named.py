"""Small records under names that are shared by push and pull: saved queries, pins, tiers, metadata.

Each is a record of the receipts' key space; the newest of one name counts, also of those that other stores have.
"""

from __future__ import annotations

import time
from typing import Any

import attrs
import msgspec
from perfcore_fleet_kit.keys import SPACE, escaped
from perfcore_storage_kit import sets

from perfcore.errors import FormatError, KeyMissingError
from perfcore.repository.repository import Repository

_FORMAT = 1
_SOURCE = "0" * 40  # of records that were not read from anything


@attrs.frozen
class NamedRecords:
    """The records of one kind, such as `queries`."""

    repository: Repository
    kind: str

    def save(self, name: str, **values: Any) -> None:
        """Put values in the place of those under a name."""
        payload = msgspec.json.encode({"format": _FORMAT, "name": name, **values})
        data = sets.encode(sets.Record(time.time_ns(), _SOURCE, (), payload))
        storage = self.repository.store.storage
        key = self._prefix + escaped(name)
        try:
            tag: str | None = storage.read(key).tag
        except KeyMissingError:
            tag = None
        storage.replace(key, data, tag)

    def remove(self, name: str) -> None:
        """Other stores may have it, so the name stays, without values."""
        self.save(name, removed=True)

    def all(self) -> dict[str, dict[str, Any]]:
        """The values by name. FormatError for a damaged record."""
        saved = {}
        store = self.repository.store
        for row in store.storage.list(self._prefix):
            data = store.read_key(row.key)
            if data is not None:
                document = _decoded(sets.decode(data, row.key).payload, row.key)
                if not document.get("removed"):
                    saved[str(document.get("name", ""))] = document
        return dict(sorted(saved.items()))

    @property
    def _prefix(self) -> str:
        return f"{SPACE}@{self.kind}/"


def _decoded(payload: bytes, where: str) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(payload, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"{where} is damaged: {error}") from error
    if document.get("format") != _FORMAT:
        raise FormatError(f"{where} is of format {document.get('format')}", hint="upgrade perfcore")
    return document
