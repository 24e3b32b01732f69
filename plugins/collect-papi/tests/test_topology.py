"""The machine from /sys, and from what hwloc writes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_collect_papi import topology
from perfcore_collect_papi.topology import Cpu, Part
from perfcore_testing import hostile

from perfcore.errors import PerfError

HWLOC_2 = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
 <object type="Machine" os_index="0">
  <object type="Package" os_index="1">
   <object type="L3Cache" cache_size="33554432">
    <object type="NUMANode" os_index="3" local_memory="8589934592"/>
    <object type="L2Cache"><object type="L1Cache"><object type="L1iCache"><object type="Core" os_index="7">
      <object type="PU" os_index="0"/><object type="PU" os_index="2"/>
    </object></object></object></object>
    <object type="L2Cache"><object type="Core" os_index="8"><object type="PU" os_index="1"/></object></object>
   </object>
  </object>
 </object>
</topology>"""
HWLOC_1 = """<topology><object type="Machine"><object type="NUMANode" os_index="1"><object type="Package" os_index="0">
 <object type="Cache" depth="3" cache_type="0"><object type="Cache" depth="1" cache_type="1">
  <object type="Cache" depth="1" cache_type="2"><object type="Core" os_index="4"><object type="PU" os_index="5"/>
 </object></object></object></object></object></object></object></topology>"""


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def test_of_a_system_with_two_kinds_of_cores(tmp_path: Path) -> None:
    system = tmp_path / "sys/devices/system"
    write(system / "cpu/online", "0-1,4")
    for cpu, core, die, package in ((0, 0, 0, 0), (1, 0, 0, 0), (4, 2, 1, 0)):
        folder = system / f"cpu/cpu{cpu}"
        for name, number in (("core_id", core), ("die_id", die), ("physical_package_id", package)):
            write(folder / "topology" / name, str(number))
        for index, (level, kind, shared) in enumerate(
            (("1", "Data", "0-1"), ("1", "Instruction", "0-1"), ("2", "Unified", "0-1"), ("3", "Unified", "0-1,4"))
        ):
            for name, text in (("level", level), ("type", kind), ("shared_cpu_list", shared), ("size", "512K")):
                write(folder / f"cache/index{index}" / name, text)
    write(system / "node/node0/cpulist", "0-1")
    write(system / "node/node1/cpulist", "4")
    write(system / "node/node1/meminfo", "Node 1 MemTotal:       2048 kB\nNode 1 MemFree: 1 kB")
    write(tmp_path / "sys/bus/event_source/devices/cpu_core/cpus", "0-1")
    write(tmp_path / "sys/bus/event_source/devices/cpu_atom/cpus", "4")
    first, _, last = topology.of_system(tmp_path)
    places = {"core": 0, "die": 0, "package": 0, "numa": 0, "l1d": "0-1", "l1i": "0-1", "l2": "0-1", "l3": "0-1,4"}
    sizes = dict.fromkeys(("l1d_size", "l1i_size", "l2_size", "l3_size"), 512 << 10)
    assert attrs.asdict(first) == {"cpu": 0, **places, "kind": "performance", **sizes, "numa_memory": None}
    assert last.numa_memory == 2 << 20
    assert (last.cpu, last.core, last.die, last.numa, last.kind) == (4, 2, 1, 1, "efficiency")


def test_of_this_system() -> None:
    assert set(os.sched_getaffinity(0)) <= {cpu.cpu for cpu in topology.of_system()}


def test_a_system_that_tells_nothing_has_no_cpus(tmp_path: Path) -> None:
    assert topology.of_system(tmp_path) == ()


def test_what_is_not_known_is_missing(tmp_path: Path) -> None:
    write(tmp_path / "sys/devices/system/cpu/online", "0")
    write(tmp_path / "sys/devices/system/cpu/cpu0/topology/die_id", "-1")
    write(tmp_path / "sys/devices/system/cpu/cpu0/cache/index0/level", "nonsense")
    assert topology.of_system(tmp_path) == (Cpu(cpu=0),)


def test_of_a_file_of_hwloc_2(tmp_path: Path) -> None:
    write(tmp_path / "two.xml", HWLOC_2)
    first, second, third = topology.of_file(tmp_path / "two.xml")
    sizes: dict[str, Any] = {"l3_size": 32 << 20, "numa_memory": 8 << 30}
    assert first == Cpu(cpu=0, core=7, package=1, numa=3, l1d="0,2", l1i="0,2", l2="0,2", l3="0-2", **sizes)
    assert second == Cpu(cpu=1, core=8, package=1, numa=3, l2="1", l3="0-2", **sizes)
    assert topology.parts((first, second, third), "l3") == (Part(level="l3", cpus=(0, 1, 2), size=32 << 20),)
    assert [part.cpus for part in topology.parts((first, second, third), "core")] == [(0, 2), (1,)]
    assert topology.parts((first, second, third), "numa")[0].size == 8 << 30
    assert [part.cpus for part in topology.parts((first, second), "l1d")] == [(0,)]
    assert third == attrs.evolve(first, cpu=2)


def test_of_a_file_of_hwloc_1(tmp_path: Path) -> None:
    write(tmp_path / "one.xml", HWLOC_1)
    assert topology.of_file(tmp_path / "one.xml") == (Cpu(cpu=5, core=4, package=0, numa=1, l1d="5", l1i="5", l3="5"),)


def package(number: str, cpu: int, type: str = "Package") -> str:
    core = f'<object type="Core"><object type="PU" os_index="{cpu}"/></object>'
    return f'<object type="{type}"{number}>{core}</object>'


@pytest.mark.parametrize(
    ("numbers", "packages"),
    [(("", ""), [0, 1]), ((' os_index="4"', ' os_index="2"'), [4, 2]), ((' os_index="1"', ""), [0, 1])],
)
def test_parts_without_numbers_are_numbered_in_their_order(
    tmp_path: Path, numbers: tuple[str, str], packages: list[int]
) -> None:
    """As `lstopo` writes them in virtual machines and on ARM boards. Hardware threads always have theirs."""
    for type in ("Package", "Socket"):
        objects = "".join(package(number, cpu, type) for cpu, number in enumerate(numbers))
        write(tmp_path / "vm.xml", f'<topology><object type="Machine">{objects}</object></topology>')
        assert [(cpu.cpu, cpu.package, cpu.core) for cpu in topology.of_file(tmp_path / "vm.xml")] == [
            (0, packages[0], 0),
            (1, packages[1], 1),
        ]


BOMB = '<!DOCTYPE t [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><topology><object type="PU" os_index="0"/></topology>'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<topology>",
        "\0\x1b[2J",
        "<topology/>",
        HWLOC_2[:400],
        '<topology><object type="PU"/></topology>',
        '<topology><object type="PU" os_index="\x7f&#27;[2J"/></topology>',
        '<topology><object type="PU" os_index="-1"/></topology>',
        f'<topology><object type="PU" os_index="{10**30}"/></topology>',
        BOMB,
        "<object type='Core'>" * 5000,
        "<object type='Core' os_index='1'>" * 5000 + "<object type='PU' os_index='1'/>" + "</object>" * 5000,
    ],
)
def test_a_broken_file_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bro\nken.xml"
    path.write_text(text)
    with pytest.raises(PerfError, match=r"bro\\nken\.xml") as caught:
        topology.of_file(path)
    assert hostile.unsafe(caught.value.message) == set()


def test_what_is_no_file_is_an_error_and_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(PerfError, match=r"none\.xml is not there"):
        topology.of_file(tmp_path / "none.xml")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(PerfError, match=r"a pipe|a folder|a device"):
            topology.of_file(path)


@given(st.sets(st.integers(0, 300)))
def test_lists_are_as_the_kernel_writes_them(cpus: set[int]) -> None:
    assert topology.parse_list(topology.format_list(tuple(cpus))) == tuple(sorted(cpus))


def test_a_cpu_without_a_number_is_told(tmp_path: Path) -> None:
    file = tmp_path / "one.xml"
    file.write_text('<topology><object type="Package"><object type="PU"/></object></topology>')
    with pytest.raises(PerfError, match="is no topology: a CPU has no os_index"):
        topology.of_file(file)
