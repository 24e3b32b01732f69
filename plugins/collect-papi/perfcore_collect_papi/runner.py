"""The process that counts a command: it opens counters that children inherit, starts the command and waits.

`launcher` starts one for every run and talks to it over a socket, its standard input; a frame is four bytes of
length and a marshalled tuple. It gets one request:

    ("probe", options)     answered by ("facts", facts)
    ("list", options)      answered by ("facts", {"events": ...})
    ("run", options)       answered by ("reading", ...) now and then, and by ("ended", facts)

or by ("failed", step, number, detail) at any time. When the socket is closed, the command is ended, and so is this.

What is counted belongs to a **thread**: the one that opens the counters, starts the command and sleeps until it
ends. This thread does nothing else, so that next to nothing of this process is in the counts. The main thread takes
readings meanwhile, looks at the clock and listens to what the command says; none of that is counted.
"""

from __future__ import annotations

import contextlib
import ctypes
import marshal
import os
import resource
import select
import signal
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

GRACE = 1.0  # seconds between SIGTERM and SIGKILL
SAMPLING = 0.01  # seconds between two looks where a thread is, for counters that do not say it themselves
REFERENCE = "PAPI_TOT_INS"  # what every CPU with counters can count
KEPT = 8 * 1024  # bytes of a command's last words
OURS, COMPLAINTS = 1, 2  # what can stand for a file of standard output: that of perf, the pipe of complaints
_SPARE = 64  # open files that are not counters
_PR_SET_CHILD_SUBREAPER = 36

Frame = tuple[Any, ...]


class FailedError(Exception):
    """A step that failed: its name, the number of PAPI's or the system's error, and a word about what."""

    def __init__(self, step: str, number: int, detail: str = "") -> None:
        super().__init__(step, number, detail)
        self.frame = ("failed", step, number, detail)


class GoneError(Exception):
    """The process at the other end of the socket is no more."""


class Wire:
    """Frames over a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def send(self, frame: Frame) -> None:
        data = marshal.dumps(frame)
        try:
            self.connection.sendall(len(data).to_bytes(4, "big") + data)
        except OSError as error:
            raise GoneError from error

    def receive(self) -> Frame:
        frame: Frame = marshal.loads(self._read(int.from_bytes(self._read(4), "big")))
        return frame

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                more = self.connection.recv(size - len(data))
            except OSError:
                more = b""
            if not more:
                raise GoneError
            data += more
        return data


class Counters:
    """The sets of one run, each with the group of events it belongs to and the stream of readings it makes. A
    stream is a CPU, or a thread whose CPU is looked up, or everything at once."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.sets: list[tuple[int, int, Any]] = []
        self.limit = resource.getrlimit(resource.RLIMIT_NOFILE)

    def open(self) -> None:
        groups, options = self.options["groups"], self.options
        self._allow(sum(len(group["events"]) * len(self._streams(group)) for group in groups))
        for number, group in enumerate(groups):
            for stream in self._streams(group):
                try:
                    self.sets.append((number, stream, _open(group, stream, options)))
                except Exception:
                    if options["pid"] is None or os.path.exists(f"/proc/{options['pid']}/task/{stream}"):
                        raise  # otherwise it is a thread that has just ended
        if groups and not self.sets:
            raise FailedError("pid", 0, str(options["pid"]))

    def start(self) -> None:
        for _, _, counters in self.sets:
            counters.start()

    def read(self) -> list[Frame]:
        return [self._of(number, stream, counters.read()) for number, stream, counters in self.sets]

    def stop(self) -> list[Frame]:
        return [self._of(number, stream, counters.stop()) for number, stream, counters in self.sets]

    def close(self) -> None:
        while self.sets:
            self.sets.pop()[2].close()

    def _of(self, number: int, stream: int, values: Sequence[int]) -> Frame:
        """(group, stream, CPU, values). The CPU is looked up after the values were read."""
        if self.options["pid"] is not None:
            return number, stream, last_cpu(self.options["pid"], stream), tuple(values)
        return number, stream, stream, tuple(values)

    def _streams(self, group: dict[str, Any]) -> Sequence[int]:
        if group["source"] == "component":
            return (-1,)
        if self.options["pid"] is not None:
            return threads(self.options["pid"])
        return self.options["cpus"] if self.options["per_cpu"] else (-1,)

    def _allow(self, files: int) -> None:
        """As many open files as there are counters."""
        wanted = files + _SPARE
        soft, hard = self.limit
        if soft != resource.RLIM_INFINITY and wanted > soft:
            if hard != resource.RLIM_INFINITY and wanted > hard:
                raise FailedError("files", hard, str(wanted))
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


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
        self.wall = 0
        self.why = ""
        self.words = b""
        self.last: list[Frame] = []
        self.ended: list[Any] = []

    def run(self) -> None:
        files = self._files()
        thread = threading.Thread(target=self._count, args=(files,))
        thread.start()
        try:
            self._watch()
        finally:
            thread.join()
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
            "cpu-time": round((used.ru_utime + used.ru_stime) * 1e6) * 1000,
            "minor-faults": used.ru_minflt,
            "major-faults": used.ru_majflt,
            "context-switches": used.ru_nvcsw + used.ru_nivcsw,
        }

    def _files(self) -> list[tuple[Any, ...]]:
        """Folder, input and output of the command."""
        spec = self.options["spec"]
        step = "cwd"
        try:
            os.chdir(spec["cwd"])
            step = "stdin"
            given = os.open(spec["stdin"], os.O_RDONLY)
            step = "output"
            out = spec["stdout"]
            if isinstance(out, bytes):
                out = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        except OSError as error:
            raise FailedError(step, error.errno or 0) from error
        said = self.complaining if out == COMPLAINTS else out
        dup = os.POSIX_SPAWN_DUP2
        return [(dup, said, 1), (dup, self.complaining, 2), (dup, given, 0)]

    def _count(self, files: list[tuple[Any, ...]]) -> None:
        """The thread that is counted."""
        spec = self.options["spec"]
        environment = dict(variable.split(b"=", 1) for variable in spec["environment"])
        clock, signals = time.monotonic_ns, [signal.SIGPIPE, signal.SIGXFSZ]
        try:
            self.counters.open()
            raised = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, self.counters.limit)  # the command has the one we had
            try:
                self.counters.start()
                start = clock()
                try:
                    self.pid = os.posix_spawn(
                        spec["path"],
                        spec["argv"],
                        environment,
                        file_actions=files,
                        setpgroup=0,
                        setsigmask=[],
                        setsigdef=signals,
                    )
                except OSError as error:
                    raise FailedError("start", error.errno or 0) from error
                resource.setrlimit(resource.RLIMIT_NOFILE, raised)
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
                self.wall = clock() - start
                with self.reading:
                    _, *self.ended = os.wait4(self.pid, 0)  # some components count children that were waited for
                    self.last = self.counters.stop()
            finally:
                self.counters.close()
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
            moments = [moment for moment, wanted in ((due, step), (begin + (timeout or 0), timeout)) if wanted]
            wait = max(0.0, min(moments) - time.monotonic()) if moments else None
            ready = {file for file, _ in events.poll(None if wait is None else wait * 1000)}
            if self.woken in ready:
                return
            if self.complaints in ready:
                self._listen()
            now = time.monotonic()
            if self.wire.connection.fileno() in ready:
                self._end("gone")
                raise GoneError
            if timeout and now >= begin + timeout:
                self._end("timeout")
                timeout = None
            if step and now >= due:
                self._take(begin, bool(every) and now >= tick)
                if every and now >= tick:
                    tick += every * (1 + (now - tick) // every)
                due += step * (1 + (now - due) // step)

    def _take(self, begin: float, tick: bool) -> None:
        """A reading while the command runs."""
        with self.reading:
            if self.pid and not self.last:
                read = tuple(self.counters.read())
                elapsed = round((time.monotonic() - begin) * 1e9)
                self.wire.send(("reading", time.time_ns(), elapsed, tick, False, read))

    def _listen(self) -> None:
        for _ in range(16):
            try:
                more = os.read(self.complaints, 64 * 1024)
            except BlockingIOError:
                return
            if not more:
                return
            self.words = (self.words + more)[-KEPT:]

    def _end(self, why: str) -> None:
        """SIGTERM for the command and all that it started, SIGKILL after the grace for what is left of it."""
        while not self.pid and self.failure is None:
            time.sleep(0.001)
        self.why = why
        if not self.pid:
            return
        deadline = time.monotonic() + GRACE
        for number in (signal.SIGTERM, signal.SIGCONT):
            self._tell(number)
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


def probe(options: dict[str, Any]) -> dict[str, Any]:
    """What can be counted here, event by event."""
    from perfcore_collect_papi import software

    where = {"cpu": options["cpus"][0] if options["per_cpu"] and options["pid"] is None else None}
    how = {**where, "pid": options["pid"], "inherit": True, "domain": options["domain"]}
    facts: dict[str, Any] = {"software": software.errors(list(software.EVENTS), **how), "papi": None, "why": ""}
    facts["allowed"] = software.errors(["task-clock"])["task-clock"]
    try:
        from perfcore_collect_papi import binding

        papi = binding.library()
    except ImportError as error:
        return {**facts, "why": str(error)}
    facts["papi"] = papi.version
    facts["components"] = [
        {"name": c.name, "disabled": c.disabled, "reason": c.reason, "pmus": list(c.pmus)} for c in papi.components
    ]
    return {**facts, **_asked(options, how)}


def _asked(options: dict[str, Any], how: dict[str, Any]) -> dict[str, Any]:
    """The component of each event that was asked for, and what PAPI says when it is added."""
    from perfcore_collect_papi import binding
    from perfcore_collect_papi.failure import PapiFailure

    papi = binding.library()
    component: dict[str, int] = {}
    codes: dict[str, int] = {}
    for event in options["events"]:
        try:
            component[event] = papi.component_of(event)
        except PapiFailure as error:
            codes[event] = error.code
    for index in sorted(set(component.values())):
        events = [event for event, of in component.items() if of == index]
        honest = papi.components[index].counts_cpus
        codes |= binding.codes(events, index, **({**how, "multiplex": options["multiplex"]} if honest else {}))
    reference = binding.codes([REFERENCE], 0, **how)[REFERENCE]
    near = {event: _near(papi, event) for event, code in codes.items() if code == -7 and reference == 0}
    return {"component": component, "codes": codes, "near": near, "reference": reference}


def _near(papi: Any, event: str) -> list[str]:
    import difflib

    names = [e.name for component in papi.components for e in papi.events(component) if e.available]
    return difflib.get_close_matches(event, names, n=3, cutoff=0.5)


def listing(options: dict[str, Any]) -> dict[str, Any]:
    """Every event of the kernel and of every component: (name, description, unit, component, preset, whether it can
    be counted here, which is tried)."""
    from perfcore_collect_papi import software

    found = [
        (name, software.DESCRIPTIONS[name], software.UNITS.get(name, ""), "kernel", False, number == 0)
        for name, number in software.errors(list(software.EVENTS)).items()
    ]
    try:
        from perfcore_collect_papi import binding

        papi = binding.library()
    except ImportError:
        return {"events": found}
    for component in papi.components:
        for event in papi.events(component):
            countable = event.available and binding.codes([event.name], component.index)[event.name] == 0
            found.append((event.name, event.description, event.units, event.component, event.preset, countable))
    return {"events": found}


def threads(pid: int) -> list[int]:
    """The threads of a process. FailedError when there is none."""
    try:
        found = sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    except OSError as error:
        raise FailedError("pid", error.errno or 0, str(pid)) from error
    if not found:
        raise FailedError("pid", 3, str(pid))
    return found


def last_cpu(pid: int, thread: int) -> int:
    """The CPU that a thread was on last; -1 when it is no more."""
    try:
        with open(f"/proc/{pid}/task/{thread}/stat", "rb", buffering=0) as file:
            return int(file.read(4096).rpartition(b")")[2].split()[36])
    except (OSError, IndexError, ValueError):
        return -1


def living() -> set[int]:
    """The processes below this one that are no zombies."""
    children: dict[int, list[int]] = {}
    for pid, parent in _processes():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    parents = [os.getpid()]
    while parents:
        new = children.get(parents.pop(), [])
        found.update(new)
        parents.extend(new)
    return found


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


def _open(group: dict[str, Any], stream: int, options: dict[str, Any]) -> Any:
    """The set of a group of events for a stream."""
    pid = None if options["pid"] is None else stream
    cpu = stream if pid is None and stream >= 0 else None
    events = group["events"]
    if group["source"] == "software":
        from perfcore_collect_papi.software import SoftwareSet

        try:
            return SoftwareSet(events, cpu=cpu, pid=pid, inherit=True, domain=options["domain"], on_exec=pid is None)
        except OSError as error:
            raise FailedError("software", error.errno or 0, ", ".join(events)) from error
    from perfcore_collect_papi import binding

    index = group["component"]
    if group["source"] == "component":
        return binding.EventSet(binding.library(), events, component=index)
    return binding.EventSet(
        binding.library(),
        events,
        component=index,
        cpu=cpu,
        pid=pid,
        inherit=True,
        multiplex=options["multiplex"],
        domain=options["domain"],
    )


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
        yield "facts", (probe if kind == "probe" else listing)(options)


def main() -> None:
    wire = Wire(socket.socket(fileno=os.dup(0)))
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would leave nobody to ask
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
