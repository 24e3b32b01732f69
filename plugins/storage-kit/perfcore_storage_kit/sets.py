"""Sets: records by name that refer to objects and are kept for their own sake, such as the receipts of a fleet.

Stores are joined by the union of their sets; of two records of one name, the higher rank counts (`docs/formats.md`). A
plugin of the kind `set` declares one by its name: `declared` are those whose records are copied. Whoever removes
garbage goes through all that a store may have (`held`): the plugin may be installed elsewhere only.
"""

from __future__ import annotations

import contextlib
import re
import struct
from typing import TYPE_CHECKING, Protocol

from perfcore.digests import sha1
from perfcore.errors import FormatError, KeyExistsError
from perfcore.hookspecs import SET
from perfcore.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from perfcore.plugins import Plugins
    from perfcore.store.store import Store

MARKS = "sets/"
"""`sets/NAME` is there for each set that a store got records of by a transfer."""
_UNMARKED = ("receipts",)  # stores that were written before there were marks may have these
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_RESERVED = ("cache", "jobs", "locks", "logs", "objects", "packs", "redacted", "retention", "sets", "tmp")  # in .perf
_HEAD = struct.Struct("<4sIQ20sI")
_BEGINNING = (b"pset", 1)  # and the version of the format; a newer one is refused


class Record(NamedTuple):
    """`of` is the SHA-1 of its source: records of one name, rank and `of` say the same. `ids` are all objects that it
    refers to. The payload is the business of the plugin that wrote it."""

    rank: int
    of: str
    ids: tuple[str, ...]
    payload: bytes


def encode(record: Record) -> bytes:
    ids = sorted(set(record.ids))
    data = (
        _HEAD.pack(*_BEGINNING, record.rank, bytes.fromhex(record.of), len(ids))
        + bytes.fromhex("".join(ids))
        + record.payload
    )
    return data + sha1(data).digest()


def decode(data: bytes, where: str) -> Record:
    """FormatError when a bit is off."""
    content, checksum = data[:-20], data[-20:]
    if len(content) < _HEAD.size or sha1(content).digest() != checksum:
        raise FormatError(f"{where} is damaged: its checksum does not fit")
    magic, version, rank, of, count = _HEAD.unpack_from(content)
    end = _HEAD.size + 20 * count
    if (magic, version) != _BEGINNING or end > len(content):
        raise FormatError(f"{where} is a record of version {version}", hint="upgrade perfcore")
    ids = content[_HEAD.size : end].hex(" ", 20).split()
    return Record(rank, of.hex(), tuple(ids), content[end:])


class Rules(Protocol):
    """What the rules of a push make of texts and objects. `omit` are names of facts and labels that are left out."""

    @property
    def omit(self) -> frozenset[str]: ...

    def text(self, text: str) -> str: ...

    def profile(self, id: str) -> tuple[str, tuple[str, ...]]:
        """(id, ids of the pieces of its tables) of the profile after redaction."""

    def code(self, id: str) -> str:
        """The id of a text of dynamic code after redaction."""


def declared(plugins: Plugins) -> tuple[str, ...]:
    """The names of the sets that plugins declare. No plugin is imported."""
    names = []
    for info in plugins.infos(SET.name):
        if is_set(info.name):
            names.append(info.name)
        else:
            plugins.warn(f"{info} is left out: no set can have this name")
    return tuple(dict.fromkeys(names))


def is_set(name: str) -> bool:
    """Whether a name can be that of a set: a word in lower case that the store does not use itself."""
    return _NAME.fullmatch(name) is not None and name not in _RESERVED


def held(store: Store, names: Iterable[str]) -> tuple[str, ...]:
    """The names of all sets that a store may have records of: those that are declared, and those of its marks."""
    return tuple(dict.fromkeys((*names, *_UNMARKED, *marked(store))))


def marked(store: Store) -> Iterator[str]:
    """The names of the sets that a store has a mark of."""
    return filter(is_set, (row.key.removeprefix(MARKS) for row in store.storage.list(MARKS)))


def mark(store: Store, names: Iterable[str]) -> None:
    """Let a store say of which of these sets it has records, for those who do not have the plugin."""
    for name in set(names).difference(marked(store)):
        if any(True for _ in store.storage.list(space(name))):
            with contextlib.suppress(KeyExistsError):
                store.storage.create(*marking(name))


def marking(name: str) -> tuple[str, bytes]:
    """The (key, bytes) that mark a set."""
    return f"{MARKS}{name}", b"1\n"


def space(name: str) -> str:
    """What the keys of a set begin with."""
    return f"{name}/"
