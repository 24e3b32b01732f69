"""Storing and reading a long profile against NumPy and zlib on the same columns: ratios of one run.

    python benchmarks/store.py            100,000 and 1,000,000 rows
    python benchmarks/store.py 20000 40000

Needs numpy. Each case runs in a process of its own, three times; the fastest counts. Memory is what the process
grew by at its highest, beyond the columns that it was given. Only Linux tells that.
"""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import time
import zlib
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from perfcore_testing.memory import MemoryStorage

from perfcore.model import Header, Profile, Tool
from perfcore.profile.table import ColumnSpec, Table, from_buffer
from perfcore.store.store import Store

SIZES = (100_000, 1_000_000)
TRIES = 3
KNOWN, UNFORESEEN = "wall", "flux 🚀 per <grue>"
NAMES = tuple(f"function_{number}" for number in range(500))
Columns: TypeAlias = "Mapping[str, array[Any]]"
Timed = dict[str, float]


def columns(rows: int) -> Columns:
    """A run, an amount, a ratio and the code of a function in each row, as measurements look: close to each
    other, never the same."""
    chance = random.Random(rows)
    return {
        "run": array("q", (row * 10 // rows for row in range(rows))),
        "amount": array("q", (round(chance.gauss(1e6, 1e4)) for _ in range(rows))),
        "ratio": array("d", (chance.random() for _ in range(rows))),
        "uid": array("I", (chance.randrange(len(NAMES)) for _ in range(rows))),
    }


def profile(made: Columns, metric: str = KNOWN) -> Profile:
    rows = len(made["run"])
    specs = (
        (ColumnSpec("run", "i64", role="order"), "run"),
        (ColumnSpec(metric, "i64", "ns", "value"), "amount"),
        (ColumnSpec("ratio", "f64", role="value"), "ratio"),
    )
    built = [from_buffer(spec, made[name]) for spec, name in specs]
    built.append(from_buffer(ColumnSpec("uid", "str"), made["uid"], dictionary=NAMES))
    return Profile(
        header=Header(type="time"),
        created=1,
        collector=Tool(name="time"),
        tables={"resources": Table("resources", tuple(built), rows)},
    )


def ours(made: Columns, metric: str = KNOWN) -> Timed:
    store, subject = Store(MemoryStorage()), profile(made, metric)
    written, (data, _) = measured(lambda: store.encode_profile(subject))
    size = sum(row.size for row in store.storage.list("")) + len(data)
    read, _ = measured(lambda: store.decode_profile(data, "x").tables["resources"])
    return merged(written, read, size)


def unforeseen(made: Columns) -> Timed:
    return ours(made, UNFORESEEN)


def numpy(made: Columns) -> Timed:
    import numpy as np

    def load() -> object:
        with np.load(io.BytesIO(kept.getvalue())) as file:
            return [file[name] for name in file.files]

    kept = io.BytesIO()
    arrays: dict[str, Any] = {name: np.frombuffer(values, values.typecode) for name, values in made.items()}
    written, _ = measured(lambda: np.savez_compressed(kept, names=np.array(NAMES), **arrays))
    read, _ = measured(load)
    return merged(written, read, len(kept.getvalue()))


def raw(made: Columns) -> Timed:
    """zlib at the level that the store uses for large objects, on the bytes of the columns as they are."""
    written, kept = measured(lambda: [zlib.compress(values, 1) for values in made.values()])
    read, _ = measured(lambda: list(map(zlib.decompress, kept)))
    return merged(written, read, sum(map(len, kept)))


CASES: Mapping[str, Callable[[Columns], Timed]] = {
    "perfcore": ours,
    "unforeseen metric": unforeseen,
    "numpy.savez_compressed": numpy,
    "zlib, level 1": raw,
}


def measured(work: Callable[[], Any]) -> tuple[tuple[float, float], Any]:
    """((seconds of CPU, bytes at the highest beyond those before), what came of it)."""
    Path("/proc/self/clear_refs").write_text("5")  # forget how high it was
    before, start = _memory("VmRSS"), time.process_time()
    result = work()
    took = time.process_time() - start
    return (took, _memory("VmHWM") - before), result


def merged(written: tuple[float, float], read: tuple[float, float], size: int) -> Timed:
    return dict(zip(("write", "write memory", "read", "read memory", "size"), (*written, *read, size), strict=True))


def run_case(name: str, rows: int) -> Timed:
    """The best of several processes."""
    command = [sys.executable, __file__, "--case", name, str(rows)]
    found = [json.loads(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(TRIES)]
    return {key: min(each[key] for each in found) for key in found[0]}


def report(sizes: tuple[int, ...]) -> None:
    found = {(name, rows): run_case(name, rows) for rows in sizes for name in CASES}
    for rows in sizes:
        plain = sum(len(values) * values.itemsize for values in columns(rows).values())
        print(f"\n{rows:,} rows, {plain:,} bytes of columns; perfcore = 1, memory in bytes of columns")
        print(f"{'':24}{'write':>8}{'memory':>8}{'read':>8}{'memory':>8}{'size':>8}")
        one = found["perfcore", rows]
        for name in CASES:
            case = found[name, rows]
            shown = (
                case["write"] / one["write"],
                case["write memory"] / plain,
                case["read"] / one["read"],
                case["read memory"] / plain,
                case["size"] / one["size"],
            )
            print(f"{name:24}" + "".join(f"{value:8.2f}" for value in shown))
    small, large = (found["perfcore", rows] for rows in (sizes[0], sizes[-1]))
    growth = ", ".join(f"{key} × {large[key] / small[key]:.1f}" for key in small)
    print(f"\nfrom {sizes[0]:,} to {sizes[-1]:,} rows (× {sizes[-1] / sizes[0]:g}): {growth}")


def _memory(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise SystemExit("this system does not tell how much memory a process takes")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        print(json.dumps(CASES[sys.argv[2]](columns(int(sys.argv[3])))))
    else:
        report(tuple(map(int, sys.argv[1:])) or SIZES)
