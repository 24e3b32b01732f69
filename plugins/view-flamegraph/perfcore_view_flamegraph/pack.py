"""A tree as the page reads it: one text of base 85 around compressed bytes.

    u32 length of the compressed head | compressed head: JSON | part after part

All numbers are little endian. Each item of the head's `columns` has a number of `rows` and the lengths of its `parts`,
each of which is a stream of zlib. A column of whole numbers has a part for each plane: plane k holds byte k of every
item, from the lowest up, as many as the largest number needs, so that the many zeros stand together. A `float` column
is one part of 64-bit floats. Of a column with `short`, the first part has one byte for each row: a number below `short`
itself, and of another one, without `short`, the highest byte, plus `short`; planes of the lower bytes of only these
numbers follow.

A node comes after its parent, so the tree is paths, each of nodes that are called by the one before. The first columns
are how many nodes each path has, how many levels its first node stands above the place below the last node before it,
and the frame of every node; frames are numbered by how often they occur. Nearly all amounts are at the ends of paths,
so three columns follow for each metric, and in a difference or a history for each of its sides or versions: the amounts
at the ends of all paths, how many nodes after the last one the next other node with an amount is, and these amounts.
Where the tree has samples, these are the columns instead: the node, the thread, and each metric of every sample. The
last column is the file of every frame.

Base 85 is that of git and Python's `base64.b85encode`, with `.`, `,` and `/` for the three digits that mean something
to HTML.
"""

from __future__ import annotations

import contextlib
import json
import operator
import struct
import sys
import zlib
from array import array
from collections import Counter
from itertools import compress
from typing import TYPE_CHECKING, Any

from perfcore.named_tuple import NamedTuple
from perfcore_view_flamegraph.calls import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from perfcore_view_flamegraph.calls import Number
    from perfcore_view_flamegraph.graph import Graph

FORMAT = 3
_EXACT = 2**53  # the integers that JavaScript numbers hold exactly
_LEVEL = 6  # of zlib, its default
_MEMORY = 9  # of zlib, its most: fewer tables of codes
# Frames hardly repeat: a search for repetitions takes ten times as long and finds nothing.
_NOISY = (zlib.Z_HUFFMAN_ONLY,)
# Where they hardly do, as in noisy amounts, what is found costs more than it saves.
_ANY = (zlib.Z_RLE, zlib.Z_DEFAULT_STRATEGY)
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%.()*+-;,=/?@^_`{|}~"
_DIGIT_OF = _DIGITS.encode().ljust(256, b"\0")
_SHIFT = 38
_INVERSE = (1 << _SHIFT) // 85 + 1


def by_frequency(graph: Graph) -> list[int]:
    """The frames that the tree has, the most frequent first."""
    counts = graph.counts or Counter(graph.frame)
    return sorted(counts, key=lambda frame: (-counts[frame], frame))


def pack(graph: Graph, order: Sequence[int], files: Sequence[int], head: Mapping[str, Any]) -> str:
    """The text; `order` gives the frames by their numbers, `files` are those of them, `head` is what the page needs to
    know beside."""
    past = [*graph.first[1:], len(graph)]
    lengths = list(map(operator.sub, past, graph.first))
    columns = [_column(lengths), _column(_ups(graph.first, graph.above)), _short(graph.frame, order)]
    columns += [*_amounts(graph, past), _column(files)]
    described = {
        "format": FORMAT,
        "nodes": len(graph),
        "columns": [
            {"rows": column.rows, "parts": [len(part) for part in column.parts], **column.kind} for column in columns
        ],
        **head,
    }
    text = zlib.compress(json.dumps(described, separators=(",", ":")).encode("ascii"), _LEVEL)
    parts = [part for column in columns for part in column.parts]
    return base85(b"".join([struct.pack("<I", len(text)), text, *parts]))


def base85(data: bytes) -> str:
    """The digits of bytes. Python's own encoder takes three times as long: here all words are one long integer, with 64
    bits for each, so that an operation on it is one on every word."""
    missing = -len(data) % 4
    data += bytes(missing)
    lanes = bytearray(2 * len(data))
    for place in range(4):  # words are big-endian, lanes are little-endian
        lanes[3 - place :: 8] = data[place::4]
    words = int.from_bytes(lanes, "little")
    kept = int.from_bytes(b"\xff\xff\xff\x03\0\0\0\0" * (len(lanes) // 8), "little")
    text = bytearray(len(data) // 4 * 5)
    for digit in range(4, -1, -1):
        # The product with 2^38 / 85, rounded up, is exact for 32 bits and has at most 64 (T. Granlund and
        # P. L. Montgomery, Division by Invariant Integers using Multiplication, PLDI 1994).
        quotients = words * _INVERSE >> _SHIFT & kept
        text[digit::5] = (words - 85 * quotients).to_bytes(len(lanes), "little")[::8].translate(_DIGIT_OF)
        words = quotients
    return text[: len(text) - missing].decode("ascii")


class _Packed(NamedTuple):
    """A column; `kind` is what the head says of it beside its rows and the lengths of its parts."""

    rows: int
    parts: list[bytes]
    kind: Mapping[str, Any]


def _ups(first: Sequence[int], above: Sequence[int]) -> list[int]:
    """For each path how many steps lead from the node before it up to its parent."""
    starts, bases = [ROOT], [0]  # of the paths that the last node stands on: a node's depth is its number plus the base
    before = 0
    ups = [0]
    for start, parent in zip(first[1:], above[1:], strict=True):
        while starts[-1] > parent:
            starts.pop()
            bases.pop()
        base = bases[-1] + parent + 1 - start
        ups.append(before - base)
        starts.append(start)
        bases.append(base)
        before = base
    return ups


def _amounts(graph: Graph, past: Sequence[int]) -> list[_Packed]:
    if graph.samples is not None:
        samples = graph.samples
        return [_column(values) for values in (samples.node, samples.thread, *samples.amounts)]
    ends = bytearray(len(graph))
    for stop in past:
        ends[stop - 1] = 1
    columns = (values for metric in graph.metrics for values in metric.columns)
    return [part for values in columns for part in _sparse(values, past, ends)]


def _sparse(values: Sequence[Number], past: Sequence[int], ends: bytearray) -> list[_Packed]:
    """The amounts at the ends of paths; where there are others, by the distance to the one before; and these."""
    others = [node for node in compress(range(len(values)), values) if not ends[node]]
    gaps = list(map(operator.sub, others, [0, *others]))
    return [
        _column([values[stop - 1] for stop in past]),
        _column(gaps),
        _column([values[node] for node in others]),
    ]


def _column(values: Sequence[Number]) -> _Packed:
    highest = max(values, default=0)
    if highest <= _EXACT:
        with contextlib.suppress(TypeError):  # for a number that is not whole
            data = _little("Q", values)
            planes = (int(highest).bit_length() + 7) // 8
            # Only as many planes as the largest number needs: the high bytes of all others are zero.
            return _Packed(len(values), [_squeezed(data[plane::8]) for plane in range(planes)], {})
    return _Packed(len(values), [_squeezed(_little("d", map(float, values)))], {"float": True})


def _short(values: Sequence[int], order: Sequence[int]) -> _Packed:
    """The numbers of values by their `order`, in which the most frequent come first. All bits of a code have to be
    those of one byte for its frequency to count: in planes, the low byte of a rare number is counted with the frequent
    ones."""
    planes, count = 0, len(order)
    while 256 ** (planes + 1) < count:
        planes += 1
    worth = 256**planes
    short = 256 - max(0, -(-(count - 256) // (worth - 1))) if planes else 256
    first = [number if number < short else short + (number - short) // worth for number in range(count)]
    parts = [_translated(values, order, first)]
    others = list(compress(values, parts[0].translate(bytes(short) + b"\1" * (256 - short)))) if planes else []
    for plane in range(planes):
        low = [((number - short) >> 8 * plane) & 255 for number in range(count)]
        parts.append(_translated(others, order, low))
    return _Packed(len(values), [_squeezed(part, _NOISY) for part in parts], {"short": short})


def _translated(values: Iterable[int], order: Sequence[int], byte_of: Sequence[int]) -> bytes:
    """For each value the byte of its number."""
    bytes_of = [0] * (max(order) + 1)
    for value, byte in zip(order, byte_of, strict=True):
        bytes_of[value] = byte
    return bytes(map(bytes_of.__getitem__, values))


def _squeezed(data: bytes, strategies: Sequence[int] = _ANY) -> bytes:
    """The shortest of streams with these strategies."""
    streams = []
    for strategy in strategies:
        stream = zlib.compressobj(_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS, _MEMORY, strategy)
        streams.append(stream.compress(data) + stream.flush())
    return min(streams, key=len)


def _little(code: str, values: Any) -> bytes:
    data = array(code, values)
    if sys.byteorder == "big":
        data.byteswap()
    return data.tobytes()
