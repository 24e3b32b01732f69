"""Which versions are measured together, where they are too many for one session.

A machine is not quite the same in two sessions. Were each session a stretch of the history, what the machine did
between two of them would look like a change of the code. So the sessions take turns along the history: it is cut into
short pieces, and a session measures pieces from all along it. Two pieces share the version at which they meet. It is
measured in both sessions, which says how they differ, and every version is measured in turn with the one before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

_PIECES = 8  # of a session, at least as many as make a session meet others often
_SHORTEST = 4  # versions of a piece beside the shared one
_ALONG = 64  # pieces that a session's are spread over, so that a very long history is finished bit by bit


def planned(count: int, most: int) -> list[tuple[int, ...]]:
    """The places of `count` versions that each session measures, `most` at most and in order. Every place is in one
    session or, where pieces meet, in two; the last place, that of the newest version, is in the first session."""
    if count <= most:
        return [tuple(range(count))]
    length = max(_SHORTEST, most // _PIECES)
    pieces = [range(start, min(start + length + 1, count)) for start in range(0, count - 1, length)]
    sessions = math.ceil(len(pieces) / max(1, most // (length + 1)))
    return [
        _in_order({place for number in some for place in pieces[number]}, count)
        for some in _turns(len(pieces), sessions)
    ]


def _turns(pieces: int, sessions: int) -> list[Sequence[int]]:
    """The pieces of each session. Where they are very many, a session's are spread over some of them only."""
    if pieces <= _ALONG:
        return [range(number, pieces, sessions) for number in range(sessions)]
    order = sorted(range(pieces), key=lambda number: number / _ALONG + _backwards(number))
    bounds = [round(number * pieces / sessions) for number in range(sessions + 1)]
    return [order[start:end] for start, end in pairwise(bounds)]


def _backwards(number: int) -> float:
    """The dual digits of a number backwards, behind the point (J. G. van der Corput, 1935): of neighbouring numbers
    these are spread evenly from 0 to 1."""
    turn, digit = 0.0, 0.5
    while number:
        turn += digit * (number & 1)
        number, digit = number >> 1, digit / 2
    return turn


def _in_order(places: set[int], count: int) -> tuple[int, ...]:
    """Counted from the other end, so that the newest version comes first."""
    return tuple(sorted(count - 1 - place for place in places))
