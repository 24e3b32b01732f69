"""Facts about the machine, from an allow-list: nothing secret is ever read.

`environment_id` hashes only what makes two measurements comparable. Clock rates and bogomips are left out on
purpose: they differ between two boots of one machine, and every boot would begin a new history.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from perfcore.digests import sha1

ID_VERSION = 1  # in front of every id, so that ids of other rules are never compared
_IDENTITY = ("system", "arch", "cpu", "cpus", "memory_gib")


def facts(added: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """What the machine is; `added` come from plugins and stand below `extra`."""
    # `platform` takes longer to import than all else here, and asks the same.
    system, host, release, _, arch = (os.uname() if hasattr(os, "uname") else platform.uname())[:5]
    machine: dict[str, Any] = {
        "host": host,
        "system": system,
        "release": release,
        "arch": arch,
        "cpu": _cpu_model(),
        "cpus": os.cpu_count() or 1,
        "cpus_usable": _usable_cpus(),
        "memory_gib": _memory_gib(),
        "python": sys.version.split()[0],
    }
    extra = {key: value for answer in added for key, value in answer.items()}
    if extra:
        machine["extra"] = extra
    return machine


def environment_id(machine: Mapping[str, Any]) -> str:
    """`1:<sha1>` of the facts that matter."""
    identity = {key: machine.get(key) for key in _IDENTITY}
    text = json.dumps([ID_VERSION, identity], sort_keys=True)
    return f"{ID_VERSION}:{sha1(text.encode()).hexdigest()}"


def config_id(what: Mapping[str, Any]) -> str:
    """`1:<sha1>` of what makes two profiles comparable, as JSON values."""
    text = json.dumps([ID_VERSION, what], sort_keys=True, ensure_ascii=True, default=str)
    return f"{ID_VERSION}:{sha1(text.encode()).hexdigest()}"


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "Model", "Hardware"):  # x86; then boards with ARM
                return value.strip()
    except OSError:
        pass
    import platform

    return platform.processor() or platform.machine()


def _usable_cpus() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows do not tell
        return os.cpu_count() or 1


def _memory_gib() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)  # whole: kernels keep some
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None
