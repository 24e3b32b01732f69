"""What counting costs: the start of a process with inherited counters against one without, and a region against the
calls of PAPI that it makes.

    python benchmarks/overhead.py              # 30 rounds of 20 starts of /bin/true, 30 rounds of 500 regions
    python benchmarks/overhead.py --rounds 10

Each is taken in turn, round by round, and the medians of a round are compared with those of the same round, so that
a machine that drifts disturbs all alike. Without hardware counters those of the kernel are used, and regions are
compared with the bare reads of their files.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence

from perfcore_collect_papi import EventSet, PapiFailure, SoftwareSet, library, region

EVENTS = ("PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_BR_INS", "PAPI_BR_MSP")
KERNEL = ("task-clock", "page-faults", "context-switches", "cpu-migrations")
Counters = EventSet | SoftwareSet


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--starts", type=int, default=20, help="starts of /bin/true in a round")
    parser.add_argument("--passes", type=int, default=500, help="passes of a region in a round")
    options = parser.parse_args()
    make = source()
    report("start of /bin/true", "plain", spawning(make, options.rounds, options.starts))
    report("region", "calls", passing(make, options.rounds, options.passes))


def source() -> Callable[[int | None], Counters]:
    """What makes the counters of a CPU, or of this thread only."""
    try:
        EventSet(library(), EVENTS).close()
    except PapiFailure as error:
        print(f"without hardware counters ({error.name}): those of the kernel")
        return lambda cpu: SoftwareSet(KERNEL, cpu=cpu, inherit=cpu is not None, domain="all")
    return lambda cpu: EventSet(library(), EVENTS, cpu=cpu, inherit=cpu is not None)


def spawning(make: Callable[[int | None], Counters], rounds: int, starts: int) -> dict[str, list[float]]:
    def start() -> None:
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)

    def counted() -> float:
        sets = [make(cpu) for cpu in range(os.cpu_count() or 1)]
        for one in sets:
            one.start()
        try:
            return median(start, starts)
        finally:
            for one in sets:
                one.stop()
                one.close()

    plain = lambda: median(start, starts)  # noqa: E731
    return in_turn({"plain": plain, "again": plain, "counted": counted}, rounds)


def passing(make: Callable[[int | None], Counters], rounds: int, passes: int) -> dict[str, list[float]]:
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

    def bare() -> float:
        return median(calls, passes)

    def ours() -> float:
        return median(within, passes)

    return in_turn({"calls": bare, "again": bare, "region": ours}, rounds)


def in_turn(ways: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        for name in sorted(ways, reverse=number % 2 == 1):
            found[name].append(ways[name]())
    return found


def median(what: Callable[[], None], times: int) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter_ns()
        what()
        taken.append(time.perf_counter_ns() - start)
    return statistics.median(taken)


def report(title: str, base: str, found: dict[str, list[float]]) -> None:
    for name, values in found.items():
        ratios = [value / reference for value, reference in zip(values, found[base], strict=True)]
        more = [value - reference for value, reference in zip(values, found[base], strict=True)]
        print(
            f"{title:<20} {name:<8} {statistics.median(values) / 1000:9.1f} us   {spread(ratios, 2)} times {base}"
            f"   {spread([value / 1000 for value in more], 1)} us more"
        )


def spread(values: Sequence[float], digits: int) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


if __name__ == "__main__":
    main()
