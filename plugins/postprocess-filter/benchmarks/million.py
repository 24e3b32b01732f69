"""How long the choices among a million rows of seven columns take, and how many rows they keep: `python million.py`.

The last column is the time against that of taking every second row of the same table, in the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from perfcore_postprocess_filter import Filter, FilterSettings

from perfcore.model import Profile
from perfcore.profile.table import column, table
from perfcore.testing import profiles

ROWS, STACKS, FRAMES, FUNCTIONS = 1_000_000, 188_000, 12_000, 4_000
TRIED: tuple[dict[str, Any], ...] = (
    {"expression": "amount >= 500us and uid like '%7%'"},
    {"expression": "< 900us", "drop": True},
    {"top": 1000},
    {"top": 1000, "per": "run"},
    {"top": 1000, "by": "weight"},
    {"share": 90},
    {"share": 90, "by": "weight", "per": "snapshot"},
    {"over": 0.0001},
    {"stack": "parse_7%"},
    {"stack": "%1%", "expression": ">= 100us", "top": 100_000, "per": "run"},
)


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


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    profile = million()
    half = profile.tables["resources"]
    taking = min(seconds(lambda: half.take(range(0, ROWS, 2))) for _ in range(3))
    print(f"{taking:6.2f} s  taking every second row")
    for options in TRIED:
        driver = Filter(FilterSettings(**options))
        took = min(seconds(lambda driver=driver: driver.postprocess(profile)) for _ in range(3))  # type: ignore[misc]
        kept = driver.postprocess(profile).tables["resources"].rows
        print(f"{took:6.2f} s  {kept:>9,} rows  ×{took / taking:.1f}  {options}")


if __name__ == "__main__":
    main()
