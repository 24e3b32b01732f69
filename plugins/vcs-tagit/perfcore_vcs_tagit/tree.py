"""Folders as objects: what is in one, what differs between two, and what is at a path.

A tree's content is, for each of its entries, sorted by name: mode in octal digits, blank, name, NUL, id (20 bytes).
A mode is 40000 for a folder, 120000 for a symbolic link (its blob is where it points to), and 100000 and the nine
bits of the permissions for a file. A folder may be empty.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import attrs

from perfcore.errors import FormatError
from perfcore.named_tuple import NamedTuple
from perfcore.text import printable
from perfcore_vcs_tagit.objects import Objects, Sink, identify

FOLDER, LINK, FILE = stat.S_IFDIR, stat.S_IFLNK, stat.S_IFREG
# All nine bits, where git keeps the executable one alone: vendor drops and build folders have others.
PERMISSIONS = 0o777
EMPTY = identify("tree", b"")
_ENTRY = re.compile(rb"([1-7][0-7]{4,5}) ([^\0/]+)\0(.{20})", re.DOTALL)


class Entry(NamedTuple):
    """One name in a folder. A tuple, since there may be very many."""

    name: bytes
    mode: int
    id: str

    @property
    def is_folder(self) -> bool:
        return self.mode == FOLDER

    @property
    def is_link(self) -> bool:
        return self.mode == LINK


@attrs.frozen
class Change:
    """A path at which two trees differ. Folders are among them only where they are empty."""

    path: bytes
    old: Entry | None
    new: Entry | None

    @property
    def letter(self) -> str:
        """A(dded), D(eleted), T(ype changed) or M(odified)."""
        if self.old is None or self.new is None:
            return "A" if self.old is None else "D"
        return "M" if stat.S_IFMT(self.old.mode) == stat.S_IFMT(self.new.mode) else "T"

    @property
    def shown(self) -> str:
        """The path for people."""
        entry = self.new or self.old
        slash = "/" if entry is not None and entry.is_folder else ""
        return as_text(self.path) + slash


Get = Callable[[str], Sequence[Entry]]


def as_text(path: bytes) -> str:
    """A path for people: bytes that are no UTF-8, and all that could move a cursor, as escapes."""
    return printable(path.decode("utf-8", "backslashreplace"))


def encode(entries: Sequence[Entry]) -> bytes:
    """The content of a tree."""
    ordered = sorted(entries, key=lambda entry: entry.name)
    return b"".join(b"%o %s\0%s" % (entry.mode, entry.name, bytes.fromhex(entry.id)) for entry in ordered)


def decode(content: bytes, id: str = "") -> tuple[Entry, ...]:
    """The entries of a tree. FormatError where they are not such as `encode` writes."""
    entries, at, last = [], 0, b""
    while at < len(content):
        match = _ENTRY.match(content, at)
        if match is None:
            raise FormatError(f"the tree {id} is damaged")
        mode, name = int(match[1], 8), match[2]
        # In order and each once, so that equal folders have one id; `.` and `..` would be written outside of the tree.
        if name in (b".", b"..") or name <= last or not _is_mode(mode):
            raise FormatError(f"the tree {id} has an entry that cannot be: {as_text(name)}")
        entries.append(Entry(name, mode, match[3].hex()))
        at, last = match.end(), name
    return tuple(entries)


def reader(objects: Objects, more: Mapping[str, Sequence[Entry]] | None = None) -> Get:
    """Gives the entries of trees, also of those in memory."""

    def get(id: str) -> Sequence[Entry]:
        if id == EMPTY:
            return ()
        if more is not None and id in more:
            return more[id]
        return decode(objects.read(id, "tree"), id)

    return get


def walk(get: Get, tree: str) -> Iterator[tuple[bytes, Entry]]:
    """Everything in a tree, each folder before what is in it."""
    waiting = [(b"", tree)]
    while waiting:
        prefix, id = waiting.pop()
        for entry in get(id):
            path = prefix + entry.name
            yield path, entry
            if entry.is_folder:
                waiting.append((path + b"/", entry.id))


def compare(get: Get, old: str, new: str) -> list[Change]:
    """What differs, sorted by path. Only folders that differ are looked into."""
    changes: list[Change] = []
    waiting = [(b"", old, new)] if old != new else []
    while waiting:
        prefix, before, after = waiting.pop()
        olds, news = ({entry.name: entry for entry in get(id)} for id in (before, after))
        for name in olds.keys() | news.keys():
            a, b = olds.get(name), news.get(name)
            if a == b:
                continue
            a_id, b_id = (entry.id if entry is not None and entry.is_folder else EMPTY for entry in (a, b))
            if a_id != b_id:
                waiting.append((prefix + name + b"/", a_id, b_id))
            a, b = (None if entry is not None and entry.is_folder and not _counts(entry, opposite) else entry
                    for entry, opposite in ((a, b), (b, a)))  # fmt: skip
            if a is not None or b is not None:
                changes.append(Change(prefix + name, a, b))
    return sorted(changes, key=lambda change: change.path)


class Lookup:
    """What a tree has at a path. Folders are read once."""

    def __init__(self, get: Get, tree: str) -> None:
        self._get = get
        self._trees: dict[bytes, dict[bytes, Entry]] = {b"": {entry.name: entry for entry in get(tree)}}

    def at(self, path: bytes) -> Entry | None:
        """The entry at a path."""
        folder, slash, name = path.rpartition(b"/")
        return self._in(folder).get(name) if folder or not slash else None

    def _in(self, folder: bytes) -> dict[bytes, Entry]:
        inside, place = self._trees[b""], b""
        for name in folder.split(b"/") if folder else ():
            place = place + b"/" + name if place else name
            folder_entries = self._trees.get(place)
            if folder_entries is None:
                entry = inside.get(name)
                entries = self._get(entry.id) if entry is not None and entry.is_folder else ()
                folder_entries = self._trees[place] = {one.name: one for one in entries}
            inside = folder_entries
        return inside


def build(sink: Sink, files: Mapping[bytes, tuple[int, str]], folders: Iterable[bytes]) -> str:
    """The tree of files and links (mode and id by path) and folders, which may be empty."""
    inside: dict[bytes, list[Entry]] = {b"": []}
    waiting = [*files, *folders]
    while waiting:
        parent = waiting.pop().rpartition(b"/")[0]
        if parent not in inside:
            inside[parent] = []
            waiting.append(parent)
    for path in folders:
        inside.setdefault(path, [])
    for path, (mode, id) in files.items():
        parent, _, name = path.rpartition(b"/")
        inside[parent].append(Entry(name, mode, id))
    for path in sorted(inside, key=lambda path: path.count(b"/"), reverse=True):
        if path:
            parent, _, name = path.rpartition(b"/")
            inside[parent].append(Entry(name, FOLDER, sink.add("tree", encode(inside[path]))))
    return sink.add("tree", encode(inside[b""]))


def _counts(folder: Entry, other: Entry | None) -> bool:
    """Whether a folder is a change of its own: an empty one that is no folder on the other side."""
    return folder.id == EMPTY and (other is None or not other.is_folder)


def _is_mode(mode: int) -> bool:
    return mode in (FOLDER, LINK) or mode & ~PERMISSIONS == FILE
