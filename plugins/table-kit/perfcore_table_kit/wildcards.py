"""Patterns of `like`: `%` is anything, `_` one character, a backslash takes the next character as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perfcore.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Piece(NamedTuple):
    """What stands between two `%`: it matches texts of one length."""

    regex: re.Pattern[str]
    length: int


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a whole text matches the pattern.

    Each piece is taken at the first place where it fits: what a regular expression with `.*` in place of `%`
    finds too, but that tries a number of ways that grows with every `%`.
    """
    first, *others = [_piece(characters) for characters in _split(pattern)]
    if not others:
        return lambda text: first.regex.fullmatch(text) is not None
    # The earliest place for each piece is enough: it leaves the most text for the next.
    *middle, last = others

    def matches(text: str) -> bool:
        match = first.regex.match(text)
        for piece in middle:
            match = match and piece.regex.search(text, match.end())
        start = len(text) - last.length
        return match is not None and match.end() <= start and last.regex.fullmatch(text, start) is not None

    return matches


def _split(pattern: str) -> Iterator[list[str | None]]:
    """The characters of each piece, None for any one."""
    piece: list[str | None] = []
    characters = iter(pattern)
    for c in characters:
        if c == "%":
            yield piece
            piece = []
        elif c == "_":
            piece.append(None)
        else:
            piece.append(next(characters, c) if c == "\\" else c)
    yield piece


def _piece(characters: list[str | None]) -> _Piece:
    source = "".join("." if c is None else re.escape(c) for c in characters)
    return _Piece(re.compile(source, re.DOTALL), len(characters))
