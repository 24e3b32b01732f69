"""The sets of counters of one run: opened, read and stopped together."""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from typing import Any

from perfcore_collect_papi import software
from perfcore_collect_papi.wire import FailedError, Frame

_SPARE = 64  # open files that are not counters


class Counters:
    """The sets of one run, each with the group of events it belongs to and the stream of readings it makes. A
    stream is a CPU, or a thread whose CPU is looked up, or everything at once. `limit` is that of open files before
    there were any."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.sets: list[tuple[int, int, Any]] = []
        self.limit = resource.getrlimit(resource.RLIMIT_NOFILE)

    def open(self) -> None:
        groups, options = self.options["groups"], self.options
        self._allow(sum(len(group["events"]) * len(self._streams(group)) for group in groups))
        for index, group in enumerate(groups):
            for stream in self._streams(group):
                try:
                    self.sets.append((index, stream, _open(group, stream, options)))
                except Exception:
                    if options["pid"] is None or os.path.exists(f"/proc/{options['pid']}/task/{stream}"):
                        raise  # otherwise it is a thread that has just ended
        if groups and not self.sets:
            raise FailedError("pid", 0, str(options["pid"]))
        for file in software.open_files():  # PAPI's would stay open in the command
            os.set_inheritable(file, False)

    def start(self) -> None:
        for _, _, counters in self.sets:
            counters.start()

    def read(self) -> list[Frame]:
        return [self._of(index, stream, counters.read()) for index, stream, counters in self.sets]

    def stop(self) -> list[Frame]:
        return [self._of(index, stream, counters.stop()) for index, stream, counters in self.sets]

    def close(self) -> None:
        while self.sets:
            self.sets.pop()[2].close()

    def _of(self, number: int, stream: int, values: Sequence[int]) -> Frame:
        """(group, stream, CPU, values). The CPU is looked up after the values were read."""
        if self.options["pid"] is not None:
            return number, stream, last_cpu(self.options["pid"], stream), tuple(values)
        return number, stream, stream, tuple(values)

    def _streams(self, group: dict[str, Any]) -> Sequence[int]:
        if group["source"] == "component":
            return (-1,)
        if self.options["pid"] is not None:
            return threads(self.options["pid"])
        return self.options["cpus"] if self.options["per_cpu"] else (-1,)

    def _allow(self, files: int) -> None:
        """As many open files as there are counters."""
        files_needed = files + _SPARE
        soft, hard = self.limit
        if soft != resource.RLIM_INFINITY and files_needed > soft:
            if hard != resource.RLIM_INFINITY and files_needed > hard:
                raise FailedError("files", hard, str(files_needed))
            resource.setrlimit(resource.RLIMIT_NOFILE, (files_needed, hard))


def threads(pid: int) -> list[int]:
    """The threads of a process. FailedError when there is none."""
    try:
        thread_ids = sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    except OSError as error:
        raise FailedError("pid", error.errno or 0, str(pid)) from error
    if not thread_ids:
        raise FailedError("pid", 3, str(pid))
    return thread_ids


def last_cpu(pid: int, thread: int) -> int:
    """The CPU that a thread was on last; -1 when it is no more."""
    try:
        with open(f"/proc/{pid}/task/{thread}/stat", "rb", buffering=0) as file:
            return int(file.read(4096).rpartition(b")")[2].split()[36])
    except (OSError, IndexError, ValueError):
        return -1


def _open(group: dict[str, Any], stream: int, options: dict[str, Any]) -> Any:
    """The set of a group of events for a stream."""
    pid = None if options["pid"] is None else stream
    cpu = stream if pid is None and stream >= 0 else None
    events = group["events"]
    if group["source"] == "software":
        try:
            return software.SoftwareSet(
                events, cpu=cpu, pid=pid, inherit=True, domain=options["domain"], on_exec=pid is None
            )
        except OSError as error:
            raise FailedError("software", error.errno or 0, ", ".join(events)) from error
    from perfcore_collect_papi import binding

    index = group["component"]
    if group["source"] == "component":
        return binding.EventSet(binding.library(), events, component=index)
    return binding.EventSet(
        binding.library(),
        events,
        component=index,
        cpu=cpu,
        pid=pid,
        inherit=True,
        multiplex=options["multiplex"],
        domain=options["domain"],
    )
