"""The tools that sample: which one fits a command, how it is run, and how a run ended."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import attrs
from perfcore_collect_time import command

from perfcore.profile.stacks import Frame

if TYPE_CHECKING:
    from perfcore.errors import PerfError
    from perfcore.model import Job
    from perfcore_collect_sample.collector import SampleSettings

_SCRIPT, _CODE, _PID, _WORDS, _TALK, _TIMES = "run.sh", "code", "pid", "words", "talk", "times"
_TIME = re.compile(rb"(\d+)m([\d.]+)s")
_PYTHON = re.compile(r"(python|pypy)[0-9.]*(-dbg|d)?|uv|pytest")
_KEPT = 4096  # bytes of a complaint
Sampled = Iterator[tuple[Iterable[Frame], int]]


class Tool(Protocol):
    """A tool that samples one command: what to call, and how to read what it wrote into a folder."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

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


def choose(job: Job, settings: SampleSettings) -> Tool:
    """The tool for a command; PluginError says why there is none."""
    from perfcore_collect_sample.kernel import KernelPerf
    from perfcore_collect_sample.pyspy import PySpy

    program = command.spec(job).path
    wanted = settings.tool
    if wanted == "auto":
        wanted = "py-spy" if not job.shell and _is_python(Path(os.fsdecode(program))) else "perf"
    return PySpy.find(settings) if wanted == "py-spy" else KernelPerf.find(settings)


def record(tool: Tool, job: Job, folder: Path, timeout: float | None) -> Ended:
    """Run a command once under a tool. Its exit code is noted by a shell in between, since tools do not keep it."""
    for name in (_CODE, _PID, _TIMES):
        (folder / name).unlink(missing_ok=True)
    script = _script(job, folder)
    spec = command.spec(job)
    with (folder / _TALK).open("wb") as talk:
        process = subprocess.Popen(
            tool.argv(folder, ["/bin/sh", str(script)]),
            cwd=spec.cwd,
            env=dict(variable.split(b"=", 1) for variable in spec.environment),
            stdin=subprocess.DEVNULL,
            stdout=talk,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            timed_out = _wait(process, timeout)
        finally:
            _end(process)
    complaint = _tail(folder / _TALK).decode(errors="replace")
    return Ended(
        exitcode=_exitcode(folder / _CODE),
        complaint=complaint,
        words=_tail(folder / _WORDS),
        missed=tool.missed(complaint),
        cpu=_cpu(folder / _TIMES),
        timed_out=timed_out,
    )


def shell_pid(folder: Path) -> int | None:
    """The process that stood between the tool and the command."""
    with contextlib.suppress(OSError, ValueError):
        return int((folder / _PID).read_bytes())
    return None


def _script(job: Job, folder: Path) -> Path:
    """The command as a script that notes its own process and the command's exit code. `env` gives the command the
    job's variables and no others, such as those that a tool or a shell adds."""
    spec = command.spec(job)
    words = [b"/usr/bin/env", b"-i", *spec.environment, spec.path, *spec.argv[1:]]
    line = b" ".join(os.fsencode(shlex.quote(os.fsdecode(word))) for word in words)
    names = (_CODE, _PID, _WORDS, _TIMES)
    code, pid, said, times = (os.fsencode(shlex.quote(str(folder.absolute() / name))) for name in names)
    script = folder.absolute() / _SCRIPT
    script.write_bytes(
        b"echo $$ >%s\n%s </dev/null >/dev/null 2>%s\necho $? >%s\ntimes >%s\n" % (pid, line, said, code, times)
    )
    return script


def _is_python(program: Path) -> bool:
    """Whether a program is an interpreter of Python, or a script for one."""
    if _PYTHON.fullmatch(program.name) or _PYTHON.fullmatch(program.resolve().name):
        return True
    with contextlib.suppress(OSError), program.open("rb") as file:
        first = file.readline(256)
        return first.startswith(b"#!") and b"python" in first
    return False


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


def _exitcode(path: Path) -> int | None:
    """What the shell noted; above 128 it means a signal."""
    try:
        code = int(path.read_bytes())
    except (OSError, ValueError):
        return None
    return 128 - code if code > 128 and code - 128 in set(signal.Signals) else code


def _cpu(path: Path) -> float | None:
    """What the shell's `times` says of its children: user and system time."""
    try:
        parts = _TIME.findall(path.read_bytes().splitlines()[1])
    except (OSError, IndexError):
        return None
    return sum(60 * int(minutes) + float(seconds) for minutes, seconds in parts)


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _KEPT))
            return file.read()
    except OSError:
        return b""
