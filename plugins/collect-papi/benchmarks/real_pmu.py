"""Counts of a real PMU against what is known to be true. `arm_guest.py` runs it in a virtual machine; on ARM with a C
compiler it runs as it is.

    python benchmarks/real_pmu.py [RUNS]

A program without a C library executes a known number of instructions, and PAPI counts them through the collector. The
passes of regions and of event sets with threads tell whether an empty pass holds what ended threads counted. A line of
JSON for each question, with `holds`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from perfcore_collect_papi import EventSet, PapiCollector, PapiSettings, library, region
from perfcore_testing.collector import Measuring

from perfcore.model import Job

EVENT = "PAPI_TOT_INS"
PART = 5e-4  # of the instructions may be more than the program's
LOOPS = {20_000_000: 10_000_000 - 3, 2_000_000: 1_000_000 - 3, 6: 0}  # rounds of two instructions, by the sum
# Six instructions, and two for each round.
SOURCE = """
    .globl _start
_start:
    mov x0, #0
    ldr x1, =ROUNDS
    cbz x1, end
again:
    subs x1, x1, #1
    b.ne again
end:
    mov x8, #93
    nop
    svc #0
"""
THREAD_WORK = 20_000  # rounds of Python in a thread: over a million instructions
PASSES = 50


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for answer in (*programs(runs), *passes()):
        print(json.dumps(answer), flush=True)


def programs(runs: int) -> Iterator[dict[str, Any]]:
    """What is counted of programs whose instructions are known."""
    with tempfile.TemporaryDirectory() as folder:
        for expected, rounds in LOOPS.items():
            program = built(Path(folder), rounds)
            for per_cpu in (True, False):
                counts = [counted(program, per_cpu) for _ in range(runs)]
                beside = [count - expected for count in counts]
                yield {
                    "question": f"{expected} instructions, {'per cpu' if per_cpu else 'total'}",
                    "counted beside": beside,
                    "part": max(map(abs, beside)) / expected,
                    "holds": min(beside) >= 0 and max(beside) < max(PART * expected, 1_000),
                }


def built(folder: Path, rounds: int) -> Path:
    source, program = folder / "loop.s", folder / f"loop-{rounds}"
    source.write_text(SOURCE.replace("ROUNDS", str(rounds)))
    words = ["cc", "-nostdlib", "-static", "-o", str(program), str(source)]
    subprocess.run(words, check=True)
    return program


def counted(program: Path, per_cpu: bool) -> int:
    """What the collector counts of one run."""
    job = Job(argv=(str(program),), cmd=program.name, cwd=program.parent)
    with Measuring(PapiCollector(PapiSettings(event=(EVENT,), per_cpu=per_cpu)), job) as measuring:
        measuring.run()
    return sum(row[EVENT] or 0 for row in measuring.rows)


def passes() -> Iterator[dict[str, Any]]:
    """What full and empty passes hold, each after threads that ended."""
    for name, one in (("region", _regions), ("reset", _reset), ("accum", _accum), ("start again", _again)):
        full, empty = one()
        yield {
            "question": f"{PASSES} passes with threads: {name}",
            "full": [min(full), max(full)],
            "empty": [min(empty), max(empty)],
            "holds": min(empty) >= 0 and max(empty) < min(full) / 10,
        }


def in_a_thread() -> None:
    thread = threading.Thread(target=lambda: sum(range(THREAD_WORK)))
    thread.start()
    thread.join()


def _regions() -> tuple[list[int], list[int]]:
    full, empty = (region(name, [EVENT], threads=True) for name in ("full", "empty"))
    for _ in range(PASSES):
        with full:
            in_a_thread()
        with empty:
            pass
    return [one.values[0] for one in full.passes], [one.values[0] for one in empty.passes]


def _reset() -> tuple[list[int], list[int]]:
    return _with_set(EventSet.read, EventSet.reset, again=False)


def _accum() -> tuple[list[int], list[int]]:
    return _with_set(EventSet.accum, lambda events: None, again=False)


def _again() -> tuple[list[int], list[int]]:
    return _with_set(EventSet.stop, EventSet.start, again=True)


def _with_set(
    read: Callable[[EventSet], list[int]], between: Callable[[EventSet], None], *, again: bool
) -> tuple[list[int], list[int]]:
    full, empty, events = [], [], EventSet(library(), [EVENT], inherit=True)
    events.start()
    for _ in range(PASSES):
        in_a_thread()
        full.append(read(events)[0])
        between(events)
        empty.append(read(events)[0])
        between(events)
    if again:
        events.stop()
    events.close()
    return full, empty


if __name__ == "__main__":
    main()
