"""Prints folded stacks of a made-up program: each distinct, 10 to 40 deep, most of them below a place that others pass
too.

    python folded.py COUNT
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

FUNCTIONS, MODULES = 4_000, 300


def lines(count: int) -> Iterator[str]:
    chance = random.Random(count)
    paths: list[tuple[str, ...]] = [("main",)]
    seen = set(paths)
    while len(paths) <= count:
        path = _extended(chance.choice(paths), chance)
        if path not in seen:
            seen.add(path)
            paths.append(path)
            yield f"{';'.join(path)} {max(1, round(chance.paretovariate(1.2)))}\n"


def _extended(known: tuple[str, ...], chance: random.Random) -> tuple[str, ...]:
    kept = known[: chance.randint(1, len(known))][:39]  # one more frame at least, and 40 at most
    depth = chance.randint(max(10, len(kept) + 1), max(24, min(40, len(kept) + 8)))
    return (*kept, *(_function(chance) for _ in range(depth - len(kept))))


def _function(chance: random.Random) -> str:
    number = min(int(chance.paretovariate(0.35)), FUNCTIONS) - 1
    return f"Module{number % MODULES}.function_{number}"


if __name__ == "__main__":
    sys.stdout.writelines(lines(int(sys.argv[1])))
