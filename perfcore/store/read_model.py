"""What commands have derived from the store, kept in one SQLite file for the next command.

Rows of bytes by space, group and key: the indexes of each folder (`perfcore.store.catalog`), the values of each
profile, results and states of scans. It is a cache: the file may be removed, damaged, locked or written by another
perfcore, and no answer changes. A row is believed only with its checksum, which covers its names too; whether it still
holds is for those who read it to know, by a stamp or a digest in it. What cannot be read is derived anew.

SQLite makes no files beside this one: the journal of a transaction is in memory, so a killed writer may cost the whole
cache, and somebody else's journal, which would be played back, is removed. Nothing waits for the disk.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

_SCHEMA = (
    'CREATE TABLE "rows" ("space" TEXT, "group" TEXT, "key" TEXT, "data" BLOB, PRIMARY KEY ("space", "group", "key"))'
)
_PRAGMAS = (
    "journal_mode=MEMORY",
    "synchronous=OFF",
    "trusted_schema=OFF",  # the file may come from elsewhere: nothing in it is called
    "cell_size_check=ON",
    "max_page_count=262144",  # 1 GiB; a full cache begins anew
)
_HEADER = b"SQLite format 3\0"
_VERSIONS = slice(18, 20)  # of the header: (1, 1) unless the file wants a write-ahead log
_BESIDE = ("-journal", "-wal", "-shm")
_PATIENCE = 0.2  # seconds to wait for a lock, once: deriving most things takes no longer
_FEW = 256  # rows that are asked for by their keys: a group may have a hundred thousand
_CHECKSUM = 4  # bytes of a CRC-32: enough for damage, and nothing here is proof against malice
_BYPASSED = frozenset({5, 6, 7, 8, 10, 14, 15})  # BUSY LOCKED NOMEM READONLY IOERR CANTOPEN PROTOCOL of sqlite3.h


class ReadModel:
    """The rows in the file at `path`; None keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._open: tuple[int, int, sqlite3.Connection] | None = None  # process, inode
        self._patience = _PATIENCE

    def get(self, space: str, key: str, group: str = "") -> bytes | None:
        """A row, None where there is none that can be believed."""
        return self.many(space, (key,), group).get(key)

    def many(self, space: str, keys: Collection[str], group: str = "") -> dict[str, bytes]:
        """Those of these rows of a group that are there and can be believed, by key. All of it may be read."""
        query = 'SELECT "key", "data" FROM "rows" WHERE "space" = ? AND "group" = ?'
        few = f' AND "key" IN ({", ".join("?" * len(keys))})' if len(keys) <= _FEW else ""
        rows: dict[str, bytes] = {}
        if self.path is None:
            return rows
        with self._guarded():
            names = (space, group, *(keys if few else ()))
            for key, stored in self._connection().execute(query + few, names).fetchall():
                if isinstance(key, str) and isinstance(stored, bytes):
                    data = stored[_CHECKSUM:]
                    if stored[:_CHECKSUM] == _checksum(space, group, key, data):
                        rows[key] = data
        return rows

    def put(self, space: str, rows: Mapping[str, bytes], group: str = "") -> None:
        """Keep rows in place of those of the same keys. Where they cannot be written nothing happens: that costs time,
        nothing else."""
        if self.path is None or not rows:
            return
        stored = [(space, group, key, _checksum(space, group, key, data) + data) for key, data in rows.items()]
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._guarded(), contextlib.closing(self._connection(make=True).cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            try:
                cursor.executemany('INSERT OR REPLACE INTO "rows" VALUES (?, ?, ?, ?)', stored)
                cursor.execute("COMMIT")
            except BaseException:
                cursor.execute("ROLLBACK")
                raise

    def close(self) -> None:
        if self._open is not None and self._open[0] == os.getpid():  # a forked process leaves it to its parent
            self._open[2].close()
        self._open = None

    __del__ = close  # Python 3.13 warns of a connection that nobody closed

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """What SQLite complains about is not told. A file that it cannot read is removed."""
        import sqlite3

        try:
            yield
        except (OSError, UnicodeError):  # there is no file, or a name that is no text and has no row
            self.close()
        except sqlite3.Error as error:
            self.close()
            if getattr(error, "sqlite_errorcode", 1) & 0xFF in _BYPASSED:
                self._patience = 0  # who holds a lock for long may hold it at the next lookup, too
            else:
                self._remove()

    def _connection(self, *, make: bool = False) -> sqlite3.Connection:
        """A connection of this process to the file that is there now. FileNotFoundError where there is none and none is
        to be made."""
        assert self.path is not None
        if self._open is not None:
            process, inode, connection = self._open
            if process == os.getpid() and (not make or _inode(self.path) == inode):
                return connection
            self.close()  # after a fork, or when somebody removed the file
        import sqlite3

        self._refuse_strange(make)
        # The file is there: another process may still remove it, and then an empty one is made in its place.
        connection = sqlite3.connect(self.path, timeout=self._patience, isolation_level=None, check_same_thread=False)
        try:
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
            statements = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql NOTNULL")]
            if not statements and make:
                connection.execute(_SCHEMA.replace("TABLE", "TABLE IF NOT EXISTS"))
            elif statements != [_SCHEMA]:
                raise sqlite3.DatabaseError("not the tables of this perfcore")
        except BaseException:
            connection.close()
            raise
        self._open = os.getpid(), _inode(self.path), connection
        return connection

    def _refuse_strange(self, make: bool) -> None:
        """Remove what is no plain SQLite file, and what SQLite would play back into it."""
        assert self.path is not None
        for suffix in _BESIDE:
            self._remove(suffix)
        if self.path.is_symlink() or self.path.is_fifo():  # a `.perf` may come from elsewhere
            self._remove()
        try:
            with open(self.path, "rb") as file:
                header = file.read(_VERSIONS.stop)
        except FileNotFoundError:
            if not make:
                raise
            return
        if header and not (header.startswith(_HEADER) and header[_VERSIONS] == b"\1\1"):
            self._remove()

    def _remove(self, suffix: str = "") -> None:
        with contextlib.suppress(OSError):
            os.unlink(f"{self.path}{suffix}")


def _inode(path: Path) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:
        return -1


def _checksum(space: str, group: str, key: str, data: bytes) -> bytes:
    names = f"{space}\0{group}\0{key}\0".encode("utf-8", "surrogatepass")
    return zlib.crc32(data, zlib.crc32(names)).to_bytes(_CHECKSUM, "big")
