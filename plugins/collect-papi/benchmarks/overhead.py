"""What counting costs: the start of a process with inherited counters against one without, and a region against the
calls of PAPI that it makes.

    python benchmarks/overhead.py              # 400 pairs of 5 starts of /bin/true each, 200 pairs of 200 regions
    python benchmarks/overhead.py --pairs 100

A pair is one way and the other, one after the other, the second first in every other pair. Of the differences of
all pairs the fifth at either end is left out, and their mean is told with the interval that holds it 95 times of 100
(2000 samples of the pairs). A start is what `perf collect papi` does for a run: the command is ready when the counters
start. What counts is the CPU time from there to its end, of both processes, which others on the machine disturb less
than the clock on the wall; what is told as `again` is one way against itself, which should be 1.00.
Without hardware counters those of the kernel are used, and regions are compared with the bare reads of their files.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from collections.abc import Callable, Sequence

from perfcore_collect_papi import EventSet, PapiFailure, SoftwareSet, library, region
from perfcore_collect_papi.gate import Gate

EVENTS = ("PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_BR_INS", "PAPI_BR_MSP")
KERNEL = ("task-clock", "page-faults", "context-switches", "cpu-migrations")
SPEC = {"path": b"/bin/true", "argv": [b"true"], "environment": []}
STREAMS = ((1, 1), (2, 2), (0, 0))
Counters = EventSet | SoftwareSet
Pairs = list[tuple[float, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--starts", type=int, default=5, help="starts of /bin/true on either side of a pair")
    parser.add_argument("--passes", type=int, default=200, help="passes of a region on either side of a pair")
    options = parser.parse_args()
    make = source()
    plain, counted = (lambda: started(None, options.starts)), (lambda: started(make, options.starts))
    report("start of /bin/true", "again", paired(plain, plain, options.pairs))
    report("start of /bin/true", "counted", paired(plain, counted, options.pairs))
    calls, passes = passing(make, options.passes)
    report("region", "again", paired(calls, calls, options.pairs // 2))
    report("region", "region", paired(calls, passes, options.pairs // 2))


def source() -> Callable[[int | None], Counters]:
    """What makes the counters of a CPU, or of this thread only."""
    try:
        EventSet(library(), EVENTS).close()
    except PapiFailure as error:
        print(f"without hardware counters ({error.name}): those of the kernel")
        return lambda cpu: SoftwareSet(KERNEL, cpu=cpu, inherit=cpu is not None, domain="all")
    return lambda cpu: EventSet(library(), EVENTS, cpu=cpu, inherit=cpu is not None)


def started(make: Callable[[int | None], Counters] | None, starts: int) -> float:
    """Nanoseconds on a CPU from the moment that the program may start to its end, with four counters on each CPU or
    none. The first start is left out."""
    return statistics.fmean([_start(make) for _ in range(starts + 1)][1:])


def _start(make: Callable[[int | None], Counters] | None) -> float:
    sets: list[Counters] = []

    def prepare() -> None:
        if make:
            sets.extend(make(cpu) for cpu in range(os.cpu_count() or 1))

    gate = Gate(SPEC, STREAMS, prepare)
    pid = gate.arrive()
    for counters in sets:
        counters.start()
    begin = time.thread_time_ns()
    gate.open()
    _, _, used = os.wait4(pid, 0)
    own = time.thread_time_ns() - begin
    for counters in sets:
        counters.close()
    gate.close()
    return own + round((used.ru_utime + used.ru_stime) * 1e9)


def passing(make: Callable[[int | None], Counters], passes: int) -> tuple[Callable[[], float], Callable[[], float]]:
    counters = make(None)
    hardware = isinstance(counters, EventSet)
    measured = region("measured", EVENTS if hardware else KERNEL, domain="user" if hardware else "all")
    with measured:
        pass

    def calls() -> None:
        if isinstance(counters, EventSet):
            lib, handle, values = counters._lib, counters.handle, counters._values
            lib.PAPI_start(handle)
            lib.PAPI_stop(handle, values)
        else:
            counters.start()
            counters.stop()

    def within() -> None:
        with measured:
            pass

    return (lambda: median(calls, passes)), (lambda: median(within, passes))


def median(what: Callable[[], None], times: int) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter_ns()
        what()
        taken.append(time.perf_counter_ns() - start)
    return statistics.median(taken)


def paired(one: Callable[[], float], other: Callable[[], float], pairs: int) -> Pairs:
    found = []
    for number in range(pairs):
        if number % 2:
            second, first = other(), one()
        else:
            first, second = one(), other()
        found.append((first, second))
    return found


def report(title: str, way: str, pairs: Pairs) -> None:
    base = trimmed([first for first, _ in pairs])
    drawn = random.Random(1)
    means = sorted(more(drawn.choices(pairs, k=len(pairs))) for _ in range(2000))
    low, middle, high = means[50], more(pairs), means[-51]
    print(
        f"{title:<20} {way:<8} {base / 1000:8.1f} us {middle / 1000:+8.2f} us ({low / 1000:+.2f} to {high / 1000:+.2f})"
        f"   {1 + middle / base:.3f} times ({1 + low / base:.3f} to {1 + high / base:.3f})"
    )


def more(pairs: Pairs) -> float:
    return trimmed([second - first for first, second in pairs])


def trimmed(values: Sequence[float]) -> float:
    """The mean without the fifth at either end."""
    cut = len(values) // 5
    return statistics.fmean(sorted(values)[cut : len(values) - cut])


if __name__ == "__main__":
    main()
