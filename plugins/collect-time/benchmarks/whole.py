"""What collecting costs as a whole against hyperfine, which measures the same command as often.

    python benchmarks/whole.py                      # 1,000 runs of true, 5 rounds
    python benchmarks/whole.py --rounds 3 --runs 300 -- true

Wall time and CPU time of the whole process with all that it starts, taken in turn, are compared round by round.
`start` is one run of perf, and what the difference to it amounts to for each run more is compared too. Needs
hyperfine (its -N starts the command without a shell, as perf does).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

Cost = tuple[float, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("command", nargs="*", default=["true"])
    options = parser.parse_args()
    hyperfine = shutil.which("hyperfine") or parser.error("there is no hyperfine")
    arms = {
        "hyperfine": [hyperfine, "-N", "--runs", str(options.runs), " ".join(options.command)],
        "perf": collect(options.runs, options.command),
        "start": collect(1, options.command),
    }
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        subprocess.run([sys.executable, "-m", "perfcore", "init"], cwd=folder, check=True, capture_output=True)
        costs = in_turn(arms, folder, options.rounds)
    report(costs, options.runs, options.command)


def collect(runs: int, command: Sequence[str]) -> list[str]:
    return [
        sys.executable, "-m", "perfcore", "collect", "time", "--warmup", "0", "--repeat", str(runs), "--", *command
    ]  # fmt: skip


def in_turn(arms: dict[str, list[str]], folder: str, rounds: int) -> dict[str, list[Cost]]:
    costs: dict[str, list[Cost]] = {name: [] for name in arms}
    for number in range(rounds):
        for name in sorted(arms, reverse=bool(number % 2)):
            costs[name].append(cost(arms[name], folder))
    return costs


def cost(argv: Sequence[str], folder: str) -> Cost:
    """(wall, CPU) seconds of a process and all that it waited for."""
    start = time.perf_counter()
    process = subprocess.Popen(argv, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{argv[0]} failed with exit code {process.returncode}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime


def report(costs: dict[str, list[Cost]], runs: int, command: Sequence[str]) -> None:
    print(f"{' '.join(command)}: {len(costs['perf'])} rounds of {runs} runs, load {os.getloadavg()[0]:.1f}")
    print(f"{'':24}{'wall':>10}{'ratio':>8}{'CPU':>10}{'ratio':>8}")
    more = [
        (w - first_w, c - first_c) for (w, c), (first_w, first_c) in zip(costs["perf"], costs["start"], strict=True)
    ]
    for label, found in (
        ("hyperfine -N", costs["hyperfine"]),
        ("perf", costs["perf"]),
        ("perf without its start", more),
    ):
        print(f"{label:24}" + "".join(f"{median(found, i):>8.2f} s{ratio(found, costs, i):>8.2f}" for i in (0, 1)))
    print(f"{'start of perf':24}" + "".join(f"{median(costs['start'], i):>8.2f} s{'':>8}" for i in (0, 1)).rstrip())


def median(found: Sequence[Cost], column: int) -> float:
    return statistics.median(one[column] for one in found)


def ratio(found: Sequence[Cost], costs: dict[str, list[Cost]], column: int) -> float:
    pairs = zip(found, costs["hyperfine"], strict=True)
    return statistics.median(one[column] / other[column] for one, other in pairs)


if __name__ == "__main__":
    main()
