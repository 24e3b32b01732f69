"""The pieces of tables on their way into a store."""

from __future__ import annotations

from perfcore.store import objects
from perfcore.store.store import Store, opened, table_object


class PieceBuffer:
    """The pieces of tables that are read and put through it, kept as they are stored: whole ones, which can be put
    again should they go from the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stored: dict[str, bytes] = {}

    @property
    def size(self) -> int:
        """The bytes that it keeps."""
        return sum(map(len, self._stored.values()))

    def get_piece(self, id: str) -> bytes:
        data = self._stored[id] if id in self._stored else self._store.read_stored(id)
        piece = opened(id, data, "table").content
        self._stored[id] = data
        return piece

    def put_piece(self, table: str, piece: bytes) -> str:
        id, data = objects.encode(table_object(table, piece))
        self._store.put_stored(id, data)
        self._stored[id] = data
        return id

    def restore(self) -> None:
        """Put again those that went."""
        for id in self._store.missing(tuple(self._stored)):
            self._store.put_stored(id, self._stored[id])
