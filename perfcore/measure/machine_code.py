"""What the bytes of machine code tell: the names it knows, and whether it lists folders or starts other programs.

Names that a program makes of others are known by their patterns, where these stand in its bytes: `%s.conf`, `*.txt`.
"""

from __future__ import annotations

import fnmatch
import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import NamedTuple

import attrs

SOURCE = re.compile(
    r"\.(c|h|cc|hh|cpp|hpp|cxx|hxx|c\+\+|h\+\+|inl|ipp|tcc|tpp|ixx|cppm|cu|cuh|m|mm|rs|go|swift|zig|nim|cr|d|"
    r"f|for|f77|f90|f95|f03|f08|adb|ads|pas|hs|lhs|ml|mli|asm|s|y|yy|l|ll)",
    re.IGNORECASE,
)
WORD = re.compile(rb"[\w.+~@-]{2,255}")
_PATH = re.compile(rb"[\w.+~@/-]{2,}")
_SOURCE_PATH = re.compile(rb".*" + SOURCE.pattern.encode(), re.IGNORECASE)
_SYSTEM = tuple(b"/%b/" % name for name in b"usr lib lib32 lib64 etc proc dev sys bin sbin var opt run".split())
_STARTS = re.compile(
    rb"system|popen|IO_proc_open|exec(l|le|lp|v|ve|vp|vpe|veat)|fexecve|posix_spawnp?|spawni|v?fork|Fork|forkpty|clone3?|"
    rb"wordexp|g_spawn_.*|g_subprocess_.*|uv_spawn|apr_proc_create|git_.*|.*QProcess.*"
)
_STARTS_BARE = re.compile(
    rb"/bin/sh\0|forkAndExec|os/exec\."
    rb"|\xb8\x3b\0\0\0\x0f\x05"  # execve of x86-64
    rb"|\xa8\x1b\x80\xd2\x01\0\0\xd4"  # execve of 64-bit ARM
)
_LISTS = re.compile(rb"(fd)?opendir(64)?|scandir(at)?(64)?|n?ftw(64)?|fts(64)?_open|.*directory_iterator.*|g_dir_open")
_LOADS = re.compile(rb"dlm?open|lt_dlopen.*|g_module_open.*")
_HISTORY = re.compile(rb"(?<![\w.-])\.(git|hg|svn|bzr|jj)(?![\w.-])")
_PATTERN = re.compile(rb"[\w./+~@%*?\[\]-]{2,255}")
_CONVERSION = re.compile(r"%[-+#0-9.*]*(hh?|ll?|[jztL])?[sdiouxXc]")
_SUFFIX = re.compile(rb"\0(\.[\w+]{1,6})(?=\0)")
_LITERAL = 3
_MOST_PATTERNS = 500
_SYMBOLS, _NO_BITS, _IMPORTS = 2, 8, 11  # kinds of sections
_LOADED, _EXECUTED = 2, 4  # their flags


class Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    start: int
    length: int
    link: int

    @property
    def end(self) -> int:
        return self.start + self.length


@attrs.frozen(kw_only=True)
class Known:
    """What programs and libraries together tell. `words` are names that stand in their bytes, without those of sources,
    which compilers leave there, and of the system; `patterns` match names that are made of others."""

    words: frozenset[bytes]
    data: tuple[bytes, ...]
    patterns: re.Pattern[str]
    starts: bool
    lists: bool
    loads: bool

    def names(self, path: PurePath) -> bool:
        """Whether a file, or a folder that it is in, may be meant. `path` is relative to the tree."""
        return bool(self.patterns.fullmatch(path.name)) or any(self.has(part) for part in path.parts)

    def has(self, name: str) -> bool:
        text = name.encode(errors="surrogateescape")
        return text in self.words if WORD.fullmatch(text) else any(text in data for data in self.data)


def read(codes: Iterable[bytes]) -> Known:
    """What is known of a program and of the libraries that it may use."""
    data, words, patterns = [], set[bytes](), set[str]()
    starts = lists = loads = False
    for code in codes:
        found = sections(code)
        loaded = without(code, (part for part in found if not part.flags & _LOADED))
        names = _used(code, found)
        starts |= any(map(_STARTS.fullmatch, names)) or bool(_HISTORY.search(loaded))
        starts |= not _imports(code, found) and bool(_STARTS_BARE.search(code))
        lists |= any(map(_LISTS.fullmatch, names)) and bool(_imports(code, found))
        loads |= any(map(_LOADS.fullmatch, names))
        data.append(loaded)
        for path in set(_PATH.findall(loaded)):
            if not path.startswith(_SYSTEM) and not _SOURCE_PATH.fullmatch(path):
                words.update(path.split(b"/"))
        patterns.update(_patterns(without(loaded, (part for part in found if part.flags & _EXECUTED))))
    many = len(patterns) > _MOST_PATTERNS
    matching = ".*" if many else "|".join(map(fnmatch.translate, sorted(patterns))) or "(?!)"
    return Known(
        words=frozenset(words),
        data=tuple(data),
        patterns=re.compile(matching, re.DOTALL),
        starts=starts,
        lists=lists,
        loads=loads,
    )


def sections(data: bytes) -> list[Section]:
    """Those of a little-endian ELF file of 64 bits; none of others, and of damaged ones."""
    try:
        if data[4:6] != b"\2\1":
            return []
        table, size, count = *struct.unpack_from("<Q", data, 0x28), *struct.unpack_from("<2H", data, 0x3A)
        found = [struct.unpack_from("<IIQQQQI", data, table + i * size) for i in range(count)]
    except (struct.error, OverflowError):
        return []
    return [Section(*one) for one in found]


def without(data: bytes, parts: Iterable[Section]) -> bytes:
    """The data with zeros for some sections."""
    bare = bytearray(data)
    for part in parts:
        if part.kind != _NO_BITS:
            start, end = min(len(data), part.start), min(len(data), part.end)
            bare[start:end] = bytes(end - start)
    return bytes(bare)


def debugging(data: bytes) -> Iterator[Section]:
    """The sections that only debuggers read."""
    found = sections(data)
    place = int.from_bytes(data[0x3E:0x40], "little")
    for part in found:
        name = found[place].start + part.name if place < len(found) else len(data)
        if part.flags & _LOADED == 0 and data.startswith(b".debug_", min(len(data), name)):
            yield part


def _used(data: bytes, found: list[Section]) -> set[bytes]:
    """The functions of elsewhere that a program calls; any word where it does not say."""
    imports = _imports(data, found)
    names = imports or set(_symbols(data, found, _SYMBOLS, undefined=False)) or set(WORD.findall(data))
    return {name.split(b"@")[0].lstrip(b"_").removeprefix(b"libc_") for name in names}


def _imports(data: bytes, found: list[Section]) -> set[bytes]:
    """What a program takes from libraries; nothing where it is linked with all that it needs."""
    return set(_symbols(data, found, _IMPORTS, undefined=True))


def _symbols(data: bytes, found: list[Section], kind: int, *, undefined: bool) -> Iterator[bytes]:
    for part in found:
        if part.kind != kind or part.link >= len(found):
            continue
        texts = found[part.link]
        strings = data[texts.start : texts.end]
        table = data[part.start : part.end]
        for name, _, _, place, _, _ in struct.iter_unpack("<IBBHQQ", table[: len(table) // 24 * 24]):
            if name and not (undefined and place):
                yield strings[name : strings.find(b"\0", name)]


def _patterns(data: bytes) -> Iterator[str]:
    """Of the names that a program makes of others, or looks for."""
    for token in _PATTERN.findall(data):
        if not any(sign in token for sign in b"%*?"):
            continue
        pattern = _CONVERSION.sub("*", token.decode(errors="surrogateescape").rsplit("/", 1)[-1])
        literal = re.sub(r"\W|_", "", pattern)
        if ("*" in pattern or "?" in pattern) and (len(literal) >= _LITERAL or ("." in pattern and literal)):
            yield pattern
    for suffix in _SUFFIX.findall(data):
        yield f"*{suffix.decode(errors='surrogateescape')}"
