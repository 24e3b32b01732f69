"""The process that counts a command: it opens counters that children inherit, starts the command and waits.

`launcher` starts one for every run and talks to it over a socket, its standard input. It gets one request:

    ("probe", options)     answered by ("facts", facts)
    ("list", options)      answered by ("facts", {"events": ...})
    ("run", options)       answered by ("reading", ...) now and then, and by ("ended", facts)

or by ("failed", step, number, detail) at any time. When the socket is closed, the command is ended, and so is this.

Nothing of this process is counted: `gate` has the command ready before the counters start. The main thread takes
readings, looks at the clock and listens to what the command says, while another one waits for its end.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from perfcore_collect_papi.counters import Counters
from perfcore_collect_papi.gate import Gate
from perfcore_collect_papi.wire import FailedError, Frame, GoneError, Wire

GRACE = 1.0  # seconds between SIGTERM and SIGKILL
SAMPLING = 0.01  # seconds between two looks where a thread is, for counters that do not say it themselves
KEPT = 8 * 1024  # bytes of a command's last words
OURS, COMPLAINTS = 1, 2  # what can stand for a file of standard output: that of perf, the pipe of complaints
_PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>


class Command:
    """One run of the command. `options` are those of the request."""

    def __init__(self, wire: Wire, options: dict[str, Any]) -> None:
        self.wire = wire
        self.options = options
        self.counters = Counters(options)
        self.reading = threading.Lock()  # nothing is stopped while it is read, or reaped while it is ended
        self.woken, self.waker = os.pipe()
        self.complaints, self.complaining = os.pipe()
        os.set_blocking(self.complaints, False)
        self.failure: BaseException | None = None
        self.pid = 0
        self.start = 0
        self.wall = 0
        self.why = ""
        self.words = b""
        self.left = 0
        self.last: list[Frame] = []
        self.ended: list[Any] = []

    def run(self) -> None:
        gate = Gate(self.options["spec"], self._files(), self.counters.open)
        thread = threading.Thread(target=self._wait, args=(gate,))
        try:
            self.pid = gate.arrive()
            resource.prlimit(self.pid, resource.RLIMIT_NOFILE, self.counters.limit)
            self.counters.start()
            thread.start()
            self.start = time.monotonic_ns()
            gate.open()
        except BaseException:
            gate.abandon()
            raise
        try:
            self._watch()
        finally:
            thread.join()
            self.counters.close()
            gate.close()
        if self.failure is not None:
            raise self.failure
        os.close(self.complaining)
        self._listen()
        self.wire.send(("reading", time.time_ns(), self.wall, True, True, tuple(self.last)))
        self.wire.send(("ended", self._facts(*self.ended)))

    def _facts(self, status: int, used: resource.struct_rusage) -> dict[str, Any]:
        return {
            "status": status,
            "why": self.why,
            "wall": self.wall,
            "words": self.words,
            "left": self.left,
            "cpu-time": round((used.ru_utime + used.ru_stime) * 1e6) * 1000,
            "minor-faults": used.ru_minflt,
            "major-faults": used.ru_majflt,
            "context-switches": used.ru_nvcsw + used.ru_nivcsw,
        }

    def _files(self) -> list[tuple[int, int]]:
        """Folder, input and output of the command."""
        spec = self.options["spec"]
        step = "cwd"
        try:
            os.chdir(spec["cwd"])
            step = "stdin"
            stdin = os.open(spec["stdin"], os.O_RDONLY)
            step = "output"
            out = spec["stdout"]
            if isinstance(out, bytes):
                out = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        except OSError as error:
            raise FailedError(step, error.errno or 0) from error
        stderr = self.complaining if out == COMPLAINTS else out
        return [(stderr, 1), (self.complaining, 2), (stdin, 0)]

    def _wait(self, gate: Gate) -> None:
        """The thread that waits for the end of the command."""
        try:
            with contextlib.suppress(ChildProcessError):  # the C library waits for what could not be executed
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            self.wall = time.monotonic_ns() - self.start
            gate.check()
            with self.reading:
                _, *self.ended = os.wait4(self.pid, 0)  # some components count children that were waited for
                self.last = self.counters.stop()
                self.left = len(living())
        except BaseException as error:
            self.failure = error
        finally:
            os.write(self.waker, b"x")

    def _watch(self) -> None:
        """Until the thread is done: readings when they are due, the end of the command when its time is over."""
        begin = time.monotonic()
        every, timeout = self.options["every"], self.options["timeout"]
        step = SAMPLING if self.options["pid"] is not None else every
        due, tick = begin + (step or 0), begin + (every or 0)
        events = select.poll()
        for file in (self.woken, self.complaints, self.wire.connection.fileno()):
            events.register(file, select.POLLIN)
        while True:
            moments = [moment for moment, is_set in ((due, step), (begin + (timeout or 0), timeout)) if is_set]
            wait = max(0.0, min(moments) - time.monotonic()) if moments else None
            ready = {file for file, _ in events.poll(None if wait is None else wait * 1000)}
            if self.woken in ready:
                return
            if self.complaints in ready:
                self._listen()
            current_time = time.monotonic()
            if self.wire.connection.fileno() in ready:
                self._end("gone")
                raise GoneError
            if timeout and current_time >= begin + timeout:
                self._end("timeout")
                timeout = None
            if step and current_time >= due:
                self._take(begin, bool(every) and current_time >= tick)
                if every and current_time >= tick:
                    tick += every * (1 + (current_time - tick) // every)
                due += step * (1 + (current_time - due) // step)

    def _take(self, begin: float, tick: bool) -> None:
        """A reading while the command runs."""
        with self.reading:
            if not self.last:
                read = tuple(self.counters.read())
                elapsed = round((time.monotonic() - begin) * 1e9)
                self.wire.send(("reading", time.time_ns(), elapsed, tick, False, read))

    def _listen(self) -> None:
        for _ in range(16):
            try:
                chunk = os.read(self.complaints, 64 * 1024)
            except BlockingIOError:
                return
            if not chunk:
                return
            self.words = (self.words + chunk)[-KEPT:]

    def _end(self, why: str) -> None:
        """SIGTERM for the command and all that it started, SIGKILL after the grace for what is left of it."""
        self.why = why
        deadline = time.monotonic() + GRACE
        for signal_number in (signal.SIGTERM, signal.SIGCONT):
            self._tell(signal_number)
        while living() and time.monotonic() < deadline:
            time.sleep(0.005)
        while living():
            self._tell(signal.SIGKILL)
            time.sleep(0.005)

    def _tell(self, number: int) -> None:
        """Its group at once, so that nothing escapes by forking, then those that left it."""
        with self.reading:  # once it was waited for, its number may be that of others
            if not self.ended:
                _kill(os.killpg, self.pid, number)
        for pid in living():
            _kill(os.kill, pid, number)


def living() -> set[int]:
    """The processes below this one that are no zombies."""
    children: dict[int, list[int]] = {}
    for pid, parent in _processes():
        children.setdefault(parent, []).append(pid)
    descendants: set[int] = set()
    parents = [os.getpid()]
    while parents:
        new = children.get(parents.pop(), [])
        descendants.update(new)
        parents.extend(new)
    return descendants


def _processes() -> Iterator[tuple[int, int]]:
    """(process, parent) of all that are no zombies."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                state, parent = file.read(4096).rpartition(b")")[2].split(None, 2)[:2]
        except (OSError, ValueError):
            continue
        if state not in (b"Z", b"X"):
            yield int(name), int(parent)


def _kill(function: Any, target: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        function(target, number)


def _serve(wire: Wire) -> Iterable[Frame]:
    kind, options = wire.receive()
    if options["force"]:
        os.environ["LIBPFM_FORCE_PMU"] = options["force"]
    if kind == "run":
        Command(wire, options).run()
    else:
        from perfcore_collect_papi import probing

        yield "facts", (probing.probe if kind == "probe" else probing.listing)(options)


def main() -> None:
    wire = Wire(socket.socket(fileno=os.dup(0)))
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # What whoever started perf ignores the command would inherit; and SIGCHLD, ignored, would leave nobody to ask. What
    # Python ignores is reset in the command, since this process needs it.
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    try:
        try:
            for frame in _serve(wire):
                wire.send(frame)
        except FailedError as error:
            wire.send(error.frame)
        except GoneError:
            raise
        except Exception as error:  # PapiFailure, or a mistake of ours: told either way
            code = getattr(error, "code", 0)
            wire.send(("failed", "papi" if code else "runner", code, f"{type(error).__name__}: {error}"))
    except GoneError:
        pass
    os._exit(0)  # at once: perf waits for it, and there is nothing to tidy up


if __name__ == "__main__":
    main()
