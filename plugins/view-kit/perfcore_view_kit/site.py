"""A folder of pages that is published as a whole.

Pages go to a new folder beside the published one and take its place in one step (`renameat2(2)` with RENAME_EXCHANGE;
where the system lacks it, two renames). A process that is killed at any time leaves the old pages or the new ones.

A page has a fingerprint of all that it shows. One whose fingerprint is that of the published page is not rendered
again. The list of pages is `site.json`; it depends on the pages alone, so the same pages give the same folder, byte by
byte.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from perfcore.errors import StorageError, UsageError
from perfcore.files import default_mode
from perfcore.text import encodable, printable

FORMAT = 1
LIST = "site.json"
_PART = re.compile(r"[a-z0-9_~][a-z0-9_.~-]*")
_NOT_PLAIN = re.compile(r"[^a-z0-9_.-]+")
_LONGEST = 60  # characters of the readable part of a name; file systems take 255 bytes
_LARGEST = 64 << 20  # bytes of a list of pages
_ABANDONED = 86_400  # seconds after which a folder that nobody writes to is that of a killed process
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}


class Published(msgspec.Struct, frozen=True):
    """How many pages were rendered, kept as they were, and removed."""

    rendered: int
    kept: int
    removed: int


class _Page(msgspec.Struct, frozen=True):
    fingerprint: str
    digest: str


_File = tuple[int, int, int, int]


def _file(status: os.stat_result) -> _File:
    """What tells a file from another, or from itself before it was written to."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def page_name(text: str) -> str:
    """A file name without suffix for any text: its readable part, and a hash that makes it unique also where case does
    not count."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    plain = _NOT_PLAIN.sub("-", text.lower())[-_LONGEST:].strip("-._")
    return f"{plain}-{digest}" if plain else digest


def fingerprint(*values: Any) -> str:
    """The hash of values of plain types."""
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).hexdigest()


class Site:
    """Pages on their way into a folder. `kind` is the name of what writes them: a folder of another kind, or with files
    that are not pages, is refused. With `fresh`, every page is rendered."""

    def __init__(self, folder: Path, *, kind: str, fresh: bool = False) -> None:
        self.folder = folder.resolve()
        self._place = str(self.folder)
        self._kind = kind
        self._published = _published(self.folder, kind)
        self._fresh = fresh
        self._pages: dict[str, _Page] = {}
        self._kept: dict[str, _File] = {}
        self._new: Path | None = None
        self._folders = {""}

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        """What was not published is removed."""
        if self._new is not None:
            shutil.rmtree(self._new, ignore_errors=True)
            self._new = None

    def add(self, name: str, fingerprint: str, render: Callable[[], str | bytes]) -> bytes:
        """Add a page under a relative name of lower-case letters, digits, `_`, `.`, `~` and `-`; gives its content.
        ValueError for another name, or one that is taken."""
        if not all(_PART.fullmatch(part) for part in name.split("/")) or name == LIST or name in self._pages:
            raise ValueError(f"{name!r} is no name for another page")
        old = self._published.get(name)
        if old is not None and old.fingerprint == fingerprint and not self._fresh:
            kept = self._read(name, old)
            if kept is not None:
                self._pages[name] = old
                data, self._kept[name] = kept
                return data
        page = render()
        data = page if isinstance(page, bytes) else page.encode("utf-8")
        self._write(name, data)
        self._pages[name] = _Page(fingerprint, hashlib.sha256(data).hexdigest())
        return data

    def __contains__(self, name: str) -> bool:
        """Whether a page of this name was added."""
        return name in self._pages

    def publish(self) -> Published:
        """Put the pages in the place of those that are published. Nothing is touched where they are the same."""
        removed = len(self._published.keys() - self._pages.keys())
        rendered = len(self._pages) - len(self._kept)
        if rendered or removed or not self._published:
            for name, file in sorted(self._kept.items()):
                if self._linked(name, file):
                    continue
                kept = self._read(name, self._pages[name])
                if kept is None:
                    raise StorageError(f"another process changed {printable(str(self.folder))}", hint="try again")
                self._write(name, kept[0])
            self._write(LIST, _encoded(self._kind, self._pages))
            self._take_place()
        return Published(rendered, len(self._kept), removed)

    def _read(self, name: str, page: _Page) -> tuple[bytes, _File] | None:
        """A published page and its file, None where it is no longer what was published."""
        path = f"{self._place}{os.sep}{name}"
        try:
            status = os.lstat(path)
            if not stat.S_ISREG(status.st_mode):
                return None
            with open(path, "rb", buffering=0) as file:
                data = file.readall()
        except OSError:
            return None
        return (data, _file(status)) if hashlib.sha256(data).hexdigest() == page.digest else None

    def _linked(self, name: str, file: _File) -> bool:
        """Whether a page is in the new folder as another name of its file, which takes a third of the time of a copy:
        not where the file is another one by now, or the file system has no such names."""
        path = self._path(name)
        try:
            os.link(f"{self._place}{os.sep}{name}", path, follow_symlinks=False)
        except (OSError, NotImplementedError):
            return False
        try:
            if _file(os.lstat(path)) == file:
                return True
            os.unlink(path)  # or what is written here would be written to the published page
        except OSError as error:
            raise self._unwritable(error) from error
        return False

    def _write(self, name: str, data: bytes) -> None:
        path = self._path(name)
        try:
            with open(path, "wb", buffering=0) as file:
                view = memoryview(data)
                while view:
                    view = view[file.write(view) :]
        except OSError as error:
            raise self._unwritable(error) from error

    def _path(self, name: str) -> str:
        """Where a page is in the new folder. The folders are made."""
        try:
            if self._new is None:
                self.folder.parent.mkdir(parents=True, exist_ok=True)
                _remove_abandoned(self.folder)
                self._new = Path(tempfile.mkdtemp(dir=self.folder.parent, prefix=_prefix(self.folder)))
                self._new.chmod(default_mode(0o777))
            if (folder := name.rpartition("/")[0]) not in self._folders:
                (self._new / folder).mkdir(parents=True, exist_ok=True)
                self._folders.add(folder)
            return f"{self._new}{os.sep}{name}"
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> StorageError:
        return StorageError(f"cannot write {printable(str(self.folder))}: {error.strerror}")

    def _take_place(self) -> None:
        assert self._new is not None
        try:
            if not self.folder.exists():
                self._new.rename(self.folder)
                self._new = None
            elif not _exchanged(self._new, self.folder):
                self._rename_twice(self._new)
        except OSError as error:
            message = f"cannot replace {printable(str(self.folder))}: {error.strerror}"
            raise StorageError(message, hint="choose a folder that is no mount point") from error

    def _rename_twice(self, new: Path) -> None:
        old = Path(tempfile.mkdtemp(dir=self.folder.parent, prefix=_prefix(self.folder)))
        self.folder.rename(old)
        try:
            new.rename(self.folder)
        except BaseException:
            old.rename(self.folder)
            raise
        self._new = old


def _exchanged(new: Path, old: Path) -> bool:
    """Whether the system exchanged two folders in one step."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # a C library before glibc 2.28
        return False
    if renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code))


def _prefix(folder: Path) -> str:
    return f".{folder.name[:100]}.site-"


def _remove_abandoned(folder: Path) -> None:
    for path in folder.parent.glob(f"{_escaped(_prefix(folder))}*"):
        try:
            if time.time() - path.lstat().st_mtime > _ABANDONED:
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            continue


def _escaped(text: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", text)


def _published(folder: Path, kind: str) -> dict[str, _Page]:
    """The pages of a folder. UsageError where it holds anything else."""
    shown = printable(str(folder))
    hint = "choose a new or an empty folder"
    if not folder.exists():
        return {}
    if not folder.is_dir():
        raise UsageError(f"{shown} is no folder", hint=hint)
    files = set(_files(folder))
    if not files:
        return {}
    pages = _pages_of(folder / LIST, kind) if LIST in files else None
    if pages is None:
        raise UsageError(f"{shown} holds other files than {kind} pages", hint=hint)
    strange = sorted(files - set(pages) - {LIST})
    if strange:
        raise UsageError(f"{shown} holds {printable(strange[0])}, which is no page and would be lost", hint=hint)
    return pages


def _files(folder: Path) -> Iterable[str]:
    for path, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(path, name))]
        relative = os.path.relpath(path, folder).replace(os.sep, "/")
        for name in (*names, *links):
            yield encodable(name if relative == "." else f"{relative}/{name}")


def _pages_of(path: Path, kind: str) -> dict[str, _Page] | None:
    """The pages of a list; None for one that is damaged, newer, or of another kind."""
    try:
        if path.lstat().st_size > _LARGEST or not stat.S_ISREG(path.lstat().st_mode):
            return None
        value = json.loads(path.read_bytes())
        if value["format"] != FORMAT or value["kind"] != kind:
            return None
        pages = {str(name): _Page(str(made), str(digest)) for name, (made, digest) in value["pages"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return pages if all(_PART.fullmatch(part) for name in pages for part in name.split("/")) else None


def _encoded(kind: str, pages: Mapping[str, _Page]) -> bytes:
    listed = {name: [page.fingerprint, page.digest] for name, page in sorted(pages.items())}
    return (json.dumps({"format": FORMAT, "kind": kind, "pages": listed}, indent=0) + "\n").encode()
