"""How long the forms of a table of a million rows and six columns take: `python million.py`.

On 2 shared cores of an Intel Xeon with CPython 3.11.7, in seconds:

      0.90   54,527,816 bytes  {'format': 'csv'}
      0.96   72,195,103 bytes  {'format': 'json'}
      4.65   57,879,260 bytes  {'format': 'markdown'}
      7.04   56,000,056 bytes  {'head': 1000000}
      0.22          336 bytes  {'sort': ('-amount',), 'head': 5}
      0.44          312 bytes  {'sort': ('uid', '-amount'), 'head': 5}
      0.09          312 bytes  {'filter': "amount > 500us and uid like '%7%'", 'head': 5}
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from perfcore_testing import profiles
from perfcore_view_table import TableSettings, TableView

from perfcore.model import Profile
from perfcore.profile.table import column, table

ROWS = 1_000_000


class Counting:
    """An output that only counts."""

    path: Path | None = None
    width: int | None = None
    color = False

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, text: str) -> None:
        self.bytes += len(text)

    def write_bytes(self, data: bytes) -> None:
        self.bytes += len(data)

    def say(self, text: str) -> None:
        pass


def million() -> Profile:
    rows = range(ROWS)
    columns = [
        column("uid", [f"function_{row % 5000}" for row in rows]),
        column("file", [f"src/f{row % 300}.c" for row in rows]),
        column("line", [row % 999 for row in rows]),
        column("thread", [None if row % 3 else row % 8 for row in rows]),
        column("amount", [row * 7919 % 1_000_003 for row in rows], unit="ns", role="value"),
        column("share", [row / 7 for row in rows], role="value"),
    ]
    return profiles.profile({"resources": table("resources", columns)})


def main() -> None:
    subject = profiles.subject(million())
    tried: list[dict[str, Any]] = [
        {"format": "csv"},
        {"format": "json"},
        {"format": "markdown"},
        {"head": ROWS},
        {"sort": ("-amount",), "head": 5},
        {"sort": ("uid", "-amount"), "head": 5},
        {"filter": "amount > 500us and uid like '%7%'", "head": 5},
    ]
    for options in tried:
        output = Counting()
        start = time.perf_counter()
        TableView(TableSettings(**options)).render(subject, output)
        print(f"{time.perf_counter() - start:6.2f}  {output.bytes:>11,} bytes  {options}")


if __name__ == "__main__":
    main()
