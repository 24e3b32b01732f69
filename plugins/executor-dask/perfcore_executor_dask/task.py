"""What runs on a worker of the cluster: one part of a plan, in a process that ends with the task."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
from perfcore_executor_kit import plan_format, worker

from perfcore import environment, locks
from perfcore.errors import PerfError
from perfcore.model import Source, Step
from perfcore.model.record import replace

_LOCK = "perfcore-measuring.lock"
_LOOK = 1.0  # seconds between two looks whether a process still measures
_PATIENCE = 24 * 3600  # seconds for which another measurement on this machine is waited for


class _Progress:
    """Sends progress, notes and failures to whoever submitted the task, as events of the cluster."""

    def __init__(self, topic: str) -> None:
        self._worker, self._topic = distributed.get_worker(), topic

    def progress(self, done: int, total: int, text: str) -> None:
        self._worker.log_event(self._topic, {"done": done, "total": total, "text": text})

    def note(self, text: str) -> None:
        self._worker.log_event(self._topic, {"note": text})

    def saved(self, name: str) -> None: ...

    def failed(self, subject: str, error: PerfError) -> None:
        self._worker.log_event(self._topic, {"failed": str(error), "subject": subject})


def measure(data: bytes, name: str, remote: str) -> list[bytes]:
    """The answers of a part of a plan, encoded. `name` is that of the event which cancels it and of the topic of its
    progress; trees come from a clone of `remote`, where one is given. Nothing else measures on this machine meanwhile,
    in whichever worker."""
    cancelled: Any = distributed.Event(name, client=distributed.get_client())  # type: ignore[no-untyped-call]
    busy = PerfError("another measurement has held this machine for a day")
    with locks.Lock(Path(tempfile.gettempdir(), _LOCK)).hold(_PATIENCE, busy):
        plan = plan_format.decode_plan(data)
        if remote:
            plan = replace(plan, source=_clone(remote, Path(distributed.get_worker().local_directory)))
        with _worker() as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(plan_format.encode_plan(plan))
            process.stdin.flush()
            threading.Thread(target=_close_when_set, args=(cancelled, process), daemon=True).start()
            answers = worker.answers(plan, process.stdout, _Progress(name))
            return [plan_format.encode_measured(answer) for answer in answers]


def machine() -> tuple[str, str]:
    """The name of the machine, which its workers share, and the id of its environment, without what plugins add: those
    may differ from worker to worker."""
    facts = environment.facts()
    return str(facts["host"]), environment.environment_id(facts)


@contextlib.contextmanager
def _worker() -> Iterator[subprocess.Popen[bytes]]:
    """A process that measures. Closing its input ends it, and it removes its trees."""
    command = [sys.executable, "-m", "perfcore_executor_kit.worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(OSError):
                assert process.stdin is not None
                process.stdin.close()


def _clone(url: str, folder: Path) -> Source:
    """The versions of a git repository, in a clone that the worker keeps and fetches into."""
    place = folder / f"clone-{hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()[:10]}"
    command = ["git", "clone", "--quiet", "--no-checkout", "--", url, str(place)]
    if (place / ".git").exists():
        command = ["git", "-C", str(place), "fetch", "--quiet", "--tags", "origin"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise PerfError(f"{url} cannot be cloned on {machine()[0]}: {done.stderr.strip()[-500:]}")
    return Source(kind="vcs", root=place, vcs=Step(name="git"))


def _close_when_set(cancelled: Any, process: subprocess.Popen[bytes]) -> None:
    """End a process by closing its input, when its plan is cancelled or the cluster ends."""
    assert process.stdin is not None
    with contextlib.suppress(Exception):  # whatever a cluster that ends raises
        while not cancelled.wait(timeout=_LOOK):
            if process.poll() is not None:
                return  # a plan may have a thousand of these
    with contextlib.suppress(OSError):
        process.stdin.close()
