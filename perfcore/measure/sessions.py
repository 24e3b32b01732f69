"""Which versions are measured together if they are too many for one session.

A machine is not quite the same in two sessions. If each measured one stretch of the history, a difference of the
machine between two of them would look like a change of the code. So the history is cut into short segments, and each
session measures segments from all along it. Adjacent segments share one version, which is measured in both sessions: it
shows how these differ, and every version is interleaved with the one before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from itertools import pairwise

DEFAULT_VERSIONS = 16  # of a session where the size of their trees is not known: these stand on the disk together
_SEGMENTS = 8  # of a session: it then shares versions with up to 16 segments of others, enough to estimate its offset
_SHORTEST = 4  # versions of a segment beside the shared one: with fewer, over a quarter would be measured twice
_SPREAD = 64  # segments that a session is spread over, so that a very long history is finished part by part
_MANY = 8  # missing versions for which others are measured again: for fewer it would take half of the time or more
REPEATED = 2  # times that a version is measured again: the newer ones may be such as cannot be built, each time
_SHARED = 3  # of fewer shared versions, how two sessions differ follows the noise of one


def shared(versions: Sequence[str | None], missing: Set[str | None]) -> Set[str | None]:
    """The measured versions before the last stretch of missing ones, which a session of many measures again with these.
    What cannot be measured, such as versions from before a benchmark, has none before it."""
    last = max((place for place, version in enumerate(versions) if version in missing), default=-1)
    first = next((place for place in range(last, 0, -1) if versions[place - 1] not in missing), 0)
    return set(versions[max(0, first - _SHARED) : first] if last + 1 - first >= _MANY else ()) - missing


def planned(count: int, limit: int) -> list[tuple[int, ...]]:
    """The positions of `count` versions that each session measures, at most `limit`, in order. Every version is in one
    session or, where segments meet, in two; the newest version, at the last position, is in the first session."""
    if count <= limit:
        return [tuple(range(count))]
    # Each segment has one version more than its length: the first one of the next segment, where both meet.
    length = max(_SHORTEST, limit // _SEGMENTS)
    segments = [range(start, min(start + length + 1, count)) for start in range(0, count - 1, length)]
    sessions = math.ceil(len(segments) / max(1, limit // (length + 1)))  # shared versions are measured in both
    # Counted from the other end, so that the newest version is in the first session.
    return [
        tuple(sorted({count - 1 - position for index in indices for position in segments[index]}))
        for indices in _turns(len(segments), sessions)
    ]


def _turns(segments: int, sessions: int) -> list[Sequence[int]]:
    """The segments of each session. If they are very many, those of a session are spread over a part of them only."""
    if segments <= _SPREAD:
        return [range(first, segments, sessions) for first in range(sessions)]
    # Segment i comes at i / 64 and an even part of 1: those of a session lie within some 64 segments, spread over them.
    order = sorted(range(segments), key=lambda index: index / _SPREAD + _van_der_corput(index))
    bounds = [round(session * segments / sessions) for session in range(sessions + 1)]
    return [order[start:end] for start, end in pairwise(bounds)]


def _van_der_corput(index: int) -> float:
    """The binary digits of an index reversed behind the point (J. G. van der Corput, 1935): the values of neighbouring
    indices are spread evenly from 0 to 1."""
    reversed_index, digit = 0.0, 0.5
    while index:
        reversed_index += digit * (index & 1)
        index, digit = index >> 1, digit / 2
    return reversed_index
