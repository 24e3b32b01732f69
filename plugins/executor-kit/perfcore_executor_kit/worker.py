"""A worker: `python -m perfcore_executor_kit.worker` reads a plan from standard input, measures it by the executor
`local`, and streams answers and progress to standard output, as `perfcore_executor_kit.plan_format` writes them.

An executor starts it wherever it likes (a container, `ssh HOST`), sends the plan, which is one line, and reads records
to the end of the stream. A stream that ends without an answer to every job says that the worker died. The worker ends
when its standard input is closed, so it outlives neither a cancelled plan nor the process that submitted it.
"""

from __future__ import annotations

import contextlib
import copy
import os
import platform
import signal
import threading
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from perfcore_executor_local import LocalExecutor

from perfcore.errors import PerfError, PluginError, StorageError
from perfcore.model import Job, Measured, Plan
from perfcore.model.record import replace
from perfcore.text import printable
from perfcore_executor_kit import plan_format
from perfcore_executor_kit.plan_format import Report

if TYPE_CHECKING:
    from perfcore.model.listener import Listener


class WorkerLostError(PerfError):
    """A worker ended before it had answered for every job. Another try may succeed."""

    exit_code = 6


class _Relay:
    """A listener that sends every event to the submitting process."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def progress(self, done: int, total: int, text: str) -> None:
        self._send(Report(done, total, text))

    def note(self, text: str) -> None:
        self._send(Report(text=text, note=True))

    def saved(self, name: str) -> None: ...

    def failed(self, subject: str, error: PerfError) -> None:
        self._send(Report(text=str(error), note=True, failed=True, subject=subject))

    def _send(self, report: Report) -> None:
        self._stream.write(plan_format.encode_report(report))
        self._stream.flush()


def serve(data: bytes, stream: IO[bytes]) -> None:
    """Measure the plan in these bytes and write a record for everything that comes of it."""
    try:
        plan = plan_format.decode_plan(data)
        with contextlib.closing(LocalExecutor().submit(plan, _Relay(stream))) as answers:
            for measured in answers:
                if measured.error is not None:
                    measured = replace(measured, error=_located(measured.error))
                stream.write(plan_format.encode_measured(measured))
                stream.flush()
    except PerfError as error:
        stream.write(plan_format.encode_error(_located(error)))
        stream.flush()


def _located(error: PerfError) -> PerfError:
    """The error, with the name of this machine where it is about its disk or its plugins: the user reads it on another
    one."""
    host = printable(platform.node())
    if not isinstance(error, StorageError | PluginError) or host in error.message:
        return error
    located = copy.copy(error)  # with the plugin and its phase
    located.message = f"{error.message} (on {host})"
    return located


def answers(plan: Plan, stream: IO[bytes], listener: Listener | None = None) -> Iterator[Measured]:
    """The answers that a worker writes to a stream. Where it ends too early, each job without an answer gets a failure
    that says another try makes sense."""
    waiting = list(_expected(plan))
    while (record := _next(stream)) is not None:
        if isinstance(record, Measured):
            if record.profile is None or not record.profile.incomplete:
                with contextlib.suppress(ValueError):
                    waiting.remove(record.job)
            yield record
        elif isinstance(record, PerfError):
            raise record
        elif listener is not None:
            _tell(listener, record)
    for job in waiting:
        error = WorkerLostError("the worker ended before it had measured this job", hint="another try may succeed")
        yield Measured(job=job, error=error, retry=True)


def _tell(listener: Listener, report: Report) -> None:
    if report.failed:
        listener.failed(report.subject, PerfError(report.text))
    elif report.note:
        listener.note(report.text)
    else:
        listener.progress(report.done, report.total, report.text)


def _expected(plan: Plan) -> Iterator[Job]:
    """The jobs that have to be answered. Versions that the executor splits into sessions are answered at least once."""
    for positions in plan.sessions or (range(len(plan.jobs)),):
        yield from (plan.jobs[position] for position in positions)


def _next(stream: IO[bytes]) -> Measured | Report | PerfError | None:
    """The next record; None for one that is cut off, because the worker died while it wrote."""
    try:
        return plan_format.read_record(stream)
    except PerfError:
        # Damage at the end of the stream is a record that was cut off; damage before it is a broken worker.
        if not stream.read(1):
            return None
        raise


def _main() -> None:
    """Commands that are measured must not write between the records, so standard output becomes standard error."""
    with os.fdopen(os.dup(1), "wb") as stream, os.fdopen(os.dup(0), "rb") as source:
        # Before anything runs: a command that prints would write into the records.
        os.dup2(2, 1)
        plan = source.readline()
        # A closed pipe is the only sign that comes through `ssh` and `docker run`: killed, they pass no signal on.
        threading.Thread(target=_end_with_input, args=(source.fileno(),), daemon=True).start()
        with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
            serve(plan, stream)
        os._exit(0)  # everything is cleaned up; flushing a stream that nobody reads would fail


def _end_with_input(descriptor: int) -> None:
    """Interrupt the measurement when the input is closed."""
    while os.read(descriptor, 4096):
        pass
    # SIGINT becomes KeyboardInterrupt in the main thread, whose `finally` ends the measured command and removes trees.
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    _main()
