"""The near end of the process that counts: starts it, asks it, and puts its failures into words."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import attrs

from perfcore.errors import PluginError
from perfcore.text import clip, printable
from perfcore_collect_papi import topology
from perfcore_collect_papi.wire import FailedError, Frame, GoneError, Wire

if TYPE_CHECKING:
    from perfcore_collect_kit.command import Spec

_SAID = 4096  # bytes of what a runner said before it ended
PATIENCE = 10.0  # seconds until a runner that does not end is killed; it needs about one to end a command
_CODE = "import sys; sys.path[:] = sys.argv[1:]; from perfcore_collect_papi import runner; runner.main()"


@attrs.frozen(kw_only=True)
class Group:
    """Events that are counted in one set. `source` is papi, software or component."""

    source: str
    events: tuple[str, ...]
    component: int = 0


@attrs.frozen(kw_only=True)
class Wanted:
    """How to count."""

    per_cpu: bool
    cpus: tuple[int, ...]
    domain: str = "user"
    multiplex: bool = False
    pid: int | None = None
    force: str = ""


@attrs.frozen(kw_only=True)
class Sample:
    """Raw values at a moment: (group, stream, CPU, values) each; `elapsed` is nanoseconds since the start. `kept`
    says that it was asked for, and not only taken to see where a thread is; `last` that the run is over."""

    timestamp: int
    elapsed: int
    kept: bool
    last: bool
    values: tuple[tuple[int, int, int, tuple[int, ...]], ...]


@attrs.frozen(kw_only=True)
class Result:
    """What came of one run. `exitcode` is negative for a signal; `timed_out` where it was ended; `used` is what the
    kernel says of the process and the children it waited for; `left` how many that it started lived on when the
    counters were stopped."""

    exitcode: int
    timed_out: bool
    wall: int
    words: bytes
    left: int
    used: Mapping[str, int]


def online() -> tuple[int, ...]:
    """The CPUs that anything could run on."""
    try:
        cpus = topology.parse_list(Path("/sys/devices/system/cpu/online").read_text())
    except (OSError, ValueError):
        cpus = ()
    return cpus or tuple(sorted(os.sched_getaffinity(0)))


def probe(wanted: Wanted, events: Sequence[str]) -> dict[str, Any]:
    """What can be counted here, tried in a process of its own. `FailedError` where it cannot be tried."""
    return _facts(("probe", {**attrs.asdict(wanted), "events": list(events)}))


def events(force: str = "") -> list[tuple[str, str, str, str, bool, bool]]:
    """(name, description, unit, component, preset, available) of every event that PAPI knows."""
    listed: list[tuple[str, str, str, str, bool, bool]] = _facts(("list", {"force": force}))["events"]
    return listed


def run(
    wanted: Wanted, groups: Sequence[Group], spec: Spec, every: float | None, take: Callable[[Sample], None]
) -> Result:
    """One run of a command; `take` gets each sample as it comes. Interrupted (Ctrl-C), everything that the command
    started is ended before the interrupt goes on."""
    options = {
        **attrs.asdict(wanted),
        "groups": [attrs.asdict(group) for group in groups],
        "spec": {key: value for key, value in spec._asdict().items() if key != "cpus"},
        "every": every,
        "timeout": spec.timeout,
    }
    with contextlib.closing(_frames(("run", options))) as frames:
        for kind, *fields in frames:
            if kind == "ended":
                return _result(fields[0])
            timestamp, elapsed, requested, last, values = fields
            take(Sample(timestamp=timestamp, elapsed=elapsed, kept=requested, last=last, values=values))
    raise AssertionError("unreachable: a run ends, or it fails")


def _facts(request: Frame) -> dict[str, Any]:
    with contextlib.closing(_frames(request)) as frames:
        facts: dict[str, Any] = next(frames)[1]
    return facts


def _frames(request: Frame) -> Generator[Frame, None, None]:
    """What the runner answers, up to its last frame."""
    near, far = socket.socketpair()
    with tempfile.TemporaryFile() as stderr_file:
        process = _start(near, far, stderr_file)
        try:
            wire = Wire(near)
            wire.send(request)
            while True:
                frame = wire.receive()
                if frame[0] == "failed":
                    raise FailedError(*frame[1:])
                yield frame
                if frame[0] != "reading":
                    return
        except GoneError as error:
            raise _gone(process, stderr_file) from error
        finally:
            near.close()
            _end(process)


def _start(near: socket.socket, far: socket.socket, said: IO[bytes]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-S", "-c", _CODE, *sys.path]
    try:
        return subprocess.Popen(command, stdin=far.fileno(), stderr=said, start_new_session=True)
    except OSError as error:
        near.close()
        raise PluginError(f"cannot start {sys.executable}: {error.strerror}") from error
    finally:
        far.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(PATIENCE)
    except BaseException:
        process.kill()
        process.wait()
        raise


def _gone(process: subprocess.Popen[bytes], said: IO[bytes]) -> PluginError:
    status = process.wait()
    how = f"was killed by signal {-status}" if status < 0 else "has ended"
    said.seek(max(0, said.seek(0, os.SEEK_END) - _SAID))
    last = clip(printable(said.read().decode(errors="replace").strip().rpartition("\n")[2]), 200)
    return PluginError(f"the process that counts {how}" + (f": {last}" if last else ""))


def _result(facts: dict[str, Any]) -> Result:
    return Result(
        exitcode=os.waitstatus_to_exitcode(facts.pop("status")),
        timed_out=facts.pop("why") == "timeout",
        wall=facts.pop("wall"),
        words=facts.pop("words"),
        left=facts.pop("left"),
        used=facts,
    )
