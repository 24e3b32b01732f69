"""Writing packs: the files of many small keys become one.

A pack is written whole, then published under all locks of the place, in which nobody creates, replaces, deletes or
touches a key: only then do rows of it count, and those of other packs for the same keys no longer. Then the files
whose keys are in it are removed, each under its lock and only if it is still the file that was read. Killed anywhere,
every key has its bytes: a file hides the rows of its key until it is removed.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from contextlib import ExitStack, suppress
from itertools import accumulate, islice
from typing import TYPE_CHECKING

from perfcore.files import sync, sync_path
from perfcore.named_tuple import NamedTuple
from perfcore_storage_local import files, keys
from perfcore_storage_local.packs import (
    BLOCK,
    CHECKS,
    FAN_OUT,
    FIELDS,
    FOOTER,
    GONE,
    HEADER,
    MAGIC,
    MARKS,
    PACK,
    ROW,
    SEALED,
    STREAMS,
    VERSION,
    Pack,
    PackedRow,
    sha1,
    split,
)
from perfcore_storage_local.place import SHARDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from io import BufferedWriter

    from perfcore_storage_local.packs import Packs
    from perfcore_storage_local.place import Place

LARGEST = 1 << 18  # bytes: what is larger gains nothing
_BLOCK_BYTES = 1 << 16  # of content: larger ones are smaller together, and slower to read one key of
_LEVELS = (6, 1)  # of zlib, as objects are written
_AT_ONCE = 100_000  # keys: their names are in memory
_MOST_GONE = 0.3  # of the rows of a pack, before it is written anew
_KIND_BYTES = 40  # at the beginning of an object: the words that say what it is
_MOST_KINDS = 64  # that are kept apart, of 64 KiB each
_ID_BYTES = 20
_IS_GONE = re.compile(bytes((GONE,)))
_LATEST = (1 << 32) - 1
_Row = tuple[bytes, int, int, int, int, int]  # id, position in its block, length, size, seconds, level


def pack_space(place: Place, packs: Packs, space: str, least: int) -> int:
    """Move the keys of a space with small files into packs, where there are at least so many, and join small packs;
    gives how many keys were moved."""
    moved = 0
    with place.lock_packs():
        while held := _pack_some(place, packs, space, least):
            moved += held
            if held < _AT_ONCE:
                break
        place.remove_empty(space)
    return moved


def _pack_some(place: Place, packs: Packs, space: str, least: int) -> int:
    loose = list(islice(loose_keys(place.path(space), space), _AT_ONCE))
    if len(loose) < least:
        loose = []
    present = packs.of(space)
    merged = to_merge(present, len(loose))
    if not loose and not merged:
        return 0
    folder = place.make_folders(f"{keys.PACKS}/{space}/")
    with files.open_temporary(place.make_folders(f"{keys.TMP}/")) as (path, file):
        name, held = write(file, loose, merged)
        file.flush()
        sync(file.fileno())
        new = Pack(folder, name, unpublished=path)
        with ExitStack() as locks:
            place.lock_all(locks)
            carry_marks(new, held, merged)
            files.rename(path, new.path)
            sync_path(folder)
            supersede(present, held, merged)
    for pack in merged:
        remove(pack)
    _remove_files(place, held)
    return len(held)


def _remove_files(place: Place, held: Sequence[LooseKey]) -> None:
    """Remove the files whose keys are in a pack now, unless they are others than those that were read."""
    for row in sorted(held, key=lambda row: keys.shard(row.key, SHARDS)):
        with place.lock(row.key), suppress(*files.MISSING):
            if keys.stat_tag(os.lstat(row.path)) == row.tag:
                files.remove(row.path)
    files.sync_many(place.root, sorted({os.path.dirname(row.path) for row in held}))


class LooseKey(NamedTuple):
    """A key with a file of its own."""

    key: str
    id: bytes
    path: str
    tag: str
    modified: int


class _OpenBlock:
    """What is to be compressed together, and its rows."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.rows: list[_Row] = []


class PackWriter:
    """A pack in a temporary file. Keys of one kind lie together, since they have most in common."""

    def __init__(self, file: BufferedWriter) -> None:
        self._file = file
        self._digest = hashlib.sha1(usedforsecurity=False)
        self._rows: list[bytes] = []
        self._blocks: list[tuple[int, int]] = []
        self._offset = 0  # in the file
        self._position = 0  # in the joined content
        self._open: dict[bytes, _OpenBlock] = {}
        self._write(HEADER.pack(MAGIC, VERSION, os.urandom(16)))

    def add(self, id: bytes, data: bytes, modified: int) -> None:
        """A key with its bytes and the time of its last change, in ns."""
        content, level = _inflated(data)
        kind = content[:_KIND_BYTES].split(b"\0")[0].rpartition(b" ")[0] if 0 < level < SEALED else content[:4]
        block = self._open.setdefault(kind, _OpenBlock())
        # Seconds, rounded up: what is packed must not look older than it is.
        seconds = min(max(0, -(-modified // 1_000_000_000)), _LATEST)
        block.rows.append((id, len(block.content), len(content), len(data), seconds, level))
        block.content += content
        if len(block.content) >= _BLOCK_BYTES:
            self._close(kind)
        elif len(self._open) > _MOST_KINDS:
            self._close(max(self._open, key=lambda kind: len(self._open[kind].content)))

    def add_block(self, stream: bytes, length: int, rows: Iterable[_Row]) -> None:
        """A zlib stream of so many bytes of content, with the rows in it."""
        for id, start, *rest in rows:
            self._rows.append(ROW.pack(id, self._position + start, *rest))
        self._blocks.append((self._position, self._offset))
        self._position += length
        self._write(stream)

    def finish(self) -> str:
        """Write the rest; gives the name of the pack."""
        for kind in list(self._open):
            self._close(kind)
        blocks = [*self._blocks, (self._position, self._offset)]
        self._rows.sort()
        by_first: list[list[bytes]] = [[] for _ in range(256)]
        for row in self._rows:
            by_first[row[0]].append(row)
        counts = list(accumulate(map(len, by_first)))
        streams, checks = [self._offset], []
        for rows in by_first:
            stream = _fields(rows)
            checks.append(zlib.crc32(stream, zlib.crc32(b"".join(row[:_ID_BYTES] for row in rows))))
            self._write(stream)
            streams.append(self._offset)
        self._write(FAN_OUT.pack(*counts))
        self._write(CHECKS.pack(*checks))
        self._write(STREAMS.pack(*streams))
        for row in self._rows:
            self._write(row[:_ID_BYTES])
        for block in blocks:
            self._write(BLOCK.pack(*block))
        self._write(FOOTER.pack(len(self._rows), len(self._blocks), b"")[:-20])
        digest = self._digest.digest()
        self._file.write(digest)
        return digest.hex()

    def _close(self, kind: bytes) -> None:
        block = self._open.pop(kind)
        self.add_block(zlib.compress(block.content, 9), len(block.content), block.rows)

    def _write(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)
        self._offset += len(data)


def _fields(rows: Sequence[bytes]) -> bytes:
    """The zlib stream with the fields of rows: the first byte of each, then the second, and so on."""
    fields = b"".join(row[_ID_BYTES:] for row in rows)
    return b"" if not rows else zlib.compress(b"".join(fields[byte :: FIELDS.size] for byte in range(FIELDS.size)), 9)


def loose_keys(folder: str, space: str) -> Iterator[LooseKey]:
    """The keys of a space with files small enough for a pack."""
    for bucket in (f"{first:02x}" for first in range(256)):
        path = os.path.join(folder, bucket)
        try:
            files.check_folder(path)
            entries = sorted(os.listdir(path))
        except files.MISSING:
            continue
        for name in entries:
            key = f"{space}/{bucket}/{name}"
            parts = split(key)
            if parts is None:
                continue
            with suppress(*files.MISSING):
                status = os.lstat(file := os.path.join(path, name))
                with suppress(OSError):  # a link, or a pipe: `read` tells what is wrong with it
                    files.check_regular(status, file)
                    if status.st_size <= LARGEST:
                        yield LooseKey(key, parts[1], file, keys.stat_tag(status), status.st_mtime_ns)


def to_merge(packs: Sequence[Pack], new: int) -> list[Pack]:
    """The packs to be written anew together with so many keys: those with many rows that are gone, and small ones,
    so that each is twice as large as all smaller ones together. So a key is written again log(n) times."""
    lengths = {pack.name: len(pack) - len(_gone(pack)) for pack in packs}
    chosen = [pack for pack in packs if lengths[pack.name] < (1 - _MOST_GONE) * len(pack)]
    total = new + sum(lengths[pack.name] for pack in chosen)
    for pack in sorted(packs, key=lambda pack: lengths[pack.name]):
        if pack not in chosen and lengths[pack.name] < 2 * total:
            chosen.append(pack)
            total += lengths[pack.name]
    return chosen


def write(file: BufferedWriter, loose: Iterable[LooseKey], merged: Sequence[Pack]) -> tuple[str, list[LooseKey]]:
    """Write a pack of these files and packs; gives its name, and those of the files that it holds."""
    writer = PackWriter(file)
    held = []
    ids = set()
    for row in loose:
        with suppress(*files.MISSING):
            data = files.read(row.path)
            if len(data) <= LARGEST:
                writer.add(row.id, data, row.modified)
                held.append(row)
                ids.add(row.id)
    for pack in merged:
        _copy(pack, writer, ids)
    return writer.finish(), held


def carry_marks(new: Pack, held: Sequence[LooseKey], merged: Sequence[Pack]) -> None:
    """What happened to the keys of an unpublished pack since they were read: mark those rows of it that do not
    count. The caller has all locks."""
    ids = {pack.id(number) for pack in merged for number in _gone(pack)}
    ids.difference_update(row.id for row in held)
    gone = {id for id in ids if all(row is None or row.is_gone for row in (pack.find(id) for pack in merged))}
    for row in held:
        try:
            os.lstat(row.path)  # another file than the one that was read hides its row
        except files.MISSING:
            gone.add(row.id)
    numbers = [at for id in gone if (at := new.number(id)) is not None]
    if numbers:
        new.mark(numbers)


def supersede(packs: Sequence[Pack], held: Iterable[LooseKey], merged: Sequence[Pack]) -> None:
    """Let the rows of older packs count no more whose keys are in a new one. The caller has all locks."""
    ids = [row.id for row in held]
    for pack in packs:
        if pack in merged:
            pack.mark(range(len(pack)))
            continue
        numbers = pack.counting(at for id in ids if (at := pack.number(id)) is not None)
        if numbers:
            pack.mark(numbers)


def remove(pack: Pack) -> None:
    """Remove the files of a pack whose rows are all gone. Its marks go last: without them its rows would count."""
    with suppress(FileNotFoundError):
        files.remove(pack.path)
    with suppress(FileNotFoundError):
        files.remove(pack.path.removesuffix(PACK) + MARKS)


def _gone(pack: Pack) -> list[int]:
    """The numbers of the rows that do not count."""
    return [match.start() for match in _IS_GONE.finditer(pack.marks())]


def _copy(pack: Pack, writer: PackWriter, ids: set[bytes]) -> None:
    """The rows of a pack that count and are not there yet, whole blocks as they are. FormatError for a damaged pack:
    the new one would have the damage under a checksum that fits."""
    pack.verify()
    gone = set(_gone(pack))
    rows_of: dict[int, list[PackedRow]] = {}
    for number in range(len(pack)):
        row = pack.row(number)
        rows_of.setdefault(pack.block_of(row.position), []).append(row)
    for block in sorted(rows_of):
        rows = rows_of[block]
        (start, _), (end, _) = pack.block(block), pack.block(block + 1)
        counting = [row for row in rows if row.number not in gone and pack.id(row.number) not in ids]
        ids.update(pack.id(row.number) for row in counting)
        if len(counting) == len(rows) and end - start >= _BLOCK_BYTES // 2:
            moved = [(pack.id(row.number), row.position - start, *row[3:]) for row in rows]
            writer.add_block(pack.stored_block(block), end - start, moved)
            continue
        for row in counting:
            writer.add(pack.id(row.number), row.read(), row.modified * 1_000_000_000)


def _inflated(data: bytes) -> tuple[bytes, int]:
    """(content, level): the bytes as they are and 0, or what they hold, where zlib makes them of it again, or what is
    before the SHA-1 of it."""
    if data[:1] != b"\x78":
        return (data[:-_ID_BYTES], SEALED) if data[-_ID_BYTES:] == sha1(data[:-_ID_BYTES]) else (data, 0)
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(data, 4 * LARGEST)
    except zlib.error:
        return data, 0
    if inflater.eof and not inflater.unused_data and b" " in content[:_KIND_BYTES]:
        for level in _LEVELS:
            if zlib.compress(content, level) == data:
                return content, level
    return data, 0
