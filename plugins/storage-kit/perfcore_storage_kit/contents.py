"""What was read of a store and is needed once more: each key is asked for once, and many at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

import attrs

from perfcore.errors import PerfError
from perfcore.hookspecs import Listed
from perfcore.store.store import Store
from perfcore_storage_kit.errors import UnreachableError
from perfcore_storage_kit.parallel import of_each

_MOST = 64 << 20  # bytes that are held: the profiles of some ten thousand versions. What is beyond is read again
_BATCH = 4096  # keys that are asked for together: a store in packs reads them by where they are
_BATCH_BYTES = 16 << 20  # the same for their bytes
_FAILURES = 3  # in a row: a network that fails for a moment is back by then
_LARGE = 1 << 16  # bytes: of what is larger, the beginning is read (`Store.read_beginning`)


@attrs.define(eq=False)
class Contents:
    """Bytes of a store by key, as many as there is `room` for."""

    store: Store
    room: int = _MOST
    _held: dict[str, bytes] = attrs.field(factory=dict)

    def hold(self, key: str, data: bytes) -> None:
        """Keep what will be needed again."""
        if key not in self._held and len(data) <= self.room:
            self._held[key] = data
            self.room -= len(data)

    def read(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes | PerfError]]:
        """Keys with their bytes in any order, as `Store.read_many` gives them. Where a server cannot be reached for
        several keys in a row, the error is raised: each would wait for it anew."""
        unread = []
        for key in dict.fromkeys(keys):
            if key in self._held:
                yield key, self._held[key]
            else:
                unread.append(key)
        failures = 0
        for key, data in self.store.read_many(unread):
            if not isinstance(data, UnreachableError):
                failures = 0
            elif (failures := failures + 1) == _FAILURES:
                raise data
            yield key, data

    def beginnings(
        self, rows: Iterable[Listed], is_wanted: Callable[[str, bytes], bool] = lambda key, data: False
    ) -> Iterator[tuple[str, bytes]]:
        """Listed keys with their bytes, or of large objects the beginning, in their order; what went is left out. Those
        that are wanted later are held."""
        for batch in _batches(rows):
            small = [row.key for row in batch if row.size <= _LARGE]
            data = dict(_whole(self.read(small))) | self._large([row for row in batch if row.size > _LARGE])
            for key in small:
                if key in data and is_wanted(key, data[key]):
                    self.hold(key, data[key])
            yield from ((row.key, data[row.key]) for row in batch if row.key in data)

    def _large(self, rows: Collection[Listed]) -> dict[str, bytes]:
        answers = of_each(self.store.storage, self.store.read_beginning, rows)
        return {row.key: data for row, data in zip(rows, answers, strict=True) if data is not None}


def _whole(pairs: Iterable[tuple[str, bytes | PerfError]]) -> Iterator[tuple[str, bytes]]:
    """The error of what cannot be read is raised: it may have been an index."""
    for key, data in pairs:
        if isinstance(data, PerfError):
            raise data
        yield key, data


def _batches(rows: Iterable[Listed]) -> Iterator[list[Listed]]:
    batch: list[Listed] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += min(row.size, _LARGE)
        if len(batch) >= _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
