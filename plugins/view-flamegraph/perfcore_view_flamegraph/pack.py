"""A tree as the page reads it: one text of base64 around what zlib made of a head and columns.

    u32 length of the head | head: JSON | column after column

All numbers are little endian. The head's `columns` say how many planes each column has: plane k holds byte k of
every item, from the lowest up, so that the many zeros stand together. A column of None planes is one of 64-bit
floats. The first two columns are how many levels a node stands above the place below its predecessor, and its
frame; those of the metrics follow.
"""

from __future__ import annotations

import base64
import contextlib
import json
import struct
import sys
import zlib
from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfcore_view_flamegraph.calls import Number
    from perfcore_view_flamegraph.graph import Graph

FORMAT = 1
_EXACT = 2**53  # the integers that JavaScript numbers hold exactly
# Of zlib, its default: a compromise between the time to write a page and its size.
_LEVEL = 6


def pack(graph: Graph, head: Mapping[str, Any]) -> str:
    """The text; `head` is what the page needs to know beside the tree."""
    columns = [_column(values) for values in (_ups(graph.parent), graph.frame, *_amounts(graph))]
    described = {"format": FORMAT, "nodes": len(graph), "columns": [planes for planes, _ in columns], **head}
    text = json.dumps(described, separators=(",", ":")).encode("ascii")
    squeezer = zlib.compressobj(_LEVEL)
    # Chunk by chunk, so that the uncompressed whole of a large tree is never in memory.
    parts = [squeezer.compress(chunk) for chunk in (struct.pack("<I", len(text)), text, *(data for _, data in columns))]
    return base64.b64encode(b"".join([*parts, squeezer.flush()])).decode("ascii")


def _ups(parent: Sequence[int]) -> list[int]:
    """For each node how many steps lead from its predecessor up to its parent."""
    depth = [0] * len(parent)
    ups = [0] * len(parent)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
        ups[node] = depth[node - 1] + 1 - depth[node]
    return ups


def _amounts(graph: Graph) -> list[Sequence[Number]]:
    return [column for metric in graph.metrics for column in metric.columns]


def _column(values: Sequence[Number]) -> tuple[int | None, bytes]:
    highest = max(values)
    if highest <= _EXACT:
        with contextlib.suppress(TypeError):  # for a number that is not whole
            data = _little("Q", values)
            planes = (int(highest).bit_length() + 7) // 8
            # Only as many planes as the largest number needs: the high bytes of all others are zero.
            return planes, b"".join(data[plane::8] for plane in range(planes))
    return None, _little("d", map(float, values))


def _little(code: str, values: Any) -> bytes:
    data = array(code, values)
    if sys.byteorder == "big":
        data.byteswap()
    return data.tobytes()
