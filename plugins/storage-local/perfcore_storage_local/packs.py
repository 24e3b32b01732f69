"""Many keys in one file: reading the packs of a place.

    place/packs/objects/NAME.pack    keys `objects/xx/yyyy…` of 40 hexadecimal digits, never changed
    place/packs/objects/NAME.gone    a byte for each row of it, 255 where the row does not count any more

A key with a file of its own has the bytes of that file, whatever a pack holds. Otherwise it has those of its row that
counts: there is one at most among all packs. `docs/formats.md` describes the file.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
import time
import zlib
from bisect import bisect_left
from typing import TYPE_CHECKING

from perfcore.errors import FormatError
from perfcore.files import sync, sync_path
from perfcore.hookspecs import Listed
from perfcore.named_tuple import NamedTuple
from perfcore.text import printable
from perfcore_storage_local import files
from perfcore_storage_local.keys import PACKS, is_packable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAGIC = b"ppck"
VERSION = 3  # that is written; 1 has no checksums of rows, and the rows of 1 and 2 are whole
HEADER = struct.Struct("<4sI16s")  # magic, version, random bytes: no two packs have one name
FOOTER = struct.Struct("<II20s")  # rows, blocks, SHA-1 of everything before it
FAN_OUT = struct.Struct("<256I")  # rows whose id begins with this byte or a lesser one
# CRC-32 of the rows whose id begins with this byte: a key with a wrong bit in its id would be missing without a word.
# A reader looks at a 256th of the rows; to hash the whole pack for one key would take a thousand times as long.
CHECKS = struct.Struct("<256I")
# Where the content begins in the joined content of all blocks; its bytes; the bytes of the key; seconds since 1970
# UTC; how the key's bytes come from the content: 0 as they are, else compressed by zlib at this level.
FIELDS = struct.Struct("<QIIIB")
ROW = struct.Struct("<20sQIIIB")  # with its id in front, in versions 1 and 2
# Where the zlib stream with the fields of the rows begins whose id begins with this byte, and where the last one ends.
# It has the first bytes of all these rows, then the second ones, and so on: those of a kind are alike.
STREAMS = struct.Struct("<257Q")
SEALED = 32  # the level of a content without the SHA-1 of itself that follows it
BLOCK = struct.Struct("<QQ")  # where its content begins, and where its zlib stream begins in the file
GONE = 0xFF
PACK, MARKS = ".pack", ".gone"
_ID_BYTES = 20
_KEPT_BYTES = 1 << 24  # of inflated blocks, for a pack: histories are read key by key, from all over it
_SETTLED_NS = 3_000_000_000  # the time of a folder tells no changes of the moments after it
_TRIES = 100
_REPAIR = "bring the file back from a copy, or move it away: then `perf pull --full` brings what a remote has"


def split(key: str) -> tuple[str, bytes] | None:
    """(first folder, id) of a key that a pack can hold; None for any other."""
    if not is_packable(key):
        return None
    space, first, rest = key.split("/")
    return space, bytes.fromhex(first + rest)


class PackedRow(NamedTuple):
    """A key in a pack."""

    pack: Pack
    number: int
    position: int
    length: int
    size: int
    modified: int
    level: int

    @property
    def tag(self) -> str:
        """As `keys.stat_tag`: another one after every change."""
        return f"{self.modified:x}.{self.size:x}.{self.pack.name}"

    @property
    def is_gone(self) -> bool:
        return self.pack.is_gone(self.number)

    def listed(self, key: str) -> Listed:
        return Listed(key, self.size, self.modified * 1_000_000_000, self.tag)

    def read(self) -> bytes:
        """The bytes of the key."""
        content = self.pack.content(self.position, self.length)
        if self.level == SEALED:
            return content + sha1(content)
        if self.level > zlib.Z_BEST_COMPRESSION:
            raise self.pack.damage("a row is compressed in no known way")
        return zlib.compress(content, self.level) if self.level else content


class Pack:
    """A pack that is open for reading."""

    def __init__(self, folder: str, name: str, unpublished: str = "") -> None:
        """`unpublished` is where the file is that has no name yet."""
        self.name = name
        self.path = os.path.join(folder, name + PACK)
        self._marks_path = os.path.join(folder, name + MARKS)
        self._marks: mmap.mmap | None = None
        self._data = _mapped(unpublished or self.path)
        size = len(self._data)
        if size < HEADER.size + FAN_OUT.size + FOOTER.size:
            raise self.damage("it is cut short")
        magic, version, _ = HEADER.unpack_from(self._data)
        if magic != MAGIC:
            raise self.damage("it does not begin as a pack does")
        if not 1 <= version <= VERSION:
            raise FormatError(f"{printable(self.path)} is a pack of version {version}", hint="use a newer perfcore")
        self._row_size = _ID_BYTES if version > 2 else ROW.size
        checks_size = CHECKS.size if version > 1 else 0
        self.rows, self.blocks, self.digest = FOOTER.unpack_from(self._data, size - FOOTER.size)
        self._blocks_at = size - FOOTER.size - (self.blocks + 1) * BLOCK.size
        self._rows_at = self._blocks_at - self.rows * self._row_size
        streams_at = self._rows_at - (STREAMS.size if version > 2 else 0)
        self._fan_out_at = streams_at - checks_size - FAN_OUT.size
        if self._fan_out_at < HEADER.size:
            raise self.damage("it is cut short")
        self._fan_out = FAN_OUT.unpack_from(self._data, self._fan_out_at)
        if self._fan_out[-1] != self.rows or list(self._fan_out) != sorted(self._fan_out):
            raise self.damage("its table of ids contradicts itself")
        self._checks = CHECKS.unpack_from(self._data, streams_at - checks_size) if checks_size else None
        self._streams = STREAMS.unpack_from(self._data, streams_at) if version > 2 else None
        self._checked: set[int] = set()
        self._fields: dict[int, bytes] = {}
        self._kept: dict[int, bytes] = {}
        self._kept_bytes = 0
        self._last = 0, range(0)  # the block that was read last, with its positions: many are read in their order

    def __len__(self) -> int:
        return int(self.rows)

    def range(self, first: int) -> range:
        """The rows whose id begins with this byte. FormatError where one is not as it was written."""
        rows = range(self._fan_out[first - 1] if first else 0, self._fan_out[first])
        if self._checks is not None and first not in self._checked:
            if zlib.crc32(self._stream(first), self._crc(rows.start, rows.stop)) != self._checks[first]:
                raise self.damage("the checksum of its rows is another one")
            self._checked.add(first)
        return rows

    def _crc(self, start: int, stop: int) -> int:
        size = self._row_size
        return zlib.crc32(self._data[self._rows_at + start * size : self._rows_at + stop * size])

    def _stream(self, first: int) -> bytes:
        """Of version 3, the fields of these rows as they are stored."""
        return self._data[self._streams[first] : self._streams[first + 1]] if self._streams else b""

    def number(self, id: bytes) -> int | None:
        """The number of the row of this id, gone or not."""
        rows = self.range(id[0])
        number = bisect_left(rows, id, key=self.id) + rows.start
        return number if number < rows.stop and self.id(number) == id else None

    def find(self, id: bytes) -> PackedRow | None:
        """The row of this id, gone or not."""
        return None if (at := self.number(id)) is None else self.row(at)

    def id(self, number: int) -> bytes:
        start = self._rows_at + number * self._row_size
        return self._data[start : start + _ID_BYTES]

    def row(self, number: int) -> PackedRow:
        if self._streams is None:
            return PackedRow(self, number, *ROW.unpack_from(self._data, self._rows_at + number * ROW.size)[1:])
        first = self._data[self._rows_at + number * _ID_BYTES]
        rows = self.range(first)
        if number not in rows:
            raise self.damage("its table of ids contradicts itself")
        if first not in self._fields:
            self._fields[first] = self._inflated(self._stream(first), len(rows) * FIELDS.size)
        return PackedRow(self, number, *FIELDS.unpack(self._fields[first][number - rows.start :: len(rows)]))

    def marks(self) -> mmap.mmap | bytes:
        """A byte for each row, as they are now."""
        if self._marks is None:
            try:
                marks = _mapped(self._marks_path)
            except FileNotFoundError:
                # Of a pack that was removed the marks go last: whoever has it open still must not take its rows.
                is_there = os.path.lexists(self.path)
                return bytes(self.rows) if is_there else bytes((GONE,)) * self.rows
            if len(marks) != self.rows:
                raise self._damaged_marks("it has not one byte for each row")
            if isinstance(marks, bytes):  # a copy, which shows no changes
                return marks
            self._marks = marks
        return self._marks

    def is_gone(self, number: int) -> bool:
        """Whether a row does not count. FormatError where its mark is neither of the two there are."""
        return not self.counting((number,))

    def counting(self, numbers: Iterable[int]) -> list[int]:
        """Those of these rows that count, whose marks are looked for once."""
        marks = self.marks()
        counting = []
        for row_number in numbers:
            if not (mark := marks[row_number]):
                counting.append(row_number)
            elif mark != GONE:
                raise self._damaged_marks(f"the mark of a row is {mark}")
        return counting

    def mark(self, numbers: Sequence[int]) -> None:
        """Let rows count no more. The caller has the locks of their keys."""
        if not os.path.lexists(self._marks_path):
            files.create_whole(self._marks_path, bytes(self.rows))
        fd = os.open(self._marks_path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        with open(fd, "r+b", buffering=0) as file:
            if file.seek(0, os.SEEK_END) != self.rows:
                raise self._damaged_marks("it has not one byte for each row")
            if isinstance(numbers, range):
                file.seek(numbers.start)
                file.write(bytes((GONE,)) * len(numbers))
            else:
                for number in numbers:
                    file.seek(number)
                    file.write(bytes((GONE,)))
            os.utime(self._marks_path)
            sync(file.fileno())
        sync_path(os.path.dirname(self._marks_path))

    def block_of(self, position: int) -> int:
        """The number of the block in which a content begins."""
        return bisect_left(range(self.blocks), position + 1, key=lambda number: self.block(number)[0]) - 1

    def block(self, number: int) -> tuple[int, int]:
        """(where its content begins, where it begins in the file); one behind the last for the ends."""
        start, offset = BLOCK.unpack_from(self._data, self._blocks_at + number * BLOCK.size)
        return start, offset

    def stored_block(self, number: int) -> bytes:
        """The zlib stream of a block."""
        return self._data[self.block(number)[1] : self.block(number + 1)[1]]

    def content(self, position: int, length: int) -> bytes:
        """FormatError where it is damaged."""
        number, span = self._last
        if position not in span:
            number = self.block_of(position)
            if not 0 <= number < self.blocks:
                raise self.damage("a row lies outside of it")
            span = range(self.block(number)[0], self.block(number + 1)[0])
            self._last = number, span
        content = self._block_content(number)[position - span.start : position - span.start + length]
        if len(content) != length:
            raise self.damage("a row lies outside of its block")
        return content

    def verify(self) -> None:
        """FormatError unless every bit is as it was written, and each row is marked as gone or not."""
        import hashlib

        # Tags tell damage and protect nothing; OpenSSL in FIPS mode forbids SHA-1 that is used for security.
        digest = hashlib.sha1(usedforsecurity=False)
        end = len(self._data) - _ID_BYTES
        for start in range(0, end, 1 << 20):
            digest.update(self._data[start : min(end, start + (1 << 20))])
        if digest.digest() != self.digest or self.name != self.digest.hex():
            raise self.damage("its checksum is another one")
        if wrong := set(bytes(self.marks())) - {0, GONE}:
            raise self._damaged_marks(f"the mark of a row is {min(wrong)}")

    def damage(self, what: str) -> FormatError:
        return FormatError(f"{printable(self.path)} is damaged: {what}", hint=_REPAIR)

    def _damaged_marks(self, what: str) -> FormatError:
        return FormatError(f"{printable(self._marks_path)} is damaged: {what}", hint="bring the file back from a copy")

    def forget_marks(self) -> None:
        self._marks = None

    def _inflated(self, stream: bytes, length: int) -> bytes:
        """FormatError unless the stream has so many bytes of content."""
        inflater = zlib.decompressobj()
        try:
            content = inflater.decompress(stream, length + 1)
        except zlib.error as error:
            raise self.damage(str(error)) from error
        if len(content) != length or not inflater.eof:
            raise self.damage("a stream is cut short or holds more than it says")
        return content

    def _block_content(self, number: int) -> bytes:
        kept = self._kept.get(number)
        if kept is not None:
            return kept
        (start, offset), (end, offset_end) = self.block(number), self.block(number + 1)
        if not HEADER.size <= offset <= offset_end <= self._fan_out_at or not 0 <= end - start <= files.LIMIT:
            raise self.damage("its table of blocks contradicts itself")
        content = self._inflated(self._data[offset:offset_end], end - start)
        self._kept_bytes += len(content)
        while self._kept and self._kept_bytes > _KEPT_BYTES:
            self._kept_bytes -= len(self._kept.pop(next(iter(self._kept))))
        self._kept[number] = content
        return content


class Packs:
    """The packs of a place, as they are now. Reading takes no lock and writes nothing."""

    def __init__(self, root: str) -> None:
        self.root = os.path.join(root, PACKS)
        self._packs: dict[str, dict[str, Pack]] = {}
        self._seen: dict[str, tuple[int, int, int]] = {}

    def spaces(self) -> list[str]:
        """The first folders of keys that have packs."""
        try:
            return sorted(os.listdir(self.root))
        except files.MISSING:
            return []

    def folder(self, space: str) -> str:
        return os.path.join(self.root, space)

    def of(self, space: str) -> list[Pack]:
        """The packs of a space."""
        folder = self.folder(space)
        try:
            status = os.stat(folder)
        except files.MISSING:
            self._packs.pop(space, None)
            return []
        seen = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        if self._seen.get(space) != seen:
            self._open(space, folder)
            if time.time_ns() - status.st_mtime_ns > _SETTLED_NS:
                self._seen[space] = seen
        return list(self._packs.get(space, {}).values())

    def find(self, key: str) -> PackedRow | None:
        """The row of a key that counts."""
        return self.find_many((key,)).get(key)

    def find_many(self, keys: Iterable[str]) -> dict[str, PackedRow]:
        """The rows that count, of those keys that have one."""
        keys_of: dict[str, dict[bytes, str]] = {}
        for key in keys:
            if parts := split(key):
                keys_of.setdefault(parts[0], {})[parts[1]] = key
        rows: dict[str, PackedRow] = {}
        for space, wanted in keys_of.items():
            for _ in range(_TRIES):
                packs = self.of(space)
                moved: dict[bytes, str] = {}
                for pack in packs:
                    ids = {at: id for id in wanted if (at := pack.number(id)) is not None}
                    rows |= {wanted[ids[at]]: pack.row(at) for at in pack.counting(ids)}
                    moved |= {id: wanted[id] for id in ids.values() if wanted[id] not in rows}
                wanted = {id: key for id, key in moved.items() if key not in rows}
                if not wanted or self.of(space) == packs:  # or else they may have gone to a new pack meanwhile
                    break
        return rows

    def all_of(self, key: str) -> list[PackedRow]:
        """Every row of a key that counts, also where a file of its own hides them."""
        parts = split(key)
        rows = (pack.find(parts[1]) for pack in self.of(parts[0])) if parts else ()
        return [row for row in rows if row is not None and not row.is_gone]

    def names(self, start: str) -> Mapping[str, PackedRow | None]:
        """The names directly in a folder of keys that come from packs: rows, and None for folders."""
        if not start:
            return dict.fromkeys(self.spaces())
        space, _, rest = start.partition("/")
        if not rest:
            packs = self.of(space)
            return {f"{first:02x}": None for first in range(256) if any(pack.range(first) for pack in packs)}
        if not re.fullmatch("[0-9a-f]{2}/", rest):
            return {}
        for _ in range(_TRIES):
            packs = self.of(space)
            names = {
                pack.id(number).hex()[2:]: pack.row(number)
                for pack in packs
                for number in pack.counting(pack.range(int(rest[:2], 16)))
            }
            if self.of(space) == packs:
                break
        return names

    def orphans(self) -> list[str]:
        """The paths of marks whose packs are no more, and of files that a killed process left unfinished."""
        leftovers = []
        for space in self.spaces():
            folder = self.folder(space)
            names = set(os.listdir(folder))
            marks = (name for name in sorted(names) if name.endswith(MARKS))
            orphans = [name for name in marks if name.removesuffix(MARKS) + PACK not in names]
            leftovers += [os.path.join(folder, name) for name in (*orphans, *filter(files.is_temporary, names))]
        return leftovers

    def stamp(self, space: str) -> str | None:
        """Another one whenever a row begins or ends to count; None where that cannot be told."""
        parts = []
        try:
            with os.scandir(self.folder(space)) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    status = entry.stat(follow_symlinks=False)
                    if time.time_ns() - status.st_mtime_ns <= _SETTLED_NS:
                        return None
                    parts.append(f"{entry.name}.{status.st_mtime_ns:x}.{status.st_ctime_ns:x}")
        except files.MISSING:
            return ""
        return str(zlib.crc32(" ".join(parts).encode()))

    def damaged(self, space: str) -> list[str]:
        """What is wrong with each pack that is not as it was written."""
        faults = []
        try:
            names = sorted(os.listdir(self.folder(space)))
        except files.MISSING:
            return []
        for name in names:
            if name.endswith(PACK):
                try:
                    Pack(self.folder(space), name.removesuffix(PACK)).verify()
                except FormatError as error:
                    faults.append(f"{error.message}; {error.hint}")
                except FileNotFoundError:  # its rows went to a new one meanwhile
                    continue
        return faults

    def _open(self, space: str, folder: str) -> None:
        """Open those that are new, close those that are gone."""
        try:
            files.check_folder(self.root)
            files.check_folder(folder)
            names = {name.removesuffix(PACK) for name in os.listdir(folder) if name.endswith(PACK)}
        except files.MISSING:
            names = set()
        known = self._packs.get(space, {})
        packs = {}
        for name in sorted(names):
            try:
                packs[name] = known.get(name) or Pack(folder, name)
            except FileNotFoundError:  # its rows went to a new one meanwhile
                continue
            packs[name].forget_marks()
        self._packs[space] = packs


def sha1(data: bytes) -> bytes:
    """What objects and packs end with."""
    import hashlib

    # It tells damage and protects nothing; OpenSSL in FIPS mode forbids SHA-1 that is used for security.
    return hashlib.sha1(data, usedforsecurity=False).digest()


def _mapped(path: str) -> mmap.mmap | bytes:
    """The bytes of a regular file, read when they are looked at."""
    fd = files.open_to_read(path)
    try:
        status = os.fstat(fd)
        files.check_regular(status, path)
        if os.name == "nt" or not status.st_size:  # Windows removes no file that is mapped
            with open(fd, "rb", closefd=False) as file:
                return file.read()
        return mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(fd)
