"""Content by its name, kept in packs: one file for all that one save had to add.

    "tagit pack 1" LF
    a zlib stream for each object, one after another
    a record for each object, sorted by id: id (20 bytes), kind (1: 0 blob, 1 tree, 2 version), place of its stream
        in the file, length of its stream, length of its content (8 bytes each)
    number of records (8 bytes), SHA-1 of the records and this number (20 bytes)

Numbers are little endian. The file's name is that SHA-1. An object's id is the SHA-1 of `<kind> <decimal length>`
NUL content, which for a blob is the id that git gives it. A pack never changes.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self

import attrs

from perfcore import files
from perfcore.errors import FormatError, VersionError
from perfcore_vcs_tagit.failures import shown

CHUNK = 1 << 20
HEAD = b"tagit pack 1\n"
KINDS = ("blob", "tree", "version")
# Of zlib: a third of the time of its default level, for a fifth more bytes (31 and 26 % of the sources of perfcore).
_LEVEL = 1
_RECORD = struct.Struct("<20sBQQQ")
_COUNT = struct.Struct("<Q")
_TRAILER = _COUNT.size + 20
# Bytes of an object that is asked for as a whole; larger ones are streamed.
_LARGEST = 1 << 30
_UNFINISHED = "unfinished"


def identify(kind: str, content: bytes) -> str:
    """The id of an object."""
    return str(_hash_of(kind, len(content), content).hexdigest())


class Sink(Protocol):
    """Where content goes that is looked at: into a pack, or nowhere."""

    def add(self, kind: str, content: bytes) -> str:
        """The id of content."""
        ...

    def add_stream(self, size: int, chunks: Iterable[bytes]) -> str | None:
        """The id of a blob that comes in pieces; None where it has not the size that was told."""
        ...


class Nowhere:
    """Says which ids things have, and keeps nothing."""

    def add(self, kind: str, content: bytes) -> str:
        return identify(kind, content)

    def add_stream(self, size: int, chunks: Iterable[bytes]) -> str | None:
        digest, read_size = _hash_of("blob", size), 0
        for chunk in chunks:
            digest.update(chunk)
            read_size += len(chunk)
        return str(digest.hexdigest()) if read_size == size else None


@attrs.frozen
class Pack:
    """A pack and its records."""

    path: Path
    records: bytes

    @property
    def ids(self) -> list[bytes]:
        return [self.records[at : at + 20] for at in range(0, len(self.records), _RECORD.size)]


@attrs.frozen
class Found:
    """Where an object is."""

    id: str
    pack: Path
    kind: str
    place: int
    stored: int
    size: int


class Objects:
    """All objects of a repository, in the packs of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.damaged: list[FormatError] = []
        self._seen: frozenset[str] = frozenset()

    def __contains__(self, id: str) -> bool:
        return bytes.fromhex(id) in self._places

    def packs(self) -> Iterator[Pack]:
        """Every pack whose records can be read; the others are told in `damaged`."""
        self.damaged.clear()
        for path in sorted(self.folder.glob("*.pack")):
            try:
                yield _open(path)
            except FormatError as error:
                self.damaged.append(error)

    def find(self, id: str, kind: str) -> Found:
        """Where an object of a kind is. FormatError where it is not."""
        position = self._places.get(bytes.fromhex(id))
        if position is None and self._names() != self._seen:  # another process wrote one
            self.forget()
            position = self._places.get(bytes.fromhex(id))
        if position is None:
            reason = f" ({self.damaged[0].message})" if self.damaged else ""
            raise FormatError(f"the {kind} {id} is missing{reason}", hint="`tagit fsck` tells what else is")
        pack, index = position
        packed = _found(pack, index)
        if packed.kind != kind:
            raise FormatError(f"{id} is a {packed.kind} where there should be a {kind}")
        return packed

    def stream(self, id: str, kind: str = "blob") -> Iterator[bytes]:
        """An object's content in pieces. FormatError, at the latest after the last one, where it is damaged."""
        return inflated(self.find(id, kind))

    def read(self, id: str, kind: str) -> bytes:
        """An object's content, if it is of a size that can be held."""
        packed = self.find(id, kind)
        if packed.size > _LARGEST:
            raise VersionError(
                f"the {kind} {id} has {packed.size:,} bytes, too many to be held",
                hint="`tagit cat` writes it out",
            )
        return b"".join(inflated(packed))

    def forget(self) -> None:
        """Look at the folder again when something is asked for."""
        self.__dict__.pop("_places", None)

    @functools.cached_property
    def _places(self) -> dict[bytes, tuple[Pack, int]]:
        self._seen = self._names()
        places: dict[bytes, tuple[Pack, int]] = {}
        for pack in self.packs():
            places.update(zip(pack.ids, zip(itertools.repeat(pack), itertools.count()), strict=False))
        return places

    def _names(self) -> frozenset[str]:
        return frozenset(path.name for path in self.folder.glob("*.pack"))


class Writer:
    """New objects, gathered in a file that becomes a pack when it is finished. Only one writes at a time."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._path = objects.folder / _UNFINISHED
        self._records: dict[bytes, bytes] = {}
        self._file: IO[bytes] = open(self._path, "wb", buffering=CHUNK)  # noqa: SIM115
        self._end = self._file.write(HEAD)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)

    def add(self, kind: str, content: bytes) -> str:
        """Keep content, unless it is there already."""
        id = identify(kind, content)
        if not self._has(id):
            self._keep(id, kind, self._write(zlib.compress(content, _LEVEL)), len(content))
        return id

    def add_stream(self, size: int, chunks: Iterable[bytes]) -> str | None:
        """Keep a blob that comes in pieces, unless it is there already."""
        digest, packer, read_size, stored = _hash_of("blob", size), zlib.compressobj(_LEVEL), 0, 0
        begin = self._end
        for chunk in chunks:
            digest.update(chunk)
            read_size += len(chunk)
            stored += self._write(packer.compress(chunk))
        stored += self._write(packer.flush())
        id = str(digest.hexdigest())
        if read_size != size or self._has(id):
            self._go_back(begin)
            return id if read_size == size else None
        self._keep(id, "blob", stored, size)
        return id

    def finish(self) -> Path | None:
        """Make the pack durable; None where there was nothing new."""
        if not self._records:
            return None
        records = b"".join(self._records[id] for id in sorted(self._records))
        tail = records + _COUNT.pack(len(self._records))
        digest = hashlib.sha1(tail, usedforsecurity=False)
        self._file.write(tail + digest.digest())
        self._file.flush()
        files.sync(self._file.fileno())
        self._file.close()
        # Not `write_atomically`, which takes all bytes at once: a pack is written as its objects come.
        path = self._path.with_name(f"{digest.hexdigest()}.pack")
        os.replace(self._path, path)
        files.sync_path(path.parent)
        self._objects.forget()
        return path

    def _has(self, id: str) -> bool:
        return bytes.fromhex(id) in self._records or id in self._objects

    def _write(self, data: bytes) -> int:
        self._file.write(data)
        self._end += len(data)
        return len(data)

    def _go_back(self, place: int) -> None:
        self._file.seek(place)
        self._file.truncate()
        self._end = place

    def _keep(self, id: str, kind: str, stored: int, size: int) -> None:
        name = bytes.fromhex(id)
        self._records[name] = _RECORD.pack(name, KINDS.index(kind), self._end - stored, stored, size)


def remove_unfinished(folder: Path) -> int:
    """Take away what a killed writer left. Called by whoever holds the lock; gives its size."""
    unfinished = folder / _UNFINISHED
    size = unfinished.stat().st_size if unfinished.exists() else 0
    unfinished.unlink(missing_ok=True)
    return size


def contents(pack: Pack) -> Iterator[Found]:
    """Every object of a pack."""
    return (_found(pack, index) for index in range(len(pack.records) // _RECORD.size))


def inflated(found: Found) -> Iterator[bytes]:
    """The content of an object, never more of it than was told."""
    digest, unpacker, inflated_size = _hash_of(found.kind, found.size), zlib.decompressobj(), 0
    try:
        for data in _stored(found):
            # Inflated a chunk at a time, or a few bytes could become gigabytes in memory at once.
            while data:
                piece = unpacker.decompress(data, CHUNK)
                data = unpacker.unconsumed_tail
                inflated_size += len(piece)
                if inflated_size > found.size:
                    raise _damage(found)
                digest.update(piece)
                yield piece
        piece = unpacker.flush()
    except (OSError, zlib.error) as error:
        raise _damage(found) from error
    digest.update(piece)
    if not unpacker.eof or inflated_size + len(piece) != found.size or digest.hexdigest() != found.id:
        raise _damage(found)
    yield piece


def _stored(found: Found) -> Iterator[bytes]:
    with open(found.pack, "rb", buffering=0) as file:
        file.seek(found.place)
        remaining = found.stored
        while remaining and (data := file.read(min(remaining, CHUNK))):
            remaining -= len(data)
            yield data


def _found(pack: Pack, number: int) -> Found:
    id, kind, offset, stored, size = _RECORD.unpack_from(pack.records, number * _RECORD.size)
    name = KINDS[kind] if kind < len(KINDS) else f"thing of kind {kind}"
    return Found(id.hex(), pack.path, name, offset, stored, size)


def _open(path: Path) -> Pack:
    try:
        with open(path, "rb") as file:
            head = file.read(len(HEAD))
            length = file.seek(0, os.SEEK_END)
            file.seek(max(length - _TRAILER, 0))
            trailer = file.read(_TRAILER)
            size = _COUNT.unpack_from(trailer)[0] * _RECORD.size if len(trailer) == _TRAILER else length
            if head.startswith(b"tagit pack ") and head != HEAD and head.endswith(b"\n"):
                raise FormatError(f"{shown(path)} was written by a newer tagit", hint="update perfcore-vcs-tagit")
            if head != HEAD or size + _TRAILER + len(HEAD) > length:
                raise FormatError(f"{shown(path)} is damaged")
            file.seek(length - _TRAILER - size)
            records = file.read(size)
    except OSError as error:
        raise FormatError(f"cannot read {shown(path)}: {error.strerror}") from error
    if hashlib.sha1(records + trailer[: _COUNT.size], usedforsecurity=False).digest() != trailer[_COUNT.size :]:
        raise FormatError(f"{shown(path)} is damaged")
    return Pack(path, records)


def _hash_of(kind: str, size: int, content: bytes = b"") -> Any:
    digest = hashlib.sha1(f"{kind} {size}\0".encode(), usedforsecurity=False)
    digest.update(content)
    return digest


def _damage(found: Found) -> FormatError:
    return FormatError(
        f"the {found.kind} {found.id} in {shown(found.pack)} is damaged", hint="`tagit fsck` tells what else is"
    )
