"""Real programs on the machine at hand, slower by so much that no load hides it from interleaved CPU time."""

from __future__ import annotations

import os
import sys
import time

import pytest
from perfcore_check_pair import PairCheck, PairSettings
from perfcore_testing.check import measured, pairing

from perfcore.model import Profile

pytestmark = pytest.mark.skipif(not hasattr(os, "wait4"), reason="CPU time of children is read with wait4")
PAIRS = 12
WORK = "total = 0\nfor i in range({}): total += i * i"


def _run(rounds: int) -> tuple[int, int]:
    """CPU and wall nanoseconds of one process."""
    started = time.perf_counter_ns()
    pid = os.posix_spawn(sys.executable, [sys.executable, "-I", "-S", "-c", WORK.format(rounds)], os.environ)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0
    return round((usage.ru_utime + usage.ru_stime) * 1e9), time.perf_counter_ns() - started


def _in_turn(*rounds: int) -> tuple[Profile, Profile]:
    """The profiles of two programs, ABBA."""
    runs: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for pair in range(-1, PAIRS):
        for side in (0, 1) if pair % 2 == 0 else (1, 0):
            measured_run = _run(rounds[side])
            if pair >= 0:
                runs[side].append(measured_run)
    first, second = (
        measured({"cpu": [cpu for cpu, _ in side], "wall": [wall for _, wall in side]}, session="s") for side in runs
    )
    return first, second


def test_a_slower_program_is_found() -> None:
    cpu, wall = PairCheck(PairSettings()).compare(pairing(*_in_turn(150_000, 450_000)))
    assert (cpu.kind, cpu.primary) == ("degradation", True), cpu
    assert cpu.ratio is not None
    assert cpu.ratio > 1.2
    assert not wall.primary


def test_a_faster_program_is_found() -> None:
    cpu, _ = PairCheck(PairSettings()).compare(pairing(*_in_turn(450_000, 150_000)))
    assert cpu.kind == "optimization", cpu


def test_a_program_is_not_slower_than_itself() -> None:
    """At a threshold that a chance result of 12 pairs of equal programs does not reach."""
    sides = _in_turn(150_000, 150_000)
    cpu, _ = PairCheck(PairSettings()).compare(pairing(*sides, thresholds={"cpu": 0.15}))
    assert cpu.kind in ("same", "cannot tell"), cpu
