"""Files written where people see them: a version elsewhere, or a working tree put at another one."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import attrs

from perfcore import files
from perfcore.errors import VersionError
from perfcore.text import plural
from perfcore_vcs_tagit.cache import Seen, see
from perfcore_vcs_tagit.failures import shown, told
from perfcore_vcs_tagit.ignore import OURS
from perfcore_vcs_tagit.objects import Objects
from perfcore_vcs_tagit.tree import FOLDER, PERMISSIONS, Change, Entry, Get, Lookup, as_text, walk

# O_EXCL and O_NOFOLLOW: nothing is ever written through a link that somebody put in the way.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
for _flag in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW"):
    _NEW |= getattr(os, _flag, 0)
_LISTED = 5
# Characters that Windows allows in no name; it also drops dots and blanks at the end of one.
_WINDOWS = frozenset('\\:*?"<>|')


def export(objects: Objects, get: Get, tree: str, directory: Path) -> None:
    """All of a tree in a folder that is empty or not there yet. Modes are those that were saved."""
    with told("fill the folder"):
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise VersionError(f"{shown(directory)} is not empty", hint="choose an empty folder")
    fill(objects, get, tree, directory)


def fill(objects: Objects, get: Get, tree: str, directory: Path) -> None:
    """All of a tree in a folder that has nothing of it."""
    target = os.fsencode(directory)
    with told("fill the folder"):
        for path, entry in walk(get, tree):
            _write(objects, target, path, entry)


@attrs.frozen
class Move:
    """Takes a working tree from what it is to another tree. `look` makes sure that nothing stands in the way;
    `go` may then be killed and done again from where it came."""

    root: Path
    objects: Objects
    get: Get
    changes: Sequence[Change]
    target: str

    def look(self) -> None:
        """VersionError where something that does not count would be overwritten."""
        gone = {change.path for change in self.changes if change.old is not None}
        added = [change for change in self.changes if change.new is not None and not _is_file(change.old)]
        with told("look at what is in the way"):
            blocking = sorted({path for change in added for path in _in_the_way(self._place, change, gone)})
        if blocking:
            listed = ", ".join(as_text(path) for path in blocking[:_LISTED])
            ending = f" and {len(blocking) - _LISTED} more" if len(blocking) > _LISTED else ""
            raise VersionError(
                f"{plural(len(blocking), 'ignored path')} would be overwritten: {listed}{ending}",
                hint="move them away",
            )

    def go(self) -> dict[bytes, Seen]:
        """Do it; gives what the written files are."""
        with told("write the working tree"):
            # Backwards in the order of paths: what is in a folder goes before the folder.
            for change in reversed(self.changes):
                if change.old is not None:
                    _remove(os.path.join(self._place, change.path))
            self._remove_folders()
            written = {}
            for change in self.changes:
                if change.new is not None:
                    _make_folders(self._place, change.path)
                    record = _write(self.objects, self._place, change.path, change.new)
                    if record is not None:
                        written[change.path] = record
        return written

    def _remove_folders(self) -> None:
        """Take away the folders that the target has not, as far as they are empty."""
        lookup = Lookup(self.get, self.target)
        candidates = {above for change in self.changes if change.old is not None for above in _above(change.path)}
        for path in sorted(candidates, key=len, reverse=True):
            entry = lookup.at(path)
            if entry is None or not entry.is_folder:
                _remove_if_empty(os.path.join(self._place, path))

    @property
    def _place(self) -> bytes:
        return os.fsencode(self.root)


def sync(root: Path, paths: Iterable[bytes]) -> None:
    """Wait until files are on the disk."""
    root_bytes = os.fsencode(root)
    with told("write the working tree"):
        for path in paths:
            files.sync_path(os.fsdecode(os.path.join(root_bytes, path)))


def remove(directory: Path, last: str) -> None:
    """Take away a folder with all that is in it, one name at its top after all others."""
    for folder, _, _ in os.walk(directory):
        if sys.platform == "win32" or not os.access(folder, os.W_OK | os.X_OK):
            os.chmod(folder, stat.S_IRWXU)
    for path in sorted(directory.iterdir(), key=lambda path: path.name == last):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    directory.rmdir()


def _write(objects: Objects, place: bytes, path: bytes, entry: Entry) -> Seen | None:
    _refuse_name(path)
    target = os.path.join(place, path)
    if entry.mode == FOLDER:
        if not os.path.isdir(target) or os.path.islink(target):
            os.mkdir(target)
        return None
    if entry.is_link:
        _link(objects.read(entry.id, "blob"), target)
        return None
    fd = os.open(target, _NEW, 0o600)
    try:
        with open(fd, "wb", buffering=0, closefd=False) as file:
            for chunk in objects.stream(entry.id):
                view = memoryview(chunk)
                while view:
                    view = view[file.write(view) :]
        if sys.platform != "win32":
            # After it was written: the file is made readable by its owner alone, whatever its mode will be.
            os.fchmod(fd, entry.mode & PERMISSIONS)
        return see(os.fstat(fd), entry.id)
    except BaseException:
        os.unlink(target)
        raise
    finally:
        os.close(fd)


def _link(to: bytes, target: bytes) -> None:
    try:
        os.symlink(to, target)
    except NotImplementedError as error:
        raise VersionError(f"{as_text(target)} is a symbolic link, which this system cannot make") from error


def _refuse_name(path: bytes) -> None:
    # macOS and Windows ignore case: `.PERF` would be written over `.perf`.
    names = path if sys.platform == "linux" else path.lower()
    if not OURS.isdisjoint(names.split(b"/")):
        raise VersionError(f"{as_text(path)} cannot be part of a version")
    if sys.platform == "win32" and (_WINDOWS & set(path.decode("utf-8", "replace")) or path[-1:] in (b".", b" ")):
        raise VersionError(f"{as_text(path)} is a name that Windows cannot have")


def _make_folders(place: bytes, path: bytes) -> None:
    for above in _above(path):
        try:
            os.mkdir(os.path.join(place, above))
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(os.path.join(place, above)).st_mode):
                raise


def _above(path: bytes) -> Iterator[bytes]:
    """The folders that a path is in, the outermost first."""
    at = path.find(b"/")
    while at >= 0:
        yield path[:at]
        at = path.find(b"/", at + 1)


def _remove(target: bytes) -> None:
    try:
        if sys.platform == "win32" and os.path.isfile(target) and not os.path.islink(target):
            os.chmod(target, stat.S_IWRITE)  # or a file that is only to be read could not be removed
        os.unlink(target)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        if not os.path.isdir(target) or os.path.islink(target):
            raise
        _remove_if_empty(target)


def _remove_if_empty(target: bytes) -> None:
    try:
        os.rmdir(target)
    except FileNotFoundError:
        return
    except OSError:
        if not os.listdir(target):
            raise


def _is_file(entry: Entry | None) -> bool:
    return entry is not None and not entry.is_folder


def _in_the_way(place: bytes, change: Change, gone: Collection[bytes]) -> Iterator[bytes]:
    """What stands where something is to be written, and is not about to go."""
    for above in _above(change.path):
        kind = _kind(os.path.join(place, above))
        if kind is None:
            return
        if kind != stat.S_IFDIR:
            if above not in gone:
                yield above
            return
    target = os.path.join(place, change.path)
    kind = _kind(target)
    if kind != stat.S_IFDIR:
        if kind is not None and change.path not in gone:
            yield change.path
        return
    if change.new is not None and change.new.is_folder:
        return
    for folder, names, file_names in os.walk(target):
        links = [name for name in names if os.path.islink(os.path.join(folder, name))]
        for name in (*file_names, *links):
            inside = os.path.relpath(os.path.join(folder, name), place).replace(os.fsencode(os.sep), b"/")
            if inside not in gone:
                yield inside


def _kind(path: bytes) -> int | None:
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except FileNotFoundError:
        return None
