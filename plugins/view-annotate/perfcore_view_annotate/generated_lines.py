"""Lines of generated code that say of which file they are (`#line 200 "page.tt"`)."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence

from perfcore_fleet_kit.dynamic_code import NAMED, LineRange, line_ranges

from perfcore_view_annotate.profile_tree import Frame

TextOf = Callable[[str], str | None]
"""The text of a file of generated code, if it is stored."""


def ranges_of(files: Sequence[str], text: TextOf) -> dict[str, list[LineRange]]:
    """The ranges of those files of generated code that have some."""
    ranges = {}
    for file in dict.fromkeys(files):
        source = text(file) if file.startswith(NAMED) else None
        if source is not None and (of_file := [each for each in line_ranges(source) if each.end > each.start]):
            ranges[file] = of_file
    return ranges


def range_at(ranges: Sequence[LineRange], line: int) -> LineRange | None:
    """The range that holds a line; its end is no line of it."""
    at = bisect.bisect_right(ranges, line, key=lambda each: each.start) - 1
    return ranges[at] if at >= 0 and line < ranges[at].end else None


def placed(frame: Frame, ranges: Mapping[str, Sequence[LineRange]]) -> Frame:
    """The frame at the file and line that the text says it is of."""
    name, file, line, first = frame
    if line is None or file not in ranges:
        return frame
    inside = range_at(ranges[file], line)
    if inside is None:
        return frame
    return name, inside.file or file, line - inside.start + inside.line, first


def logical_lines(text: str, file: str) -> dict[int, str]:
    """The lines of a logical file that a text has, by their numbers there."""
    lines = text.split("\n")
    numbered: dict[int, str] = {}
    for each in line_ranges(text):
        if each.file == file:
            for at in range(each.start, min(each.end, len(lines) + 1)):
                numbered.setdefault(each.line + at - each.start, lines[at - 1])
    return numbered
