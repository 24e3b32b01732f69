"""The near end of the helper process: starts it, has it run commands, keeps their last complaints.

All sessions of this process share one helper. Runs of different jobs that are taken in turn are then started by
the same process under the same conditions, and a difference between them is one of the jobs.
"""

from __future__ import annotations

import _socket  # `socket` first makes lists of all constants of the system, which takes longer than the rest of this
import itertools
import marshal
import os
import select
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Mapping, Sequence
from operator import add, sub
from typing import TYPE_CHECKING, Any

from perfcore_collect_kit.command import StartError

from perfcore.errors import PluginError
from perfcore.named_tuple import NamedTuple
from perfcore.text import printable
from perfcore_collect_time import helper

if TYPE_CHECKING:
    from perfcore_collect_kit.command import Spec

KEPT = 8 * 1024  # bytes of a command's last words
_FIELDS = 18  # of struct rusage, all `long`, in the order of getrusage(2): two timevals of two, and 14 numbers
PATIENCE = 10.0  # seconds until a helper that does not stop is killed; it needs about one to end a command

# The process that sends the code may be killed before it has sent all.
_LOAD = """import marshal,os
d=b''
while len(d)<{size}:
 p=os.read(0,{size}-len(d))
 if not p:os._exit(1)
 d+=p
exec(marshal.loads(d))"""


class Results(NamedTuple):
    """What came of one run of a command, or of several in a row that ended well. `started` is when each began, in
    nanoseconds since 1970; `left` counts the processes it left behind; `numbers` are columns. `floor` is the peak
    memory that they began with; `reference` is what the helper's own work took before them, in ns. `exitcode` is
    negative for a signal; `why` is `timeout` where the run was ended for taking too long."""

    started: Sequence[int]
    left: Sequence[int]
    floor: int
    numbers: Mapping[str, Sequence[int]]
    run_delay: Sequence[int | None]
    reference: Sequence[int] = ()
    exitcode: int = 0
    why: str = ""
    words: bytes = b""


class Helper:
    """One helper process. Not to be shared between forked processes."""

    def __init__(self) -> None:
        self.users = 0
        self.owner = os.getpid()
        self.ended: int | None = None
        self._keys = itertools.count(1)
        self._lock = threading.Lock()
        self._process, self._control, self._complaints = _start()
        self._events = select.poll()
        self._events.register(self._control, select.POLLIN)
        self._events.register(self._complaints, select.POLLIN)
        self._words = b""
        self._rest = b""
        self._silent: set[int] = set()  # keys of commands that said nothing until now
        self._ahead: dict[int, list[Results | StartError]] = {}  # of a run that followed others and did not end well

    def define(self, spec: Spec) -> int:
        """Make a command known; gives the key to run it by."""
        key = next(self._keys)
        with self._lock:
            try:
                self._send((helper.DEFINE, key, tuple(spec)))
            except BaseException:  # part of a frame may be on its way: nothing that follows would be understood
                self.close()
                raise
        return key

    def forget(self, key: int) -> None:
        with self._lock:
            self._ahead.pop(key, None)
            if self.ended is None:
                self._send((helper.FORGET, key))

    def run(self, key: int, following: int = 0) -> Results:
        """Run a command to its end. Interrupted (Ctrl-C), it ends the command and everything that it started
        before the interrupt goes on.

        `following` runs of the same command come next, and nothing before them. Short ones may be taken along, so
        that nothing but the helper runs between them. They end with the first that does not end well, whose results
        the next call gives; and a command that says something is run alone, so that it is known in which run."""
        with self._lock:
            if not self._ahead.get(key):
                self._ahead[key] = self._take(key, 1 + following if key in self._silent else 1)
            result = self._ahead[key].pop(0)
        if isinstance(result, StartError):
            raise result
        return result

    def _take(self, key: int, most: int) -> list[Results | StartError]:
        """The results of the runs that ended well, if there are any, and of one that did not."""
        if self.ended is not None:
            raise _gone(self.ended, b"")
        self._listen()
        self._words = b""
        try:
            self._send((helper.RUN, key, tuple(os.sched_getaffinity(0)), most))
            _, runs, why, status, failure, floor, reference = self._answer()
        except BaseException:
            if self.ended is None:
                self._stop()
            raise
        self._listen()
        (self._silent.discard if self._words else self._silent.add)(key)
        since = time.time_ns() - time.perf_counter_ns()
        well, last = (runs[:-1], runs[-1:]) if why or status else (runs, [])
        results = [_results(part, floor, since) for part in (well, last) if part]
        if results:
            results[0] = results[0]._replace(reference=reference)
        if failure:
            return [*results, StartError(*failure)]
        exitcode = os.waitstatus_to_exitcode(status)
        return [*results[:-1], results[-1]._replace(exitcode=exitcode, why=why, words=self._words)]

    def close(self) -> None:
        """End the helper; what commands left behind lives on. Harmless when it has ended."""
        if self.ended is None:
            self._control.close()
            try:
                self.ended = self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self.ended = self._process.wait()
            os.close(self._complaints)

    def _send(self, frame: tuple[Any, ...]) -> None:
        if self.ended is not None:
            raise _gone(self.ended, b"")
        data = marshal.dumps(frame)
        try:
            self._control.sendall(len(data).to_bytes(4, "big") + data)
        except OSError as error:
            raise self._broken() from error

    def _answer(self) -> tuple[Any, ...]:
        while True:
            for descriptor, _ in self._events.poll():
                if descriptor == self._control.fileno():
                    return self._receive()
                self._listen(once=True)

    def _receive(self) -> tuple[Any, ...]:
        frame: tuple[Any, ...] = marshal.loads(self._read(int.from_bytes(self._read(4), "big")))
        return frame

    def _read(self, size: int) -> bytes:
        while len(self._rest) < size:
            try:
                chunk = self._control.recv(64 * 1024)
            except ConnectionError:
                chunk = b""
            if not chunk:
                raise self._broken()
            self._rest += chunk
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def _listen(self, *, once: bool = False) -> None:
        """Keep the end of what is in the pipe now: a process that was left behind may write for ever."""
        # 16 reads are the megabyte that a pipe can hold at most unless root allows more (pipe-max-size in pipe(7)).
        for _ in range(1 if once else 16):
            try:
                chunk = os.read(self._complaints, 64 * 1024)
            except BlockingIOError:
                return
            if not chunk:
                return
            self._words = (self._words + chunk)[-KEPT:]

    def _stop(self) -> None:
        """Have the command that runs ended; if that is interrupted too or takes for ever, end the helper, which
        ends the command in its turn."""
        try:
            self._control.settimeout(PATIENCE)
            self._send((helper.STOP,))
            while self._receive() != (helper.STOPPED,):
                pass
            self._control.settimeout(None)
        except BaseException:
            self.close()

    def _broken(self) -> PluginError:
        self._listen()
        self.close()
        return _gone(self.ended, self._words)


_shared: Helper | None = None
_sharing = threading.Lock()


def lease() -> Helper:
    """The helper of this process, started if there is none; to be given back with `release`."""
    global _shared
    with _sharing:
        if _shared is None or _shared.ended is not None or _shared.owner != os.getpid():
            _shared = Helper()
        _shared.users += 1
        return _shared


def release(leased: Helper) -> None:
    """Give a helper back; the last one closes it."""
    with _sharing:
        leased.users -= 1
        if leased.users == 0:
            leased.close()


def _start() -> tuple[subprocess.Popen[bytes], _socket.socket, int]:
    """(process, socket to it, the end of its pipe of complaints that is read)."""
    # A socket and not a pipe: it goes both ways, and its end is noticed by both sides whoever dies.
    near, far = _socket.socketpair()
    read, write = os.pipe()
    os.set_blocking(read, False)
    code = marshal.dumps(_code())
    # `-I` and `-S`: no variables of the user's, and no `site`, whose modules every command would begin with.
    command = [sys.executable, "-I", "-S", "-c", _LOAD.format(size=len(code))]
    try:
        process = subprocess.Popen(command, stdin=far.fileno(), stderr=write, start_new_session=True)
    except OSError as error:
        near.close()
        os.close(read)
        raise PluginError(f"cannot start {sys.executable}: {error.strerror}") from error
    finally:
        far.close()
        os.close(write)
    near.sendall(code)
    return process, near, read


def _code() -> Any:
    """The helper's program. Compiling it over there would leave more than a megabyte of memory behind."""
    loader: Any = helper.__spec__.loader if helper.__spec__ else None
    return loader.get_code(helper.__name__)


def _results(runs: Sequence[tuple[Any, ...]], floor: int, since: int) -> Results:
    """What the helper tells of runs, by a clock that began at `since`.

    The user and system time of wait4 are whole microseconds, rounded down, with the children that the command
    waited for; the process's clock has nanoseconds, without children. Neither is ever too large: the larger one
    is the better.
    """
    started, ended, threads, left, before, after, schedstat, used = zip(*runs, strict=True)
    usage = array("l", b"".join(used))
    fields = [usage[position::_FIELDS] for position in range(_FIELDS)]
    user, system = (
        [seconds * 10**9 + microseconds * 1000 for seconds, microseconds in zip(*time, strict=True)]
        for time in (fields[0:2], fields[2:4])
    )
    wall = list(map(sub, ended, started))
    delays = zip(_delays(schedstat), _delays(before), _delays(after), wall, strict=True)
    numbers = {
        "cpu": list(map(max, threads, map(add, user, system))),
        "wall": wall,
        "user": user,
        "system": system,
        # In KiB. The kernel begins it with the peak of whoever started the command (exec_mmap in fs/exec.c), which is
        # why the helper has to be small.
        "max_rss": [kib * 1024 for kib in fields[4]],
        "voluntary_switches": fields[16],
        "involuntary_switches": fields[17],
        "minor_faults": fields[8],
        "major_faults": fields[9],
    }
    # Both may wait for one CPU at once, and the kernel counts by a clock of its own: a run never waits longer than it
    # takes.
    run_delay = [
        None if delay is None or own is None or later is None else min(delay + later - own, most)
        for delay, own, later, most in delays
    ]
    return Results([start + since for start in started], left, floor, numbers, run_delay)


def _delays(schedstats: Sequence[bytes]) -> Sequence[int | None]:
    """Nanoseconds in the queue of a CPU until then. A text has three numbers (Documentation/scheduler/sched-stats.rst),
    the time on a CPU, that in the queue of one, and the slices, of which kernels that do not count have 0."""
    fields = b"".join(schedstats).split()
    if b"" not in schedstats and b"0" not in fields[2::3]:
        return list(map(int, fields[1::3]))
    return [int(text.split()[1]) if text and not text.endswith(b" 0\n") else None for text in schedstats]


def _gone(status: int | None, words: bytes) -> PluginError:
    last = printable(words.decode(errors="replace").strip().rpartition("\n")[2])
    how = f"was killed by signal {-status}" if status and status < 0 else "has ended"
    return PluginError(f"the process that starts the commands {how}" + (f": {last}" if last else ""))
