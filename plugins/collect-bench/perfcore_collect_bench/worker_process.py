"""The worker process as perf sees it: started, asked, and ended in time."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import attrs

from perfcore.errors import CommandFailedError
from perfcore.model import EMPTY
from perfcore.model.record import replace
from perfcore.text import clip, printable

if TYPE_CHECKING:
    from perfcore.model import Job

_PACKAGE = Path(__file__).parent
# The packages are loaded from here, whatever the interpreter has installed: no folder of ours gets into `sys.path`.
_START = """
import sys
if sys.version_info < (3, 10):
    sys.exit("benchmarks need Python 3.10 or newer, and this is " + sys.version.split()[0])
import importlib.util, signal
signal.pthread_sigmask(signal.SIG_SETMASK, [])  # whoever started perf may block and ignore signals, as nohup does
for number in signal.valid_signals() - {{signal.SIGPIPE, signal.SIGXFSZ}}:  # which Python itself ignores
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
for name, folder in {packages!r}:
    init = folder + "/__init__.py"
    spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[folder])
    package = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
importlib.import_module(name + ".worker.main").main({output})
"""
_LOOK = 0.5  # s between looks whether the worker lives: a process that it left may keep the pipe open
_IMPORT = 600.0  # s until the first benchmark: the modules of networkx's suite take 45 s of CPU time to import
_END = 5.0  # s for a worker that said its last word; it needs a millisecond
_LONGEST_LINE = 300  # columns of what a worker complained
SEED = "PYTHONHASHSEED"

Event = Mapping[str, Any]


class WorkerDiedError(Exception):
    """The worker ended or was ended before its work was done."""


@attrs.frozen(kw_only=True)
class Interpreter:
    """The Python that runs a suite, the tree that it starts in, its variables, and the folders of the packages that it
    gets from perf. The last one has the worker."""

    program: str
    folder: Path
    variables: Mapping[str, str]
    packages: tuple[Path, ...] = (_PACKAGE,)


def interpreter_of(job: Job, program: str | None, packages: tuple[Path, ...] = ()) -> Interpreter:
    """The interpreter for a job: a program as its settings name it, or else that of the environment of its version, or
    else that of perf. The worker is that of the last one of the packages, which are folders; of this one without
    any."""
    from perfcore_collect_kit import command

    command.check(job)
    own = job.activation.get("PATH", "").partition(os.pathsep)[0]  # of the environment, which stands in front
    path = (own and shutil.which("python", path=own)) or sys.executable
    if program is not None:
        path = os.fsdecode(command.spec(replace(job, argv=(program,))).path)
    variables = {**command.inherited(), **job.variables}
    return Interpreter(program=path, folder=job.cwd.absolute(), variables=variables, packages=(_PACKAGE, *packages))


def events(
    interpreter: Interpreter, request: Mapping[str, Any], *, hash_seed: int, timeouts: Mapping[str, float] = EMPTY
) -> Generator[Event, None, None]:
    """What a worker answers to a request, until it ends. Each benchmark ends within its seconds in `timeouts`. Raises
    `WorkerDiedError`. Nothing of the worker is there afterwards, however this ends."""
    with tempfile.TemporaryFile() as complaints, contextlib.ExitStack() as stack:
        answers, output = os.pipe()
        stack.callback(os.close, answers)
        try:
            process = _started(interpreter, output, hash_seed, complaints)
        finally:
            os.close(output)
        stack.callback(_end, process)
        before = interpreter.variables.get(SEED)
        _send(process, {**request, "folder": str(interpreter.folder), "hash_seed_before": before})
        yield from _answers(process, answers, complaints, timeouts)


def _started(interpreter: Interpreter, output: int, hash_seed: int, complaints: BinaryIO) -> subprocess.Popen[bytes]:
    packages = [(folder.name, str(folder)) for folder in interpreter.packages]
    script = _START.format(packages=packages, output=output)
    try:
        return subprocess.Popen(
            [interpreter.program, "-c", script],
            cwd=interpreter.folder,
            env={**interpreter.variables, SEED: str(hash_seed)},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            pass_fds=(output,),
            start_new_session=True,  # Ctrl-C reaches perf alone, and all that benchmarks start can be ended
        )
    except OSError as error:
        why = printable(f"{interpreter.program}: {error.strerror or error}")
        raise CommandFailedError(f"cannot start the interpreter {why}") from error


def _send(process: subprocess.Popen[bytes], request: Mapping[str, Any]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # its end is noticed where answers are awaited
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()


def _answers(
    process: subprocess.Popen[bytes],
    answers: int,
    complaints: BinaryIO,
    timeouts: Mapping[str, float],
) -> Generator[Event, None, None]:
    deadline, limit, buffer = time.monotonic() + _IMPORT, _IMPORT, b""
    with selectors.DefaultSelector() as selector:
        selector.register(answers, selectors.EVENT_READ)
        while True:
            if time.monotonic() >= deadline:
                raise WorkerDiedError(f"it took longer than {limit:g} s")
            if not selector.select(min(_LOOK, max(0.0, deadline - time.monotonic()))):
                if process.poll() is not None:
                    raise WorkerDiedError(_reason(process, complaints))
                continue
            chunk = os.read(answers, 1 << 16)
            if not chunk:
                raise WorkerDiedError(_reason(process, complaints))
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                event = json.loads(line)
                limit = timeouts[event["key"]] if event["event"] == "begin" else _IMPORT
                yield event
                if event["event"] == "end":
                    return
                deadline = time.monotonic() + limit


def _reason(process: subprocess.Popen[bytes], complaints: BinaryIO) -> str:
    """How a worker ended, and the last line that it wrote."""
    try:
        code = process.wait(_END)
    except subprocess.TimeoutExpired:
        return "its process closed the pipe to perf"
    complaints.seek(max(0, complaints.seek(0, os.SEEK_END) - 8192))
    lines = complaints.read().decode(errors="replace").strip().splitlines()
    last = f": {clip(printable(lines[-1].strip()), _LONGEST_LINE)}" if lines else ""
    if code < 0:
        return f"its process was ended by signal {-code} ({_signal(-code)}){last}"
    return f"its process exited with code {code}{last}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # between SIGRTMIN and SIGRTMAX signals have no names
        return "real-time"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the worker with all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: all of the group are zombies
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    process.wait()
