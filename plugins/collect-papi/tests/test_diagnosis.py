"""Each cause of having no counters has one text; facts are read from files as kernels write them."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import attrs
import pytest
from perfcore_collect_papi import diagnosis
from perfcore_collect_papi.diagnosis import Machine, Probed
from perfcore_testing import hostile

EVENTS = ("PAPI_TOT_INS", "PAPI_TOT_CYC")
AMD: dict[str, Any] = {"vendor": "AuthenticAMD", "family": 26, "model": 2}


def component(disabled: int = 0, reason: str = "") -> tuple[dict[str, Any], ...]:
    return ({"name": "perf_event", "disabled": disabled, "reason": reason, "pmus": []},)


def probed(codes: int | dict[str, int], **facts: Any) -> Probed:
    said = codes if isinstance(codes, dict) else dict.fromkeys(EVENTS, codes)
    facts = {"papi": "6.0.0.1", "components": component(), "software": {"task-clock": 0}, **facts}
    return Probed(codes=said, component=dict.fromkeys(EVENTS, 0), **facts)


CAUSES = [
    ("no-papi", Machine(paranoid=2), Probed(why="No module named 'pypapi'"), "needs python_papi", "pip install"),
    ("no-perf-events", Machine(paranoid=None), probed(-25), "this kernel has no perf_events", "--fallback"),
    ("no-perf-events", Machine(paranoid=2, units=("cpu",)), probed(-3), "has no perf_events", "--fallback"),
    ("paranoid", Machine(paranoid=4, units=("cpu",)), probed(-15), "perf_event_paranoid is 4", "sysctl"),
    (
        "paranoid",
        Machine(paranoid=3, units=("cpu",)),
        probed(-25, components=component(-17, "/proc/sys/kernel/perf_event_paranoid=3")),
        "perf_event_paranoid is 3, 2 or less is needed",
        "sysctl",
    ),
    (
        "seccomp",
        Machine(paranoid=2, units=("cpu",)),
        probed(-15),
        "although kernel.perf_event_paranoid is 2",
        "PERFMON",
    ),
    (
        "no-pmu",
        Machine(paranoid=2),
        probed(-25, components=component(-4, "Unknown libpfm4 related error"), reference=-25),
        'perf_event disabled, "Unknown libpfm4 related error"',
        "--fallback (kernel counters",
    ),
    ("no-pmu", Machine(paranoid=2), probed(-7, reference=-7), "Event does not exist", "PMU is visible"),
    (
        "newer-cpu",
        Machine(paranoid=2, units=("cpu",), **AMD),
        probed(-25, components=component(-4, "Unknown libpfm4 related error")),
        "this CPU (AuthenticAMD family 26, model 2) is not known to the PAPI 6.0.0.1",
        "LIBPFM_FORCE_PMU=amd64_fam17h_zen2",
    ),
    (
        "newer-cpu",
        Machine(paranoid=2, units=("cpu_core",), vendor="GenuineIntel", family=6),
        probed(-25, components=component(-4)),
        "GenuineIntel family 6",
        "LIBPFM_FORCE_PMU=skl",
    ),
    (
        "newer-cpu",
        Machine(paranoid=2, units=("armv8_pmuv3_0",)),
        probed(-25, components=component(-4)),
        "unknown vendor",
        "--fallback",
    ),
    (
        "no-event",
        Machine(paranoid=2, units=("cpu",)),
        probed({"PAPI_TOT_INS": 0, "PAPI_TOT_CYC": -7}, near={"PAPI_TOT_CYC": ["PAPI_REF_CYC"]}),
        "PAPI_TOT_CYC is not available on this CPU",
        "near: PAPI_REF_CYC",
    ),
    (
        "conflict",
        Machine(paranoid=2, units=("cpu",)),
        probed({"PAPI_TOT_INS": 0, "PAPI_TOT_CYC": -8}),
        "PAPI_TOT_CYC does not fit beside PAPI_TOT_INS",
        "--multiplex",
    ),
    (
        "domain",
        Machine(paranoid=2, units=("cpu",)),
        probed(-15, allowed=0, domain="all"),
        "the kernel refuses to have itself counted: kernel.perf_event_paranoid is 2",
        "1 or less",
    ),
    (
        "pid",
        Machine(paranoid=2, units=("cpu",)),
        probed(-15, allowed=0, pid=1),
        "does not let this process look into the process 1",
        "as its owner",
    ),
    ("domain", Machine(paranoid=2, units=("cpu",)), probed(-21), "have itself counted", "--domain all"),
    ("papi", Machine(paranoid=2, units=("cpu",)), probed(-6), "PAPI_EBUG (-6)", "perf papi doctor"),
]


@pytest.mark.parametrize(("id", "machine", "found", "text", "hint"), CAUSES)
def test_each_cause_has_its_text(id: str, machine: Machine, found: Probed, text: str, hint: str) -> None:
    cause = diagnosis.cause(machine, found, EVENTS)
    assert cause is not None
    assert cause.id == id
    assert text in cause.text
    assert hint in cause.hint


def test_without_a_cause_there_is_none() -> None:
    assert diagnosis.cause(Machine(paranoid=2), probed(0), EVENTS) is None


def test_only_what_holds_for_all_events_lets_another_source_be_taken() -> None:
    whole = {id: cause.whole for id, machine, found, *_ in CAUSES if (cause := diagnosis.cause(machine, found, EVENTS))}
    assert {id for id, all_of_them in whole.items() if not all_of_them} == {"no-event", "conflict", "domain", "pid"}


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.ENOSYS, errno.EMFILE])
@pytest.mark.parametrize("paranoid", [None, 2, 4])
def test_the_kernels_own_counters_are_refused_with_a_reason(number: int, paranoid: int | None) -> None:
    cause = diagnosis.of_software(Machine(paranoid=paranoid), Probed(), number)
    assert cause.text
    assert ("no perf_events" in cause.text) == (paranoid is None or number == errno.ENOSYS)


@pytest.mark.parametrize(
    ("found", "id"),
    [
        (Probed(allowed=0), "in-kernel"),
        (Probed(allowed=errno.EACCES), "seccomp"),
        (Probed(allowed=0, domain="all"), "domain"),
        (Probed(allowed=0, pid=1), "pid"),
    ],
)
def test_counting_is_not_called_forbidden_where_only_these_events_are(found: Probed, id: str) -> None:
    cause = diagnosis.of_software(Machine(paranoid=2), found, errno.EACCES, ("context-switches", "cpu-migrations"))
    assert cause.id == id
    assert "--fallback" not in cause.hint or id == "seccomp"
    assert id != "in-kernel" or cause.text.startswith("context-switches, cpu-migrations cannot be counted here")


def test_a_fallback_is_promised_as_it_would_be() -> None:
    assert "kernel counters" in probed(0).fallback
    assert "ended" not in probed(0).fallback
    assert "times and page faults of the whole command" in probed(0, software={"task-clock": 13}).fallback


def test_words_of_the_system_are_harmless() -> None:
    name = "\x1b[2J\n<script>"
    found = probed({"PAPI_TOT_INS": -7, name: -7}, near={name: [name]}, components=component(0, name))
    cause = diagnosis.cause(Machine(paranoid=2, units=("cpu",), vendor=name), found, (name,))
    assert cause is not None
    assert hostile.unsafe(cause.text) == set()


def test_facts_are_read_from_the_system(tmp_path: Path) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/perf_event_paranoid").write_text("-1\n")
    (tmp_path / "proc/cpuinfo").write_text(
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: A \x1b CPU\n"
        "\nprocessor\t: 1\nvendor_id\t: Other\n"
    )
    for unit in ("cpu_core", "cpu_atom", "software", "uncore_imc_0", "armv8_cortex_a53"):
        (tmp_path / "sys/bus/event_source/devices" / unit).mkdir(parents=True)
    machine = diagnosis.machine(tmp_path)
    assert machine.paranoid == -1
    assert machine.units == ("armv8_cortex_a53", "cpu_atom", "cpu_core")
    assert (machine.vendor, machine.family, machine.model) == ("GenuineIntel", 6, 143)
    assert hostile.unsafe(machine.name) == set()


ARM = "processor\t: {}\nBogoMIPS\t: 50.00\nCPU implementer\t: {}\nCPU architecture: 8\nCPU part\t: {}\n"


@pytest.mark.parametrize(
    ("cores", "vendor", "name"),
    [
        ([("0x41", "0xd0c")] * 2, "ARM", "ARM Neoverse-N1"),
        ([("0x41", "0xd03"), ("0x41", "0xd08"), ("0x41", "0xd08")], "ARM", "ARM Cortex-A53, ARM Cortex-A72"),
        ([("0x46", "0x001")], "Fujitsu", "Fujitsu A64FX"),
        ([("0x41", "0xfff")], "ARM", "ARM part 0xfff"),
        ([("0x99", "what")], "implementer 0x99", "implementer 0x99 without a part"),
    ],
)
def test_an_arm_processor_is_named(tmp_path: Path, cores: list[tuple[str, str]], vendor: str, name: str) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text("\n".join(ARM.format(number, *core) for number, core in enumerate(cores)))
    (tmp_path / "sys/bus/event_source/devices/armv8_pmuv3_0").mkdir(parents=True)
    machine = diagnosis.machine(tmp_path)
    assert (machine.vendor, machine.name, machine.cpu, machine.family) == (vendor, name, name, None)
    cause = diagnosis.cause(attrs.evolve(machine, paranoid=2), probed(-25, components=component(-4)), EVENTS)
    assert cause is not None
    assert cause.id == "newer-cpu"
    assert f"this CPU ({name}) is not known to the PAPI 6.0.0.1 inside python_papi" in cause.text
    assert "Cascade Lake" not in cause.text


def test_a_system_that_tells_nothing_is_no_error(tmp_path: Path) -> None:
    machine = diagnosis.machine(tmp_path)
    assert (machine.paranoid, machine.units, machine.vendor, machine.family) == (None, (), "", None)
