"""Tortures the store for as long as you like, and prints what was done and what was found.

    python benchmarks/torture.py [--kills 1000] [--seed N]

Commands are killed at random instants, four at a time over one version, and pushes and pulls of two clones, one of
which meanwhile collects garbage; every command that changes the store dies and is refused at each of its file
operations; every file is cut at every length and gets every bit flipped; eight processes register a hundred profiles
each. `tests/torture` does a shorter form of it. Needs Linux, and git. The first wrong that is found ends a part with
its story on standard error; the others go on, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parent.parent / "tests" / "torture"


def main() -> int:
    parser = argparse.ArgumentParser(description="Torture the store.")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}\n")
    parts: tuple[tuple[str, Sequence[object], Callable[[Any], list[str]]], ...] = (
        ("killed at random instants, four at a time", ("killing.py", arguments.kills, arguments.seed), _kills),
        (
            "pushes and pulls over a folder, killed at random instants",
            ("sharing.py", arguments.kills // 2, "folder", arguments.seed),
            _transfers,
        ),
        (
            "the same over a git repository",
            ("sharing.py", arguments.kills // 2, "git", arguments.seed),
            _transfers,
        ),
        ("killed at each file operation", ("steps.py", "kill"), _steps),
        ("refused at each file operation: EACCES, ENOSPC, EIO", ("steps.py", "error", "--every-error"), _steps),
        ("every truncation, every flipped bit", ("damage.py", 1), _damages),
        ("eight processes, a hundred profiles each", ("writers.py", 8, 100), _writers),
    )
    if "AWS_ENDPOINT_URL" in os.environ:
        words = ("sharing.py", arguments.kills // 2, "bucket", arguments.seed)
        parts = (
            *parts,
            ("the same over a bucket of the server in the environment", words, _transfers),
        )
    return max([_part(title, words, tell) for title, words, tell in parts])


def _part(title: str, words: Sequence[object], tell: Callable[[Any], list[str]]) -> int:
    """Run a script, print its table, and give the exit code."""
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / str(words[0])), *map(str, words[1:])],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    took = time.monotonic() - started
    lines = tell(json.loads(done.stdout)) if done.returncode == 0 else ["WRONG: see above"]
    print(f"{title} ({took:.0f} s)")
    print("".join(f"  {line}\n" for line in lines), flush=True)
    return int(done.returncode != 0)


def _kills(done: Any) -> list[str]:
    head = f"{'command':<16} {'killed':>6} {'completed':>9}  kills in each quarter of its time"
    rows = [
        f"{kind:<16} {count:>6} {done['completed'].get(kind, 0):>9}  {' '.join(map(str, done['spread'].get(kind, ())))}"
        for kind, count in sorted(done["kills"].items())
    ]
    total = f"{sum(done['kills'].values())} kills in {done['rounds']} rounds, {done['registered']} profiles in the end"
    return [head, *rows, f"{total}: nothing lost, nothing wrong, nothing to repair"]


def _transfers(done: Any) -> list[str]:
    rows = [
        f"{kind:<16} {count:>6} {done['completed'].get(kind, 0):>9}" for kind, count in sorted(done["kills"].items())
    ]
    total = f"{sum(done['kills'].values())} kills in {done['rounds']} rounds, {done['registered']} profiles in the end"
    return [f"{'command':<16} {'killed':>6} {'completed':>9}", *rows, f"{total}: nothing lost, nothing doubled"]


def _steps(done: Any) -> list[str]:
    return [*(f"{verb:<16} {count:>6} attempts" for verb, count in done.items()), "nothing lost, nothing wrong"]


def _damages(done: Any) -> list[str]:
    rows = [
        f"{name:<20} {sweep['tried']:>6} damages, {sweep['tried'] - sweep['carry nothing']:>6} named by fsck, "
        f"{sweep['carry nothing']} in bits that carry nothing"
        for name, sweep in done["swept"].items()
    ]
    return [*rows, f"{sum(done['commands'].values())} commands on damaged files: no wrong number, no traceback"]


def _writers(done: Any) -> list[str]:
    assert done["numbers"], done
    assert not done["wrong"], done
    return [f"{done['registered']} registered, {done['contents']} contents under {done['names']} names in one second"]


if __name__ == "__main__":
    sys.exit(main())
