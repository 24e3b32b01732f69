"""How fast the machine is at this moment: the CPU time of a fixed loop of Python."""

from __future__ import annotations

import time

_SHARE = 4  # a loop beside a value runs for a quarter of its time, which told as much as half of it
_SHORTEST = 300_000  # ns; shorter than that, the loop itself is disturbed more than what it is to correct
_LONGEST = 10_000_000  # ns; what disturbs a value for longer than this shows in its median anyway
_MOST = 1_000  # loops; far more than fit into the longest time, so that a clock which stands still ends them, too
_ROUNDS = 500  # of a loop: some 50 us, to read the clock once in between


def loop_time(value_time: float) -> float:
    """The CPU time of a loop in ns, beside a value that takes so many ns.

    Memory that other CPUs use, another thread of the same core and the clock rate slow a loop down about as they slow
    down most Python code: the quotient of the two varies less than either."""
    end = time.perf_counter_ns() + min(max(value_time / _SHARE, _SHORTEST), _LONGEST)
    loops, start = 0, time.thread_time_ns()
    while loops == 0 or (loops < _MOST and time.perf_counter_ns() < end):
        _loop()
        loops += 1
    return max(1, time.thread_time_ns() - start) / loops  # other threads of the process are not its speed


def _loop() -> None:
    """Arithmetic, and a dictionary that stays in the first cache."""
    total, table = 0, {}
    for index in range(_ROUNDS):
        total += index * index % 7
        table[index & 63] = total
