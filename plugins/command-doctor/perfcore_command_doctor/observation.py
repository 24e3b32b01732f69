"""What happens on the machine while nothing is measured, and how much a fixed loop varies."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Mapping
from pathlib import Path

from perfcore_collect_time import machine

from perfcore.named_tuple import NamedTuple

_LOOPS = 40
_ITERATIONS = 100_000  # some milliseconds: above what a timer interrupt takes, below what a time slice lasts
_NAMED = 3  # programs


class Program(NamedTuple):
    """A program that ran meanwhile, and how many CPUs it took."""

    name: str
    cpus: float


class Observation(NamedTuple):
    """`busy` is how many CPUs other programs took, the busiest of which are `programs`; `stolen` the share that the
    hypervisor withheld, `available` that of the memory which is free, `swapped` the pages that were read back, and
    `throttled` how often a CPU was too hot. None is what this machine does not tell. `loops` are CPU seconds."""

    cpus: int
    loops: tuple[float, ...]
    busy: float | None = None
    programs: tuple[Program, ...] = ()
    stolen: float | None = None
    available: float | None = None
    swapped: int = 0
    throttled: int | None = None

    @property
    def spread(self) -> float:
        """The interquartile range of the loops over their median."""
        lower, median, upper = statistics.quantiles(self.loops, n=4)
        return (upper - lower) / median


class _Moment(NamedTuple):
    counters: machine.Snapshot
    programs: Mapping[tuple[int, str], float]
    swapped: int
    throttled: int | None
    own: float


def observe(seconds: float, root: Path = Path("/")) -> Observation:
    """Look for so many seconds, and then run the loops, which take about as long as one of these."""
    before = _moment(root)
    time.sleep(seconds)
    after = _moment(root)
    elapsed = after.counters.moment - before.counters.moment
    throttled = None if before.throttled is None or after.throttled is None else after.throttled - before.throttled
    return Observation(
        cpus=after.counters.cpus,
        loops=_loops(),
        busy=_busy(before, after, elapsed),
        programs=_busiest(before, after, elapsed),
        stolen=machine.stolen_share(before.counters, after.counters),
        available=_available(root),
        swapped=after.swapped - before.swapped,
        throttled=throttled,
    )


def share(part: float) -> str:
    """`12 %`."""
    return f"{part * 100:.0f} %" if part >= 0.1 else f"{part * 100:.1f} %"


def _moment(root: Path) -> _Moment:
    own = os.times()
    return _Moment(
        counters=machine.snapshot(root),
        programs=_programs(root),
        swapped=_number(root / "proc/vmstat", "pswpin") or 0,
        throttled=_throttled(root),
        own=own.user + own.system,
    )


def _busy(before: _Moment, after: _Moment, elapsed: float) -> float | None:
    if before.counters.ran is None or after.counters.ran is None:
        return None
    others = after.counters.ran - before.counters.ran - (after.own - before.own)
    return max(0.0, others / elapsed)


def _busiest(before: _Moment, after: _Moment, elapsed: float) -> tuple[Program, ...]:
    """Those that took at least 1 % of a CPU."""
    by_name: dict[str, float] = {}
    for (pid, name), used in after.programs.items():
        if pid != os.getpid():
            by_name[name] = by_name.get(name, 0.0) + (used - before.programs.get((pid, name), used)) / elapsed
    programs = [Program(name, cpus) for name, cpus in by_name.items() if cpus >= 0.01]
    return tuple(sorted(programs, key=lambda program: -program.cpus)[:_NAMED])


def _programs(root: Path) -> dict[tuple[int, str], float]:
    """The CPU seconds of every process by its number and name, as far as it may be seen."""
    ticks = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
    found = {}
    for path in (root / "proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text(errors="replace")
        except OSError:  # it has ended
            continue
        name, _, rest = text.partition("(")[2].rpartition(")")  # a name may hold brackets: proc_pid_stat(5)
        fields = rest.split()
        if len(fields) > 12:
            found[int(path.parent.name), name] = (int(fields[11]) + int(fields[12])) / ticks  # utime and stime
    return found


def _throttled(root: Path) -> int | None:
    """How often CPUs were slowed down by their temperature since the machine started."""
    counts = []
    for path in (root / "sys/devices/system/cpu").glob("cpu[0-9]*/thermal_throttle/core_throttle_count"):
        try:
            counts.append(int(path.read_text()))
        except (OSError, ValueError):
            continue
    return sum(counts) if counts else None


def _available(root: Path) -> float | None:
    total, free = (_number(root / "proc/meminfo", name) for name in ("MemTotal:", "MemAvailable:"))
    return free / total if total and free is not None else None


def _number(path: Path, name: str) -> int | None:
    """The number behind a name at the beginning of a line."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return None
    return next((int(words[1]) for words in map(str.split, lines) if len(words) > 1 and words[0] == name), None)


def _loops() -> tuple[float, ...]:
    """The CPU seconds of a loop of fixed work, each time, after a few that warm up."""
    taken = []
    for _ in range(_LOOPS + 5):
        start = time.process_time()
        value = 1
        for _ in range(_ITERATIONS):
            value = (value * 1103515245 + 12345) & 0x7FFFFFFF
        taken.append(time.process_time() - start)
    return tuple(taken[5:])
