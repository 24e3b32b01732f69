"""How long the choices among a million rows of seven columns take, and how many rows they keep: `python million.py`.

`×` is the time against that of Polars choosing the same rows of the same table, in the same run, which has neither
stacks to look after nor imports to pay for here. Needs polars and numpy.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from perfcore_command_exchange.native import PerfFormat
from perfcore_postprocess_filter import Filter, FilterSettings
from perfcore_testing import profiles

from perfcore.model import Profile
from perfcore.profile.table import column, table

AMOUNT = pl.col("amount")
ROWS, STACKS, FRAMES, FUNCTIONS = 1_000_000, 188_000, 12_000, 4_000
TRIED: tuple[tuple[dict[str, Any], Callable[[pl.DataFrame], pl.DataFrame] | None], ...] = (
    (
        {"expression": "amount >= 500us and uid like '%7%'"},
        lambda frame: frame.filter((AMOUNT >= 500_000) & pl.col("uid").str.contains("7", literal=True)),
    ),
    ({"expression": "< 900us", "drop": True}, lambda frame: frame.filter(AMOUNT >= 900_000)),
    ({"top": 1000}, lambda frame: frame.top_k(1000, by="amount")),
    (
        {"top": 1000, "per": "run"},
        lambda frame: frame.filter(AMOUNT.rank("ordinal", descending=True).over("run") <= 1000),
    ),
    ({"share": 90}, lambda frame: _share(frame.sort("amount", descending=True))),
    ({"over": 0.0001}, lambda frame: frame.filter(0.000001 * AMOUNT.sum() < AMOUNT)),
    ({"stack": "parse_7%"}, None),
)


def _share(sorted_frame: pl.DataFrame) -> pl.DataFrame:
    before = AMOUNT.cum_sum() - AMOUNT
    return sorted_frame.filter(before < 0.9 * AMOUNT.sum())


def million() -> Profile:
    rows = range(ROWS)
    resources = [
        column("run", [row // 100_000 for row in rows], role="order"),
        column("snapshot", [row % 1000 for row in rows], role="order"),
        column("uid", [f"function_{row % 5000}" for row in rows]),
        column("thread", [None if row % 3 else row % 8 for row in rows]),
        column("stack", [row * 7919 % STACKS for row in rows]),
        column("amount", [row * 7919 % 1_000_003 for row in rows], unit="ns", role="value"),
        column("weight", [row * 104_729 % 1_000_003 / 7 for row in rows], role="value"),
    ]
    stacks = [
        column("parent", [None if row < 10 else row // 2 for row in range(STACKS)]),
        column("frame", [row * 31 % FRAMES for row in range(STACKS)]),
    ]
    frames = [column("function", [row % FUNCTIONS for row in range(FRAMES)])]
    functions = [
        column("name", [f"parse_{row}" for row in range(FUNCTIONS)]),
        column("file", [f"src/f{row % 300}.c" for row in range(FUNCTIONS)]),
    ]
    tables = {"resources": resources, "stacks": stacks, "frames": frames, "functions": functions}
    return profiles.profile({name: table(name, columns) for name, columns in tables.items()})


def _through_a_file(profile: Profile) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.perf"
        PerfFormat().write(profile, path)
        PerfFormat().read(path)


def _started(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def best(function: Callable[[], object]) -> float:
    return min(seconds(function) for _ in range(3))


def main() -> None:
    profile = million()
    frame = profile.tables["resources"].to_polars()
    print(f"{best(lambda: _through_a_file(profile)):6.2f} s  writing the profile to a file and reading it")
    print(f"{best(lambda: _started('import numpy')) - best(lambda: _started('')):6.2f} s  importing NumPy")
    for options, peer in TRIED:
        driver = Filter(FilterSettings(**options))
        took = best(lambda driver=driver: driver.postprocess(profile))  # type: ignore[misc]
        rows = driver.postprocess(profile).tables["resources"].rows
        compared = ""
        if peer is not None:
            assert len(peer(frame)) == rows, (options, len(peer(frame)), rows)
            compared = f"×{took / best(lambda peer=peer: peer(frame)):.0f}"  # type: ignore[misc]
        print(f"{took:6.2f} s  {compared:>5}  {rows:>9,} rows  {options}")


if __name__ == "__main__":
    main()
