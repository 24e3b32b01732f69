"""What other tools wrote: samplers, hwloc, drawers of flame graphs; and what a check left behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from perfcore_check_changepoint import memory
from perfcore_collect_papi import topology
from perfcore_collect_sample import SampleSettings, kernel, pyspy
from perfcore_collect_sample.source import Places
from perfcore_format_chrome_trace import ChromeTraceFormat
from perfcore_format_firefox import FirefoxFormat
from perfcore_format_folded import FoldedFormat
from perfcore_format_pprof import PprofFormat
from perfcore_format_speedscope import SpeedscopeFormat
from perfcore_format_v8 import V8Format
from perfcore_testing import profiles

from perfcore.model import Job, Profile, Step
from perfcore.profile import stacks
from perfcore.profile.table import column, table

from .law import assert_kept, decoded, folder, target, written


@target
def folded_stacks(data: bytes) -> None:
    driver = FoldedFormat()
    driver.sniff(data[:4096], "file.folded")
    found = decoded(lambda: driver.read(written(data, "in.folded")))
    if found is not None:
        assert_kept(found)
        out = folder() / "out.folded"
        driver.write(found, out)
        again = driver.read(out)
        assert _total(again) == _total(found) or _total(found) != _total(found)


@target
def speedscope(data: bytes) -> None:
    _assert_exchanged(SpeedscopeFormat(), data, "in.speedscope.json")


@target
def firefox_profile(data: bytes) -> None:
    _assert_exchanged(FirefoxFormat(), data, "in.json")


@target
def pprof(data: bytes) -> None:
    _assert_exchanged(PprofFormat(), data, "in.pb")


@target
def profile_of_v8(data: bytes) -> None:
    _assert_imported(V8Format(), data, "in.cpuprofile")


@target
def chrome_trace(data: bytes) -> None:
    _assert_imported(ChromeTraceFormat(), data, "in.json")


@target
def topology_of_hwloc(data: bytes) -> None:
    found = decoded(lambda: topology.of_file(written(data)))
    if found is not None:
        table("cpus", [column(spec.name, [getattr(cpu, spec.name) for cpu in found]) for spec in topology.COLUMNS])


@target
def memory_of_changepoints(data: bytes) -> None:
    """What a scan left for the next one, which is believed or not, and never an error."""
    found = memory.decode(data, "key")
    assert memory.decode(memory.encode(found, "key"), "key") == found


@target
def recorded_by_pyspy(data: bytes) -> None:
    (folder() / "samples.json").write_bytes(data)
    tool = pyspy.PySpy(path="py-spy", version="0", settings=SampleSettings())
    _assert_stacks(lambda: list(tool.read(folder(), _job())))


@target
def recorded_by_the_kernel(data: bytes) -> None:
    """What the kernel's perf prints of its samples."""
    places = Places(folder())

    def read() -> list[tuple[Sequence[Any], int]]:
        blocks = kernel._blocks(data.decode(errors="backslashreplace"))
        return [([f for f in (kernel._frame(row, places) for row in rows) if f], pid) for pid, _, rows in blocks]

    _assert_stacks(read)


def _assert_imported(driver: Any, data: bytes, name: str) -> None:
    """What was read can be kept."""
    driver.sniff(data[:4096], name)
    found = decoded(lambda: driver.read(written(data, name)))
    if found is not None:
        assert_kept(found)


def _assert_exchanged(driver: Any, data: bytes, name: str) -> None:
    """What was read can be kept; what can be written of it is read again, with the same sums."""
    driver.sniff(data[:4096], name)
    found = decoded(lambda: driver.read(written(data, name)))
    if found is None:
        return
    assert_kept(found)
    out = folder() / f"out.{name}"
    out.unlink(missing_ok=True)
    decoded(lambda: driver.write(found, out))
    if out.exists():
        again = driver.read(out)
        assert again.header.type == found.header.type
        assert again.tables["resources"].rows <= found.tables["resources"].rows * len(
            found.tables["resources"].values()
        )


def _job() -> Job:
    return Job(argv=("true",), cmd="true", collector=Step(name="sample"), cwd=folder())


def _assert_stacks(read: Callable[[], Any]) -> None:
    """What a sampler recorded can be kept."""
    found = decoded(read)
    if found:
        builder = stacks.StackBuilder()
        for frames, _ in found:
            builder.add(frames)
        made = builder.tables()
        if made["functions"].rows:
            assert_kept(profiles.profile(made))


def _total(found: Profile) -> Any:
    return sum(value for value in found.tables["resources"].values()[0] if value is not None)
