"""Measures one program against itself and against versions of known slowness, interleaved and in blocks.

    python measure.py samples.json --trials 60 --load 0 --load 2 --load 3

A trial takes 12 runs a side of a program of about 5 ms of CPU time: in turn (ABBA) with itself and with
programs that take 1, 2, 5, 10 and 50 % more; and in blocks, first all of one, then all of the other, for some
of them. `--load` is the number of busy processes beside it. `report.py` applies the check to the file. Needs
Linux and a C compiler.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNS, WARMUPS, WANTED_NS = 12, 3, 5_000_000
INTERLEAVED, BLOCKS = (0, 1, 2, 5, 10, 50), (0, 10, 20)
Columns: TypeAlias = dict[str, list[int]]
Measured: TypeAlias = dict[str, int]
Program: TypeAlias = Callable[[int], Measured]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure one program against itself and slower ones.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--load", type=int, action="append")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = calibrated(compiled(Path(folder)))
        trials = []
        for load in arguments.load or [0]:
            with busy(load):
                trials += [{"load": load, **trial(program)} for _ in range(arguments.trials)]
            print(f"load {load}: load average {os.getloadavg()[0]:.1f}", flush=True)
    arguments.output.write_text(json.dumps(trials))


def trial(run: Program) -> dict[str, dict[int, list[Columns]]]:
    """One comparison of every design: the two sides by how many percent the second is slower."""
    return {
        "interleaved": {percent: interleaved(run, percent) for percent in INTERLEAVED},
        "blocks": {percent: [block(run, 0), block(run, percent)] for percent in BLOCKS},
    }


def block(run: Program, percent: int) -> Columns:
    for _ in range(WARMUPS):
        run(percent)
    return _columns([run(percent) for _ in range(RUNS)])


def interleaved(run: Program, percent: int) -> list[Columns]:
    return in_turn(run, percent, RUNS, WARMUPS)


def in_turn(run: Program, percent: int, pairs: int, warmups: int) -> list[Columns]:
    """Both sides, ABBA."""
    sides: tuple[list[Measured], list[Measured]] = ([], [])
    for pair in range(-warmups, pairs):
        for side in (0, 1) if pair % 2 == 0 else (1, 0):
            measured = run(percent if side else 0)
            if pair >= 0:
                sides[side].append(measured)
    return [_columns(side) for side in sides]


def calibrated(binary: Path) -> Program:
    """The program as a function of how many percent more CPU time than about 5 ms it is to take."""
    started = min(_run(binary, 0)["cpu"] for _ in range(9))
    round_ns = min(_run(binary, 2_000_000)["cpu"] - started for _ in range(9)) / 2_000_000
    rounds = (WANTED_NS - started) / round_ns
    return lambda percent: _run(binary, round(rounds + percent / 100 * WANTED_NS / round_ns))


def compiled(folder: Path) -> Path:
    binary = folder / "work"
    subprocess.run(["cc", "-O1", "-o", binary, Path(__file__).with_name("work.c")], check=True)
    return binary


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that do nothing but compute."""
    children = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()


def _run(binary: Path, rounds: int) -> Measured:
    """CPU time, wall time and how long the process was ready but not running, in nanoseconds."""
    started = time.perf_counter_ns()
    pid = os.posix_spawn(binary, [str(binary), str(rounds)], os.environ)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    wall = time.perf_counter_ns() - started
    delay = int(Path(f"/proc/{pid}/schedstat").read_text().split()[1])
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{binary} ended with status {status}")
    return {"cpu": round((usage.ru_utime + usage.ru_stime) * 1e9), "wall": wall, "delay": delay}


def _columns(runs: list[Measured]) -> Columns:
    return {name: [run[name] for run in runs] for name in runs[0]}


if __name__ == "__main__":
    main()
