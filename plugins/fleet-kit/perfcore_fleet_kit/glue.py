"""Labels of the parts of a stream: sections that go on over several segments are put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from perfcore.hookspecs import Part, Section

Labels = tuple[tuple[str, str], ...]


@attrs.frozen
class Piece:
    """What glue has to know of a segment."""

    number: int
    parts: Sequence[Part]
    ended: Sequence[Section] = ()
    opened: Sequence[Section] = ()
    loose: Labels = ()


@attrs.define
class _Section:
    name: str
    labels: dict[str, str]


def glue(pieces: Sequence[Piece]) -> dict[int, tuple[list[Labels], Labels]]:
    """(labels of each part, labels of the whole segment) by the number of the segment. `pieces` are segments of one
    stream. A segment that is missing ends what goes on; what a later one says of it counts then."""
    inherited: list[_Section] = []
    previous = 0
    # Labels of sections that are still open are completed by later segments, so they are read at the end.
    planned: list[tuple[Piece, list[_Section | None], list[_Section], list[_Section], Labels]] = []
    for piece in sorted(pieces, key=lambda piece: piece.number):
        if piece.number != previous + 1:
            inherited = []
        complete = piece.number == previous + 1  # all that may be open is known
        ended: list[_Section | None] = []
        for section in piece.ended:
            ended.append(_end(inherited, section, complete))
        loose = piece.loose
        if inherited and loose:
            inherited[-1].labels.update(loose)
            loose = ()
        opened = [_Section(section.name, dict(section.labels)) for section in piece.opened]
        planned.append((piece, ended, list(inherited), opened, loose))
        inherited = [*inherited, *opened]
        previous = piece.number
    return {
        piece.number: ([_labels(part, ended, through, opened) for part in piece.parts], loose)
        for piece, ended, through, opened, loose in planned
    }


def _end(inherited: list[_Section], section: Section, complete: bool) -> _Section | None:
    """The section of an earlier segment that ends. None where there is none."""
    for at in range(len(inherited) - 1, -1, -1):
        if inherited[at].name == section.name:
            ended = inherited.pop(at)
            ended.labels.update(section.labels)
            return ended
    return None if complete else _Section(section.name, dict(section.labels))


def _labels(
    part: Part, ended: Sequence[_Section | None], through: Sequence[_Section], opened: Sequence[_Section]
) -> Labels:
    labels = part.labels
    for at in reversed(part.opened):
        labels = combined(labels, _of(opened[at]))
    # Of those that were open when the segment began, the one that ends first is the innermost.
    for section in ended[part.ended :]:
        if section is not None:
            labels = combined(labels, _of(section))
    for section in reversed(through):
        labels = combined(labels, _of(section))
    return labels


def _of(section: _Section) -> Labels:
    return (("section", section.name), *sorted(section.labels.items()))


def combined(inner: Labels, outer: Labels) -> Labels:
    """The labels of two sections, one inside the other. Of two values of one key the inner one counts; the names of
    both sections stay."""
    if not inner:
        return outer
    keys = {key for key, _ in inner}
    return (*inner, *(pair for pair in outer if pair not in inner and (pair[0] == "section" or pair[0] not in keys)))


def matches(labels: Mapping[str, set[str]] | Labels, conditions: Sequence[tuple[str, frozenset[str]]]) -> bool:
    """Whether labels have one of the values of each condition."""
    pairs = (
        labels if isinstance(labels, tuple) else [(key, value) for key, values in labels.items() for value in values]
    )
    return all(any(key == name and value in values for key, value in pairs) for name, values in conditions)
