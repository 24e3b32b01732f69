"""What the runs of a session amount to besides their rows: disturbed ones, failed ones, processes left behind."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from perfcore.text import plural, quantity

if TYPE_CHECKING:
    from perfcore_collect_time.launcher import Results

# Idle, a run of 15 ms waits 0.08 ms for a CPU, half a percent; at a load of 9 on two CPUs six times its own length.
DISTURBED_SHARE = 0.05  # of the wall time spent waiting for a CPU
DISTURBED_LEAST = 500_000  # ns; below it a wait is what any start of a process may take
OWN_SHARE = 0.95  # a run that kept its CPUs this busy waited for itself
# The median of wall time is then that of disturbed runs. Of fewer than three runs a share tells little.
UNFIT_SHARE = 0.5  # of the runs disturbed
UNFIT_RUNS = 3
REFERENCE_MOST = 1.7  # times as long as a fast machine takes, which is more than shared cores make of it
FLOOR_MARGIN = 16  # the kernel's count of pages is exact to less than one part in this


class Tally(msgspec.Struct):
    """Grows with every run. Warm-ups count for what they left behind only."""

    runs: int = 0
    disturbed: int = 0
    waits: list[float] = msgspec.field(default_factory=list)
    reference: list[int] = msgspec.field(default_factory=list)
    failures: Counter[int] = msgspec.field(default_factory=Counter)
    littering: int = 0
    left: int = 0
    floor: int = 0
    hidden: int = 0

    def take(
        self, results: Results, cpus: Callable[[], int], warmup: bool
    ) -> tuple[Mapping[str, Sequence[int | None]], Sequence[bool]]:
        """(the rows of runs as columns, whether each was disturbed)."""
        floor = results.floor + results.floor // FLOOR_MARGIN
        self.floor = max(self.floor, floor)
        memory = [peak if peak > floor else None for peak in results.numbers["max_rss"]]
        walls = results.numbers["wall"]
        waits = list(zip(results.run_delay, walls, results.numbers["cpu"], strict=True))
        bothered = [disturbed(*run, cpus) for run in waits]
        delays = [run[0] if _representative(position, *run) else None for position, run in enumerate(waits)]
        self.left += sum(results.left)
        self.littering += sum(map(bool, results.left))
        if not warmup:
            self.runs += len(bothered)
            self.disturbed += sum(bothered)
            self.hidden += memory.count(None)
            if results.exitcode:
                self.failures[results.exitcode] += len(bothered)
            self.reference += results.reference
            self.waits += [delay / max(1, wall) for delay, wall in zip(delays, walls, strict=True) if delay is not None]
        return {**results.numbers, "max_rss": memory, "run_delay": delays}, bothered

    def facts(self) -> dict[str, Any]:
        """For the profile."""
        sampling: dict[str, Any] = {
            "disturbed": self.disturbed,
            "run_delay_share": round(_median(self.waits), 4) if self.waits else None,
            "left_behind": self.left,
            "max_rss_floor": self.floor or None,
        }
        if self.reference:
            # Other interpreters and processors need another time for the same work.
            work = f"{sys.implementation.cache_tag} on {os.uname().machine}"
            fast = sorted(self.reference)[len(self.reference) // 4]
            # An interrupt in so short a work is no slowness of the runs.
            usual = sum(min(max(fast, taken), fast * REFERENCE_MOST) for taken in self.reference) / len(self.reference)
            sampling |= {"reference": round(usual), "reference_fast": fast, "reference_work": work}
        return {key: value for key, value in sampling.items() if value is not None}

    def notes(self) -> Iterator[str]:
        """For people, one line each."""
        of_all = f"of {plural(self.runs, 'run')}"
        if self.waits and self.disturbed >= max(UNFIT_RUNS, self.runs * UNFIT_SHARE):
            share = _median(self.waits) * 100
            yield (
                f"this machine is unfit to measure wall time now: {self.disturbed:,} {of_all} waited for a CPU, "
                f"half of them for {share:.0f} % of their time or more; cpu suffers less"
            )
        elif self.disturbed:
            most = f"{DISTURBED_SHARE * 100:.0f} %"
            yield f"{self.disturbed:,} {of_all} waited for a CPU for more than {most} of their time"
        if self.failures:
            codes = ", ".join(f"{code} ({count}×)" for code, count in sorted(self.failures.items()))
            yield f"{self.failures.total()} {of_all} failed and count all the same; exit codes: {codes}"
        if self.left:
            processes = plural(self.left, "process", "processes")
            yield f"the command left {processes} behind in {plural(self.littering, 'run')}; their time is not counted"
        if self.hidden:
            in_runs = "" if self.hidden == self.runs else f" in {self.hidden:,} {of_all}"
            yield f"max_rss is missing{in_runs}: up to {quantity(self.floor, 'B')} it may be that of perf's own helper"


def disturbed(delay: int | None, wall: int, cpu: int, cpus: Callable[[], int]) -> bool:
    """Whether a run had to wait for a CPU that others used: for more than 5 % of its wall time and 0.5 ms. `cpus` tells
    how many it may run on, which most runs need not know."""
    if delay is None or delay <= DISTURBED_LEAST or delay <= DISTURBED_SHARE * wall:
        return False
    return cpu < OWN_SHARE * cpus() * wall


def _representative(position: int, delay: int | None, wall: int, cpu: int) -> bool:
    """Whether a wait may stand for those of other runs. Most short runs are asked only if they can have waited: whether
    they were disturbed must be known, but beside runs that were not asked, their waits would be those of a machine that
    is busier than it is. So a run counts whose wait has no part in its being asked: the first of every so many, or one
    that would be long, or off the CPU, without it."""
    from perfcore_collect_time.helper import ASKED, LEAST_WAIT, SHORT  # what runs on Linux only

    without = wall - (delay or 0)
    return not position % ASKED or without > SHORT or without - cpu > LEAST_WAIT


def _median(values: Sequence[float]) -> float:
    """As `statistics` has it, which imports fractions and decimals."""
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
