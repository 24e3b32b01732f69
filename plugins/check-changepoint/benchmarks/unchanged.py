"""Real noise: programs that do not change, measured again and again: `python benchmarks/unchanged.py FOLDER`.

Writes `FOLDER/cpu/NAME.txt` and `FOLDER/wall/NAME.txt`, a line for every version: the median of its runs in ns. All
programs of a version are measured before the next version begins, as a suite is in a job of continuous integration.
`benchmarks/real.py FOLDER/cpu --suite` tells what is found there. Needs Linux, git, gzip, sort and awk.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from perfcore_collect_kit import command
from perfcore_collect_time import launcher

from perfcore.model import Job

PYTHON = (sys.executable, "-IS", "-c")  # without `site`, which reads a file for every plugin under development
PROGRAMS = {
    "start": (*PYTHON, "pass"),
    "json": (*PYTHON, "import json; json.loads(json.dumps([{str(i): i} for i in range(3000)]))"),
    "loop": (*PYTHON, "x = 0\nfor i in range(60000): x += i * i"),
    "dict": (*PYTHON, "d = {str(i): [i] for i in range(20000)}; sorted(d)"),
    "regex": (*PYTHON, "import re; re.findall(r'(a|b)+c', 'ababab' * 1500 + 'c')"),
    "modules": (*PYTHON, "import email.parser, decimal, argparse"),
    "hash": (*PYTHON, "import hashlib; hashlib.sha256(bytes(4_000_000)).digest()"),
    "memory": (*PYTHON, "b = bytearray(10_000_000); b[::4096] = bytes(len(range(0, len(b), 4096)))"),
    "gzip": ("gzip", "-9", "-c", "numbers"),
    "sort": ("sort", "numbers"),
    "awk": ("awk", "{ s += $1 * $1 } END { print s }", "numbers"),
    "git": ("git", "hash-object", "numbers", "numbers", "numbers"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--versions", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3, help="of a program in a version")
    given = parser.parse_args()
    rows: dict[str, dict[str, list[float]]] = {kind: {name: [] for name in PROGRAMS} for kind in ("cpu", "wall")}
    with tempfile.TemporaryDirectory() as folder:
        numbers = Path(folder, "numbers")
        numbers.write_text("\n".join(str(place * 7919 % 100_003 / 7) for place in range(15_000)))
        helper = launcher.lease()
        try:
            jobs = {name: Job(argv=argv, cmd=name, cwd=Path(folder)) for name, argv in PROGRAMS.items()}
            keys = {name: helper.define(command.spec(job)) for name, job in jobs.items()}
            for _ in range(given.versions):
                for name, key in keys.items():
                    taken: dict[str, list[int]] = {"cpu": [], "wall": []}
                    while len(taken["cpu"]) < given.runs:
                        results = helper.run(key, given.runs - len(taken["cpu"]))
                        if results.exitcode or not results.started:
                            raise SystemExit(f"{name} failed: exit code {results.exitcode}")
                        for kind, values in taken.items():
                            values += results.numbers[kind]
                    for kind, values in taken.items():
                        rows[kind][name].append(statistics.median(values))
        finally:
            launcher.release(helper)
    for kind, amounts in rows.items():
        (given.folder / kind).mkdir(parents=True, exist_ok=True)
        for name, medians in amounts.items():
            (given.folder / kind / f"{name}.txt").write_text("".join(f"{value:.0f}\n" for value in medians))


if __name__ == "__main__":
    main()
