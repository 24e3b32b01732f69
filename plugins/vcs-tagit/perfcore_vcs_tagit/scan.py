"""A working tree as it is now: which trees and blobs it would be. Files that did not change are not read."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

import attrs

from perfcore.errors import VersionError
from perfcore_vcs_tagit.cache import Cache, Seen, see
from perfcore_vcs_tagit.failures import told
from perfcore_vcs_tagit.ignore import OURS
from perfcore_vcs_tagit.objects import CHUNK, Sink
from perfcore_vcs_tagit.tree import FILE, FOLDER, LINK, PERMISSIONS, Entry, as_text, encode

_OPEN = os.O_RDONLY
for _flag in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"):
    _OPEN |= getattr(os, _flag, 0)
# A file that is written once while it is read is whole the second time; one that always grows, as a log, never is.
_TRIES = 3
# Most files are smaller: read in one call, and compressed in one where they are new.
_SMALL = 1 << 16


@attrs.frozen
class Rules:
    """What counts. `known` gives what the current version has at a path; `tracked` says that a path counts though
    it is ignored; `has` says whether an object that the cache tells of is there."""

    ignored: Callable[[bytes, bool], bool]
    known: Callable[[bytes], Entry | None] = lambda path: None
    tracked: Callable[[bytes], bool] = lambda path: False
    has: Callable[[str], bool] = lambda id: True


@attrs.frozen
class Scan:
    """A working tree. `left_out` are the paths of what can be no part of a version: sockets, pipes, devices.
    `begun` is when the look began, by the clock of the file system; 0 where nothing is to be remembered."""

    tree: str
    trees: Mapping[str, tuple[Entry, ...]]
    files: Mapping[bytes, Seen]
    left_out: tuple[bytes, ...]
    begun: int = 0


def scan(root: Path, rules: Rules, cache: Cache, sink: Sink) -> Scan:
    """Look at all that counts below a root. What was not known goes to the sink."""
    with told("look at the working tree"):
        return _Scanner(os.fsencode(root), rules, cache, sink).run()


class _Scanner:
    """One look. Folders are entered from the root down, and become trees from the leaves up."""

    def __init__(self, root: bytes, rules: Rules, cache: Cache, sink: Sink) -> None:
        self._root, self._rules, self._cache, self._sink = root, rules, cache, sink
        self._trees: dict[str, tuple[Entry, ...]] = {}
        self._files: dict[bytes, Seen] = {}
        self._left_out: list[bytes] = []

    def run(self) -> Scan:
        folders = self._folders()
        inside: dict[bytes, list[Entry]] = {}
        while folders:
            path, entries, empty = folders.pop()
            entries += inside.pop(path, [])
            if path == b"" or entries or empty or self._is_known_folder(path):
                parent, _, name = path.rpartition(b"/")
                inside.setdefault(parent if path else b"/", []).append(Entry(name, FOLDER, self._tree(entries)))
        return Scan(inside[b"/"][0].id, self._trees, self._files, tuple(self._left_out))

    def _folders(self) -> list[tuple[bytes, list[Entry], bool]]:
        """(path, entries but folders, whether there is nothing at all) of each, every one before its subfolders."""
        folders = []
        waiting = [b""]
        while waiting:
            path = waiting.pop()
            entries, names = [], 0
            for item, status in self._names(path):
                names += 1
                inside = path + b"/" + item.name if path else item.name
                folder = stat.S_ISDIR(status.st_mode)
                if item.name in OURS or self._is_ignored(inside, folder):
                    continue
                if folder:
                    waiting.append(inside)
                elif (entry := self._entry(item.name, inside, status)) is not None:
                    entries.append(entry)
            folders.append((path, entries, names == 0))
        return folders

    def _names(self, path: bytes) -> Iterator[tuple[os.DirEntry[bytes], os.stat_result]]:
        try:
            with os.scandir(self._root + b"/" + path if path else self._root) as items:
                for item in items:
                    try:
                        # Windows does not say everything when it lists a folder.
                        yield item, os.lstat(item.path) if sys.platform == "win32" else item.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
        except FileNotFoundError:
            if not path:
                raise

    def _is_ignored(self, path: bytes, folder: bool) -> bool:
        return self._rules.ignored(path, folder) and not self._rules.tracked(path)

    def _is_known_folder(self, path: bytes) -> bool:
        """Whether a folder that holds only what does not count is in the version: then it is an empty one."""
        entry = self._rules.known(path)
        return entry is not None and entry.is_folder

    def _tree(self, entries: list[Entry]) -> str:
        id = self._sink.add("tree", encode(entries))
        self._trees[id] = tuple(entries)
        return id

    def _entry(self, name: bytes, path: bytes, status: os.stat_result) -> Entry | None:
        try:
            if stat.S_ISLNK(status.st_mode):
                return Entry(name, LINK, self._sink.add("blob", os.readlink(self._root + b"/" + path)))
            if stat.S_ISREG(status.st_mode):
                return Entry(name, self._mode(path, status), self._file(path, status))
        except FileNotFoundError:
            return None
        self._left_out.append(path)
        return None

    def _mode(self, path: bytes, status: os.stat_result) -> int:
        if sys.platform != "win32":
            return FILE | status.st_mode & PERMISSIONS
        entry = self._rules.known(path)
        return entry.mode if entry is not None and entry.mode & FILE == FILE else FILE | 0o644

    def _file(self, path: bytes, status: os.stat_result) -> str:
        record = self._cache.of(path, status)
        if record is None or not self._rules.has(record[4].hex()):
            id, status = self._read(path)
            record = see(status, id)
        self._files[path] = record
        return record[4].hex()

    def _read(self, path: bytes) -> tuple[str, os.stat_result]:
        for _ in range(_TRIES):
            with open(os.open(self._root + b"/" + path, _OPEN), "rb", buffering=0) as file:
                before = os.fstat(file.fileno())
                if not stat.S_ISREG(before.st_mode):
                    break
                id = _hash(file, before.st_size, self._sink)
                after = os.fstat(file.fileno())
            if id is not None and see(before, id) == see(after, id):
                return id, after
        raise VersionError(
            f"{as_text(path)} changes while it is read", hint="try again when nothing writes to it, or ignore it"
        )


def _hash(file: IO[bytes], size: int, sink: Sink) -> str | None:
    if size > _SMALL:
        return sink.add_stream(size, iter(lambda: file.read(CHUNK), b""))
    data = file.read(size + 1)
    return sink.add("blob", data) if len(data) == size else None
