"""Why a command could not be started, took too long, or failed: in words."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfcore.errors import CommandFailedError, PerfError, UsageError
from perfcore.text import clip, printable, printable_lines
from perfcore_collect_kit.command import StartError, shown

if TYPE_CHECKING:
    from perfcore.model import Job
    from perfcore.profile.recording import Run

_LINES, _LINE = 6, 200  # how much of a failed command's output a message holds
OPTIONS = (("on_failure", "ignore"), ("timeout", ""))  # of collectors, that hints name


def option(name: str, value: str) -> str:
    """An option of a collector in a hint."""
    typed, written = f"--{name.replace('_', '-')}", name
    return f"{typed} {value} (in a matrix: {written}: {value})" if value else f"{typed} (in a matrix: {written})"


_KEEP = f"to keep such a run: {option(*OPTIONS[0])}"


def explain(job: Job, error: StartError, cpus: Sequence[int] = ()) -> PerfError:
    """What a failure to start means."""
    program, why = shown(job.argv), os.strerror(error.errno)
    if error.step == "cpus":
        return UsageError(
            f"{program} cannot be pinned to {', '.join(map(str, cpus))}: this process may not use all of these CPUs",
            hint=f"there are {_ranges(sorted(os.sched_getaffinity(0)))}",
        )
    if error.step == "start" and error.errno == errno.ENOEXEC:
        hint = "a script begins with a line such as `#!/bin/sh`; or run it in a shell"
        return CommandFailedError(f"{program} cannot be started: no program of this machine, and no script", hint=hint)
    if error.step == "start" and error.errno == errno.ENOENT:
        hint = "the interpreter or loader that it names is missing, or it was removed since the last run"
        return CommandFailedError(f"{program} cannot be started: {why}", hint=hint)
    prefixes = {"cwd": f"its folder {printable(str(job.cwd))}: ", "stdin": "its input: ", "output": "its output: "}
    folder = "--output names a file in a folder that is there" if error.step == "output" else None
    return CommandFailedError(f"{program} cannot be started: {prefixes.get(error.step, '')}{why}", hint=folder)


def too_long(what: str, run: Run, timeout: float | None) -> CommandFailedError:
    """A command that was ended because its time was over."""
    return CommandFailedError(
        f"{what} was ended in {_when(run)}: it took longer than {timeout:g} s",
        hint=f"{option(*OPTIONS[1])} says how long is allowed",
    )


def failed(
    what: str, run: Run, exitcode: int, words: bytes, *, shell: bool = False, hint: str = _KEEP
) -> CommandFailedError:
    """A command that ended with this exit code, negative for a signal, with the end of its output."""
    how = f"exited with code {exitcode}" if exitcode > 0 else f"was ended by signal {-exitcode} ({_signal(-exitcode)})"
    if exitcode == -signal.SIGKILL:  # which the kernel's OOM killer sends
        hint = "perhaps the system ran out of memory; " + hint
    if shell and exitcode in (126, 127):  # POSIX.1-2017, Shell Command Language, 2.8.2
        reason = "found no such" if exitcode == 127 else "may not execute the"
        hint = f"{exitcode} is how a shell says that it {reason} command"
    return CommandFailedError(f"{what} {how} in {_when(run)}{last_words(words)}", hint=hint)


def _when(run: Run) -> str:
    return "the warm-up run" if run.warmup else f"run {run.index + 1}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # between SIGRTMIN and SIGRTMAX signals have no names
        return "real-time"


def last_words(words: bytes) -> str:
    """The end of what a command wrote, for the end of a message."""
    lines = printable_lines(words.decode(errors="replace")).split("\n")
    tail = [clip(line.rstrip(), _LINE) for line in lines if line.strip()][-_LINES:]
    return "; end of its output:" + "".join(f"\n  {line}" for line in tail) if tail else ""


def _ranges(numbers: Sequence[int]) -> str:
    """`0-3,8` for 0 1 2 3 8."""
    parts: list[list[int]] = []
    for value in numbers:
        if parts and value == parts[-1][-1] + 1:
            parts[-1].append(value)
        else:
            parts.append([value])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in parts)
