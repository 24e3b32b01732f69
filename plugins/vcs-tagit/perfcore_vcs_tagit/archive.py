"""Archives as trees. Nothing is ever unpacked: every member is checked, and then read straight into the objects.

Refused, always as a whole: members outside the archive (absolute, `..`), links that lead out of it, devices and
pipes, one name for two kinds of things, what is encrypted or damaged, and more content than the limit.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import attrs

from perfcore.errors import FormatError, NotFoundError
from perfcore_vcs_tagit.failures import shown
from perfcore_vcs_tagit.ignore import OURS
from perfcore_vcs_tagit.objects import CHUNK, Sink
from perfcore_vcs_tagit.tree import FILE, LINK, PERMISSIONS, as_text, build

# Bounds for archives that were made to harm. 8 GiB is more than releases of source code have, and `--limit` allows
# more. 250,000 members are three times those of the Linux kernel's sources; each stays in memory until all are checked.
LIMIT = 8 << 30
_MEMBERS = 250_000
# PATH_MAX and NAME_MAX of Linux (limits.h).
_PATH, _NAME = 4096, 255
# Bytes that tarfile may ask for at once, and for all headers of one member: some megabytes of comments in them would
# keep gigabytes in memory. An honest header has a few kilobytes.
_READ = 16 << 20
_HEADER = 1 << 20
# Of sparse files, which tar lists one by one; tarfile keeps a tuple for each.
_HOLES = 100_000
# What a tar has besides content: 4 KiB of headers and padding for each of the most members.
_OVERHEAD = 1 << 30
_FOLLOWED = 40  # links, as Linux follows (MAXSYMLINKS)
_BLOCK = 512  # bytes of a block of tar (POSIX.1)
# A file that its owner cannot read could not be saved again.
_READABLE = 0o400
# What zipfile and tarfile let out where they are lost, such as an IndexError for a member without a name.
_DAMAGE = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(ValueError, OverflowError, NotImplementedError, RuntimeError, MemoryError),
    *(LookupError, TypeError, AttributeError, struct.error),
)
_SUFFIXES = (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tbz2", ".tbz", ".txz", ".tar", ".zip")
_OPENERS: Mapping[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file, mode="rb"),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
# O_NONBLOCK: opening a pipe would wait for somebody who writes to it.
_OPEN = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


@attrs.frozen
class Member:
    """A file (`data` opens it) or a symbolic link (`data` gives its target) by its path, or a folder."""

    path: bytes
    mode: int
    size: int = 0
    data: Callable[[], IO[bytes]] | None = None


@attrs.frozen
class Opened:
    """An archive whose members were checked. `top` is the folder around everything that was taken off, `left_out`
    what belongs to perfcore or tagit."""

    shown: str
    members: Sequence[Member]
    top: bytes
    left_out: tuple[bytes, ...]

    def store(self, sink: Sink) -> str:
        """The id of the tree, after all of it went to the sink."""
        entries: dict[bytes, tuple[int, str]] = {}
        folders = []
        with _told(self.shown):
            for member in self.members:
                if member.data is None:
                    folders.append(member.path)
                    continue
                with member.data() as file:
                    id = sink.add_stream(member.size, iter(lambda file=file: file.read(CHUNK), b""))  # type: ignore[misc]
                if id is None:
                    raise FormatError(f"{self.shown} is damaged: {as_text(member.path)} does not have its stated size")
                entries[member.path] = (member.mode, id)
            return build(sink, entries, folders)


@contextlib.contextmanager
def opened(path: Path, *, limit: int = LIMIT, keep_top: bool = False) -> Iterator[Opened]:
    """An archive, checked. FormatError says what is wrong with it."""
    name = shown(path)
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open(os.open(path, _OPEN), "rb"))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFoundError(f"{name} is not there") from error
        except OSError as error:
            raise FormatError(f"cannot read {name}: {error.strerror}") from error
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise FormatError(f"{name} is no regular file")
        with _told(name):
            gathered = _Members(name, limit)
            members = _zip(file, gathered, stack) if _is_zip(file) else _tar(file, gathered, stack, limit)
        yield _arranged(name, members, keep_top)


def tag_of(path: Path) -> str:
    """What a version from an archive is called unless the user says it: the file's name without its suffix."""
    name = path.name
    suffix = next((suffix for suffix in _SUFFIXES if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(suffix)]


class _Members:
    """Gathers members, and refuses what must not be one."""

    def __init__(self, shown: str, limit: int) -> None:
        self._shown, self._limit = shown, limit
        self._size = self._count = self._holes = 0
        self.found: dict[bytes, Member] = {}

    def add(self, name: str, mode: int, size: int, data: Callable[[], IO[bytes]] | None) -> None:
        """A member: a later one takes the place of an earlier one of the same kind."""
        self._count += 1
        self._size += size
        if self._count > _MEMBERS:
            raise self.refusal(f"it has more than {_MEMBERS:,} members")
        if self._size > self._limit:
            raise self.refusal(
                f"it would unpack to more than {self._limit:,} bytes", hint="allow more with --limit if it is meant"
            )
        path = self.path(name)
        if path == b"":
            return
        before = self.found.get(path)
        if before is not None and stat.S_IFMT(before.mode) != stat.S_IFMT(mode):
            raise self.refusal(f"{as_text(path)} is there as two kinds of things")
        self.found[path] = Member(path, mode, size, data)

    def refuse_holes(self, holes: int) -> None:
        """Each is kept until the file is read."""
        self._holes += holes
        if self._holes > _HOLES:
            raise self.refusal(f"its files have more than {_HOLES:,} holes")

    def path(self, name: str) -> bytes:
        """Where a member belongs, seen from the root of the archive."""
        raw = name.encode("utf-8", "surrogateescape")
        parts = [component for component in raw.split(b"/") if component not in (b"", b".")]
        # A letter and a colon, and backslashes: absolute on Windows, where the version may be checked out later.
        if raw.startswith((b"/", b"\\")) or raw[1:2] == b":" or b".." in raw.replace(b"\\", b"/").split(b"/"):
            raise self.refusal(f"the member {as_text(raw)[:200]} points outside of it")
        if b"\0" in raw or len(raw) > _PATH or any(len(component) > _NAME for component in parts):
            raise self.refusal(f"the member {as_text(raw)[:200]} has a name that no file can have")
        return b"/".join(parts)

    def refusal(self, reason: str, hint: str | None = None) -> FormatError:
        return FormatError(f"{self._shown} is refused: {reason}", hint=hint)


def _tar(file: IO[bytes], gathered: _Members, stack: contextlib.ExitStack, limit: int) -> Mapping[bytes, Member]:
    inner = _unpacked(file, stack)
    bounded: Any = _Bounded(inner, gathered, limit + _OVERHEAD)
    tar = tarfile.TarFile(fileobj=bounded, mode="r", encoding="utf-8", errors="surrogateescape")
    stack.callback(tar.close)
    while (member := tar.next()) is not None:
        tar.members = []  # type: ignore[attr-defined]  # or it keeps them all
        bounded.next()
        member.pax_headers = {}
        gathered.refuse_holes(len(getattr(member, "sparse", None) or ()))
        _add_tar_member(tar, member, gathered)
    bounded.finish()
    # tarfile ends without a word where it finds something that is no header.
    inner.seek(tar.offset)
    if inner.read(_BLOCK) != bytes(_BLOCK):
        raise tarfile.ReadError("its end is missing")
    while inner.read(CHUNK):  # up to the checksum of what it is packed with
        if inner.tell() > limit + _OVERHEAD:
            raise gathered.refusal("there is too much after its end")
    return gathered.found


def _add_tar_member(tar: tarfile.TarFile, member: tarfile.TarInfo, gathered: _Members) -> None:
    mode = FILE | member.mode & PERMISSIONS | _READABLE
    if member.isdir():
        gathered.add(member.name, stat.S_IFDIR, 0, None)
    elif member.issym():
        if len(member.linkname) > _PATH:
            raise gathered.refusal(f"the link {as_text(os.fsencode(member.name))} is too long")
        target = member.linkname.encode("utf-8", "surrogateescape")
        gathered.add(member.name, LINK, len(target), lambda: _held(target))
    elif member.islnk():
        same = gathered.found.get(gathered.path(member.linkname))
        if same is None or stat.S_ISDIR(same.mode):
            raise gathered.refusal(f"{as_text(os.fsencode(member.name))} is a link to what is not in it")
        gathered.add(member.name, same.mode, same.size, same.data)
    elif member.isfile():
        gathered.add(member.name, mode, member.size, lambda: tar.extractfile(member))  # type: ignore[arg-type,return-value]
    else:
        kind = "a device" if member.isdev() and not member.isfifo() else "a pipe" if member.isfifo() else "no file"
        raise gathered.refusal(f"{as_text(os.fsencode(member.name))} is {kind}")


def _zip(file: IO[bytes], gathered: _Members, stack: contextlib.ExitStack) -> Mapping[bytes, Member]:
    packed = stack.enter_context(zipfile.ZipFile(file))
    for info in packed.infolist():
        # APPNOTE.TXT 4.4.2 and 4.4.15: made on Unix (3), the upper 16 bits are `st_mode`. Bit 0 of the flags (4.4.4)
        # says that it is encrypted.
        kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == 3 else 0
        permissions = info.external_attr >> 16 & PERMISSIONS if info.create_system == 3 else 0
        if info.flag_bits & 1:
            raise gathered.refusal(f"{as_text(os.fsencode(info.filename))} is encrypted")
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
            raise gathered.refusal(f"{as_text(os.fsencode(info.filename))} is a device or a pipe")
        if info.is_dir() or kind == stat.S_IFDIR:
            gathered.add(info.filename, stat.S_IFDIR, 0, None)
        elif kind == stat.S_IFLNK:
            if info.file_size > _PATH:
                raise gathered.refusal(f"the link {as_text(os.fsencode(info.filename))} is too long")
            target = packed.read(info)
            gathered.add(info.filename, LINK, len(target), lambda target=target: _held(target))  # type: ignore[misc]
        else:
            opener: Callable[[], IO[bytes]] = lambda info=info: packed.open(info)  # type: ignore[misc]  # noqa: E731
            gathered.add(info.filename, FILE | (permissions or 0o644) | _READABLE, info.file_size, opener)
    return gathered.found


def _arranged(name: str, members: Mapping[bytes, Member], keep_top: bool) -> Opened:
    """The members without the folder around all of them, and without ours, checked with each other."""
    refusal = _Members(name, 0).refusal
    versioned = {path: member for path, member in members.items() if OURS.isdisjoint(path.split(b"/"))}
    for path in versioned:
        for above in _above(path):
            if above in versioned and not stat.S_ISDIR(versioned[above].mode):
                raise refusal(f"{as_text(above)} is there as two kinds of things")
    tops = {path.split(b"/", 1)[0] for path in versioned}
    top = next(iter(tops)) if len(tops) == 1 and not keep_top else b""
    if top and top in versioned and not stat.S_ISDIR(versioned[top].mode):
        top = b""
    skip = len(top) + 1 if top else 0
    inside = [attrs.evolve(member, path=path[skip:]) for path, member in versioned.items() if path[skip:]]
    targets = {member.path: _target(member) for member in inside if member.mode == LINK}
    for path in targets:
        if _leads_out(path, targets):
            raise refusal(f"the link {as_text(path)} leads out of it or in a circle, to {as_text(targets[path])[:200]}")
    left_out = tuple(sorted(set(members) - set(versioned)))
    return Opened(name, inside, top, left_out)


def _leads_out(link: bytes, targets: Mapping[bytes, bytes]) -> bool:
    """Whether following a link, and those on its way, leaves the root, or does not end."""
    directory: list[bytes] = []
    waiting = link.split(b"/")[::-1]
    followed = 0
    while waiting:
        component = waiting.pop()
        if component == b"..":
            if not directory:
                return True
            directory.pop()
        elif component not in (b"", b"."):
            directory.append(component)
            target = targets.get(b"/".join(directory))
            if target is not None:
                followed += 1
                if followed > _FOLLOWED:
                    return True  # nowhere as it is, but who knows where once a file takes its place
                if target.startswith((b"/", b"\\")) or target[1:2] == b":" or b"\0" in target or not target:
                    return True
                directory.pop()
                waiting += target.split(b"/")[::-1]
    return False


class _Bounded:
    """A file that tarfile may not have read more of, at once or in all, than an honest archive needs."""

    def __init__(self, file: Any, gathered: _Members, limit: int) -> None:
        self._file, self._gathered, self._limit = file, gathered, limit
        self._header = 0
        self._gathering = True

    def next(self) -> None:
        """A header was read."""
        self._header = 0

    def finish(self) -> None:
        """All headers were read: what follows is content."""
        self._gathering = False

    def read(self, size: int = -1) -> bytes:
        self._header += max(size, 0) if self._gathering else 0
        if not 0 <= size <= _READ or self._header > _HEADER:
            raise self._gathered.refusal("it has a header of an absurd size")
        data: bytes = self._file.read(size)
        return data

    def seek(self, place: int, whence: int = 0) -> int:
        if whence != 0 or place > self._limit:
            raise self._gathered.refusal(
                f"it would unpack to more than {self._limit:,} bytes", hint="allow more with --limit if it is meant"
            )
        return int(self._file.seek(place))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._file.close()


def _unpacked(file: IO[bytes], stack: contextlib.ExitStack) -> Any:
    head = _head(file)
    for magic, opener in _OPENERS.items():
        if head.startswith(magic):
            return stack.enter_context(opener(file))
    # The magic of POSIX.1 at offset 257; older tars have none, and tarfile finds out by the checksum of the header.
    if head[257:262] != b"ustar" and len(head) < _BLOCK:
        raise tarfile.ReadError("it is neither a tar nor a zip archive")
    return file


def _is_zip(file: IO[bytes]) -> bool:
    # A local file header, or the end of the directory where there is no file. By its bytes: people rename archives.
    return _head(file).startswith((b"PK\3\4", b"PK\5\6"))


def _head(file: IO[bytes]) -> bytes:
    file.seek(0)
    head = file.read(_BLOCK)
    file.seek(0)
    return head


def _held(data: bytes) -> IO[bytes]:
    import io

    return io.BytesIO(data)


def _target(member: Member) -> bytes:
    assert member.data is not None
    with member.data() as file:
        return file.read()


def _above(path: bytes) -> Iterator[bytes]:
    at = path.find(b"/")
    while at >= 0:
        yield path[:at]
        at = path.find(b"/", at + 1)


@contextlib.contextmanager
def _told(name: str) -> Iterator[None]:
    """What the libraries say of a damaged archive, in one message."""
    try:
        yield
    except _DAMAGE as error:
        # With a number it is the system's, about some other file; but EINVAL is a place before the beginning of this.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        reason = as_text(str(error).encode("utf-8", "surrogateescape"))[:200] or type(error).__name__
        raise FormatError(f"{name} cannot be read as a tar or zip archive: {reason}") from error
