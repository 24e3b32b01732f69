"""A command that is ready to run and waits: nothing is left to do but to execute its program.

Counters belong to a thread and to what that thread starts, and enabling them enables what was inherited. For nothing
of this process to be in the counts, nothing of it may run while they are enabled:

- The thread that opened the counters spawns the command, and sleeps in the kernel until that has executed its
  program (vfork). A signal that the C library holds back meanwhile puts it to sleep before it runs on: the handler
  is `pause`.
- The command sleeps in the last but one file action of its spawn: a FIFO is opened for reading when there is a
  writer. Left to do are a dup2, the signal mask and execve.

So the counts begin about two hundred instructions before those of the program; `tests/test_gate.py` counts them.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from perfcore_collect_papi.wire import FailedError

_SPAWN_SETPGROUP, _SPAWN_SETSIGDEF, _SPAWN_SETSIGMASK = 2, 4, 8  # <spawn.h> of glibc and musl
_OPAQUE = 1024  # bytes; more than any structure of <spawn.h> and <signal.h> has
_FORKED_NO_EXEC = 0x40  # PF_FORKNOEXEC of <linux/sched.h>, in the flags of /proc/PID/stat
_STEP = 0.0002  # seconds between two looks at what lasts some microseconds
# Nobody ignores these, which a command would inherit, as it does not a handler. Of two that are pending the kernel runs
# the handler of the lesser number last: a thread that has both sleeps, and can be woken again. The other way around it
# would sleep within the handler that wakes it, where that signal is blocked.
SLEEP, _WAKE = int(signal.SIGRTMAX) - 2, int(signal.SIGRTMAX) - 1


class Gate:
    """One command. `spec` are the words of the request, `streams` the files that become 1, 2 and 0, the last one last;
    `prepare` is called by the thread that spawns it, right before it does."""

    def __init__(
        self, spec: dict[str, Any], streams: Sequence[tuple[int, int]], prepare: Callable[[], None] = lambda: None
    ) -> None:
        self.pid = 0
        self._libc = ctypes.CDLL(None)
        self._libc.signal.argtypes = ctypes.c_int, ctypes.c_void_p
        for number, handler in ((SLEEP, self._libc.pause), (_WAKE, self._libc.getpid)):
            self._libc.signal(number, ctypes.cast(handler, ctypes.c_void_p))
        self._spec = spec
        self._prepare = prepare
        self._waits, self._goes = _fifo(), _fifo()
        self._arrival = os.open(_path(self._waits), os.O_RDONLY | os.O_NONBLOCK)
        self._returned, self._returning = os.pipe()
        self._errno = 0
        self._failure: BaseException | None = None
        self._actions = self._file_actions(streams)
        self._thread = threading.Thread(target=self._spawn, daemon=True)

    def arrive(self) -> int:
        """Starts the command up to its program, and gives its number. FailedError when it cannot be made."""
        self._thread.start()
        events = select.poll()
        events.register(self._arrival, 0)  # hung up when the command has opened and closed it
        events.register(self._returned, select.POLLIN)
        if self._arrival not in {file for file, _ in events.poll()}:
            self._thread.join()
            raise self._failure or FailedError("start", self._errno)
        self.pid = _child(self._thread.native_id or 0)
        signal.pthread_kill(self._thread.ident or 0, SLEEP)
        return self.pid

    def open(self) -> None:
        """Lets the command go. Harmless when it is no more."""
        while True:
            try:
                os.close(os.open(_path(self._goes), os.O_WRONLY | os.O_NONBLOCK))
                return
            except OSError as error:
                if error.errno != errno.ENXIO or _ended(self.pid):
                    return
            time.sleep(_STEP)  # it is about to open the other end

    def check(self) -> None:
        """FailedError when the command, which has ended, never got to its program. Before it is waited for."""
        if not _executed(self.pid):
            self._wake()
            raise FailedError("start", self._errno)

    def abandon(self) -> None:
        """Ends a command that was not let go, and that would wait for good."""
        if self.pid or self._thread.is_alive():
            pid = self.pid or _child(self._thread.native_id or 0)
            os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        self.close()

    def close(self) -> None:
        """When nothing is counted any more."""
        self._wake()
        for file in (self._waits, self._goes, self._arrival, self._returned, self._returning):
            os.close(file)

    def _wake(self) -> None:
        """Lets the thread end. A signal that comes before it sleeps is lost."""
        while self._thread.is_alive():
            signal.pthread_kill(self._thread.ident or 0, _WAKE)
            self._thread.join(_STEP)

    def _spawn(self) -> None:
        """The thread whose counters the command inherits."""
        spec, pid = self._spec, ctypes.c_int()
        try:
            self._prepare()
            words = _strings(spec["argv"]), _strings(spec["environment"])
            self._errno = self._libc.posix_spawn(
                ctypes.byref(pid), spec["path"], self._actions, self._attributes(), *words
            )
        except BaseException as error:
            self._failure = error
        os.write(self._returning, b"x")

    def _file_actions(self, streams: Sequence[tuple[int, int]]) -> Any:
        libc, actions = self._libc, ctypes.create_string_buffer(_OPAQUE)
        libc.posix_spawn_file_actions_init(actions)
        for source, target in streams[:-1]:
            libc.posix_spawn_file_actions_adddup2(actions, source, target)
        # The second one closes the first, which says that the command has come this far, and waits.
        for handle, mode in ((self._waits, os.O_WRONLY), (self._goes, os.O_RDONLY)):
            libc.posix_spawn_file_actions_addopen(actions, streams[-1][1], _path(handle), mode, 0)
        libc.posix_spawn_file_actions_adddup2(actions, *streams[-1])
        return actions

    def _attributes(self) -> Any:
        """A process group of its own, no signal blocked, and none ignored that only Python ignores."""
        libc, attributes = self._libc, ctypes.create_string_buffer(_OPAQUE)
        libc.posix_spawnattr_init(attributes)
        libc.posix_spawnattr_setpgroup(attributes, 0)
        libc.posix_spawnattr_setsigmask(attributes, self._signals())
        libc.posix_spawnattr_setsigdefault(attributes, self._signals(signal.SIGPIPE, signal.SIGXFSZ))
        flags = _SPAWN_SETPGROUP | _SPAWN_SETSIGMASK | _SPAWN_SETSIGDEF
        libc.posix_spawnattr_setflags(attributes, ctypes.c_short(flags))
        return attributes

    def _signals(self, *numbers: int) -> Any:
        signals = ctypes.create_string_buffer(_OPAQUE)
        self._libc.sigemptyset(signals)
        for number in numbers:
            self._libc.sigaddset(signals, number)
        return signals


def _executed(pid: int) -> bool:
    """Whether a process, perhaps a zombie, has executed a program since it was forked. The C library reaps one that
    could not."""
    try:
        return not int(_stat(pid)[6]) & _FORKED_NO_EXEC
    except OSError:
        return False


def _ended(pid: int) -> bool:
    """Whether a process is no more, or a zombie."""
    try:
        return _stat(pid)[0] in (b"Z", b"X")
    except OSError:
        return True


def _fifo() -> int:
    """A handle of a FIFO that has no name any more."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "gate")
    try:
        os.mkfifo(path, 0o600)
        try:
            return os.open(path, os.O_PATH | os.O_CLOEXEC)
        finally:
            os.unlink(path)
    finally:
        os.rmdir(folder)


def _path(handle: int) -> bytes:
    return b"/proc/self/fd/%d" % handle


def _child(thread: int) -> int:
    """The only child of a thread."""
    try:
        with open(f"/proc/self/task/{thread}/children", "rb") as file:
            return int(file.read())
    except (OSError, ValueError):  # not every kernel has the list
        own = b"%d" % os.getpid()
        return next(pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _parent(pid) == own)


def _parent(pid: int) -> bytes:
    try:
        return _stat(pid)[1]
    except OSError:
        return b""


def _stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat from the state on."""
    with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
        return file.read(4096).rpartition(b")")[2].split()


def _strings(items: Sequence[bytes]) -> Any:
    return (ctypes.c_char_p * (len(items) + 1))(*items)
