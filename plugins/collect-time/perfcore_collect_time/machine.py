"""What the machine does besides: load, stolen and withheld CPU time, changing clock rates. Read from /proc and /sys."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perfcore.named_tuple import NamedTuple
from perfcore.text import plural

# 1 % is the smallest change that `perf compare` looks for by default.
STOLEN = 0.01  # the share of CPU time taken by the hypervisor that is worth a note
_THROTTLED = {"throttled_usec": 1e6, "throttled_time": 1e9}  # of versions 2 and 1, and what a second has of each
_TICKS = 100  # USER_HZ; /proc/stat counts in it on every Linux


class Snapshot(NamedTuple):
    """Counters at one moment. None is what this machine does not tell."""

    moment: float
    cpus: int
    load: float | None = None
    stolen: float | None = None
    ran: float | None = None
    pressure: float | None = None
    throttled: int | None = None
    throttled_time: float | None = None


class Frequency(NamedTuple):
    """What is known of the clock rate: the governors in use, whether boosting is allowed."""

    governors: tuple[str, ...] = ()
    boost: bool | None = None


def snapshot(root: Path = Path("/")) -> Snapshot:
    """The counters now. `root` is where `proc` and `sys` are."""
    ran, stolen = _cpu_times(_text(root / "proc/stat"))
    throttled, withheld = _throttling(root)
    return Snapshot(
        moment=time.monotonic(),
        cpus=len(os.sched_getaffinity(0)),
        load=_first_number(_text(root / "proc/loadavg")),
        stolen=stolen,
        ran=ran,
        pressure=_pressure(_text(root / "proc/pressure/cpu")),
        throttled=throttled,
        throttled_time=withheld,
    )


def frequency(root: Path = Path("/")) -> Frequency:
    folder = root / "sys/devices/system/cpu"
    governors = {_text(path).strip() for path in folder.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    boost, no_turbo = _text(folder / "cpufreq/boost").strip(), _text(folder / "intel_pstate/no_turbo").strip()
    allowed = boost == "1" if boost else no_turbo == "0" if no_turbo else None
    return Frequency(governors=tuple(sorted(governors - {""})), boost=allowed)


def facts(before: Snapshot, after: Snapshot, clock: Frequency, root: Path = Path("/")) -> dict[str, Any]:
    """What goes into the profile: only what is known."""
    elapsed = after.moment - before.moment
    facts_by_name: dict[str, Any] = {
        "cpus": before.cpus,
        "load_before": before.load,
        "stolen": stolen_share(before, after),
        "cpu_pressure": _share(before.pressure, after.pressure, elapsed),
        "throttled": _difference(before.throttled, after.throttled),
        "cpu_quota": quota(root),
        "governors": list(clock.governors) or None,
        "boost": clock.boost,
        "smt": {"1": True, "0": False}.get(_text(root / "sys/devices/system/cpu/smt/active").strip()),
    }
    return {key: value for key, value in facts_by_name.items() if value is not None}


def notes(before: Snapshot, after: Snapshot, clock: Frequency) -> Iterator[str]:
    """What the reader should know of the machine, one line each."""
    if before.load is not None and before.load > before.cpus:
        yield f"the machine was loaded when this began: load {before.load:.1f} on {plural(before.cpus, 'CPU')}"
    stolen = stolen_share(before, after)
    if stolen is not None and stolen >= STOLEN:
        share = f"{stolen * 100:.0f} %"
        yield f"the hypervisor gave {share} of the CPU time to others (steal); wall and cpu hold some of it"
    throttled = _difference(before.throttled, after.throttled)
    if throttled:
        withheld = _difference(before.throttled_time, after.throttled_time) or 0.0
        yield (
            f"the CPU quota of the control group stopped this {plural(throttled, 'time')}, for {withheld:.2g} s: "
            "the machine is unfit to measure wall time"
        )
    scaled = [name for name in clock.governors if name != "performance"]
    if scaled or clock.boost:
        how = [f"governor {'/'.join(scaled)}"] * bool(scaled) + ["boost on"] * bool(clock.boost)
        yield f"the clock rate changes while measuring ({', '.join(how)}): times move with load and temperature"


def stolen_share(before: Snapshot, after: Snapshot) -> float | None:
    """The part of the wanted CPU time that the hypervisor withheld."""
    stolen, ran = _difference(before.stolen, after.stolen), _difference(before.ran, after.ran)
    if stolen is None or ran is None:
        return None
    return round(stolen / (stolen + ran), 4) if stolen + ran > 0 else 0.0


def quota(root: Path = Path("/")) -> float | None:
    """How many CPUs our control group, and each one around it, may use; None without a limit."""
    quotas = (_quota(group) for group in _cgroups(root))
    return min((limit for limit in quotas if limit is not None), default=None)


def _quota(group: Path) -> float | None:
    # One file in version 2, two in version 1, where -1 is no limit.
    text = _text(group / "cpu.max") or _text(group / "cpu.cfs_quota_us") + _text(group / "cpu.cfs_period_us")
    words = text.split()
    return int(words[0]) / int(words[1]) if len(words) == 2 and words[0].isdigit() else None


def _cpu_times(stat: str) -> tuple[float | None, float | None]:
    """Seconds that all CPUs (ran, were stolen): user nice system idle iowait irq softirq steal."""
    # The line `cpu` of proc_stat(5). Guest time is in user and nice already.
    words = stat.partition("\n")[0].split()
    if len(words) < 9 or words[0] != "cpu":
        return None, None
    user, nice, system, _, _, irq, softirq, steal = (int(word) / _TICKS for word in words[1:9])
    return user + nice + system + irq + softirq, steal


def _throttling(root: Path) -> tuple[int | None, float | None]:
    """How often our control group and those around it were stopped, each counting for itself, and for how long."""
    stops, seconds = [], []
    for group in _cgroups(root):
        values = dict(line.split() for line in _text(group / "cpu.stat").splitlines() if len(line.split()) == 2)
        stops += [int(values[name]) for name in ("nr_throttled",) if name in values]
        seconds += [int(values[name]) / unit for name, unit in _THROTTLED.items() if name in values]
    return (sum(stops) if stops else None), (sum(seconds) if seconds else None)


def _pressure(text: str) -> float | None:
    """Seconds in which some task waited for a CPU."""
    # The line `some`, whose total is in microseconds (Documentation/accounting/psi.rst).
    total = text.partition("\n")[0].rpartition("total=")[2]
    return int(total) / 1e6 if total.isdigit() else None


def _cgroups(root: Path) -> Iterator[Path]:
    """The folders of the control groups that may limit our CPU time, from the mount down to our own. A container may
    see a path of its host that is not there; its own group is the mount then."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        # `0::` is the one hierarchy of version 2; in version 1 each controller has a folder (cgroups(7)).
        if not controllers or "cpu" in controllers.split(","):
            mount = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
            names = (name for name in path.split("/") if name not in ("", ".", ".."))
            yield from itertools.accumulate(names, Path.joinpath, initial=mount)


def _first_number(text: str) -> float | None:
    words = text.split()
    return float(words[0]) if words else None


def _difference(before: Any, after: Any) -> Any:
    return None if before is None or after is None else after - before


def _share(before: float | None, after: float | None, elapsed: float) -> float | None:
    spent = _difference(before, after)
    return None if spent is None or elapsed <= 0 else round(spent / elapsed, 4)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
