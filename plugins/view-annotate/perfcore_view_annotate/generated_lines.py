"""Lines of generated code that say of which file they are (`#line 200 "page.tt"`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perfcore_fleet_kit.dynamic_code import NAMED, LineRange, line_ranges

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


def logical_lines(text: str, file: str) -> dict[int, str]:
    """The lines of a logical file that a text has, by their numbers there."""
    lines = text.split("\n")
    numbered: dict[int, str] = {}
    for each in line_ranges(text):
        if each.file == file:
            for at in range(each.start, min(each.end, len(lines) + 1)):
                numbered.setdefault(each.line + at - each.start, lines[at - 1])
    return numbered
