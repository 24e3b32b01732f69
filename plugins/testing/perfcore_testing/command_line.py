"""One command line of `perf` in a copy of this process.

A process of its own begins with a third of a second of imports, which a thousand tests wait for. A copy of the process
that runs the tests has them already, and has otherwise all that a process has: its own environment, folder, standard
streams, signal handlers and end.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from perfcore.named_tuple import NamedTuple

# What most commands import. The copies share it; what is not installed is left out.
_PRELOADED = (
    "attrs",
    "git",
    "msgspec",
    "perfcore.cli.app",
    "perfcore.cli.collect",
    "perfcore.cli.log",
    "perfcore.cli.status",
    "perfcore_collect_time",
    "perfcore_storage_local",
    "perfcore_vcs_git",
    "pluggy",
    "ruamel.yaml",
    "stevedore",
    "typer",
)

# Variables that only a new interpreter reads, by how they begin.
_INTERPRETER = ("PYTHON", "LANG", "LC_", "LD_", "COVERAGE", "MALLOC")


# No test opens as many: a new process would have none of those of the tests.
_MOST_HANDLES = 4096


class Ended(NamedTuple):
    """How a command line ended; the code is negative after a signal, as for `subprocess`."""

    code: int
    out: bytes
    err: bytes


def is_possible(env: Mapping[str, str]) -> bool:
    """Whether a copy of this process behaves as a new one in this environment."""
    own_variables = {name: text for name, text in os.environ.items() if name.startswith(_INTERPRETER)}
    env_variables = {name: text for name, text in env.items() if name.startswith(_INTERPRETER)}
    env_variables.pop("PYTHONWARNINGS", None)  # pytest makes errors of warnings, too
    own_variables.pop("PYTHONWARNINGS", None)
    return hasattr(os, "fork") and own_variables == env_variables


def run(words: Sequence[str], *, cwd: Path, env: Mapping[str, str], input: bytes | None, timeout: float) -> Ended:
    """Run `perf` with these words. subprocess.TimeoutExpired after `timeout` seconds, when it is killed."""
    _preload()
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(input or b"")
        stdin.seek(0)
        with warnings.catch_warnings():
            # The threads of pytest's own workers hold no lock that a command wants.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _become_a_command(words, cwd, env, (stdin if input is not None else None, stdout, stderr))
        code = _wait(child, timeout, words)
        stdout.seek(0)
        stderr.seek(0)
        return Ended(code, stdout.read(), stderr.read())


def _become_a_command(
    words: Sequence[str], cwd: Path, env: Mapping[str, str], streams: tuple[IO[bytes] | None, IO[bytes], IO[bytes]]
) -> None:
    """In the child: never returns."""
    # EX_SOFTWARE of sysexits.h, unless the command says another.
    code = 70
    try:
        gc.freeze()  # what the tests made is not this command's to take apart
        _reset_signals()
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        _redirect(streams)
        from perfcore.cli import main

        code = main(list(words))
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        os.write(2, traceback.format_exc().encode(errors="backslashreplace"))
    finally:
        # Not `sys.exit`: handlers that pytest registered would run in the copy, too.
        os._exit(code)


def _reset_signals() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for signal_number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGALRM):
        signal.signal(signal_number, signal.SIG_DFL)


def _redirect(streams: tuple[IO[bytes] | None, IO[bytes], IO[bytes]]) -> None:
    handles = [os.open(os.devnull, os.O_RDONLY) if stream is None else os.dup(stream.fileno()) for stream in streams]
    for descriptor, handle in enumerate(handles):
        os.dup2(handle, descriptor)
    # Also the pipes of processes that the tests started: an end that stays open here would never be noticed there.
    os.closerange(3, _MOST_HANDLES)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  (they live as long as the process)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115


def _wait(child: int, timeout: float, words: Sequence[str]) -> int:
    expired = threading.Event()

    def kill() -> None:
        expired.set()
        os.kill(child, signal.SIGKILL)

    timer = threading.Timer(timeout, kill)
    timer.daemon = True
    timer.start()
    try:
        _, status = os.waitpid(child, 0)
    finally:
        timer.cancel()
    if expired.is_set():
        raise subprocess.TimeoutExpired(["perf", *words], timeout)
    return os.waitstatus_to_exitcode(status)


@functools.cache
def _preload() -> None:
    for name in _PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
