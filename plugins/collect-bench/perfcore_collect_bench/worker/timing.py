"""How many calls make a value, and how many values a process takes."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from perfcore_collect_bench.worker.speed import loop_time

VALUE_TIME = 2_000_000  # ns; what disturbs a machine lasts for milliseconds, so that the speed beside is that within
VALUES = 10  # per process: the spread between processes is larger, so that more values buy little
DROPPED = 2  # values taken before these: the first is 2 to 3 % slow, the second at most 1 %
SLOW = 100_000_000  # ns; if a value takes longer, only one is dropped: the benchmark is warm after that
ENOUGH = 1_000_000_000  # ns that the values of a benchmark may take in a process, before there are less than five
DIFFERENT = 4  # times faster or slower than in the calibration: other loops are needed
MOST_LOOPS = 100_000_000  # an empty function takes some 20 ns, so that no value needs more than 250,000
MOST_VALUES = 100  # that a suite may ask for
STEPS = 100  # of the clock: below that a value of a single call is mostly rounding
_CLOCK_TRIES = 200
_MOST_GROWTH = 100.0  # of the loops, from one try of the calibration to the next
_NOTICEABLE = 10_000  # ns of a call alone; below that the clock is much of it
_FAR = 10  # times slower than in the calibration, a call alone, which is slower by itself
_WAITING = 0.1  # CPU time over wall time; a program that computes has more even where ten others want its CPU

TakeValue = Callable[[int], "Value"]
"""Takes a value of so many calls."""


class Value(NamedTuple):
    """The time of some calls together, in ns. The CPU time is None where only the wall time is known."""

    wall: float
    cpu: float | None


class Plan(NamedTuple):
    """How a benchmark is measured in every run. `wall` and `cpu` are what a call took in the calibration, in ns."""

    loops: int
    dropped: int
    values: int
    wall: float
    cpu: float | None

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Plan:
        return cls(**fields)


def plan(loops: int, call: Value, elapsed: float, values: int | None = None) -> Plan:
    """The plan where a call takes this long, and a value this many ns with its setup. It has less values where they
    take too long."""
    elapsed = max(elapsed, call.wall * loops, 1)
    dropped = DROPPED if elapsed < SLOW else 1
    affordable = int(ENOUGH / elapsed) - dropped
    return Plan(loops, dropped, values or max(1, min(VALUES, affordable)), call.wall, call.cpu)


def calibrate(take: TakeValue, *, value_time: float, loops: int = 0, values: int | None = None) -> Plan:
    """Try more and more calls until they take as long as a value. With `loops`, their number is given."""
    tried = loops or 1
    start = time.perf_counter_ns()
    shortest = take(tried)
    elapsed = time.perf_counter_ns() - start
    while not loops and shortest.wall < value_time and tried < MOST_LOOPS:
        # A first try may be far too slow or fast: a limit of growth on both sides, to end soon and not to overshoot.
        tried = min(MOST_LOOPS, int(tried * max(2.0, min(_MOST_GROWTH, value_time / max(shortest.wall, 1)))))
        shortest = shorter(take(tried), take(tried))  # one of them may have waited for a CPU
    call = Value(shortest.wall / tried, None if shortest.cpu is None else shortest.cpu / tried)
    best = loops or (max(1, round(value_time / max(call.wall, 0.1))) if tried > 1 else 1)
    return plan(best, call, elapsed, values)


def values(
    take: TakeValue, plan: Mapping[str, Any] | None, *, adapt: bool, calibrated: Callable[[], Plan]
) -> dict[str, Any]:
    """The values of a benchmark in this process, per call, and the plan that they follow: the one that is given, unless
    it does not fit and may be replaced."""
    followed = Plan.of(plan) if plan else calibrated()
    if plan and adapt and not fits(take, followed):
        followed = calibrated()
    lasting = max([take(followed.loops).wall for _ in range(followed.dropped)], default=float(VALUE_TIME))
    totals, speeds = [], [loop_time(lasting)]
    for _ in range(followed.values):
        totals.append(take(followed.loops))
        speeds.append(loop_time(lasting))
    return measured(followed, totals, speeds)


def measured(plan: Plan, totals: Sequence[Value], speeds: Sequence[float]) -> dict[str, Any]:
    """The times of a call, from those of all calls of each value. `speeds` are the times of the fixed loop before the
    first value and after each."""
    return {
        "wall": [total.wall / plan.loops for total in totals],
        "cpu": [None if total.cpu is None else total.cpu / plan.loops for total in totals],
        "relative": [
            None if total.cpu is None else 2 * total.cpu / plan.loops / (before + after)
            for total, (before, after) in zip(totals, itertools.pairwise(speeds), strict=True)
        ],
        "plan": plan._asdict(),
        "coarse": plan.loops == 1 and min(total.wall for total in totals) < STEPS * clock_step(),
    }


def fits(take: TakeValue, plan: Plan) -> bool:
    """Whether a plan of another version fits this one: a call may take four times longer or shorter, no more."""
    if plan.loops > 1:
        alone = shorter(take(1), take(1))  # as a value of all loops could take minutes
        if alone.wall > _NOTICEABLE and alone.wall > _FAR * plan.wall:
            return False
    value = take(plan.loops)
    if is_different(value, plan) and value.wall < SLOW:
        value = shorter(value, take(plan.loops))  # the first may have filled caches
    return not is_different(value, plan)


def shorter(first: Value, second: Value) -> Value:
    return first if first.wall <= second.wall else second


def is_different(value: Value, plan: Plan) -> bool:
    """Whether a call took so much more or less time than in the calibration that its loops do not fit. On a busy
    machine wall time does that by itself, so that CPU time decides, but for a benchmark that waits."""
    if plan.cpu is None or value.cpu is None or plan.cpu < _WAITING * plan.wall:
        ratio = value.wall / plan.loops / max(plan.wall, 1.0)
    else:
        ratio = value.cpu / plan.loops / max(plan.cpu, 1.0)
    return not 1 / DIFFERENT <= ratio <= DIFFERENT


def timed(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: Mapping[str, Any], loops: int) -> Value:
    """The time of so many calls."""
    call = functools.partial(function, *arguments, **keywords) if arguments or keywords else function
    repeats = itertools.repeat(None, loops)
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    for _ in repeats:
        call()
    end = time.perf_counter_ns()
    return Value(end - wall, time.process_time_ns() - cpu)


@functools.cache
def clock_step() -> int:
    """The least difference of two readings of the clock, in ns."""
    readings = [time.perf_counter_ns() for _ in range(_CLOCK_TRIES)]
    return min((b - a for a, b in itertools.pairwise(readings) if b > a), default=1)
