"""How many calls make a value, and how many values a process takes."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

VALUE_TIME = 5_000_000  # ns; a value of 5 ms is 5 times a tick of the scheduler at 1000 Hz, and 50 functions take 2 s
VALUES = 5  # per process: the spread between processes is larger, so that more values buy little
DROPPED = 2  # values taken before these: the first is 2 to 3 % slow, the second at most 1 %
SLOW_CALL = 100_000_000  # ns; if a call takes longer, only one is dropped: it is warm after that
ENOUGH = 1_000_000_000  # ns that the values of a benchmark may take in a process, before there are less than five
DIFFERENT = 4  # times faster or slower than in the calibration: other loops are needed
MOST_LOOPS = 100_000_000  # an empty function takes some 20 ns, so that no value needs more than 250,000
MOST_VALUES = 100  # that a suite may ask for
_CLOCK_TRIES = 200

TakeValue = Callable[[int], "Value"]
"""Takes a value of so many calls."""


class Value(NamedTuple):
    """The time of some calls together, in ns. The CPU time is None where only the wall time is known."""

    wall: int
    cpu: int | None


class Plan(NamedTuple):
    """How a benchmark is measured in every run. `call` is how long a call took in the calibration, in ns."""

    loops: int
    dropped: int
    values: int
    call: float

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Plan:
        return cls(**fields)


def plan(loops: int, call: float, values: int | None = None) -> Plan:
    """Values of a benchmark of which a call takes this long. It takes less values where they take too long."""
    duration = max(call * loops, 1.0)
    dropped = DROPPED if duration < SLOW_CALL else 1
    affordable = int(ENOUGH / duration) - dropped
    return Plan(loops, dropped, values or max(1, min(VALUES, affordable)), call)


def calibrate(take: TakeValue, *, value_time: float, loops: int = 0, values: int | None = None) -> Plan:
    """Try more and more calls until they take as long as a value. With `loops`, their number is given."""
    if loops:
        return plan(loops, take(loops).wall / loops, values)
    tried = 1
    wall = take(tried).wall
    while wall < value_time and tried < MOST_LOOPS:
        # A first try may be far too slow or fast: grow ten times at most, and twice at least, to end soon.
        tried = min(MOST_LOOPS, int(tried * max(2.0, min(10.0, value_time / max(wall, 1)))))
        wall = min(take(tried).wall, take(tried).wall)  # one of them may have waited for a CPU
    call = wall / tried
    return plan(max(1, round(value_time / call)) if tried > 1 else 1, call, values)


def is_different(value: Value, plan: Plan) -> bool:
    """Whether a call took so much more or less time than in the calibration that the plan does not fit."""
    ratio = value.wall / plan.loops / max(plan.call, 1.0)
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
