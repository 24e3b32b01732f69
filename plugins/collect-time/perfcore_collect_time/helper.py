"""The process that starts the measured commands: small, with one thread, alone in its session.

`launcher` starts it and talks to it over a socket, its standard input. It imports nothing of perfcore and as
little as it can: a command inherits the peak memory of the process that started it.

A frame is four bytes of length and a marshalled tuple:

    (DEFINE, key, spec)    a command, `spec` as in `launcher.Spec`; no answer
    (FORGET, key)          no answer
    (RUN, key, cpus, most) at most so many runs in a row; answered by (DONE, runs, why, status, failure, floor,
                           reference)
    (STOP,)                ends the command that runs, if any; answered by (STOPPED,), after the run's answer

There are fewer runs than asked for when one did not end well, which is the last then, or when one more, as long as the
last, would make them take longer than `BATCH`. `runs` has what `launcher` makes numbers of, for each run; `why` says
why the last was ended, if it was, and `status` is that of wait4; `failure` is the (step, errno) of one more run that
could not be started, or nothing; `floor` is the most memory that this process ever had; `reference` is what the same
work took before them, as often as it was done.

When the socket is closed, the command that runs is ended, and so is this process.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` would be memory that every command begins with
import gc
import marshal
import os
import select
import time

DEFINE, FORGET, RUN, STOP, DONE, STOPPED = range(6)
OURS, COMPLAINTS = 1, 2  # what can stand for a file of standard output: that of perf, the pipe of complaints
NULL = b"/dev/null"
GRACE = 1.0  # seconds between SIGTERM and SIGKILL
# It trades two costs: with a longer one a timeout or Ctrl-C takes effect later, with a shorter one the helper wakes
# more often on a CPU that the command may want.
TICK = 0.2  # seconds between two looks at the socket while a command runs
# An answer costs as much as a third of the shortest run, and what was measured since the last one is lost if this
# process ends. Less than a tick, so that no look falls into runs that are answered together.
BATCH = 0.16  # seconds that runs take which are answered together
# The same work takes up to 1.6 times as long while another thread has the other half of the core, which no counter of
# a virtual machine tells. It is done once in a batch, in less than a percent of its time, and oftener after long runs.
WORK_EVERY, WORK_MOST = 20_000_000, 8  # ns, times
# To ask in /proc for a process takes half as long as starting one. One that was over soon, and was on a CPU but for
# less than `tally.DISTURBED_LEAST`, is asked for now and again only: threads aside, it waited for no more. The tally
# keeps no more waits than these of runs that are short.
LEAST_WAIT, SHORT, ASKED = 500_000, 2_000_000, 8  # ns, ns, one of so many
_NUMBERS = [(number * 7919) % 1009 / 7 for number in range(500)]

_PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>
_SPAWN_SETPGROUP, _SPAWN_SETSIGDEF, _SPAWN_SETSIGMASK = 2, 4, 8  # <spawn.h> of glibc and musl
_ALL_CPU_TIME = 2  # clock_gettime takes (~pid << 3) | 2 for the CPU time of all threads of a process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Frame = tuple[Any, ...]


def _reset_ignored() -> None:
    """Let no signal be ignored that whoever started perf ignores: commands would inherit it. Ignored, SIGCHLD would
    leave no zombie to ask, either. What Python ignores is reset in each command, since this process needs it."""
    for number in _signal.valid_signals() - {_signal.SIGPIPE, _signal.SIGXFSZ}:
        if _signal.getsignal(number) == _signal.SIG_IGN:
            _signal.signal(number, _signal.SIG_DFL)


class GoneError(Exception):
    """The process at the other end of the socket is no more."""


class Prepared:
    """A command as the C library takes it, made before any clock is read."""

    def __init__(self, spec: Frame) -> None:
        self.path, argv, environment, self.cwd, self.stdin, self.stdout, cpus, self.timeout = spec
        self.argv = _strings(argv)
        self.environment = _strings(environment)
        self.cpus = frozenset(cpus)


class Server:
    """Runs one command at a time and tells what it took."""

    def __init__(self, control: int) -> None:
        self.control = control
        self.libc = _c_library()
        # prctl(2): orphans of the command become children of this process, which can count and end them.
        self.libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.stdout = os.dup(1)
        self.cpus = frozenset(os.sched_getaffinity(0))
        self.commands: dict[int, Prepared] = {}
        self.streams: list[bytes | int] = [b"", b""]
        self.peak = 0
        # Processes that earlier commands left behind and that still live.
        self.known: set[int] = set()
        self.adopted: set[int] = set()
        self.pid, self.status = _value("i"), _value("i")
        self.used = _array("l", 18)  # struct rusage: two timevals of two, and 14 numbers (getrusage(2))
        self.references = [_address(value) for value in (self.pid, self.status, self.used)]
        self.running: Prepared | None = None
        self.started = 0
        self.worked = time.perf_counter_ns() - WORK_EVERY
        self.why = ""
        self.attributes = self._attributes()
        counted = os.path.exists("/proc/self/schedstat")
        self.schedstat = os.open("/proc/self/schedstat" if counted else NULL, os.O_RDONLY)
        self.events = select.poll()
        self.events.register(control, select.POLLIN)
        _reset_ignored()
        _signal.signal(_signal.SIGALRM, self._look)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGALRM])

    def serve(self) -> None:
        while True:
            kind, *arguments = self._receive()
            if kind == RUN:
                self._run(*arguments)
            elif kind == DEFINE:
                self.commands[arguments[0]] = Prepared(arguments[1])
            elif kind == FORGET:
                self.commands.pop(arguments[0], None)
            else:
                self._send((STOPPED,))

    def _run(self, key: int, cpus: Frame, most: int) -> None:
        command = self.commands[key]
        runs: list[Frame] = []
        reference = self._reference()
        self.why, self.status.value = "", 0
        self._look_later(TICK)
        failure = self._measure(command, command.cpus or frozenset(cpus), most, runs)
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        if self.why == "gone":
            raise GoneError
        self._send((DONE, runs, self.why, self.status.value, failure, self.peak, reference))
        if self.why == "stopped":
            self._send((STOPPED,))

    def _reference(self) -> list[int]:
        """The nanoseconds of CPU time that the same work takes now, on the CPUs of the last run; none where it was
        done a moment ago."""
        elapsed = time.perf_counter_ns() - self.worked
        if elapsed < WORK_EVERY:
            return []
        _work()  # a cold cache is none of the machine's doing
        reference = [_work() for _ in range(min(WORK_MOST, elapsed // WORK_EVERY))]
        self.worked = time.perf_counter_ns()
        return reference

    def _prepare(self, command: Prepared, cpus: frozenset[int]) -> Frame | None:
        """Everything that need not be timed: folder, CPUs, standard input and output are set on this process."""
        step = "cwd"
        try:
            os.chdir(command.cwd)
            step = "stdin"
            if self._changes(0, command.stdin):
                _onto(os.open(command.stdin, os.O_RDONLY), 0)
                self.streams[0] = command.stdin
            step = "output"
            if self._changes(1, command.stdout):
                _onto(self._output(command), 1)
                self.streams[1] = command.stdout
            step = "cpus"
            if cpus != self.cpus:
                os.sched_setaffinity(0, cpus)
                self.cpus = frozenset(os.sched_getaffinity(0))
        except (OSError, ValueError, OverflowError) as error:
            return step, getattr(error, "errno", 0) or 0
        return None if cpus == self.cpus else ("cpus", 0)

    def _changes(self, stream: int, wanted: bytes | int) -> bool:
        """Whether a stream has to be opened: files are opened anew for every run, the null device is not."""
        if wanted == self.streams[stream] == NULL:
            return False
        self.streams[stream] = b""  # until it is open
        return True

    def _output(self, command: Prepared) -> int:
        if isinstance(command.stdout, int):
            return os.dup(self.stdout if command.stdout == OURS else 2)
        return os.open(command.stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)

    def _measure(self, command: Prepared, cpus: frozenset[int], most: int, runs: list[Frame]) -> Frame | None:
        """The runs of one batch, whose numbers are added to `runs`; or why one could not be started. Between the two
        readings of the clock stand the start, the wait, and one read of our own delay that the command does not wait
        for. What a run evicts from the caches of the CPU is slow to execute after it: names are local, and nothing is
        called that need not be.

        The wait is that for a child, not one for a signal or a descriptor: the kernel then lets us go on where the
        command ran, and the next one begins on a CPU that is warm.
        """
        pid_reference, status_reference, used_reference = self.references
        arguments = pid_reference, command.path, None, self.attributes, command.argv, command.environment
        clock, cpu_clock, libc, pread = time.perf_counter_ns, time.clock_gettime_ns, self.libc, os.pread
        spawn, waitid, wait4, waitpid = libc.posix_spawn, os.waitid, libc.wait4, libc.waitpid
        prepare, schedstat, pid_box, status, used = self._prepare, self.schedstat, self.pid, self.status, self.used
        pid_kind, ending, at_once = os.P_PID, os.WEXITED | os.WNOWAIT, os.WNOHANG
        limit = clock() + int(BATCH * 1e9)
        while True:
            failure = prepare(command, cpus)
            if failure:
                return failure
            if command.timeout is not None:
                self.started = clock()
                self._look_later(self._remaining(command))
            start = clock()
            error = spawn(*arguments)
            if error:
                return "start", error
            before = pread(schedstat, 80, 0)
            pid = pid_box.value
            self.running = command
            waitid(pid_kind, pid, ending)
            end = clock()
            self.running = None
            after = pread(schedstat, 80, 0)
            try:
                threads = cpu_clock(~pid << 3 | _ALL_CPU_TIME)
            except OSError:
                threads = 0
            off_cpu = end - start - threads
            delay = _schedstat(pid) if off_cpu > LEAST_WAIT or end - start > SHORT or not len(runs) % ASKED else b""
            wait4(pid, status_reference, 0, used_reference)
            if used[4] * 1024 > self.peak:  # what this process has had is never more than what its child reports
                self.peak = _peak()
            # Not that of `os`, which makes an exception where there are no children, as after most runs.
            child = waitpid(-1, None, at_once)
            left = self._left(child) if child >= 0 or self.adopted or self.known else 0
            runs.append((start, end, threads, left, before, after, delay, bytes(used)))
            if self.why or status.value or len(runs) == most:
                return None
            if end + (end - start) > limit:  # the next one may take as long
                return None

    def _look(self, *_: Any) -> None:
        """Every now and then while a command runs: reap what it left to us, end it when it is to be ended. The wait
        for it goes on after this."""
        if self.running is None:
            return
        pid = self.pid.value
        if self._ended(pid):
            return
        self.why = self._reason(self.running)
        if self.why:
            self.running = None
            self._end(pid)
        else:
            self._look_later(self._remaining(self.running))

    def _look_later(self, remaining: float) -> None:
        """Again and again, since a signal that comes just before the wait begins does not end it."""
        _signal.setitimer(_signal.ITIMER_REAL, max(0.001, min(TICK, remaining)), TICK)

    def _remaining(self, command: Prepared) -> float:
        """Seconds that the command may still take."""
        if command.timeout is None:
            return TICK
        return float(command.timeout - (time.perf_counter_ns() - self.started) / 1e9)

    def _reason(self, command: Prepared) -> str:
        """Why a command that still runs is to be ended; empty when it is not."""
        if self.events.poll(0):
            try:
                self._receive()
            except GoneError:
                return "gone"
            return "stopped"
        return "timeout" if self._remaining(command) <= 0 else ""

    def _ended(self, pid: int) -> bool:
        """Whether the command has ended; it stays a zombie. Reaps what it left to us meanwhile."""
        while True:
            child = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if child is None or child.si_pid == pid:
                return child is not None
            os.waitpid(child.si_pid, 0)
            self.adopted.add(child.si_pid)

    def _end(self, pid: int) -> None:
        """SIGTERM for the command and all that it started, SIGKILL after the grace for what is left of it."""
        deadline = time.monotonic() + GRACE
        self._tell(pid, _signal.SIGTERM)
        # A stopped process acts on SIGTERM only when it goes on (signal(7)).
        self._tell(pid, _signal.SIGCONT)
        while self._living(pid) and time.monotonic() < deadline:
            time.sleep(0.005)
        while self._living(pid):
            self._tell(pid, _signal.SIGKILL)
            time.sleep(0.005)
        while not self._ended(pid):
            time.sleep(0.005)

    def _living(self, pid: int) -> set[int]:
        """What the command started and still lives, itself included."""
        self._ended(pid)
        return set(self._descendants())

    def _tell(self, pid: int, number: int) -> None:
        """Send it to the command's group at once, so that nothing escapes by forking, then to those that left it."""
        _kill(os.killpg, pid, number)
        for descendant, group in self._descendants().items():
            if group != pid:
                _kill(os.kill, descendant, number)

    def _left(self, child: int) -> int:
        """How many processes the command left behind, ended or not; `child` has just ended, if it is positive. They are
        ours now; those that live go on."""
        while child > 0:
            self.adopted.add(child)
            child = self.libc.waitpid(-1, None, os.WNOHANG)
        remaining = (self.adopted - self.known) | (set() if child < 0 else set(self._descendants()))
        self.known = {pid for pid in self.known | remaining if os.path.exists(f"/proc/{pid}")}
        self.adopted = set()
        return len(remaining)

    def _descendants(self) -> dict[int, int]:
        """Process groups of the living processes below this one, by id, without what earlier commands left."""
        children: dict[int, list[tuple[int, int]]] = {}
        for pid, parent, group in _processes():
            children.setdefault(parent, []).append((pid, group))
        descendants: dict[int, int] = {}
        parents = [os.getpid()]
        while parents:
            new = [entry for entry in children.get(parents.pop(), ()) if entry[0] not in self.known]
            descendants.update(new)
            parents.extend(pid for pid, _ in new)
        return descendants

    def _attributes(self) -> Any:
        """A process group of its own, no signal blocked, and none ignored that only Python ignores. The C library asks
        the kernel first how a signal is handled that is not to be reset: so all of them are."""
        # More than posix_spawnattr_t has in glibc and musl, some 340 bytes; sigset_t below has 128.
        libc, attributes = self.libc, _array("c", 1024)
        libc.posix_spawnattr_init(attributes)
        libc.posix_spawnattr_setpgroup(attributes, 0)
        libc.posix_spawnattr_setsigmask(attributes, self._signal_set())
        libc.posix_spawnattr_setsigdefault(attributes, self._signal_set(*_signal.valid_signals()))
        flags = _SPAWN_SETPGROUP | _SPAWN_SETSIGMASK | _SPAWN_SETSIGDEF
        libc.posix_spawnattr_setflags(attributes, _value("h", flags))
        return attributes

    def _signal_set(self, *numbers: int) -> Any:
        signals = _array("c", 1024)
        self.libc.sigemptyset(signals)
        for signal_number in numbers:
            self.libc.sigaddset(signals, signal_number)
        return signals

    def _receive(self) -> Frame:
        frame: Frame = marshal.loads(self._read(int.from_bytes(self._read(4), "big")))
        return frame

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = os.read(self.control, size - len(data))
            if not chunk:
                raise GoneError
            data += chunk
        return data

    def _send(self, frame: Frame) -> None:
        data = marshal.dumps(frame)
        try:
            os.write(self.control, len(data).to_bytes(4, "big") + data)
        except OSError as error:
            raise GoneError from error


def _work() -> int:
    """Its CPU time in nanoseconds: arithmetic and a sort, as programs do, in memory that is always the same."""
    start = time.thread_time_ns()
    sum(range(1500))
    sorted(_NUMBERS)
    return time.thread_time_ns() - start


def _schedstat(pid: int) -> bytes:
    """What the kernel says of the main thread's waits for a CPU."""
    try:
        file = os.open(f"/proc/{pid}/schedstat", os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(file, 80)
    finally:
        os.close(file)


def _peak() -> int:
    """The most memory this process ever had, which its children begin with."""
    try:
        with open("/proc/self/status", "rb", buffering=0) as file:
            return int(file.read(8192).partition(b"VmHWM:")[2].split(None, 1)[0]) * 1024
    except (OSError, IndexError, ValueError):
        return 0


def _processes() -> list[tuple[int, int, int]]:
    """(id, parent, group) of every process that is no zombie."""
    processes = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                    # From the last bracket on: the name before it may hold blanks and brackets (proc(5)).
                    state, parent, group = file.read(4096).rpartition(b")")[2].split(None, 3)[:3]
            except (OSError, ValueError):
                continue
            if state not in (b"Z", b"X"):
                processes.append((int(name), int(parent), int(group)))
    return processes


def _kill(function: Any, target: int, number: int) -> None:
    try:  # noqa: SIM105  (contextlib would be memory that every command begins with)
        function(target, number)
    except (ProcessLookupError, PermissionError):
        pass


def _c_library() -> Any:
    """The functions of the C library, called as those of Python are: there is no other thread that could go on.

    Written with what `ctypes` is written with: it makes forty classes of its own, which take as long as a third of the
    start of Python, in memory that every command begins with.
    """
    import _ctypes  # not at the top: the process that starts this one takes only the constants from there

    c: Any = _ctypes

    class Function(c.CFuncPtr):  # type: ignore[misc]
        _flags_ = c.FUNCFLAG_CDECL | c.FUNCFLAG_PYTHONAPI
        _restype_ = _kind("i")

    class Library:
        _handle = c.dlopen(None, 0)

        def __getattr__(self, name: str) -> Any:
            function = self.__dict__[name] = Function((name, self))
            return function

    return Library()


def _kind(code: str) -> Any:
    """A type of C by its letter in the module `struct`; `z` is a text that ends with a zero."""
    import _ctypes

    return type(code, (_ctypes._SimpleCData,), {"_type_": code})


def _value(code: str, *value: int) -> Any:
    return _kind(code)(*value)


def _array(code: str, length: int, *items: bytes) -> Any:
    return (_kind(code) * length)(*items)


def _address(value: Any) -> Any:
    import _ctypes

    return _ctypes.byref(value)


def _strings(items: list[bytes]) -> Any:
    return _array("z", len(items) + 1, *items)


def _onto(descriptor: int, target: int) -> None:
    os.dup2(descriptor, target)
    os.close(descriptor)


def main() -> None:
    # A collection between the two readings of the clock would count as the command's time.
    gc.disable()
    try:
        Server(os.dup(0)).serve()
    except GoneError:
        os._exit(0)  # at once: perf waits for it, and there is nothing to tidy up


if __name__ == "__main__":
    main()
