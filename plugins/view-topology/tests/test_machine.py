"""The machine as boxes in boxes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_collect_papi.topology import Cpu
from perfcore_testing import hostile, profiles
from perfcore_view_topology.machine import Box, Machine, listed, machine

from perfcore.errors import NotFoundError
from perfcore.model import Profile
from perfcore.profile.table import column, table


def of(*cpus: Cpu) -> Profile:
    """A profile that holds no more than its machine."""
    rows = [attrs.asdict(cpu) for cpu in cpus]
    return profiles.profile(
        {"topology": table("topology", [column(name, [row[name] for row in rows]) for name in rows[0]])}
    )


def drawn(found: Machine) -> list[str]:
    """A line for each box: how deep, what, which CPUs stand in it and in no other."""
    lines = []

    def walk(box: Box, depth: int) -> None:
        lines.append(f"{'  ' * depth}{box.label}: {listed(box.loose)}".rstrip(": "))
        for inner in box.inner:
            walk(inner, depth + 1)

    for box in found.boxes:
        walk(box, 0)
    return lines


def test_what_holds_the_same_is_one_box(machines: Any) -> None:
    assert drawn(machine(of(*machines.regular(cores=2)))) == [
        "package 0 · NUMA 0 · L3 #0",
        "  core 0: 0",
        "  core 1: 1",
    ]


def test_packages_hold_caches_hold_cores_hold_threads(machines: Any) -> None:
    found = machine(of(*machines.regular(packages=2, caches=2, cores=2, threads=2)))
    assert drawn(found)[:6] == [
        "package 0 · NUMA 0",
        "  L3 #0",
        "    core 0: 0,8",
        "    core 1: 1,9",
        "  L3 #1",
        "    core 2: 2,10",
    ]
    assert found.telling == ("package", "l3", "core")
    assert found.place(9) == "package 0 · NUMA 0 · L3 #0 · core 1"


def test_the_kinds_of_a_hybrid_machine_stand_in_their_caches(machines: Any) -> None:
    found = machine(of(*machines.hybrid()))
    assert drawn(found)[:2] == ["package 0 · NUMA 0 · L3 #0", "  core 0: 0-1"]
    assert drawn(found)[5:7] == ["  L2 #4", "    core 16: 8"]
    assert found.by_kind() == {"efficiency": tuple(range(8, 16)), "performance": tuple(range(8))}


def test_a_cache_larger_than_a_numa_node_is_around_it() -> None:
    cpus = [Cpu(cpu=cpu, core=cpu, package=0, numa=cpu // 2, l3="0-3") for cpu in range(4)]
    assert drawn(machine(of(*cpus))) == [
        "package 0 · L3 #0",
        "  NUMA 0",
        "    core 0: 0",
        "    core 1: 1",
        "  NUMA 1",
        "    core 2: 2",
        "    core 3: 3",
    ]


def test_cores_of_one_number_in_two_packages_are_two() -> None:
    cpus = [Cpu(cpu=cpu, core=0, die=0, package=cpu) for cpu in range(2)]
    found = machine(of(*cpus))
    assert drawn(found) == ["package 0 · core 0: 0", "package 1 · core 0: 1"]
    assert list(found.groups("core")) == ["package 0 · core 0", "package 1 · core 0"]


def test_cores_that_only_their_caches_tell_apart_are_two() -> None:
    """Some systems number the cores of each cluster anew."""
    found = machine(of(*(Cpu(cpu=cpu, core=0, die=0, package=0, l1d=f"{cpu}") for cpu in range(3))))
    assert len([box for box in found.boxes[0].inner if box.is_core]) == 3
    assert list(found.groups("core").values()) == [(0,), (1,), (2,)]


def test_dies_are_drawn_where_a_package_has_several() -> None:
    cpus = [Cpu(cpu=cpu, core=cpu, die=cpu // 2, package=0) for cpu in range(4)]
    assert drawn(machine(of(*cpus)))[:3] == ["package 0", "  die 0", "    core 0: 0"]
    assert drawn(machine(of(*cpus[:2]))) == ["package 0", "  core 0: 0", "  core 1: 1"]


def test_threads_of_which_nothing_is_known_stand_alone() -> None:
    found = machine(of(Cpu(cpu=3), Cpu(cpu=5)))
    assert (found.boxes, found.loose) == ((), (3, 5))


def test_what_lacks_a_place_stands_beside_those_that_have_it() -> None:
    found = machine(of(Cpu(cpu=0, core=0, package=0), Cpu(cpu=1, core=1), Cpu(cpu=2)))
    assert drawn(found) == ["package 0 · core 0: 0", "core 1: 1"]
    assert found.loose == (2,)


@pytest.mark.parametrize(
    ("synthetic", "threads", "first"),
    [
        ("pack:1 core:1 pu:1", 1, ["package 0 · NUMA 0 · core 0: 0"]),
        ("pack:1 [numa] l3:1 l2:4 l1d:1 core:1 pu:2", 8, ["package 0 · NUMA 0 · L3 #0", "  core 0: 0-1"]),
        ("pack:1 [numa] l3:2 l2:2 core:2 pu:1", 8, ["package 0 · NUMA 0", "  L3 #0", "    L2 #0", "      core 0: 0"]),
        ("pack:2 numa:2 l3:4 l2:4 l1d:1 core:1 pu:2", 128, ["package 0", "  NUMA 0", "    L3 #0", "      core 0: 0-1"]),
        ("pack:4 l3:4 [numa] l2:32 core:1 pu:2", 1024, ["package 0", "  NUMA 0 · L3 #0", "    core 0: 0-1"]),
    ],
)
def test_machines_as_hwloc_tells_them(
    machines: Any, tmp_path: Path, synthetic: str, threads: int, first: list[str]
) -> None:
    found = machine(of(*machines.of_hwloc(synthetic, tmp_path)))
    assert len(found.cpus) == threads
    assert drawn(found)[: len(first)] == first


def test_of_two_rows_of_a_cpu_the_first_counts() -> None:
    assert machine(of(Cpu(cpu=0, package=1), Cpu(cpu=0, package=2))).cpus[0].package == 1


@pytest.mark.parametrize(
    "tables",
    [
        {},
        {"topology": table("topology", [column("cpu", [], dtype="i64")])},
        {"topology": table("topology", [column("cpu", [None, -1])])},
        {"topology": table("topology", [column("cpu", ["0", "1"])])},
        {"topology": table("topology", [column("processor", [0])])},
    ],
)
def test_a_profile_without_its_machine_is_an_error(tables: dict[str, Any]) -> None:
    with pytest.raises(NotFoundError, match="no table `topology`"):
        machine(profiles.profile(tables))


def test_hostile_caches_and_kinds_are_text() -> None:
    cpus = [Cpu(cpu=number, core=number, l3=name, kind=name) for number, name in enumerate(hostile.NAMES)]
    found = machine(of(*cpus))
    assert hostile.unsafe("".join([*found.kinds, *drawn(found), *found.groups("l3")])) == set()


NUMBERS = st.none() | st.integers(0, 3)
TEXTS = st.none() | st.sampled_from(["0", "1", "0-1", "0-7"])


@given(
    st.lists(
        st.builds(
            Cpu, cpu=st.integers(0, 9), core=NUMBERS, die=NUMBERS, package=NUMBERS, numa=NUMBERS, l3=TEXTS, l2=TEXTS
        ),
        min_size=1,
        max_size=10,
    )
)
def test_every_thread_stands_in_one_place(cpus: list[Cpu]) -> None:
    """Also in machines that cannot be, whose parts overlap."""
    found = machine(of(*cpus))
    boxes = [box for outer in found.boxes for box in outer.walk()]
    placed = sorted([*found.loose, *(cpu for box in boxes for cpu in box.loose)])
    assert placed == sorted({cpu.cpu for cpu in cpus})
    for box in boxes:
        assert sorted([*box.loose, *(cpu for inner in box.inner for cpu in inner.cpus)]) == sorted(box.cpus)
