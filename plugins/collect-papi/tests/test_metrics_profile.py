"""A store as a profile: a snapshot for each permanent reading, by CPU and by the parts of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from perfcore_collect_papi import Metrics, PapiMetrics, SoftwareSet, topology
from perfcore_collect_papi.metrics import Reading
from perfcore_collect_papi.snapshots import snapshots
from perfcore_collect_papi.topology import Cpu
from perfcore_testing.project import Project
from perfcore_testing.transforming import survives_storing

from perfcore.errors import PerfError, UsageError

from .test_metrics import Plain, operations, play

EVENTS = ("task-clock", "page-faults")
CPUS = sorted(os.sched_getaffinity(0))


def burn(seconds: float) -> None:
    start = time.thread_time()
    while time.thread_time() - start < seconds * 1.05:  # its clock is not quite that of the counters
        pass


def measured(*, factor: int = 1, cpus: list[Cpu] | None = None) -> PapiMetrics:
    """Two runs of two permanent readings each, with a temporary one between them."""
    events, metrics = SoftwareSet(EVENTS), PapiMetrics(cpus)
    for _ in range(2):
        PapiMetrics.start(events, metrics)
        burn(0.005 * factor)
        metrics.read(events, permanent=True)
        burn(0.005 * factor)
        metrics.read(events)
        burn(0.005 * factor)
        metrics.stop(events, permanent=True)
    events.close()
    return metrics


def rows(profile: Any, table: str) -> list[dict[str, Any]]:
    return list(profile.tables[table].iter_rows())


def test_a_permanent_reading_is_a_snapshot() -> None:
    metrics = measured()
    profile = metrics.profile("burn")
    moments = rows(profile, "snapshots")
    assert [(row["run"], row["snapshot"]) for row in moments] == [(0, 0), (0, 1), (1, 2), (1, 3)]
    permanent = [reading for reading in metrics.readings if reading.permanent]
    assert [row["timestamp"] for row in moments] == [reading.timestamp for reading in permanent]
    assert [row["time"] for row in moments] == [reading.elapsed / 1e9 for reading in permanent]
    for run in (0, 1):
        counted = [row["task-clock"] for row in rows(profile, "resources") if row["run"] == run]
        assert sum(counted) == dict(permanent[2 * run + 1].values)["task-clock"]
    assert [row["run"] for row in rows(profile, "runs")] == [0, 1]
    assert profile.header.type == "papi.software.sampled.metrics"
    assert (profile.header.cmd, profile.header.args) == ("metrics", "burn")
    assert profile.collector.sampling["source"] == "software"
    assert profile.notes == ()
    assert survives_storing(profile)


def test_counts_are_those_of_parts_of_the_machine_with_their_sizes() -> None:
    places = [Cpu(cpu=cpu, core=cpu, package=0, numa=0, numa_memory=1 << 30, l3="all", l3_size=4096) for cpu in CPUS]
    metrics = measured(cpus=places)
    profile = metrics.profile()
    parts = rows(profile, "parts")
    assert {row["level"] for row in parts} == {"core", "l3", "numa", "package"}
    assert {(row["level"], row["size"]) for row in parts if row["size"]} == {("l3", 4096), ("numa", 1 << 30)}
    for level in ("core", "l3", "numa", "package"):
        counted = sum(row["task-clock"] for row in parts if row["level"] == level)
        assert counted == sum(row["task-clock"] for row in rows(profile, "resources"))
    assert [row["l3_size"] for row in rows(profile, "topology")] == [4096] * len(CPUS)
    ((l3, value),) = metrics.by_part("task-clock", "l3").items()
    assert (l3.cpus, l3.size) == (tuple(CPUS), 4096)
    assert value == sum(metrics.metrics.by_cpu("task-clock").values())
    with pytest.raises(UsageError, match="there is no level 'l4'"):
        metrics.by_part("task-clock", "l4")


def test_what_no_permanent_reading_has_is_told() -> None:
    events = SoftwareSet(EVENTS)
    metrics = PapiMetrics.start(events)
    with pytest.raises(PerfError, match="no reading of the store is permanent"):
        metrics.profile()
    metrics.read(events, permanent=True)
    metrics.stop(events)
    assert metrics.profile().notes == ("readings after the last permanent one of their set are not in the profile",)
    events.close()


def test_counts_of_no_known_cpu_have_no_cpu() -> None:
    profile = measured(cpus=[Cpu(cpu=max(CPUS) + 1)]).profile()
    assert {row["cpu"] for row in rows(profile, "resources")} == {None}
    assert "CPU" in profile.notes[0]
    assert rows(profile, "parts") == []


@given(operations(sets=2))
def test_the_snapshots_of_a_run_add_up_to_its_counters(steps: list[tuple[str, int, int, bool, int]]) -> None:
    """To what was counted from START, or the last RESET, to the last permanent reading."""
    metrics, plains = Metrics(), [Plain(), Plain()]
    counted: dict[tuple[int, int], int] = {}
    runs, since, dropped = [-1, -1], [0, 0], [0, 0]
    for step in steps:
        op, event_set, _, permanent, amount = step
        running = plains[event_set].running
        reading = play(metrics, plains[event_set], step)
        if running != (op != "start"):
            continue
        since[event_set] += amount if op != "start" else 0
        if op == "start":
            runs[event_set] += 1
        if op in ("start", "reset"):
            since[event_set] = dropped[event_set] = 0
        if reading and permanent:
            key = event_set, runs[event_set]
            counted[key] = counted.get(key, 0) + since[event_set]
            since[event_set] = 0
    totals: dict[tuple[int, int], int] = {}
    for snapshot in snapshots(metrics.journal):
        for counts in snapshot.counts.values():
            key = int(str(snapshot.event_set)), snapshot.run
            totals[key] = totals.get(key, 0) + counts["A"]
            assert counts["B"] == 2 * counts["A"]
    assert {key: value for key, value in totals.items() if value} == {k: v for k, v in counted.items() if v}


def test_readings_of_several_sets_are_snapshots_of_their_own() -> None:
    journal = [
        Reading(op="start", event_set="a", timestamp=1),
        Reading(op="start", event_set="b", timestamp=2),
        Reading(op="read", event_set="a", timestamp=3, cpu=0, values=(("A", 5),)),
        Reading(op="accum", event_set="b", timestamp=4, cpu=1, permanent=True, values=(("B", 7),)),
        Reading(op="read", event_set="a", timestamp=5, cpu=1, permanent=True, values=(("A", 9),)),
        Reading(op="accum", event_set="b", timestamp=6, cpu=1, permanent=True, values=(("B", 1),)),
    ]
    assert [(one.event_set, one.counts) for one in snapshots(journal)] == [
        ("b", {1: {"B": 7}}),
        ("a", {0: {"A": 5}, 1: {"A": 4}}),
        ("b", {1: {"B": 1}}),
    ]


def test_it_is_saved_shown_and_compared(project: Project) -> None:
    for factor in (1, 3):
        measured(factor=factor).save("solve", project.path)
    assert "task-clock" in project.perf("show", "0@p", "table").out
    assert "CPU" in project.perf("show", "0@p", "1@p", "topology").out
    difference = project.perf("diff", "0@p", "1@p", "--json").json
    assert difference["metric"] == "task-clock"
    assert difference["target"] > 2 * difference["baseline"]
    project.perf("export", "0@p", "-o", "exported.perf")
    assert all(name in (project.path / "exported.perf").read_text() for name in ("snapshots", "parts", "l3_size"))


PROGRAM = """
from perfcore_collect_papi import EventSet, PapiMetrics, SoftwareSet, library
events = EventSet(library(), ["PAPI_TOT_CYC", "PAPI_TOT_INS"])
metrics = PapiMetrics.start(events)
clock = SoftwareSet(["task-clock"])
PapiMetrics.start(clock, metrics)
sum(range(1_000_000))
metrics.accum(events, permanent=True)
metrics.stop(events, permanent=True)
metrics.stop(clock, permanent=True)
profile = metrics.profile()
print(profile.header.type, profile.collector.sampling["source"], sorted(set(profile.tables["derived"]["metric"])))
rows = list(profile.tables["resources"].iter_rows())
print([{name for name, value in row.items() if value is not None} - {"run", "snapshot", "cpu"} for row in rows] == [
    {"PAPI_TOT_CYC", "PAPI_TOT_INS"}, {"PAPI_TOT_CYC", "PAPI_TOT_INS"}, {"task-clock"}])
"""


@pytest.mark.usefixtures("processor")
def test_sets_of_papi_and_of_the_kernel_make_one_profile(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    said = "papi.forced.sampled.metrics papi-forced:skl+software ['ipc']"
    assert done.stdout.splitlines() == [said, "True"]


def test_the_machine_is_this_one_unless_another_was_given() -> None:
    assert PapiMetrics().topology == topology.of_system()
    assert PapiMetrics([Cpu(cpu=7)]).topology == (Cpu(cpu=7),)


def test_the_clock_of_each_run_is_recorded(tmp_path: Path) -> None:
    rate = tmp_path / "sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq"
    rate.parent.mkdir(parents=True)
    rate.write_text("2000000\n")
    events, metrics = SoftwareSet(EVENTS), PapiMetrics(root=tmp_path)
    for kilohertz in ("2500000", "3000000"):
        PapiMetrics.start(events, metrics)
        metrics.read(events, permanent=True)
        rate.write_text(kilohertz)
        metrics.stop(events, permanent=True)
    events.close()
    found = [(row["run"], row["frequency"], row["turbo"]) for row in rows(metrics.profile(), "clock")]
    assert found == [(0, 2_500_000_000, None), (1, 3_000_000_000, None)]


def test_a_machine_that_tells_no_clock_has_no_table(tmp_path: Path) -> None:
    events, metrics = SoftwareSet(EVENTS), PapiMetrics(root=tmp_path)
    PapiMetrics.start(events, metrics)
    metrics.stop(events, permanent=True)
    events.close()
    assert metrics.clocks == {}
    assert "clock" not in metrics.profile().tables
