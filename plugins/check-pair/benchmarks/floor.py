"""How much of the noise of pairs is the machine's own: the spread of differences between neighbours of one kind.

    python floor.py [--pairs 1000]

The same arithmetic of 5 ms of CPU time, as processes of their own and as pieces of one process that runs alone, without
starts, page faults or system calls in between. Pairs of programs cannot differ by less than pairs of pieces do,
whatever measures them. The spread is that of the middle half, as a standard deviation (of normal noise); the share is
how often twelve such pairs show 2 % at p < 0.05 (signed-rank), drawn at random from those that were measured. Needs
Linux and a C compiler.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from measure import WANTED_NS, calibrated, compiled
from perfcore_check_pair.inference import signed_rank

from perfcore.text import align

DRAWS, PAIRS, STEP = 2000, 12, math.log(1.02)


def main() -> None:
    parser = argparse.ArgumentParser(description="How much of the noise of pairs is the machine's own.")
    parser.add_argument("--pairs", type=int, default=1000)
    count = 2 * parser.parse_args().pairs
    rows = [["", "median", "spread of pairs", "2 % seen in 12"]]
    with tempfile.TemporaryDirectory() as folder:
        binary = compiled(Path(folder))
        program = calibrated(binary)
        rows.append(["processes", *told([program(0)["cpu"] for _ in range(count)])])
        rows.append(["pieces of a process", *told(pieces(binary, count))])
    print("\n".join(align(rows, right=(1, 2, 3))))


def pieces(binary: Path, count: int) -> list[int]:
    """CPU time of so many pieces of one process, in nanoseconds."""
    short = min(_run(binary, 1_000_000, 9))
    return _run(binary, round(1_000_000 * WANTED_NS / short), count)


def told(amounts: list[int]) -> list[str]:
    """The median, the spread of pairs, and how often they show a step."""
    logs = np.log(amounts)
    pairs = logs[1::2] - logs[::2]
    low, high = np.percentile(pairs, [25, 75])
    spread = (high - low) / 1.349
    return [f"{statistics.median(amounts) / 1e6:.2f} ms", f"{spread * 100:.2f} %", f"{seen(pairs.tolist()):.0%}"]


def seen(pairs: list[float]) -> float:
    draw = random.Random(1)
    hits = sum(
        signed_rank(np.array([STEP + pair * draw.choice((-1, 1)) for pair in draw.choices(pairs, k=PAIRS)])) < 0.05
        for _ in range(DRAWS)
    )
    return hits / DRAWS


def _run(binary: Path, rounds: int, times: int) -> list[int]:
    done = subprocess.run([binary, str(rounds), str(times)], stdout=subprocess.PIPE, check=True)
    return [int(line) for line in done.stdout.split()]


if __name__ == "__main__":
    main()
