"""The two pipes between perf and a worker: the request comes in on standard input, events go out as lines of JSON."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
from pathlib import Path
from typing import Any

_HIGH = 100  # the end of the pipe gets the first free number from here on, out of the way of what benchmarks open


def receive() -> dict[str, Any]:
    """The request, with the variables of this process as the user set them. The pipe stays open, and ends this process
    when perf ends."""
    line = b""
    while not line.endswith(b"\n"):
        chunk = os.read(0, 1 << 16)
        if not chunk:
            raise SystemExit("perf has ended")
        line += chunk
    kept = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    with contextlib.suppress(AttributeError, OSError):
        # The kernel sends SIGIO, which ends a process, when the other end is closed (fcntl(2), O_ASYNC): no thread has
        # to wait for that beside the benchmarks.
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        fcntl.fcntl(kept, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(kept, fcntl.F_SETFL, fcntl.fcntl(kept, fcntl.F_GETFL) | os.O_ASYNC)
    request: dict[str, Any] = json.loads(line)
    # Only this interpreter gets the seed: what benchmarks start is as the user's variables say.
    os.environ.pop("PYTHONHASHSEED", None)
    if request["hash_seed_before"] is not None:
        os.environ["PYTHONHASHSEED"] = request["hash_seed_before"]
    return request


def tell(output: int, **event: Any) -> None:
    """Write an event to the pipe of this number."""
    line = memoryview(json.dumps(event).encode() + b"\n")
    while line:
        line = line[os.write(output, line) :]


def delays() -> dict[str, int]:
    """How long this process waited for a CPU, and ran, in ns."""
    with contextlib.suppress(OSError, ValueError):
        ran, waited, _ = map(int, Path("/proc/self/schedstat").read_text().split())
        return {"ran": ran, "waited": waited}
    return {}
