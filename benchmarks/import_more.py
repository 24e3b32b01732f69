"""What `perf import folded` takes when the stacks continue an earlier profile, beside the first import of them.

    python benchmarks/import_more.py [--stacks 100000] [--rounds 3] [--perf .venv/bin/perf]

The second file has other counts, in another order, without 1 % of the stacks and with as many new ones. Each round is a
new repository. Time is user and system time of the command, memory that of its largest process; the ratios are medians
over the rounds. Needs git, and perfcore with `storage-local`, `vcs-git` and `format-folded`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.yardstick.folded import lines

FILES = ("first.folded", "second.folded")
COMMIT = ("-c", "user.name=n", "-c", "user.email=n@x", "commit", "-q", "--allow-empty", "-m", "First")
FIGURES = {"CPU time": "s", "peak memory": "MB", "stored": "bytes"}


def make(folder: Path, stacks: int) -> None:
    """The two files."""
    chance = random.Random(stacks)
    first = list(lines(stacks))
    new = (line.replace("main;", "main;Module1.new;", 1) for line in islice(lines(stacks), stacks // 100))
    second = [line for line in first if chance.random() >= 0.01] + list(new)
    chance.shuffle(second)
    counted = (f"{line.rpartition(' ')[0]} {chance.randint(1, 50)}\n" for line in second)
    for name, text in zip(FILES, (first, counted), strict=True):
        (folder / name).write_text("".join(text))


def measure(argv: Sequence[str], folder: Path) -> tuple[float, ...]:
    """(CPU time in s, peak memory in MB, bytes that the store gained) of an import."""
    before = size(folder)
    process = subprocess.Popen(argv, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(argv)}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000, size(folder) - before


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob(".perf/objects/*/*"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Imports of folded stacks that continue others, beside the first one.")
    parser.add_argument("--stacks", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--perf", default=str(Path(sys.executable).with_name("perf")))
    options = parser.parse_args()
    perf = os.path.abspath(options.perf)
    with tempfile.TemporaryDirectory() as root:
        # In a process of its own: what this one has in memory counts as that of the processes that it starts.
        maker = multiprocessing.get_context("spawn").Process(target=make, args=(Path(root), options.stacks))
        maker.start()
        maker.join()
        rounds = [imports(Path(root, str(number)), perf) for number in range(options.rounds)]
    for position, (figure, unit) in enumerate(FIGURES.items()):
        pairs = [(first[position], second[position]) for first, second in rounds]
        first, second = (statistics.median(values) for values in zip(*pairs, strict=True))
        ratio = statistics.median(later / earlier for earlier, later in pairs)
        print(f"{figure}: the first {first:,.1f} {unit}, one that continues it {second:,.1f} {unit}, ratio {ratio:.2f}")


def imports(folder: Path, perf: str) -> list[tuple[float, ...]]:
    """What each import took, in a new repository."""
    folder.mkdir()
    for argv in (("git", "init", "-q"), ("git", *COMMIT), (perf, "init")):
        subprocess.run(argv, cwd=folder, check=True, capture_output=True)
    return [measure((perf, "import", "folded", f"../{name}"), folder) for name in FILES]


if __name__ == "__main__":
    main()
