"""Whether two jobs would run the same: a fingerprint of everything that decides what a job does.

A program is known by its machine code only where it stands in the measured tree. What it reads is not known, so every
file of the tree is an input, but for sources and build files, whose effect is in the program, what a build leaves, and
pages for people; and these only if neither the command line nor the program's own bytes seem to mean them. A program
that starts others may read them too, and ask the history. Everything that is interpreted, and every program from
elsewhere (a compiler, `make`, a shell), may read any file: there the whole tree counts. When in doubt two fingerprints
differ, or there is none: a needless measurement costs a minute, a missing one the truth.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import IO

import attrs

from perfcore.errors import PerfError
from perfcore.measure import machine_code
from perfcore.measure.machine_code import Known
from perfcore.model import Job
from perfcore.programs import command

VERSION = 2
MOST_FILES, MOST_BYTES = 50_000, 1_000_000_000
MOST_CODE = 100_000_000
_ELF = b"\x7fELF"
_NOT_MEASURED = frozenset((".git", ".hg", ".svn", ".bzr", ".jj", ".perf", ".tagit"))
_ASK_THE_HISTORY = frozenset(("git", "hg", "svn", "bzr", "jj", "fossil", "cvs", "perf", "perfcore"))
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
_SHARED = re.compile(r"\.(so|dylib)(\.|$)")
_BUILDING = re.compile(
    r"(gnu)?makefile(\.(am|in))?|.*\.(mk|cmake|m4|bzl|ninja|vcxproj|sln)|cmakelists\.txt|cmakecache\.txt|"
    r"meson\.build|meson_options\.txt|meson\.options|configure(\.ac)?|config\.(log|status|cache)|cargo\.(toml|lock)|"
    r"go\.(mod|sum)|(build|workspace|module)\.bazel|scons(truct|cript)|compile_commands\.json|"
    r"vcpkg\.json|\.ninja_(log|deps)|\.cargo-lock|\.rustc_info\.json|"
    r".*\.(o|lo|la|a|gcno|rlib|rmeta|gch|pch|cmi|cmo|cmx|cmxa)",
    re.IGNORECASE,
)
_BUILT = frozenset(("CMakeFiles", ".deps", ".fingerprint", "incremental"))
_PAGE = re.compile(
    r"(readme|licen[cs]e|copying|copyright|notice|authors|contributors|contributing|changelog|changes|news|maintainers|"
    r"security|code_of_conduct|codeowners)([-.].*)?",
    re.IGNORECASE,
)
_PAGE_OF_ROOT = re.compile(r"[A-Z][A-Z0-9_-]*\.(md|rst|adoc)")
_PAGE_OF_FOLDER = re.compile(r".*\.(md|markdown|rst|adoc|tex|html|svg|png|jpe?g|gif|[1-8])", re.IGNORECASE)
_PAGES = frozenset(("doc", "docs", "documentation", "man", "changelog.d", "newsfragments"))
_HOUSEKEEPING = re.compile(
    r"\.(gitignore|gitattributes|gitmodules|mailmap|editorconfig|clang-format|clang-tidy|clangd|pre-commit-config\.yaml|"
    r"gitlab-ci\.yml|travis\.yml|cirrus\.yml)"
)
_HOUSES = frozenset((".github", ".gitlab", ".circleci", ".vscode", ".idea"))
_INPUTS = re.compile(
    r"(test|bench)?[-_]?(data|inputs?|fixtures?|corp(us|ora)|samples?|resources?|assets?)", re.IGNORECASE
)


class _UnknownError(Exception):
    """What the job does cannot be known."""


def fingerprint(job: Job, tree: Path) -> str | None:
    """The same text for two jobs only if a run of one does what a run of the other does; None where nobody can know.

    `job.cwd` is a folder of `tree`, whose path does not count. Options that the configuration has for the collector
    have to be in the job: some of them name inputs.
    """
    try:
        command.check(job)
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
        program = Path(os.fsdecode(command.spec(job).path))
        words = [*job.argv[1:], *job.env.values(), *_texts(job.collector.params.values())]
        self._add(f"{VERSION}", str(place.relative_to(self.root)), str(job.shell), job.collector.name)
        self._add(*(text for name in sorted(job.env) for text in (name, job.env[name])))
        self._add(*_texts([dict(sorted(job.collector.params.items()))]))
        self._add(*job.argv[1:])
        if job.shell or not self._is_of_tree(program) or self._interprets(program, words, place):
            self._whole(job, program)
        else:
            self._machine_code(job, program, words, place)
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

    def _machine_code(self, job: Job, called: Path, words: list[str], place: Path) -> None:
        """A program of the tree, with the libraries of the tree and every file that may be an input."""
        program = called.resolve(strict=True)
        data, files = self._bytes(program), sorted(_walk(self.root))
        libraries = [path for path in files if _SHARED.search(path.name) and path.is_file() and path != program]
        if len(data) + sum(path.stat().st_size for path in libraries) > MOST_CODE:
            raise _UnknownError  # to look through it would take longer than to run it
        known = machine_code.read([_bare(data, self.prefix), *map(self._bytes, libraries)])
        if known.starts:
            self._add("starts others", str(job.version), str(job.dirty), str(called), str(program))
            self._files(files)
            return
        self._add("machine code", *(os.path.relpath(path.parent, self.root) for path in (called.absolute(), program)))
        self._add(hashlib.sha256(_bare(data, self.prefix)).hexdigest())
        named = set(self._named(words, place)) - {program}
        asked = _Asked(self.root, known, named, frozenset(_parts(words)))
        files = [path for path in files if path != program and asked.counts(path)]
        names = {path.name for path in (called, program)}
        if any(known.has(name) or _is_beside(files, name) for name in names):  # it may look at its own name
            self._add(called.name, program.name)
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
        for part in _parts(words):
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


@attrs.frozen
class _Asked:
    """What a program may read: files that are `named` by its words, that these match, or that its code seems to mean;
    and all others that are not surely of no influence."""

    root: Path
    known: Known
    named: set[Path]
    parts: frozenset[str]

    def counts(self, path: Path) -> bool:
        below = path.relative_to(self.root)
        return (
            not self._is_innocent(path, below)
            or self.known.lists
            or path in self.named
            or (bool(self.named) and not self.named.isdisjoint(path.parents))
            or any(_INPUTS.fullmatch(folder) for folder in below.parts[:-1])
            or any(_matches(part, below) for part in self.parts)
            or self.known.names(below)
        )

    def _is_innocent(self, path: Path, below: PurePath) -> bool:
        name, folders = below.name, below.parts[:-1]
        if path.is_symlink() or _SHARED.search(name):
            return False
        return (
            bool(machine_code.SOURCE.fullmatch(below.suffix) or _BUILDING.fullmatch(name))
            or bool(_PAGE.fullmatch(name) or _HOUSEKEEPING.fullmatch(name))
            or bool(not folders and _PAGE_OF_ROOT.fullmatch(name))
            or bool(not _PAGES.isdisjoint(folders) and _PAGE_OF_FOLDER.fullmatch(name))
            or not (_BUILT | _HOUSES).isdisjoint(folders)
            or (not self.known.loads and path.is_file() and _starts_with(path, _ELF))
        )


def _matches(part: str, below: PurePath) -> bool:
    """Whether a word may be a pattern of a file, or its name without the ending."""
    if any(sign in part for sign in "*?["):
        return any(fnmatch.fnmatchcase(text, part.removeprefix("./")) for text in (below.name, str(below)))
    return PurePath(part).name in (below.name, below.stem)


def _is_beside(files: Iterable[Path], name: str) -> bool:
    """Whether there is a file that a program of this name may find by it: `program.conf`."""
    return any(path.name.startswith(name) for path in files)


def _parts(words: Iterable[str]) -> Iterator[str]:
    """The names that words may hold: `data`, `--input=data`, `-Idata`, `one:two`."""
    for word in words:
        yield from {word, *re.split(r"[=,:;\s]", word), *([word[2:]] if word.startswith("-") else [])} - {""}


def _bare(data: bytes, prefix: bytes) -> bytes:
    """Machine code with zeros for what depends on the folder of the build and decides nothing: the number that a
    linker gives every build, and what debuggers read."""
    bare = bytearray(data)
    debugging = ((min(len(data), part.start), min(len(data), part.end)) for part in machine_code.debugging(data))
    for start, end in (*_build_ids(data), *debugging):
        bare[start:end] = bytes(end - start)
    return bytes(bare).replace(prefix, b"/")


def _build_ids(data: bytes) -> Iterator[tuple[int, int]]:
    for match in re.finditer(rb"\x04\0\0\0(.)\0\0\0\x03\0\0\0GNU\0", data[: 1 << 16], re.DOTALL):
        yield match.end(), min(len(data), match.end() + match[1][0])
