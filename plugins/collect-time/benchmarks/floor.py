"""What the collector reports for a command against what a C loop of posix_spawn and wait4 reports for it.

    python benchmarks/floor.py                      # /bin/true, 40 rounds of 25 runs each
    python benchmarks/floor.py --rounds 10 -- sleep 0.01

Both are run in turn, round by round, and the medians of a round are compared with those of the same round, so
that a machine that drifts disturbs both alike. Needs a C compiler. Run it where little else runs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from perfcore.measure import runner
from perfcore.model import Job, Plan, Step
from perfcore.plugins import Plugins

Rows = list[tuple[int, int, int]]
WARMUP = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--runs", type=int, default=25, help=f"runs in a round, after {WARMUP} more")
    parser.add_argument("command", nargs="*", default=["/bin/true"])
    options = parser.parse_args()
    path = shutil.which(options.command[0])
    if path is None:
        parser.error(f"there is no {options.command[0]}")
    argv = [path, *options.command[1:]]
    with tempfile.TemporaryDirectory() as folder:
        loop = compiled(Path(folder))
        measured = in_turn(
            {
                "c": lambda: floor(loop, argv, options.runs),
                "again": lambda: floor(loop, argv, options.runs),
                "ours": lambda: ours(argv, options.runs),
            },
            options.rounds,
        )
    report(argv, measured)


def compiled(folder: Path) -> Path:
    program = folder / "floor"
    subprocess.run(["cc", "-O2", "-o", program, Path(__file__).with_name("floor.c")], check=True)
    return program


def floor(loop: Path, argv: Sequence[str], runs: int) -> Rows:
    """(wall, cpu, peak memory) of each run of the C loop."""
    with open(os.devnull) as null:
        command = [str(loop), str(runs + WARMUP), *argv]
        text = subprocess.run(command, check=True, stdin=null, capture_output=True, text=True).stdout
    rows = [line.split() for line in text.splitlines()[-runs:]]
    return [(int(wall), int(cpu), int(memory)) for wall, cpu, memory in rows]


def ours(argv: Sequence[str], runs: int) -> Rows:
    """The same of the collector, led by perfcore's own runner as `perf collect time` has it."""
    job = Job(argv=tuple(argv), cmd=argv[0], collector=Step(name="time"))
    context = runner.Context(plugins=Plugins(), options=lambda kind, name: {}, machine={})
    (measured,) = runner.run(Plan(jobs=(job,), schedule={"repeat": runs, "warmup": WARMUP}), context)
    if measured.profile is None:
        raise measured.error or RuntimeError("nothing was measured")
    rows: Iterator[dict[str, Any]] = measured.profile.tables["resources"].iter_rows()
    return [(row["wall"], row["cpu"], row["max_rss"] or 0) for row in rows]


def in_turn(arms: dict[str, Callable[[], Rows]], rounds: int) -> dict[str, list[Rows]]:
    measured: dict[str, list[Rows]] = {name: [] for name in arms}
    for number in range(rounds):
        for name in sorted(arms, reverse=bool(number % 2)):
            measured[name].append(arms[name]())
    return measured


def report(argv: Sequence[str], measured: dict[str, list[Rows]]) -> None:
    print(
        f"{' '.join(argv)}: {len(measured['c'])} rounds of {len(measured['c'][0])} runs, load {os.getloadavg()[0]:.1f}"
    )
    print(f"{'':32}{'wall':>10}{'ratio':>8}{'least':>10}{'cpu':>10}{'ratio':>8}{'peak memory':>14}")
    for name, label in (("c", "C posix_spawn + wait4"), ("again", "the same again"), ("ours", "perfcore-collect-time")):
        wall, cpu = (medians(measured[name], column) for column in (0, 1))
        least = min(row[0] for rows in measured[name] for row in rows)
        memory = statistics.median(medians(measured[name], 2)) / 1024
        print(
            f"{label:32}{statistics.median(wall) / 1000:>7.1f} µs{ratio(wall, medians(measured['c'], 0)):>8.3f}"
            f"{least / 1000:>7.1f} µs"
            f"{statistics.median(cpu) / 1000:>7.1f} µs{ratio(cpu, medians(measured['c'], 1)):>8.3f}"
            f"{f'{memory:,.0f} KiB' if memory else 'missing':>14}"
        )


def medians(rounds: list[Rows], column: int) -> list[float]:
    return [statistics.median(row[column] for row in rows) for rows in rounds]


def ratio(values: Sequence[float], base: Sequence[float]) -> float:
    return statistics.median(value / other for value, other in zip(values, base, strict=True))


if __name__ == "__main__":
    main()
