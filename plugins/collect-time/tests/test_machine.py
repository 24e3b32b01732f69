"""What is said of the machine, from files as the kernel writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_time.launcher import Results
from perfcore_collect_time.machine import Frequency, Snapshot, facts, frequency, notes, quota, snapshot
from perfcore_collect_time.tally import Tally, disturbed

CALM = Snapshot(moment=100.0, cpus=2, load=0.5, stolen=1.0, ran=50.0, pressure=3.0, throttled=4, throttled_time=0.5)
MS = 1_000_000


def system(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


LINUX = {
    "proc/loadavg": "3.52 2.10 1.80 3/512 12345\n",
    "proc/stat": "cpu  1000 20 300 99999 400 10 20 55 0 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 total=7\n",
    "proc/self/cgroup": "0::/user.slice/job.scope\n",
    "sys/fs/cgroup/user.slice/job.scope/cpu.stat": (
        "usage_usec 9\nuser_usec 5\nnr_periods 100\nnr_throttled 12\nthrottled_usec 1500000\n"
    ),
    "sys/fs/cgroup/user.slice/job.scope/cpu.max": "150000 100000\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
    "sys/devices/system/cpu/smt/active": "1\n",
}


def test_counters_are_read_as_the_kernel_writes_them(tmp_path: Path) -> None:
    root = system(tmp_path, LINUX)
    seen = snapshot(root)
    assert (seen.load, seen.stolen, seen.pressure) == (3.52, 0.55, 2.5)
    assert seen.ran == pytest.approx(13.5)
    assert (seen.throttled, seen.throttled_time, quota(root)) == (12, 1.5, 1.5)
    assert frequency(root) == Frequency(governors=("powersave",), boost=True)
    assert facts(seen, seen, frequency(root), root)["smt"] is True


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {
                "proc/self/cgroup": "0::/pod/container\n",
                "sys/fs/cgroup/pod/cpu.max": "50000 100000\n",
                "sys/fs/cgroup/pod/cpu.stat": "nr_throttled 3\nthrottled_usec 500000\n",
                "sys/fs/cgroup/pod/container/cpu.max": "max 100000\n",
                "sys/fs/cgroup/pod/container/cpu.stat": "nr_throttled 0\nthrottled_usec 0\n",
            },
            (3, 0.5, 0.5),
        ),
        (
            {
                "proc/self/cgroup": "4:memory:/docker/1f\n3:cpuacct,cpu:/job\n0::/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "20000\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/cpu/job/cpu.stat": "nr_periods 60\nnr_throttled 7\nthrottled_time 1500000000\n",
            },
            (7, 1.5, 0.2),
        ),
        (
            {
                "proc/self/cgroup": "2:cpu:/docker/1f\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/cpu/cpu.stat": "nr_throttled 1\nthrottled_time 2000000\n",
            },
            (1, 0.002, 1.5),
        ),
    ],
    ids=["of a group around", "version 1", "version 1 in a container"],
)
def test_a_quota_is_found_in_every_kind_of_control_groups(
    tmp_path: Path, files: dict[str, str], expected: tuple[int, float, float]
) -> None:
    root = system(tmp_path, files)
    seen = snapshot(root)
    assert (seen.throttled, seen.throttled_time, quota(root)) == expected


def test_what_a_machine_does_not_tell_is_missing(tmp_path: Path) -> None:
    seen = snapshot(tmp_path)
    assert seen._replace(moment=0.0, cpus=0) == Snapshot(moment=0.0, cpus=0)
    assert set(facts(seen, seen, frequency(tmp_path), tmp_path)) == {"cpus"}
    assert list(notes(seen, seen, frequency(tmp_path))) == []


def test_this_machine_is_understood() -> None:
    seen = snapshot()
    assert seen.load is not None
    assert seen.cpus >= 1
    assert seen.ran is not None
    assert seen.ran > 0


def test_a_calm_machine_is_not_worth_a_word() -> None:
    later = CALM._replace(moment=110.0, ran=60.0, pressure=3.1)
    assert list(notes(CALM, later, Frequency(governors=("performance",), boost=False))) == []
    assert facts(CALM, later, Frequency())["cpu_pressure"] == 0.01


@pytest.mark.parametrize(
    ("before", "after", "clock", "note"),
    [
        ({"load": 3.5}, {}, Frequency(), "the machine was loaded when this began: load 3.5 on 2 CPUs"),
        ({}, {"stolen": 2.0, "ran": 59.0}, Frequency(), "the hypervisor gave 10 % of the CPU time to others (steal)"),
        (
            {},
            {"throttled": 7, "throttled_time": 1.7},
            Frequency(),
            "stopped this 3 times, for 1.2 s: the machine is unfit",
        ),
        ({}, {}, Frequency(governors=("powersave",), boost=True), "(governor powersave, boost on)"),
        ({}, {}, Frequency(governors=("performance",), boost=True), "(boost on)"),
    ],
)
def test_what_is_worth_knowing_is_said(
    before: dict[str, Any], after: dict[str, Any], clock: Frequency, note: str
) -> None:
    (said,) = notes(CALM._replace(**before), CALM._replace(moment=110.0, **after), clock)
    assert note in said


@pytest.mark.parametrize(
    ("delay", "wall", "cpu", "cpus", "expected"),
    [
        (2 * MS, 20 * MS, 15 * MS, 2, True),
        (2 * MS, 50 * MS, 40 * MS, 2, False),
        (400_000, 1 * MS, 500_000, 2, False),
        (None, 20 * MS, 1 * MS, 2, False),
        (90 * MS, 100 * MS, 195 * MS, 2, False),
        (90 * MS, 100 * MS, 100 * MS, 2, True),
        (30 * MS, 100 * MS, 69 * MS, 1, True),
        (30 * MS, 100 * MS, 99 * MS, 1, False),
    ],
    ids=["over 5 %", "under 5 %", "under 0.5 ms", "unknown", "own threads", "others", "one CPU", "own, one CPU"],
)
def test_a_run_is_disturbed_by_waiting_for_others(
    delay: int | None, wall: int, cpu: int, cpus: int, expected: bool
) -> None:
    assert disturbed(delay, wall, cpu, lambda: cpus) is expected


def result(delay: int = 0, max_rss: int = 50, floor: int = 8, exitcode: int = 0, left: int = 0) -> Results:
    numbers = {"wall": [100 * MS], "cpu": [50 * MS], "max_rss": [max_rss * 2**20]}
    return Results([0], [left], floor * 2**20, numbers, [delay], exitcode=exitcode)


def two_cpus() -> int:
    return 2


def tallied(*results: Results) -> list[str]:
    tally = Tally()
    for one in results:
        tally.take(one, two_cpus, False)
    return list(tally.notes())


def test_runs_without_anything_odd_are_not_worth_a_word() -> None:
    assert tallied(*[result()] * 10) == []
    assert tallied() == []


def test_few_disturbed_runs_are_told_and_many_make_the_machine_unfit() -> None:
    assert tallied(result(30 * MS), *[result()] * 9) == [
        "1 of 10 runs waited for a CPU for more than 5 % of their time"
    ]
    (unfit,) = tallied(*[result(30 * MS)] * 8, *[result()] * 2)
    assert unfit.startswith("this machine is unfit to measure wall time now: 8 of 10 runs waited for a CPU")
    assert "half of them for 30 % of their time or more" in unfit


def test_the_waits_of_short_runs_are_those_of_every_eighth_whatever_became_of_them() -> None:
    """The others are asked because they seem to have waited: their waits would be those of a busier machine."""
    delays: list[int | None] = [None] * 20
    delays[0], delays[3], delays[8], delays[16] = 10_000, 5 * MS, 8 * MS, 20_000
    numbers = {
        "wall": [MS // 2 + (delay or 0) for delay in delays],
        "cpu": [MS // 4] * 20,
        "max_rss": [50 * 2**20] * 20,
    }
    tally = Tally()
    rows, bothered = tally.take(Results([0] * 20, [0] * 20, 0, numbers, delays), two_cpus, False)
    assert {at: delay for at, delay in enumerate(rows["run_delay"]) if delay is not None} == {
        0: 10_000,
        8: 8 * MS,
        16: 20_000,
    }
    assert [at for at, one in enumerate(bothered) if one] == [3, 8]


@pytest.mark.parametrize(("wall", "cpu"), [(10 * MS, 9 * MS), (MS, MS // 10)], ids=["long", "asleep"])
def test_every_wait_of_a_run_that_is_asked_anyway_is_kept(wall: int, cpu: int) -> None:
    delays = [1000, 5 * MS, 2000]
    numbers = {"wall": [wall + delay for delay in delays], "cpu": [cpu] * 3, "max_rss": [50 * 2**20] * 3}
    rows, _ = Tally().take(Results([0] * 3, [0] * 3, 0, numbers, delays), two_cpus, False)
    assert rows["run_delay"] == delays


def test_warm_ups_do_not_count() -> None:
    tally = Tally()
    for _ in range(3):
        tally.take(result(30 * MS, max_rss=8, exitcode=1), two_cpus, True)
    assert list(tally.notes()) == []


def test_the_work_of_reference_is_told_on_the_whole_and_as_on_a_fast_machine() -> None:
    tally = Tally()
    taken = [30_000] * 3 + [30_100] * 2 + [45_000] * 4 + [900_000]  # the last was interrupted
    for nanoseconds in taken:
        tally.take(result()._replace(reference=(nanoseconds,)), two_cpus, False)
    tally.take(result()._replace(reference=(1,)), two_cpus, True)
    facts = tally.facts()
    assert facts["reference_fast"] == 30_000
    assert facts["reference"] == (3 * 30_000 + 2 * 30_100 + 4 * 45_000 + 51_000) / 10
    assert facts["reference_work"].startswith("cpython-")
    assert "reference" not in Tally().facts()


@pytest.mark.parametrize(("max_rss", "known"), [(8, False), (8.4, False), (8.6, True)])
def test_peak_memory_near_that_of_the_starting_process_is_missing(max_rss: float, known: bool) -> None:
    columns, _ = Tally().take(result(max_rss=max_rss), two_cpus, False)  # type: ignore[arg-type]
    assert (columns["max_rss"] != [None]) is known


def test_what_is_missing_is_no_more_than_the_profile_says() -> None:
    tally = Tally()
    columns, _ = tally.take(result(max_rss=8.4), two_cpus, False)  # type: ignore[arg-type]
    assert columns["max_rss"] == [None]
    assert tally.facts()["max_rss_floor"] >= 8.4 * 2**20


def test_it_is_told_in_how_many_runs_peak_memory_is_missing() -> None:
    assert tallied(result(max_rss=8)) == ["max_rss is missing: up to 8.5 MiB it may be that of perf's own helper"]
    (some,) = tallied(result(max_rss=8), result())
    assert some.startswith("max_rss is missing in 1 of 2 runs: ")
