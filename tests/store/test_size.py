"""A profile of very many rows takes what its columns take, whatever its metrics are called.

A quarter of a million rows here, as being watched makes each object slow; `benchmarks/store.py` takes a million.
"""

from __future__ import annotations

import sys
import tracemalloc
from array import array
from typing import TYPE_CHECKING

import pytest
from perfcore_testing.memory import MemoryStorage

from perfcore.model import Header, Profile, Tool
from perfcore.profile.table import ColumnSpec, TableBuilder
from perfcore.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfcore.profile.table import Table

ROWS = 250_000
NAMES = [f"function_{number}" for number in range(500)]
PLAIN = (8 + 8 + 8 + 4) * ROWS
OBJECT = 8 + 28
"""What one number takes as a Python object in a list."""


def built(metric: str) -> Table:
    """As a collector makes it: typed buffers, and for the texts lists of a thousand."""
    builder = TableBuilder("resources", [ColumnSpec("run", "i64", role="order"), ColumnSpec("uid", "str")])
    texts, step = NAMES * 2, 1000
    for start in range(0, ROWS, step):
        numbers = array("q", range(start, start + step))
        reals = array("d", map(float, numbers))
        builder.extend({"run": numbers, "uid": texts, metric: numbers, "ratio": reals})
    return builder.build()


def profile(table: Table) -> Profile:
    return Profile(header=Header(type="x"), created=1, collector=Tool(name="x"), tables={"resources": table})


def peak(work: Callable[[], object]) -> tuple[int, int]:
    """(bytes at the highest, blocks that stay) of some work."""
    tracemalloc.start()
    try:
        blocks = sys.getallocatedblocks()
        kept = work()
        return tracemalloc.get_traced_memory()[1], sys.getallocatedblocks() - blocks + (kept is None)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("metric", ["wall", "flux 🚀 per <grue>"])
def test_rows_are_never_as_many_objects(metric: str) -> None:
    made: list[Table] = []
    grown, blocks = peak(lambda: made.append(built(metric)))
    assert grown < 2 * PLAIN < PLAIN + OBJECT * ROWS
    assert blocks < ROWS // 50

    store = Store(MemoryStorage())
    written: list[bytes] = []
    grown, blocks = peak(lambda: written.append(store.encode_profile(profile(made[0]))[0]))
    assert grown < PLAIN < OBJECT * ROWS
    assert blocks < ROWS // 50

    read: list[Table] = []
    grown, blocks = peak(lambda: read.append(store.decode_profile(written[0], "x").tables["resources"]))
    assert grown < 2.5 * PLAIN < PLAIN + 2 * OBJECT * ROWS
    assert blocks < ROWS // 50
    assert read[0] == made[0]


def test_a_name_that_nobody_foresaw_costs_nothing() -> None:
    """The bytes differ by those of the name."""
    sizes = []
    for metric in ("wall", "flux"):
        store = Store(MemoryStorage())
        data, _ = store.encode_profile(profile(built(metric)))
        sizes.append(len(data) + sum(row.size for row in store.storage.list("")))
    assert abs(sizes[0] - sizes[1]) < 500
