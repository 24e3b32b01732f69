"""Profiles of machines of every shape, with the tables as collect-papi writes them."""

from __future__ import annotations

import random
import shutil
import subprocess
from typing import TYPE_CHECKING

import attrs
import pytest
from perfcore_collect_papi import derived, topology
from perfcore_collect_papi.topology import Cpu
from perfcore_testing import profiles

from perfcore.model import Header, Profile, Tool
from perfcore.profile.table import ColumnSpec, TableBuilder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

EVENTS = (
    ColumnSpec("PAPI_TOT_INS", "i64", "", "value"),
    ColumnSpec("PAPI_TOT_CYC", "i64", "", "value"),
    ColumnSpec("task-clock", "i64", "ns", "value"),
)
WHERE = (ColumnSpec("run", "i64", role="order"), ColumnSpec("cpu", "i64"))


def of_hwloc(synthetic: str, folder: Path) -> tuple[Cpu, ...]:
    """A machine as hwloc's lstopo describes it, from one of its synthetic descriptions."""
    program = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if program is None:
        pytest.skip("lstopo of hwloc is not installed (Debian: hwloc-nox)")
    path = folder / "machine.xml"
    subprocess.run([program, "--input", synthetic, "--of", "xml", "--force", path], check=True, capture_output=True)
    return topology.of_file(path)


def regular(packages: int = 1, caches: int = 1, cores: int = 2, threads: int = 1) -> tuple[Cpu, ...]:
    """So many packages, L3 caches in each, cores in each of those, and threads in each core; numbered as Linux does,
    the second threads of all cores after the first ones."""
    count = packages * caches * cores
    found = []
    for number in range(count * threads):
        at = number % count
        near = at // cores
        pair = topology.format_list(tuple(range(at, count * threads, count)))
        own = [core + count * thread for thread in range(threads) for core in range(near * cores, (near + 1) * cores)]
        package = near // caches
        found.append(
            Cpu(
                cpu=number,
                core=at % (caches * cores),
                die=0,
                package=package,
                numa=package,
                l1d=pair,
                l1i=pair,
                l2=pair,
                l3=topology.format_list(tuple(own)),
            )
        )
    return tuple(found)


def hybrid() -> tuple[Cpu, ...]:
    """Four fast cores of two threads, and eight slow ones that share an L2 by four."""
    fast = [
        Cpu(
            cpu=cpu,
            core=cpu // 2 * 4,
            die=0,
            package=0,
            numa=0,
            l1d=pair,
            l1i=pair,
            l2=pair,
            l3="0-15",
            kind="performance",
        )
        for cpu in range(8)
        for pair in [f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}"]
    ]
    slow = [
        Cpu(
            cpu=cpu,
            core=cpu + 8,
            die=0,
            package=0,
            numa=0,
            l1d=f"{cpu}",
            l1i=f"{cpu}",
            l2=four,
            l3="0-15",
            kind="efficiency",
        )
        for cpu in range(8, 16)
        for four in [f"{cpu // 4 * 4}-{cpu // 4 * 4 + 3}"]
    ]
    return (*fast, *slow)


def counted(
    cpus: Sequence[Cpu],
    busy: Collection[int] = (0,),
    *,
    seed: int = 1,
    runs: int = 2,
    absent: Collection[int] = (),
    elsewhere: Iterable[int | None] = (),
    command: str = "./solver",
) -> Profile:
    """Counts on these CPUs: some were busy, the others idle, or not counted at all; `elsewhere` are CPUs that the
    machine does not have, None one that is not known."""
    chance = random.Random(seed)
    machine = TableBuilder("topology", topology.COLUMNS)
    for cpu in cpus:
        machine.add(**attrs.asdict(cpu))
    resources, computed = TableBuilder("resources", (*WHERE, *EVENTS)), TableBuilder("derived", derived.COLUMNS)
    for run in range(1, runs + 1):
        for number in [*(cpu.cpu for cpu in cpus if cpu.cpu not in absent), *elsewhere]:
            cycles = chance.randrange(10**8, 10**9) if number is None or number in busy else 0
            counts = {"PAPI_TOT_INS": int(cycles * chance.uniform(0.5, 3)), "PAPI_TOT_CYC": cycles}
            resources.add(run=run, cpu=number, **counts, **{"task-clock": cycles // 3})
            for name, value in derived.ratios([list(counts)], counts):
                if number is not None:
                    computed.add(run=run, cpu=number, metric=name, value=value, estimate=False)
        computed.add(run=run, metric="cpus_utilized", value=0.5, estimate=False)
    return profiles.profile(
        {table.name: table.build() for table in (resources, machine, computed)},
        header=Header(type="papi", argv=(command,), cmd=command, exitcode=0),
        collector=Tool(name="papi", version="0.1.0", sampling={"attribution": "kernel"}),
    )
