"""Regions of Python code, in programs of their own and in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_papi import PapiFailure, Region, diagnosis, region
from perfcore_testing.project import Project
from perfcore_testing.transforming import survives_storing

from perfcore.errors import PerfError

KERNEL = ("task-clock", "page-faults")


def burn(seconds: float) -> None:
    start = time.thread_time()
    while time.thread_time() - start < seconds * 1.05:  # its clock is not quite that of the counters
        pass


def counted(*, name: str = "burn", **options: Any) -> Region:
    return region(name, KERNEL, **options)


def test_a_region_counts_what_is_in_it() -> None:
    burning = counted()
    with burning as inside:
        burn(0.05)
    burn(0.05)
    assert inside is burning
    assert burning.events == KERNEL
    assert 0.05e9 <= burning.counts["task-clock"] < 0.1e9


def test_it_can_be_passed_again() -> None:
    burning = counted()
    assert burning.counts == {}
    for _ in range(3):
        with burning:
            burn(0.01)
    assert len(burning.passes) == 3
    assert all(0.01e9 <= one.values[0] < 0.02e9 for one in burning.passes)
    assert burning.counts["task-clock"] == sum(one.values[0] for one in burning.passes)


def test_a_function_can_be_a_region() -> None:
    burning = counted()

    @burning
    def work(seconds: float) -> str:
        """Its own words."""
        burn(seconds)
        return "done"

    assert work(0.01) == work(seconds=0.01) == "done"
    assert (work.__name__, work.__doc__) == ("work", "Its own words.")
    assert len(burning.passes) == 2


def test_a_recursion_is_counted_once() -> None:
    burning = counted()

    @burning
    def work(depth: int) -> None:
        burn(0.01)
        if depth:
            work(depth - 1)

    work(3)
    assert len(burning.passes) == 1
    assert 0.04e9 <= burning.counts["task-clock"] < 0.08e9


def test_regions_stand_within_one_another() -> None:
    outer, inner = counted(name="main"), counted(name="inner")
    with outer:
        burn(0.01)
        for _ in range(2):
            with inner:
                burn(0.02)
    assert [one.path for one in inner.passes] == ["main/inner"] * 2
    assert all(one.values[0] >= 0.02e9 for one in inner.passes)
    assert outer.counts["task-clock"] >= inner.counts["task-clock"] + 0.01e9


def test_an_error_goes_through_and_is_counted() -> None:
    burning = counted()
    with pytest.raises(KeyError), burning:
        raise KeyError
    assert len(burning.passes) == 1


def test_regions_that_count_different_events_cannot_stand_within_one_another() -> None:
    with counted(name="out"), pytest.raises(PerfError, match="'in' counts other events than 'out' around it"):
        region("in", ("task-clock",)).__enter__()
    with counted(name="out") as after:
        pass
    assert len(after.passes) == 1


def test_a_region_ends_in_the_thread_where_it_began() -> None:
    burning, errors = counted(), list[BaseException]()

    def leave() -> None:
        try:
            burning.__exit__(None, None, None)
        except PerfError as error:
            errors.append(error)

    with burning:
        other = threading.Thread(target=leave)
        other.start()
        other.join()
    assert [str(error) for error in errors] == ["region 'burn' ends where it did not begin"]
    assert len(burning.passes) == 1


@pytest.mark.parametrize("threads", [False, True])
def test_threads_are_counted_when_that_is_wanted(threads: bool) -> None:
    burning = counted(threads=threads)
    with burning:
        started = [threading.Thread(target=burn, args=(0.05,)) for _ in range(2)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
    assert (burning.counts["task-clock"] >= 0.1e9) == threads


def test_each_thread_counts_for_itself() -> None:
    burning = counted()

    def work() -> None:
        with burning:
            burn(0.05)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(burning.passes) == 2
    assert all(0.05e9 <= one.values[0] < 0.1e9 for one in burning.passes)


def test_a_profile_has_a_run_for_each_pass() -> None:
    burning = counted()
    for _ in range(2):
        with burning:
            burn(0.01)
    profile = burning.profile
    rows: list[dict[str, Any]] = list(profile.tables["resources"].iter_rows())
    assert [row["run"] for row in rows] == [0, 1]
    assert {row["region"] for row in rows} == {"burn"}
    assert all(row["task-clock"] >= 0.01e9 and row["wall"] >= row["task-clock"] * 0.9 for row in rows)
    assert profile.header.type == "papi.software.sampled.region"
    assert profile.collector.sampling["attribution"] == "sampled"
    assert profile.config_id
    assert profile.tables["topology"].rows
    assert survives_storing(profile)


def calls_of_profile(passes: int) -> int:
    """How many functions are called to make the profile of a region that was passed so often."""
    burning, calls = counted(), 0
    with burning:
        pass
    burning._taken.extend(burning._taken * (passes - 1))

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        profile = burning.profile
    finally:
        sys.setprofile(None)
    assert profile.tables["resources"].rows == profile.tables["runs"].rows == passes
    return calls


def test_the_profile_of_many_passes_takes_no_more_for_each() -> None:
    """A region may be passed 200,000 times: its profile is made column by column."""
    calls_of_profile(10)
    few, more, many = (calls_of_profile(passes) for passes in (1_000, 2_000, 20_000))
    assert more - few <= 5 * 1_000
    assert many - few <= 5 * 19_000


def test_a_region_that_was_never_passed_has_an_empty_profile() -> None:
    profile = counted().profile
    assert {profile.tables[name].rows for name in ("resources", "runs", "derived")} == {0}
    assert [column.name for column in profile.tables["resources"].columns] == ["run", "region", "cpu", *KERNEL, "wall"]


def test_a_profile_can_be_kept_as_a_pending_one(project: Project) -> None:
    burning = counted(name="parse\x1b[2J<b>")
    with burning:
        burn(0.01)
    burning.save(project.path)
    pending = project.perf("status", "--json").json["pending"]
    assert len(pending) == 1
    assert "task-clock" in project.perf("show", "0@p", "table").out


@pytest.mark.skipif(bool(diagnosis.machine().units), reason="this machine has a processor that counts")
def test_without_counters_the_reason_is_told_and_a_fallback_can_be_had() -> None:
    with pytest.raises(PerfError, match="this machine offers no hardware counters") as caught:
        region("none").__enter__()
    assert "use fallback=True" in (caught.value.hint or "")
    assert "perf config" not in (caught.value.hint or "")
    with region("some", fallback=True) as some:
        burn(0.01)
    assert some.counts["task-clock"] >= 0.01e9
    assert some.profile.notes


PROGRAM = """
import json, os, sys, threading, time
import perfcore_collect_papi as papi

def burn(seconds):
    start = time.thread_time()
    while time.thread_time() - start < seconds * 1.05:  # its clock is not quite that of the counters
        pass

EVENTS = ("PAPI_TOT_CYC", "PAPI_TOT_INS")
outer, inner, forked = (papi.region(name, EVENTS) for name in ("outer", "inner", "forked"))
with outer:
    burn(0.02)
    with inner:
        burn(0.03)
with forked:
    child = os.fork()
    if child == 0:
        with papi.region("child", EVENTS) as own:
            burn(0.02)
        os._exit(0 if 20e6 <= own.counts["PAPI_TOT_CYC"] < 200e6 else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    burn(0.05)
with papi.region("threads", EVENTS, threads=True) as threads:
    thread = threading.Thread(target=burn, args=(0.05,))
    thread.start()
    thread.join()
try:
    papi.region("none", ["PAPI_NONE"]).__enter__()
except Exception as error:
    said = str(error)
found = {one.name: one.counts["PAPI_TOT_CYC"] for one in (outer, inner, forked, threads)}
metrics = set(outer.profile.tables["derived"]["metric"])
print(json.dumps([found, code, said, outer.profile.header.type, *metrics]))
"""


@pytest.mark.usefixtures("processor")
def test_regions_are_counted_by_papi(tmp_path: Path) -> None:
    """Cycles are nanoseconds here. A fork counts for itself and leaves the counters of its parent alone."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=tmp_path)
    found, code, said, type_, metric = json.loads(done.stdout)
    assert metric == "ipc"
    assert found["outer"] >= found["inner"] + 20e6
    assert found["inner"] >= 30e6
    assert found["forked"] >= 50e6
    assert found["threads"] >= 50e6
    assert code == 0
    assert said.startswith("PAPI_NONE is not available on this CPU")
    assert type_ == ("papi.forced.sampled.region" if "LIBPFM_FORCE_PMU" in os.environ else "papi.sampled.region")


def test_failures_have_the_codes_of_papi() -> None:
    assert PapiFailure(-8, "adding").name == "PAPI_ECNFLCT"
