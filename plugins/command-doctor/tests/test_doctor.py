"""What is found on machines of every kind, and on this one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from perfcore_command_doctor.contract import DoctorCommandContract
from perfcore_command_doctor.findings import Finding, findings
from perfcore_command_doctor.observation import Observation, Program, observe
from perfcore_testing.project import Project

QUIET = Observation(cpus=4, loops=(0.01,) * 40, busy=0.01, stolen=0.0, available=0.5, throttled=0)
CPU = "sys/devices/system/cpu"
CLOCK = "sys/devices/system/clocksource/clocksource0"


def found(root: Path, seen: Observation = QUIET, **files: str) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings(seen, root)}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


@pytest.mark.parametrize(
    ("name", "good", "bad", "remedy"),
    [
        (
            "governor",
            {f"{CPU}/cpu0/cpufreq/scaling_governor": "performance"},
            {f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave"},
            "cpupower",
        ),
        ("turbo", {f"{CPU}/cpufreq/boost": "0"}, {f"{CPU}/cpufreq/boost": "1"}, "echo 0 |"),
        (
            "turbo",
            {f"{CPU}/intel_pstate/no_turbo": "1"},
            {f"{CPU}/intel_pstate/no_turbo": "0"},
            "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
        ),
        ("SMT", {f"{CPU}/smt/active": "0"}, {f"{CPU}/smt/active": "1"}, "smt/control"),
        (
            "clock",
            {f"{CLOCK}/current_clocksource": "tsc"},
            {f"{CLOCK}/current_clocksource": "hpet", f"{CLOCK}/available_clocksource": "tsc hpet"},
            "echo tsc",
        ),
        (
            "power",
            {"sys/class/power_supply/AC/type": "Mains", "sys/class/power_supply/AC/online": "1"},
            {"sys/class/power_supply/AC/type": "Mains", "sys/class/power_supply/AC/online": "0"},
            "plug",
        ),
        (
            "counters",
            {"proc/sys/kernel/perf_event_paranoid": "-1"},
            {"proc/sys/kernel/perf_event_paranoid": "3"},
            "perf_event_paranoid=2",
        ),
        (
            "address layout",
            {"proc/sys/kernel/randomize_va_space": "2"},
            {"proc/sys/kernel/randomize_va_space": "0"},
            "randomize_va_space=2",
        ),
    ],
)
def test_a_setting_is_good_bad_or_not_told(
    tmp_path: Path, name: str, good: dict[str, str], bad: dict[str, str], remedy: str
) -> None:
    assert found(tmp_path)[name].state == "unknown"
    write(tmp_path, good)
    assert found(tmp_path)[name].state == "good"
    write(tmp_path, bad)
    finding = found(tmp_path)[name]
    assert finding.state == "bad"
    assert finding.effect
    assert remedy in finding.remedy


def test_a_quota_of_the_control_group_is_bad(tmp_path: Path) -> None:
    assert found(tmp_path)["CPU quota"].state == "good"
    write(tmp_path, {"proc/self/cgroup": "0::/job", "sys/fs/cgroup/job/cpu.max": "150000 100000"})
    assert found(tmp_path)["CPU quota"][1:3] == ("bad", "1.5 CPUs")


@pytest.mark.parametrize(
    ("name", "seen", "said"),
    [
        ("other programs", QUIET._replace(busy=1.2, programs=(Program("cc1", 1.1),)), "cc1 110 %"),
        ("stolen time", QUIET._replace(stolen=0.12), "12 %"),
        ("memory", QUIET._replace(available=0.05), "5.0 % is free"),
        ("memory", QUIET._replace(swapped=7), "7 pages came back from swap"),
        ("temperature", QUIET._replace(throttled=3), "3 events"),
        ("repeatability", QUIET._replace(loops=(0.01, 0.011) * 20), "± "),
    ],
)
def test_what_happens_meanwhile_is_bad(tmp_path: Path, name: str, seen: Observation, said: str) -> None:
    assert found(tmp_path)[name].state == "good"
    finding = found(tmp_path, seen)[name]
    assert finding.state == "bad"
    assert said in finding.what + finding.effect


def test_a_machine_that_tells_nothing_is_no_error(tmp_path: Path) -> None:
    seen = Observation(cpus=1, loops=(0.01,) * 40)
    assert {finding.state for finding in findings(seen, tmp_path)} == {"good", "unknown"}


def test_another_program_is_seen_and_named() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            seen = observe(1.0)
        finally:
            other.kill()
    assert seen.busy is not None
    assert seen.busy > 0.2
    assert any(program.name.startswith("python") for program in seen.programs), seen.programs
    assert len(seen.loops) == 40


def test_what_is_bad_stands_first_and_lines_fit(project: Project) -> None:
    lines = project.perf("doctor", "--seconds", "0.2").lines
    assert lines[0].startswith(("unfit for small changes: ", "fit for measuring"))
    marks = [line[0] for line in lines[2:] if line[2:3] != " " and not line.startswith("  ->")]
    assert marks == sorted(marks, key="! ?".index)
    assert all(len(line) <= 80 for line in lines if "->" not in line)
    document = project.perf("doctor", "--seconds", "0.2", "--json").json
    assert {row["name"] for row in document["findings"]} >= {"governor", "turbo", "SMT", "repeatability"}
    assert document["fit"] == (not any(row["state"] == "bad" for row in document["findings"]))


def test_it_needs_no_repository(empty_project: Project) -> None:
    assert json.loads(empty_project.perf("doctor", "--seconds", "0.1", "--json").out)["schema"] == 1


class TestDoctor(DoctorCommandContract):
    """Every law of the kind command."""
