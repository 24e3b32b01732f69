"""What holds for every decoder, and what the targets have in common.

Whatever the bytes are, a decoder gives a value or raises a PerfError, within bounded time and memory; and what was
decoded is the same after it was encoded and decoded again, where there is an encoder. A target that returns kept it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from perfcore_command_exchange import native

from perfcore.errors import PerfError
from perfcore.model import Profile
from perfcore.profile import codec, stacks
from perfcore.profile.table import Table

Target = Callable[[bytes], None]
TARGETS: dict[str, Target] = {}

_IN_MEMORY = "/dev/shm"
_LARGEST = 1 << 16


def target(function: Target) -> Target:
    TARGETS[function.__name__.replace("_", "-")] = function
    return function


def decoded(decode: Callable[[], Any]) -> Any:
    """What a decoder gives; None where it refused."""
    try:
        return decode()
    except PerfError:
        return None


@functools.cache
def _made() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(dir=_IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None)


def folder() -> Path:
    """A folder for decoders that read files, in memory where the system has one; removed with the process."""
    return Path(_made().name)


def written(data: bytes, name: str = "file") -> Path:
    path = folder() / name
    path.write_bytes(data)
    return path


def summed(data: bytes) -> bytes:
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


def verified(data: bytes, get: codec.GetPiece) -> Profile:
    found = codec.decode(data, get, where="fuzz")
    codec.verify(found)
    return found


def assert_kept(found: Profile) -> None:
    """A profile is the same after it was written and read: inline, in pieces, and as a file."""
    if sum(item.rows * len(item.columns) for item in found.tables.values()) > _LARGEST:
        return
    kept: dict[str, bytes] = {}

    def put(name: str, piece: bytes) -> str:
        id = hashlib.sha1(piece, usedforsecurity=False).hexdigest()
        kept[id] = piece
        return id

    whole, _ = codec.encode(found, put)
    parted, _ = codec.encode(found, put, inline=0, sealed=True)
    for data in (whole, parted):
        _assert_same(found, verified(data, kept.__getitem__))
    path = folder() / "kept.perf"
    native.PerfFormat().write(found, path)
    _assert_same(found, native.PerfFormat().read(path))


def _assert_same(one: Profile, other: Profile) -> None:
    for name in Profile.__struct_fields__:
        if name != "tables":
            mine, same = getattr(one, name), getattr(other, name)
            assert mine == same, (name, mine, same)
    assert set(one.tables) == set(other.tables)
    shared = stacks.has_stacks(one.tables)
    for name in one.tables:
        if not (shared and (name in stacks.NAMES or stacks.referring(one.tables[name]))):
            assert one.tables[name] == other.tables[name], (name, *_cells(one.tables[name], other.tables[name]))


def _cells(*tables: Table) -> Iterator[Mapping[str, Any]]:
    return ({item.name: list(item) for item in one.columns} for one in tables)
