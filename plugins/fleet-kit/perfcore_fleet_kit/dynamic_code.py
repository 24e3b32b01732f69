"""Code that a program made while it ran: its identity, and the files that its text says it is of."""

from __future__ import annotations

import bisect
import hashlib
import re
from collections.abc import Mapping, Sequence

from perfcore.named_tuple import NamedTuple

_ADDRESS = re.compile(r"\b(GLOB|CODE|REF|HASH|IO|SCALAR|ARRAY)\(0x([0-9a-fA-F]+)\)")
# perlsyn, "Plain Old Comments (Not!)": /^\#\s*line\s+(\d+)\s*(?:\s("?)([^"]+)\g2)?\s*$/
_LINE = re.compile(r'#[ \t]*line[ \t]+([0-9]{1,9})(?:[ \t]+(?:"([^"\n]+)"|([^\s"]+)))?[ \t]*')
_UNKNOWN = re.compile(r"qeval:([^/]+)/\(eval ([0-9]{1,9})\)")
NAMED, UNKNOWN = "eval:", "qeval:"
"""Beginnings of the files of code whose text is known, or not."""
LINES_OF = "#line:"
"""In front of a logical file: the name under which a reader of sources gives a text with lines of it."""


class LineRange(NamedTuple):
    """The lines from `start` up to `end`, without it, of a text are those from `line` on of the logical `file`, or of
    the text itself where it is empty."""

    start: int
    end: int
    file: str
    line: int


def code_id(text: str) -> str:
    """The SHA-1 of a text whose addresses, which differ in each process, are replaced."""
    plain = _ADDRESS.sub(lambda match: f"{match[1]}(0x{'f' * len(match[2])})", text)
    return hashlib.sha1(plain.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def named_file(text: str) -> str:
    """The file of code whose text is known."""
    return f"{NAMED}{code_id(text)}"


def unknown_file(stream: str, number: int) -> str:
    """The file of code whose text may arrive later."""
    return f"{UNKNOWN}{stream}/(eval {number})"


def parse_unknown(file: str) -> tuple[str, int] | None:
    """(stream, number) of such a file."""
    match = _UNKNOWN.fullmatch(file)
    return (match[1], int(match[2])) if match else None


def line_ranges(text: str) -> list[LineRange]:
    """The logical files of a text, in order; lines before the first `#line` are in none of them."""
    lines = text.split("\n")
    starts = [(at, match) for at, line in enumerate(lines, 1) if line[:1] == "#" and (match := _LINE.fullmatch(line))]
    ranges: list[LineRange] = []
    file = ""
    for position, (at, match) in enumerate(starts):
        file = match[2] or match[3] or file
        end = starts[position + 1][0] if position + 1 < len(starts) else len(lines) + 1
        ranges.append(LineRange(at + 1, end, file, int(match[1])))
    return ranges


def range_at(ranges: Sequence[LineRange], line: int) -> LineRange | None:
    """The range that holds a line; its end is no line of it."""
    at = bisect.bisect_right(ranges, line, key=lambda each: each.start) - 1
    return ranges[at] if at >= 0 and line < ranges[at].end else None


def logical_line(ranges: Mapping[str, Sequence[LineRange]], file: str, line: int) -> tuple[str, int]:
    """The file and line that a line of a text says it is of; the line itself where the text says nothing."""
    inside = range_at(ranges[file], line) if file in ranges else None
    return (file, line) if inside is None else (inside.file or file, line - inside.start + inside.line)
