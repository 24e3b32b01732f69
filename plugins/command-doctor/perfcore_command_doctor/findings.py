"""What a machine says of itself that decides how well it measures, and what to do about it.

Everything is read from `proc` and `sys` (proc(5), and `Documentation/ABI` of the Linux kernel); nothing is changed.
Other systems tell little of it, and what nobody tells is `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from perfcore_collect_time import machine

from perfcore.named_tuple import NamedTuple
from perfcore.text import plural
from perfcore_command_doctor.observation import Observation, share

State = Literal["good", "bad", "unknown"]

_SLOW_CLOCKS = ("hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies")  # a look at them takes a microsecond or more
_BUSY = 0.05  # of a CPU: less is what a quiet desktop takes
_LITTLE = 0.1  # of the memory: below it kernels begin to write pages out
_VARIES = 0.02  # 1 % is the smallest change that comparisons look for, and half of the runs differ by this


class Finding(NamedTuple):
    """One property of the machine: what it is, why that matters where it is bad, and what to do about it."""

    name: str
    state: State
    what: str
    effect: str = ""
    remedy: str = ""


def findings(observation: Observation, root: Path = Path("/")) -> list[Finding]:
    """All of them: the bad ones first, and those that this machine does not tell last."""
    order: Mapping[State, int] = {"bad": 0, "good": 1, "unknown": 2}
    found = [*_of_settings(root), *_of_observation(observation, root)]
    return sorted(found, key=lambda finding: order[finding.state])


def _of_settings(root: Path) -> Iterator[Finding]:
    for find in (_governor, _turbo, _threads, _quota, _affinity, _clock, _power, _counters, _layout):
        yield find(root)


def _governor(root: Path) -> Finding:
    governors = machine.frequency(root).governors
    if not governors:
        return Finding("governor", "unknown", "not told, as in most virtual machines")
    if set(governors) == {"performance"}:
        return Finding("governor", "good", "performance")
    effect = "the clock rate follows the load, and the first runs are slow"
    return Finding("governor", "bad", ", ".join(governors), effect, "sudo cpupower frequency-set -g performance")


def _turbo(root: Path) -> Finding:
    boost = machine.frequency(root).boost
    if boost is None:
        return Finding("turbo", "unknown", "not told")
    if not boost:
        return Finding("turbo", "good", "off")
    intel = (root / "sys/devices/system/cpu/intel_pstate/no_turbo").exists()
    switch = "1 | sudo tee {}/intel_pstate/no_turbo" if intel else "0 | sudo tee {}/cpufreq/boost"
    remedy = "echo " + switch.format("/sys/devices/system/cpu")
    return Finding("turbo", "bad", "on", "the clock rate depends on temperature and on the other CPUs", remedy)


def _threads(root: Path) -> Finding:
    active = _text(root / "sys/devices/system/cpu/smt/active")
    if active not in ("0", "1"):
        return Finding("SMT", "unknown", "not told")
    if active == "0":
        return Finding("SMT", "good", "off, or the CPU has none")
    effect = "two threads share a core: what runs on its other half slows a run down"
    return Finding("SMT", "bad", "on", effect, "echo off | sudo tee /sys/devices/system/cpu/smt/control")


def _quota(root: Path) -> Finding:
    quota = machine.quota(root)
    if quota is None:
        return Finding("CPU quota", "good", "none")
    effect = "the control group stops a run for some milliseconds when it has used its part"
    return Finding("CPU quota", "bad", f"{quota:g} CPUs", effect, "measure in a container without a CPU limit")


def _affinity(root: Path) -> Finding:
    isolated = _text(root / "sys/devices/system/cpu/isolated")
    if isolated:
        return Finding("isolated CPUs", "good", f"{isolated}; --cpu {isolated} measures on them")
    return Finding("isolated CPUs", "unknown", "none; --cpu LIST pins runs to CPUs that you keep free")


def _clock(root: Path) -> Finding:
    source = _text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")
    if not source:
        return Finding("clock", "unknown", "not told")
    if source not in _SLOW_CLOCKS:
        return Finding("clock", "good", source)
    fast = "tsc" in _text(root / "sys/devices/system/clocksource/clocksource0/available_clocksource").split()
    remedy = "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource" if fast else ""
    return Finding("clock", "bad", source, "reading the time takes a microsecond or more", remedy)


def _power(root: Path) -> Finding:
    supplies = sorted((root / "sys/class/power_supply").glob("*"))
    mains = [_text(supply / "online") for supply in supplies if _text(supply / "type") == "Mains"]
    if not mains:
        return Finding("power", "unknown", "no supply is told of, as in most servers")
    if "1" in mains:
        return Finding("power", "good", "plugged in")
    return Finding("power", "bad", "on battery", "the clock rate is lowered to save it", "plug it in")


def _counters(root: Path) -> Finding:
    paranoid = _text(root / "proc/sys/kernel/perf_event_paranoid")
    if not paranoid.lstrip("-").isdigit():
        return Finding("counters", "unknown", "the kernel has none (perf_event_open)")
    if int(paranoid) <= 2:
        return Finding("counters", "good", f"perf_event_paranoid {paranoid}: a user may count what its programs do")
    effect = "nobody but root may count instructions, which vary less than times"
    return Finding(
        "counters", "bad", f"perf_event_paranoid {paranoid}", effect, "sudo sysctl kernel.perf_event_paranoid=2"
    )


def _layout(root: Path) -> Finding:
    randomized = _text(root / "proc/sys/kernel/randomize_va_space")
    if not randomized:
        return Finding("address layout", "unknown", "not told")
    if randomized == "2":
        return Finding("address layout", "good", "random in every run")
    effect = "all runs share one layout, whose luck is measured as if it were the program's"
    return Finding("address layout", "bad", "the same in all runs", effect, "sudo sysctl kernel.randomize_va_space=2")


def _of_observation(seen: Observation, root: Path) -> Iterator[Finding]:
    for find in (_others, _stolen, _memory, _heat):
        yield find(seen)
    yield _repeatable(seen)
    if virtual := _hypervisor(root):
        yield Finding("virtual machine", "unknown", virtual, "", "")


def _others(seen: Observation) -> Finding:
    if seen.busy is None:
        return Finding("other programs", "unknown", "not told")
    state = f"{seen.busy:.2f} of {plural(seen.cpus, 'CPU')} in use"
    if seen.busy < _BUSY:
        return Finding("other programs", "good", state)
    names = ", ".join(f"{program.name} {share(program.cpus)}" for program in seen.programs)
    effect = "runs wait for CPUs, caches and memory" + (f": {names}" if names else "")
    return Finding("other programs", "bad", state, effect, "end them, or measure on CPUs that they do not use")


def _stolen(seen: Observation) -> Finding:
    if seen.stolen is None:
        return Finding("stolen time", "unknown", "not told")
    if seen.stolen < machine.STOLEN:
        return Finding("stolen time", "good", "none" if not seen.stolen else share(seen.stolen))
    effect = "the hypervisor gives the CPUs to other machines meanwhile"
    remedy = "count instructions (perf collect papi), or measure where nobody shares the CPUs"
    return Finding("stolen time", "bad", share(seen.stolen), effect, remedy)


def _memory(seen: Observation) -> Finding:
    if seen.available is None:
        return Finding("memory", "unknown", "not told")
    state = f"{share(seen.available)} is free"
    if seen.available >= _LITTLE and not seen.swapped:
        return Finding("memory", "good", state)
    state += f", {plural(seen.swapped, 'page')} came back from swap" if seen.swapped else ""
    return Finding("memory", "bad", state, "runs wait for pages from the disk", "end what holds the memory")


def _heat(seen: Observation) -> Finding:
    if seen.throttled is None:
        return Finding("temperature", "unknown", "not told")
    if not seen.throttled:
        return Finding("temperature", "good", "no CPU was slowed down")
    effect = "CPUs are slowed down while they are too hot"
    return Finding("temperature", "bad", plural(seen.throttled, "event"), effect, "let it cool, and clean its fans")


def _repeatable(seen: Observation) -> Finding:
    what = f"half of {len(seen.loops)} runs of a fixed loop are within ± {seen.spread / 2 * 100:.1f} %"
    if seen.spread < _VARIES:
        return Finding("repeatability", "good", what)
    effect = "small changes need many runs"
    return Finding("repeatability", "bad", what, effect, "change what is listed here, or use `perf compare`")


def _hypervisor(root: Path) -> str:
    flags = next((line for line in _text(root / "proc/cpuinfo").splitlines() if line.startswith("flags")), "")
    if "hypervisor" not in flags.split():
        return ""
    maker = _text(root / "sys/class/dmi/id/sys_vendor")
    return f"yes{f', of {maker}' if maker else ''}: what runs beside it is hidden"


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
