"""PAPI's operations on real sets of counters, and where their values go."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from perfcore_collect_papi import Metrics, PapiFailure, PapiMetrics, SoftwareSet
from perfcore_collect_papi.topology import Cpu

CPUS = sorted(os.sched_getaffinity(0))


def burn(seconds: float) -> None:
    start = time.thread_time()
    while time.thread_time() - start < seconds * 1.05:  # its clock is not quite that of the counters
        pass


@pytest.fixture
def clock() -> Iterator[SoftwareSet]:
    counters = SoftwareSet(["task-clock"])
    yield counters
    counters.close()


def run_on(cpu: int) -> None:
    os.sched_setaffinity(0, {cpu})


@pytest.fixture
def anywhere() -> Iterator[None]:
    yield
    os.sched_setaffinity(0, CPUS)


@pytest.mark.usefixtures("anywhere")
@pytest.mark.skipif(len(CPUS) < 2, reason="this machine has one CPU only")
def test_a_thread_that_moves_is_split(clock: SoftwareSet) -> None:
    run_on(CPUS[0])
    metrics = PapiMetrics.start(clock)
    burn(0.05)
    metrics.read(clock)
    run_on(CPUS[1])
    burn(0.02)
    latest = metrics.stop(clock)
    first, second = (metrics.value("task-clock", cpu) for cpu in CPUS[:2])
    assert first is not None
    assert second is not None
    assert first >= 0.05e9
    assert second >= 0.02e9
    assert metrics.value("task-clock") == first + second
    assert metrics.cpus == tuple(CPUS[:2])
    assert metrics.latest_cpu == CPUS[1]
    assert metrics.elapsed(latest, clock) >= first + second - 1_000_000


def test_a_set_that_was_stopped_by_the_plain_call_starts_again(clock: SoftwareSet) -> None:
    """With the same store, whose READ then replaces what was counted before."""
    metrics = PapiMetrics.start(clock)
    burn(0.2)
    clock.stop()
    assert PapiMetrics.start(clock, metrics) is metrics
    burn(0.02)
    metrics.stop(clock)
    assert 0.02e9 <= (metrics.value("task-clock") or 0) < 0.2e9
    PapiMetrics.start(clock, metrics)
    with pytest.raises(PapiFailure, match="PAPI_EISRUN"):
        PapiMetrics.start(clock, metrics)
    metrics.stop(clock)


def test_accumulating_zeroes_the_counters(clock: SoftwareSet) -> None:
    metrics = PapiMetrics.start(clock)
    burn(0.02)
    metrics.accum(clock, permanent=True)
    before = metrics.value("task-clock") or 0
    burn(0.02)
    metrics.accum(clock)
    after = metrics.value("task-clock") or 0
    assert before >= 0.02e9
    assert after >= before + 0.02e9
    metrics.reset(clock)
    metrics.read(clock)
    assert (metrics.value("task-clock") or 0) < before


def test_sets_share_a_store(clock: SoftwareSet) -> None:
    faults = SoftwareSet(["page-faults", "task-clock"])
    metrics = PapiMetrics.start(clock)
    PapiMetrics.start(faults, metrics)
    burn(0.02)
    metrics.read(clock)
    metrics.read(faults)
    assert metrics.events == ("task-clock", "page-faults")
    assert (metrics.value("task-clock", event_set=clock) or 0) >= 0.02e9
    assert metrics.entries("page-faults", metrics.latest_cpu, faults) is not None
    assert Metrics.replay(metrics.readings).value("task-clock") == metrics.value("task-clock")
    faults.close()


def test_a_cpu_that_is_not_known_keeps_its_counts(clock: SoftwareSet) -> None:
    metrics = PapiMetrics.start(clock, topology=[Cpu(cpu=max(CPUS) + 1)])
    burn(0.01)
    metrics.stop(clock)
    assert metrics.cpus == (-1,)
    assert (metrics.value("task-clock") or 0) >= 0.01e9


def test_a_thread_that_is_no_more_keeps_its_counts() -> None:
    code = "import time\nwhile time.process_time() < .1: pass\nprint(flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        counters = SoftwareSet(["task-clock"], pid=process.pid, inherit=True)
        metrics = PapiMetrics.start(counters)
        assert process.stdout is not None
        process.stdout.readline()
        metrics.read(counters)
        process.communicate(b"\n")
    metrics.stop(counters)
    counters.close()
    assert (metrics.value("task-clock") or 0) > 0
    assert -1 in metrics.cpus


def test_errors_are_those_of_the_store(clock: SoftwareSet) -> None:
    with pytest.raises(PapiFailure, match="PAPI_ENOEVST"):
        PapiMetrics().read(clock)


PROGRAM = """
import os, time
from perfcore_collect_papi import EventSet, PapiFailure, PapiMetrics, library

def burn(seconds):
    start = time.thread_time()
    while time.thread_time() - start < seconds * 1.05:  # its clock is not quite that of the counters
        pass

events = EventSet(library(), ["PAPI_TOT_CYC", "PAPI_TOT_INS"])
metrics = PapiMetrics.start(events)
burn(0.02)
metrics.read(events, permanent=True)
first = metrics.value("PAPI_TOT_CYC")
burn(0.02)
metrics.accum(events)
assert metrics.value("PAPI_TOT_CYC") >= first + 40e6, "an accumulation after a reading has both"
metrics.reset(events)
burn(0.01)
metrics.stop(events)
assert 10e6 <= metrics.value("PAPI_TOT_CYC") < first + 10e6
for wrong, code in (
    (lambda: EventSet(library(), ["PAPI_NONE"]), -7),
    (lambda: EventSet(library(), ["A" * 100_000]), -7),
    (lambda: library().component_of("A" * 100_000), -7),
    (lambda: library().component_of("PAPI_TOT_INS\\0x"), -7),
    (events.stop, -9),
    (lambda: (events.start(), events.start()), -10),
):
    try:
        wrong()
    except PapiFailure as error:
        assert error.code == code, (error, code)
    else:
        raise AssertionError(code)
events.close()
events.close()
attached = EventSet(library(), ["PAPI_TOT_CYC"], cpu=0, inherit=True)
attached.start()
if os.fork() == 0:
    os.sched_setaffinity(0, {0})
    burn(0.03)
    os._exit(0)
os.wait()
assert attached.stop()[0] >= 29e6
print("done")
"""


@pytest.mark.usefixtures("processor")
def test_with_papi_itself(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.stdout, done.stderr) == ("done\n", "")
