"""How often `perf compare` gives which answer, on real runs of one program against itself and slower ones.

    python sequential.py --comparisons 1000 --percent 0 --percent 2 --pairs 12 --load 0 --load 3

Every comparison is measured for itself by the loop of `perf compare`, decided by this check, with the threshold of
`perf compare`. `--load` is the number of busy processes beside it, `--percent` how much slower the second program is.
Comparisons of different percents take turns. Needs Linux and a C compiler.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from measure import Columns, Program, busy, calibrated, compiled, in_turn
from perfcore_check_pair import PairCheck, PairSettings
from perfcore_command_compare.batches import Look, Samples, interim_looks
from perfcore_command_compare.judge import DEFAULT_THRESHOLD
from perfcore_command_compare.request import Budget
from perfcore_testing.check import pairing
from report import ANSWERS, profiles

from perfcore.model import Change, Job, Measured, Profile
from perfcore.model.record import replace
from perfcore.profile.table import column
from perfcore.text import align

JOB = Job(argv=("work",), cmd="work")


def main() -> None:
    parser = argparse.ArgumentParser(description="How often `perf compare` gives which answer.")
    parser.add_argument("--comparisons", type=int, default=100)
    parser.add_argument("--percent", type=int, action="append")
    parser.add_argument("--load", type=int, action="append")
    parser.add_argument("--pairs", type=int, default=200, help="the option --max-pairs")
    parser.add_argument("--threshold", type=float, default=DEFAULT_THRESHOLD)
    arguments = parser.parse_args()
    rows = [["load", "load average", "slower by", "comparisons", *ANSWERS.values(), "pairs, mean", "most", "spread"]]
    with tempfile.TemporaryDirectory() as folder:
        program = calibrated(compiled(Path(folder)))
        for load in arguments.load or [0]:
            looks: dict[int, list[Look]] = {percent: [] for percent in arguments.percent or [0]}
            with busy(load):
                averages = []
                for _ in range(arguments.comparisons):
                    for percent, found in looks.items():
                        found.append(compared(program, percent, arguments.pairs, arguments.threshold))
                    averages.append(os.getloadavg()[0])
            average = f"{min(averages):.1f} to {max(averages):.1f}"
            rows += [[str(load), average, f"{percent} %", *counted(found)] for percent, found in looks.items()]
    print("\n".join(align(rows, right=range(3, len(rows[0])))))


def compared(program: Program, percent: int, pairs: int, threshold: float) -> Look:
    """The last look of one comparison."""
    check = PairCheck(PairSettings())

    def measure(schedule: Mapping[str, Any]) -> list[Measured]:
        warmup = schedule.get("warmup", 1)
        sides = in_turn(program, percent, schedule["repeat"], warmup)
        return [Measured(job=JOB, profile=profile) for profile in taken(sides)]

    def decide(samples: Samples, share: float) -> tuple[Sequence[Change], float]:
        first, second = (sample.profiles for sample in samples)
        question = pairing(first, second, thresholds={"cpu": threshold})
        return check.compare(replace(question, share=share)), threshold

    effort = Budget(pairs=pairs, seconds=600)
    *_, last = interim_looks((JOB, JOB), measure, decide, effort, time.monotonic)
    return last


def taken(sides: list[Columns]) -> tuple[Profile, ...]:
    """The profiles of one batch, of a session of its own."""
    session, made = str(time.monotonic_ns()), profiles(sides, True)
    return tuple(
        profile.replace_tables(
            runs=profile.tables["runs"].with_columns(column("session", [session] * profile.tables["runs"].rows))
        )
        for profile in made
    )


def counted(looks: Sequence[Look]) -> list[str]:
    """How many comparisons, the share of each answer, the pairs they took, and the interval's median half width."""
    kinds = Counter[str](look.changes[0].kind for look in looks)
    pairs = [look.pairs for look in looks]
    first = [look.changes[0] for look in looks]
    widths = [(change.high - change.low) / 2 for change in first if change.high is not None and change.low is not None]
    return [
        str(len(looks)),
        *(f"{kinds[kind] / len(looks):.1%}" for kind in ANSWERS),
        f"{statistics.mean(pairs):.1f}",
        str(max(pairs)),
        f"± {statistics.median(widths) * 100:.2f} %",
    ]


if __name__ == "__main__":
    main()
