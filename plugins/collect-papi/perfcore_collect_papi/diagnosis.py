"""Why there are no hardware counters: one true text, from facts about the kernel, the machine and PAPI."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from perfcore.text import clip, printable
from perfcore_collect_papi import failure, processor
from perfcore_collect_papi.names import ARCHITECTURAL, FORCED, PERF_EVENT

_UNITS = ("cpu", "cpu_core", "cpu_atom", "cpum_cf")
_ALLOWED = 2
IN_KERNEL = "they happen in the kernel, which needs root"


@attrs.frozen(kw_only=True)
class Machine:
    """What the kernel shows. `paranoid` is None where it has no perf_events; `units` are the counting units of
    processors under /sys."""

    kernel: str = ""
    paranoid: int | None = None
    units: tuple[str, ...] = ()
    vendor: str = ""
    family: int | None = None
    model: int | None = None
    name: str = ""

    @property
    def cpu(self) -> str:
        """As precisely as it is known: on x86 by numbers, as names are those of a shop."""
        if self.family is None:
            return self.name or self.vendor or "unknown vendor"
        return f"{self.vendor or 'unknown vendor'} family {self.family}, model {self.model}"


@attrs.frozen(kw_only=True)
class Probed:
    """What the attempt to count gave. `papi` is the library's version, None where it cannot be imported (`why`).
    `codes` are PAPI's for each event, `software` the system's errors for the kernel's own counters; `reference` is
    PAPI's code for instructions, which every CPU can count; `allowed` the system's error for the user space of
    the probing process itself, which is 0 where counting is allowed at all. `domain` and `pid` were asked for."""

    papi: str | None = None
    why: str = ""
    components: tuple[Mapping[str, Any], ...] = ()
    component: Mapping[str, int] = attrs.field(factory=dict)
    codes: Mapping[str, int] = attrs.field(factory=dict)
    near: Mapping[str, Sequence[str]] = attrs.field(factory=dict)
    software: Mapping[str, int] = attrs.field(factory=dict)
    reference: int = 0
    allowed: int = -1
    domain: str = "user"
    pid: int | None = None
    forced: str = ""

    @property
    def hardware(self) -> Mapping[str, Any] | None:
        """PAPI's component for the processor's counters."""
        return next((component for component in self.components if component["name"] == PERF_EVENT), None)

    @property
    def fallback(self) -> str:
        """What --fallback would give."""
        if 0 in self.software.values():
            return "use --fallback (kernel counters such as task-clock and page-faults)"
        return "use --fallback (times and page faults of the whole command)"

    def countable(self, event: str) -> bool:
        return self.codes.get(event) == 0 if event in self.codes else self.software.get(event) == 0


@attrs.frozen
class Cause:
    """Why something cannot be counted. `whole` says that it holds for all hardware events, so that another source
    may be looked for; the others are for the user to put right."""

    id: str
    text: str
    hint: str
    whole: bool = True


def machine(root: Path = Path("/")) -> Machine:
    """Read from /proc and /sys below `root`."""
    cpu = processor.of_file(root / "proc/cpuinfo")
    return Machine(
        kernel=os.uname().release,
        paranoid=_number(root / "proc/sys/kernel/perf_event_paranoid"),
        units=_units(root / "sys/bus/event_source/devices"),
        **attrs.asdict(cpu),
    )


def cause(machine: Machine, probed: Probed, events: Sequence[str]) -> Cause | None:
    """Why one of the events cannot be counted; None when all can. What holds for all events is told before what
    holds for one."""
    codes = {event: probed.codes[event] for event in events if probed.codes.get(event)}
    if probed.papi is not None and not codes and events and all(event in probed.codes for event in events):
        return None
    return _of_all(machine, probed, codes) or _of_one(machine, probed, events, codes)


def of_software(machine: Machine, probed: Probed, number: int, events: Sequence[str] = ()) -> Cause:
    """Why the kernel's own counters cannot be had: all of these events, or any at all."""
    refused = number in (errno.EACCES, errno.EPERM)
    if refused and events and probed.allowed == 0 and probed.pid is None and probed.domain == "user":
        text = f"{', '.join(events)} cannot be counted here: {IN_KERNEL}"
        hint = "kernel.perf_event_paranoid of 1 or less, or root; task-clock and page-faults need neither"
        return Cause("in-kernel", text, hint, whole=False)
    if machine.paranoid is None or number == errno.ENOSYS:
        return _NO_PERF_EVENTS
    if refused:
        return _refused(machine, probed)
    return Cause("software", f"the kernel does not open its counters: {os.strerror(number)}", "use another collector")


def of_forced(pmu: str, events: Sequence[str]) -> Cause:
    """Why events are not counted that have other codes on the CPU that PAPI was told to take this one for."""
    cpu = f"PAPI takes this CPU for {printable(pmu)}, whose codes may mean something else here"
    text = f"{', '.join(events)} cannot be counted: {cpu}"
    return Cause("forced", text, f"count {', '.join(ARCHITECTURAL)}, or unset LIBPFM_FORCE_PMU")


def _of_all(machine: Machine, probed: Probed, codes: Mapping[str, int]) -> Cause | None:
    hardware = probed.hardware
    reason = printable(str(hardware["reason"])) if hardware else ""
    refused = failure.EPERM in codes.values()
    if probed.papi is None:
        return Cause(
            "no-papi",
            "collect-papi needs python_papi, which is not installed here"
            + (f" ({clip(printable(probed.why), 120)})" if probed.why else ""),
            f"pip install python_papi (wheels for Linux x86_64, elsewhere with a C compiler), or {probed.fallback}",
        )
    if machine.paranoid is None or failure.ESYS in codes.values():
        return _NO_PERF_EVENTS
    if "paranoid" in reason or refused:
        return _refused(machine, probed)
    if hardware is None or hardware["disabled"]:
        return _newer(machine, probed) if machine.units else _no_unit(f'perf_event disabled, "{reason}"', probed)
    if not machine.units and probed.reference == failure.ENOEVNT:
        return _no_unit("Event does not exist", probed)
    return None


def _of_one(machine: Machine, probed: Probed, events: Sequence[str], codes: Mapping[str, int]) -> Cause | None:
    for event, code in codes.items():
        event_text = clip(printable(event), 100)
        if code == failure.ENOEVNT:
            near = ", ".join(probed.near.get(event, ()))
            hint = (f"near: {near}; " if near else "") + "`perf papi events` lists them all"
            return Cause("no-event", f"{event_text} is not available on this CPU", hint, whole=False)
        if code == failure.ECNFLCT:
            return _conflict([rival for rival in codes if codes[rival] == code], [e for e in events if e not in codes])
        if code == failure.EINVAL_DOM:
            return _domain(machine)
        return Cause(
            "papi", f"{event_text} cannot be counted: {failure.name_of(code)} ({code})", "see `perf papi doctor`"
        )
    return None


def _conflict(misfits: Sequence[str], others: Sequence[str]) -> Cause:
    refused, compatible = (clip(printable(", ".join(names)), 300) for names in (misfits, others))
    text = (
        f"{refused} {'does' if len(misfits) == 1 else 'do'} not fit beside {compatible}: too few counters, or one twice"
    )
    return Cause("conflict", text, "drop an event, or use --multiplex (estimates)", whole=False)


_NO_PERF_EVENTS = Cause(
    "no-perf-events",
    "this kernel has no perf_events (common in gVisor and some sandboxes): no hardware counters",
    "run on another kernel, or use --fallback (times and page faults of the whole command)",
)


def _refused(machine: Machine, probed: Probed) -> Cause:
    """The kernel says no: to counting at all, or to what was asked for beyond this process's own user space."""
    if probed.allowed != 0:
        return _forbidden(machine, probed)
    if probed.pid is not None:
        text = f"the kernel does not let this process look into the process {probed.pid}"
        return Cause("pid", text, "count it as its owner, or as root", whole=False)
    return _domain(machine) if probed.domain == "all" else _forbidden(machine, probed)


def _domain(machine: Machine) -> Cause:
    text = f"the kernel refuses to have itself counted: kernel.perf_event_paranoid is {machine.paranoid}"
    return Cause("domain", text, "1 or less is needed for --domain all, or root", whole=False)


def _forbidden(machine: Machine, probed: Probed) -> Cause:
    if machine.paranoid is not None and machine.paranoid > _ALLOWED:
        return Cause(
            "paranoid",
            "the kernel refuses performance counters: kernel.perf_event_paranoid is "
            f"{machine.paranoid}, {_ALLOWED} or less is needed",
            "as root: sysctl kernel.perf_event_paranoid=2 (or give the process CAP_PERFMON)",
        )
    return Cause(
        "seccomp",
        f"perf_event_open is forbidden here although kernel.perf_event_paranoid is {machine.paranoid}: "
        "a container's seccomp profile, most likely",
        f"docker run --cap-add PERFMON, or {probed.fallback}",
    )


def _no_unit(said: str, probed: Probed) -> Cause:
    return Cause(
        "no-pmu",
        "this machine offers no hardware counters (no CPU unit under /sys/bus/event_source/devices; usual in virtual "
        f"machines and hosted CI). PAPI: {said}",
        f"run where a PMU is visible, or {probed.fallback}",
    )


def _newer(machine: Machine, probed: Probed) -> Cause:
    forced = FORCED.get(machine.vendor)
    can = "Instructions, cycles and branches can still be counted: "
    hint = f"{can}LIBPFM_FORCE_PMU={forced}, or --fallback" if forced else probed.fallback
    newest = " (the newest it knows: Zen 2, Cascade Lake)" if forced else ""
    text = f"this CPU ({machine.cpu}) is not known to the PAPI {probed.papi} inside python_papi{newest}"
    return Cause("newer-cpu", text, hint)


def _units(folder: Path) -> tuple[str, ...]:
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return ()
    return tuple(name for name in names if name in _UNITS or name.startswith("armv"))


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
