"""The tools that sample: which one fits a command, how it is run, and how a run ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import attrs
import msgspec
from perfcore_collect_kit import command as starting

from perfcore.profile.stacks import Frame

if TYPE_CHECKING:
    from perfcore_collect_kit.command import Spec

    from perfcore.errors import PerfError
    from perfcore.model import Job

_JOB, _PID, _ENDED, _WORDS, _TALK = "job.json", "pid", "ended.json", "words", "talk"
_STARTER = Path(__file__).with_name("starter.py")
_KEPT = 4096  # bytes of a complaint
Sampled = Iterator[tuple[Iterable[Frame], str]]  # the stack and the thread of each sample, those of a thread in order


class _Noted(msgspec.Struct):
    exitcode: int
    cpu: float


class Tool(Protocol):
    """A tool that samples one command: its command line, and a reader of its output in a folder."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def ready(self) -> str:
        """The line that the tool prints when it begins to sample; empty if the command need not wait for it."""
        ...

    def argv(self, folder: Path, command: Sequence[str]) -> list[str]: ...

    def read(self, folder: Path, job: Job) -> Sampled: ...

    def failure(self, complaint: str) -> PerfError: ...

    def missed(self, complaint: str) -> int: ...


@attrs.frozen(kw_only=True)
class Ended:
    """How a run ended. `exitcode` is None where the tool failed before the command did anything; `complaint` is
    what the tool said, `words` the last that the command did, `cpu` the seconds of CPU time that it took, its
    children included."""

    exitcode: int | None
    complaint: str
    words: bytes
    missed: int
    cpu: float | None = None
    timed_out: bool = False


def record(tool: Tool, job: Job, folder: Path, timeout: float | None) -> Ended:
    """Run a command once under a tool. The starter in between notes its exit code, since tools do not keep it."""
    folder = folder.absolute()
    for name in (_PID, _ENDED, _WORDS):
        (folder / name).unlink(missing_ok=True)
    spec = starting.spec(job)
    (folder / _JOB).write_text(json.dumps(_told(spec, tool.ready)), encoding="ascii")
    with (folder / _TALK).open("wb") as talk:
        process = subprocess.Popen(
            tool.argv(folder, [sys.executable, "-I", "-S", str(_STARTER), str(folder)]),
            cwd=spec.cwd,
            stdin=subprocess.DEVNULL,
            stdout=talk,
            stderr=subprocess.STDOUT,
            # A group of its own, so that the tool, the starter and all that the command starts can be ended at once.
            start_new_session=True,
        )
        try:
            timed_out = _wait(process, timeout)
        finally:
            _end(process)
    complaint = _tail(folder / _TALK).decode(errors="replace")
    ended = _ended(folder / _ENDED)
    return Ended(
        exitcode=ended.exitcode if ended else None,
        complaint=complaint,
        words=_tail(folder / _WORDS),
        missed=tool.missed(complaint),
        cpu=ended.cpu if ended else None,
        timed_out=timed_out,
    )


def starter_pid(folder: Path) -> int | None:
    """The process that stood between the tool and the command."""
    with contextlib.suppress(OSError, ValueError):
        return int((folder / _PID).read_bytes())
    return None


def _told(spec: Spec, ready: str) -> dict[str, object]:
    """The description of a command for the starter: bytes as ASCII text."""
    return {
        "path": os.fsdecode(spec.path),
        "argv": list(map(os.fsdecode, spec.argv)),
        "environment": list(map(os.fsdecode, spec.environment)),
        "ready": ready,
    }


def _wait(process: subprocess.Popen[bytes], timeout: float | None) -> bool:
    """Whether the time was over first."""
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        return True
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """End everything that was started, the command's children included, whatever happened."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ended(path: Path) -> _Noted | None:
    """The result that the starter wrote; None if it ended before that."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Noted)
    except (OSError, msgspec.MsgspecError):
        return None


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _KEPT))
            return file.read()
    except OSError:
        return b""
