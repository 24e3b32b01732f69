"""Native programs, by the kernel's perf: a tool of the same name as ours, so it is recognized by its version line."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from perfcore.errors import CommandFailedError, FormatError, PerfError, PluginError
from perfcore.profile.stacks import Frame
from perfcore.text import clip, encodable, printable
from perfcore_collect_sample.source import Places
from perfcore_collect_sample.starter import NAME as STARTER
from perfcore_collect_sample.tools import starter_pid

if TYPE_CHECKING:
    from perfcore.model import Job
    from perfcore_collect_sample.collector import SampleSettings
    from perfcore_collect_sample.tools import Sampled

_OUTPUT = "perf.data"
_SAMPLE = re.compile(r"^(\S.*?)\s+(\d+)/(\d+)\s")
_FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")
_MISSED = re.compile(r"lost (\d+)")
# Behind PATH, where a virtual environment has our own command of that name in front.
_PLACES = ("/usr/bin/perf", "/usr/local/bin/perf")
_INSTALL = "install it: Debian linux-perf, Ubuntu linux-tools-generic, Fedora perf"


@attrs.frozen(kw_only=True)
class KernelPerf:
    """The kernel's perf at a path, with the options that were asked for."""

    name = "perf"
    ready = ""
    path: str
    version: str
    settings: SampleSettings

    @classmethod
    def find(cls, settings: SampleSettings) -> KernelPerf:
        """The first program called perf that is the kernel's."""
        looked = []
        for path in _candidates(os.environ.get("PATH", "")):
            looked.append(path)
            version = _version(path)
            if version is not None:
                return cls(path=path, version=version, settings=settings)
        places = f"; it is none of {', '.join(map(printable, looked))}" if looked else ""
        raise PluginError(
            f"the kernel's tool perf, which samples native programs, is not installed{places}", hint=_INSTALL
        )

    def argv(self, folder: Path, command: Sequence[str]) -> list[str]:
        return [
            *(self.path, "record", "--output", str(folder.absolute() / _OUTPUT)),
            *("--freq", str(self.settings.rate), "--event", self.settings.event),
            *("--call-graph", self.settings.call_graph, "--", *command),
        ]

    def read(self, folder: Path, job: Job) -> Sampled:
        fields = "comm,pid,tid,time,event,ip,sym,dso"
        argv = [self.path, "script", "--input", str(folder.absolute() / _OUTPUT), "--fields", fields]
        done = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            message = clip(printable(done.stderr.decode(errors="replace").strip()), 200)
            raise FormatError(f"perf cannot read its own recording: {message}")
        places, starter = Places(job.cwd), starter_pid(folder)
        for pid, thread, lines in _blocks(done.stdout.decode(errors="backslashreplace")):
            frames = [_frame(line, places) for line in lines]
            # Between fork and exec the command's process is still the starter's doing.
            if frames and pid != starter and thread != STARTER:
                # perf-script(1) prints the innermost frame first.
                yield reversed([frame for frame in frames if frame is not None]), encodable(thread)

    def failure(self, complaint: str) -> PerfError:
        # perf_event_open(2): at 2, the kernel's default, users may not see the kernel; Debian's 3 forbids all of it.
        if "perf_event_paranoid" in complaint or "Permission denied" in complaint:
            return PluginError(
                "the kernel does not let perf sample here",
                hint="`sysctl kernel.perf_event_paranoid=1` allows it, as root; a container needs --cap-add PERFMON",
            )
        if "event syntax error" in complaint or "not supported" in complaint:
            return PluginError(
                f"perf cannot sample the event {printable(self.settings.event)!r} here",
                hint="`cpu-clock` works everywhere",
            )
        message = " ".join(complaint.split())
        return CommandFailedError(f"perf failed before the command ended: {clip(printable(message), 200)}")

    def missed(self, complaint: str) -> int:
        match = _MISSED.search(complaint)
        return int(match[1]) if match else 0


def _candidates(path: str) -> Iterator[str]:
    real_paths = set()
    for path_of_perf in (*(os.path.join(folder, "perf") for folder in path.split(os.pathsep) if folder), *_PLACES):
        real = os.path.realpath(path_of_perf)
        if real not in real_paths and os.access(path_of_perf, os.X_OK) and os.path.isfile(path_of_perf):
            real_paths.add(real)
            yield path_of_perf


def _version(path: str) -> str | None:
    """The version that the kernel's perf prints; None for any other program, ours included.
    A script of Python is not even asked."""
    try:
        with open(path, "rb") as file:
            # The kernel reads no more of a script's first line (BINPRM_BUF_SIZE, 256 since Linux 5.1).
            first = file.read(256).partition(b"\n")[0]
        if first.startswith(b"#!") and b"python" in first:
            return None
        done = subprocess.run(
            [path, "--version"], capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"perf version (\S+)", done.stdout.decode(errors="replace"))
    return match[1] if match and done.returncode == 0 else None


def _blocks(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """(process, name of the thread, lines of its frames) of each sample."""
    pid, thread, lines = -1, "", list[str]()
    for line in text.split("\n"):
        if not line:
            if lines:
                yield pid, thread, lines
            lines = []
        elif line[0].isspace():
            lines.append(line)
        else:
            match = _SAMPLE.match(line)
            pid, thread = (int(match[2]), match[1]) if match else (-1, "")
    if lines:
        yield pid, thread, lines


def _frame(line: str, places: Places) -> Frame | None:
    match = _FRAME.match(line)
    if match is None:
        return None
    return Frame(encodable(match[2]), encodable(places.file(match[3])))
