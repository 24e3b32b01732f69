"""The clock rate of each run, from files as the kernel writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_time import TimeCollector
from perfcore_collect_time.clock import Clock, ClockReader
from perfcore_testing.collector import Measuring

from perfcore.model import Job

from .test_machine import system

CPU = "sys/devices/system/cpu"
INTEL = {
    f"{CPU}/cpufreq/policy0/scaling_cur_freq": "2400123\n",
    f"{CPU}/cpufreq/policy1/scaling_cur_freq": "3100456\n",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave\n",
    f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave\n",
    f"{CPU}/intel_pstate/no_turbo": "0\n",
}
AMD = {
    f"{CPU}/cpufreq/policy0/scaling_cur_freq": "<unknown>\n",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "performance\n",
    f"{CPU}/cpufreq/boost": "0\n",
}


@pytest.mark.parametrize(
    ("files", "clock"),
    [
        (INTEL, Clock(frequency=3_100_456_000, governor="powersave", turbo=True)),
        (AMD, Clock(governor="performance", turbo=False)),
        ({}, Clock()),
    ],
)
def test_the_clock_is_read_as_the_kernel_writes_it(tmp_path: Path, files: dict[str, str], clock: Clock) -> None:
    assert ClockReader(system(tmp_path, files)).read() == clock


def rows(root: Path) -> list[dict[str, Any]] | None:
    collector = TimeCollector()
    collector.root = root
    with Measuring(collector, Job(argv=("true",), cmd="true", cwd=root)) as measuring:
        measuring.run(warmup=True)
        measuring.run()
        (root / f"{CPU}/cpufreq/policy1/scaling_cur_freq").unlink(missing_ok=True)  # a CPU that goes offline
        measuring.run()
    table = measuring.profile.table("clock")
    return None if table is None else list(table.iter_rows())


def test_each_run_has_its_clock(tmp_path: Path) -> None:
    state = {"governor": "powersave", "turbo": True}
    found = rows(system(tmp_path, INTEL))
    assert found is not None
    assert [{key: row[key] for key in ("frequency", *state)} for row in found] == [
        {"frequency": 3_100_456_000, **state},
        {"frequency": 2_400_123_000, **state},
    ]
    assert len({row["run"] for row in found}) == 2


def test_a_machine_that_tells_nothing_has_no_table(tmp_path: Path) -> None:
    assert rows(tmp_path) is None
