"""The kernel's own counters, by perf_event_open: they need no hardware, and are exact for each CPU."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import platform
import struct
import sys
from collections.abc import Iterator, Sequence

from perfcore_collect_papi import failure
from perfcore_collect_papi.failure import PapiFailure

# Numbers of the kernel's interface, from linux/perf_event.h. (config, whether it happens in the kernel only)
EVENTS = {
    "task-clock": (1, False),
    "page-faults": (2, False),
    "context-switches": (3, True),
    "cpu-migrations": (4, True),
    "minor-faults": (5, False),
    "major-faults": (6, False),
}
DESCRIPTIONS = {
    "task-clock": "Time on a CPU",
    "page-faults": "Pages that were not mapped yet",
    "context-switches": "Changes to another thread on the CPU",
    "cpu-migrations": "Moves to another CPU",
    "minor-faults": "Page faults that needed no disk",
    "major-faults": "Page faults that needed a disk",
}
UNITS = {"task-clock": "ns"}
USUAL = ("task-clock", "page-faults", "context-switches", "cpu-migrations")

_CALLS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331, "i686": 336, "armv7l": 364}
_SOFTWARE = 1  # PERF_TYPE_SOFTWARE of <linux/perf_event.h>
_SIZE = 112
_TIMES = 1 | 2  # read_format: time enabled, time running
_DISABLED, _INHERIT, _NO_KERNEL, _NO_HYPERVISOR, _ON_EXEC = 1 << 0, 1 << 1, 1 << 5, 1 << 6, 1 << 12
_CLOSE_ON_EXEC = 8  # PERF_FLAG_FD_CLOEXEC
_ENABLE, _DISABLE = 0x2400, 0x2401  # PERF_EVENT_IOC_ENABLE and _DISABLE


class SoftwareSet:
    """Counters of a thread, or of this one and all that it starts. With `on_exec` nothing is counted until a child
    executes a program, and this thread never is; `start` does nothing then."""

    source = "software"
    multiplex = False
    forced = ""
    papi_version: str | None = None

    def __init__(
        self,
        events: Sequence[str],
        *,
        cpu: int | None = None,
        pid: int | None = None,
        inherit: bool = False,
        domain: str = "user",
        on_exec: bool = False,
    ) -> None:
        self.events = tuple(events)
        self.cpu = cpu
        self.pid = pid
        self.inherit = inherit
        self.domain = domain
        self._on_exec = on_exec
        self._process = os.getpid()
        self._running = False
        self._files: list[int] = []
        self._base = [0] * len(self.events)
        flags = _DISABLED | (_INHERIT if inherit else 0) | (_ON_EXEC if on_exec else 0)
        try:
            for event in self.events:
                config, of_kernel = EVENTS[event]
                hidden = 0 if of_kernel or domain == "all" else _NO_KERNEL | _NO_HYPERVISOR
                self._files.append(_open(config, flags | hidden, pid or 0, -1 if cpu is None else cpu))
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """The set counts from 0. (The kernel zeroes what a thread counted, and not what its children did.)"""
        if self._running:
            raise PapiFailure(failure.EISRUN, f"the counters {', '.join(self.events)} cannot be started")
        if not self._on_exec:
            self._tell(_ENABLE)
            self.reset()
            self._running = True

    def read(self) -> list[int]:
        return self._since(self._raw())

    def stop(self) -> list[int]:
        """The last reading."""
        values = self.read()
        self._tell(_DISABLE)
        self._running = False
        return values

    def reset(self) -> None:
        self._base = self._raw()

    def accum(self) -> list[int]:
        """What was counted since the counters were zeroed last; they are zeroed."""
        values = self._raw()
        since, self._base = self._since(values), values
        return since

    def close(self) -> None:
        """Harmless twice. In a fork the numbers of the files may be those of others by now."""
        while self._files:
            file = self._files.pop()
            if self._process == os.getpid():
                os.close(file)

    def _since(self, values: list[int]) -> list[int]:
        return [value - base for value, base in zip(values, self._base, strict=True)]

    def _raw(self) -> list[int]:
        return [int.from_bytes(os.read(file, 24)[:8], sys.byteorder) for file in self._files]

    def _tell(self, request: int) -> None:
        for file in self._files:
            fcntl.ioctl(file, request, 0)


def errors(events: Sequence[str], **options: object) -> dict[str, int]:
    """The number of the system's error for each event, 0 where it can be counted."""
    errno_by_event = {}
    for event in events:
        try:
            SoftwareSet([event], **options).close()  # type: ignore[arg-type]
            errno_by_event[event] = 0
        except OSError as error:
            errno_by_event[event] = error.errno or -1
    return errno_by_event


def open_files() -> Iterator[int]:
    """The open files of this process that are counters."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}") == "anon_inode:[perf_event]":
                yield int(name)


def _open(config: int, flags: int, pid: int, cpu: int) -> int:
    call = _CALLS.get(platform.machine())
    if call is None:
        raise OSError(38, os.strerror(38))
    event = struct.pack("IIQQQQQ", _SOFTWARE, _SIZE, config, 0, 0, _TIMES, flags).ljust(_SIZE, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_long(call), event, ctypes.c_long(pid), ctypes.c_long(cpu), ctypes.c_long(-1))
    file: int = libc.syscall(*arguments, ctypes.c_long(_CLOSE_ON_EXEC), ctypes.c_long(0))
    if file < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return file
