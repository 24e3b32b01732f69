"""Whether two jobs would run the same: a fingerprint of everything that decides what a job does.

A program is known by its machine code only where it stands in the measured tree. What it reads is not known, so
its inputs are taken to be whatever its command line, its variables and its own bytes name. Everything that is
interpreted, and every program from elsewhere (a compiler, `make`, a shell), may read any file: there the whole tree
counts. When in doubt two fingerprints differ, or there is none: a needless measurement costs a minute, a missing one
the truth.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from perfcore.errors import PerfError
from perfcore.model import Job
from perfcore.programs import starting

VERSION = 1
MOST_FILES, MOST_BYTES = 50_000, 1_000_000_000
_ELF = b"\x7fELF"
_NOT_MEASURED = frozenset((".git", ".hg", ".svn", ".bzr", ".jj", ".perf", ".tagit"))
_ASK_THE_HISTORY = frozenset(("git", "hg", "svn", "bzr", "jj", "fossil", "cvs", "perf", "perfcore"))
# Compilers leave the names of sources in programs, which read none of them.
_SOURCE = re.compile(r"\.(c|h|cc|hh|cpp|hpp|cxx|hxx|c\+\+|inl|rs|go|f|for|f77|f90|f95|d|zig|s)", re.IGNORECASE)
_SCRIPT = re.compile(
    r"\.(py|pyc|pyz|sh|bash|zsh|js|mjs|cjs|ts|rb|pl|pm|lua|php|tcl|r|jl|jar|class|wasm|el|scm|rkt|lisp|awk|sed|ps1|erl|"
    r"exs|hs|ml|groovy|sql|mk)",
    re.IGNORECASE,
)
_INTERPRETERS = re.compile(
    r"(python|pypy|perl|ruby|node|deno|bun|lua|php|java|julia|tclsh|guile|rscript|[a-z]*sh|make|gmake|ninja|busybox|"
    r"toybox|env|[a-z]*awk|sed|emacs|wasmtime|qemu|dotnet|mono|beam|erl|escript|octave|sqlite)[\w.-]*",
    re.IGNORECASE,
)
_WORD = re.compile(rb"[\w.+~@-]{2,255}")
_SHARED = re.compile(r"\.(so|dylib)(\.|$)")


class _UnknownError(Exception):
    """What the job does cannot be known."""


def fingerprint(job: Job, tree: Path) -> str | None:
    """The same text for two jobs only if a run of one does what a run of the other does; None where nobody can know.

    `job.cwd` is a folder of `tree`, whose path does not count. Options that the configuration has for the collector
    have to be in the job: some of them name inputs.
    """
    try:
        starting.check(job)
        root, place = tree.resolve(strict=True), job.cwd.resolve(strict=True)
        if not place.is_relative_to(root):
            return None
        return _Fingerprint(root).of(job, place)
    except (_UnknownError, PerfError, OSError, ValueError):
        return None


class _Fingerprint:
    """A hash that grows; every part is written with its length, so that no two lists of parts are alike."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.prefix = os.fsencode(root)
        self.hash = hashlib.sha256()
        self.left = MOST_BYTES

    def of(self, job: Job, place: Path) -> str:
        program = Path(os.fsdecode(starting.spec(job).path))
        words = [*job.argv[1:], *job.env.values(), *_texts(job.collector.params.values())]
        self._add(f"{VERSION}", str(place.relative_to(self.root)), str(job.shell), job.collector.name)
        self._add(*(text for name in sorted(job.env) for text in (name, job.env[name])))
        self._add(*_texts([dict(sorted(job.collector.params.items()))]))
        self._add(*job.argv[1:])
        if job.shell or not self._is_of_tree(program) or self._interprets(program, words, place):
            self._whole(job, program)
        else:
            self._machine_code(program, words, place)
        return self.hash.hexdigest()

    def _is_of_tree(self, program: Path) -> bool:
        real = program.resolve(strict=True)
        return self._is_inside(real) and _starts_with(real, _ELF)

    def _is_inside(self, path: Path) -> bool:
        inside = path.relative_to(self.root).parts if path.is_relative_to(self.root) else ()
        return bool(inside) and inside[0] not in _NOT_MEASURED

    def _interprets(self, program: Path, words: Iterable[str], place: Path) -> bool:
        """Whether the program is likely to be an interpreter: it may read what the script asks it to."""
        return any(_INTERPRETERS.fullmatch(path.name) for path in (program, program.resolve())) or any(
            _SCRIPT.fullmatch(path.suffix) or (path.is_file() and _starts_with(path, b"#!"))
            for path in self._named(words, place)
        )

    def _whole(self, job: Job, program: Path) -> None:
        """Any program, in a tree of which every file counts."""
        if program.name in _ASK_THE_HISTORY:
            raise _UnknownError
        self._add("whole", *job.argv)
        real = program.resolve(strict=True)
        if not self._is_inside(real):
            self._add(str(program), str(real))
            self._content(real)
        self._files(sorted(_walk(self.root)))

    def _machine_code(self, called: Path, words: Iterable[str], place: Path) -> None:
        """A program of the tree, with the libraries of the tree and every file that may be an input."""
        program = called.resolve(strict=True)
        data = self._bytes(program)
        self._add("machine code", *(os.path.relpath(path.parent, self.root) for path in (called.absolute(), program)))
        self._add(hashlib.sha256(_bare(data, self.prefix)).hexdigest())
        mentioned = set(_WORD.findall(data))
        names = {os.fsencode(path.name) for path in (called, program)}
        if any(name in mentioned or not _WORD.fullmatch(name) for name in names):  # it may look at its own name
            self._add(called.name, program.name)
        named = set(self._named(words, place)) - {program}
        files = [
            path
            for path in sorted(_walk(self.root))
            if path != program
            and (
                _SHARED.search(path.name)
                or path in named
                or not named.isdisjoint(path.parents)
                or _is_mentioned(path.relative_to(self.root), mentioned, data)
            )
        ]
        if any(path.is_symlink() and path.is_dir() for path in files):
            raise _UnknownError
        self._files(files)
        for path in sorted(named):
            self._outside(path)

    def _bytes(self, path: Path) -> bytes:
        self.left -= path.stat().st_size
        if self.left < 0:
            raise _UnknownError
        return path.read_bytes()

    def _outside(self, path: Path) -> None:
        """An input that is not of the tree: the same file for all, unless it is changed meanwhile."""
        if not path.is_relative_to(self.root):
            status = path.stat()
            self._add(str(path), str(status.st_size), str(status.st_mtime_ns), str(status.st_ino))

    def _named(self, words: Iterable[str], place: Path) -> Iterator[Path]:
        """What is there under the names that the words may hold: `data`, `--input=data`, `-Idata`, `one:two`."""
        for word in words:
            parts = {word, *re.split(r"[=,:;\s]", word), *([word[2:]] if word.startswith("-") else [])}
            for part in parts - {""}:
                if "\0" not in part and len(os.fsencode(part)) < 4096 and os.path.lexists(place / part):
                    yield (place / part).resolve()

    def _files(self, paths: Iterable[Path]) -> None:
        for number, path in enumerate(paths):
            if number >= MOST_FILES:
                raise _UnknownError
            status = path.lstat()
            self._add(str(path.relative_to(self.root)), str(status.st_mode & 0o7111))
            if path.is_symlink():
                self._add("link", os.readlink(path))
                if not path.resolve().is_relative_to(self.root):
                    raise _UnknownError
            if path.is_file():
                self._content(path)
            elif not path.is_dir():
                raise _UnknownError

    def _content(self, path: Path) -> None:
        with path.open("rb") as file:
            self.left -= os.fstat(file.fileno()).st_size
            if self.left < 0:
                raise _UnknownError
            self._add(_digest(file))

    def _add(self, *texts: str) -> None:
        for text in (str(len(texts)), *texts):
            data = os.fsencode(text)
            self.hash.update(b"%d:%b" % (len(data), data))


def _digest(file: IO[bytes]) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def _starts_with(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def _texts(values: Iterable[object]) -> list[str]:
    return [value if isinstance(value, str) else repr(value) for value in values]


def _walk(root: Path) -> Iterator[Path]:
    """Every file and link below a folder, without what version control and perfcore keep there."""

    def fail(error: OSError) -> None:
        raise error

    for folder, folders, files in os.walk(root, onerror=fail):
        here = Path(folder)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = [name for name in folders if name not in _NOT_MEASURED]
        yield from (here / name for name in (*files, *links) if name not in _NOT_MEASURED)


def _is_mentioned(path: Path, mentioned: set[bytes], data: bytes) -> bool:
    """Whether a program has the name of a file, or of a folder that it is in, among its bytes."""
    if _SOURCE.fullmatch(path.suffix):
        return False
    names = [os.fsencode(part) for part in path.parts]
    return any(name in mentioned if _WORD.fullmatch(name) else name in data for name in names)


def _bare(data: bytes, prefix: bytes) -> bytes:
    """Machine code with zeros for what depends on the folder of the build and decides nothing: the number that a
    linker gives every build, and what debuggers read."""
    bare = bytearray(data)
    for start, end in (*_build_ids(data), *_debug_sections(data)):
        bare[start:end] = bytes(end - start)
    return bytes(bare).replace(prefix, b"/")


def _build_ids(data: bytes) -> Iterator[tuple[int, int]]:
    for match in re.finditer(rb"\x04\0\0\0(.)\0\0\0\x03\0\0\0GNU\0", data[: 1 << 16], re.DOTALL):
        yield match.end(), min(len(data), match.end() + match[1][0])


def _debug_sections(data: bytes) -> Iterator[tuple[int, int]]:
    """Where they are in a little-endian ELF file of 64 bits; nowhere in others, and in damaged ones."""
    try:
        if data[4:6] != b"\2\1":
            return
        table, size, count, names = *struct.unpack_from("<Q", data, 0x28), *struct.unpack_from("<3H", data, 0x3A)
        sections = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
        for name, kind, flags, _, start, length in sections:
            if flags & 2 == 0 and kind != 8 and data.startswith(b".debug_", sections[names][4] + name):
                yield min(len(data), start), min(len(data), start + length)
    except (struct.error, IndexError, OverflowError):
        return
