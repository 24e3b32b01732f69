"""One run of the harness: its standard output and its complaints as files, its end, and nothing of it left running."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from perfcore_collect_kit import exit_status
from perfcore_collect_kit.command import StartError, spec

from perfcore.errors import PerfError
from perfcore.named_tuple import NamedTuple

if TYPE_CHECKING:
    from perfcore.model import Job

_KEPT = 8 * 1024  # bytes of the end of what the harness wrote; a message shows a few lines of them


class Ended(NamedTuple):
    """How a run ended: the exit code (negative for a signal), and the end of what the harness wrote to its standard
    error, or if that is empty to its standard output."""

    exitcode: int
    last_words: bytes
    timed_out: bool


def execute(job: Job, folder: Path, stdout: Path | None, timeout: float | None) -> Ended:
    """Run the harness to its end. Its standard output goes to `stdout`, or joins its standard error."""
    command = spec(job)
    variables = dict(variable.split(b"=", 1) for variable in command.environment)
    complaints = folder / "complaints"
    with contextlib.ExitStack() as files:
        errors = files.enter_context(complaints.open("wb"))
        output = files.enter_context(stdout.open("wb")) if stdout else errors
        try:
            process = subprocess.Popen(
                command.argv,
                executable=command.path,
                cwd=command.cwd,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,  # Ctrl-C reaches perf alone, and all that the harness starts can be ended
                preexec_fn=_reset_signals,  # it takes no lock that another thread may hold
            )
        except OSError as error:
            raise _not_started(job, error) from error
        try:
            timed_out = not _ends_in_time(process, timeout)
        finally:
            _end(process)
    last_words = _tail(complaints)
    if stdout and not last_words.strip():  # `go test` has its failures there
        last_words = _tail(stdout)
    return Ended(process.returncode, last_words, timed_out)


def _reset_signals() -> None:
    """Ignore and block nothing, as in a plain shell: `subprocess` resets what Python ignores, and neither what whoever
    started perf ignores, as nohup does, nor the mask."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.valid_signals():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _not_started(job: Job, error: OSError) -> PerfError:
    return exit_status.explain(job, StartError("start", error.errno or 0))


def _ends_in_time(process: subprocess.Popen[bytes], timeout: float | None) -> bool:
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the harness with all that it started: what it left running would disturb the next run."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: all of the group are zombies
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _KEPT))
        return file.read()
