"""Building a version before it is measured."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from perfcore_collect_kit.command import inherited

from perfcore.errors import CommandFailedError
from perfcore.measure import commands
from perfcore.model import Build
from perfcore.text import printable, printable_lines

_TAIL = 2000  # bytes: some twenty lines, enough for the error of a compiler in a message


def run_build(build: Build, tree: Path, name: str = "pre_run") -> str:
    """The end of what the commands printed. CommandFailedError with it for the first that fails, called `name`."""
    return "".join(_run(text, build, tree, name) for text in build.commands)


def _run(text: str, build: Build, tree: Path, name: str) -> str:
    words = text if build.shell else commands.split(text, f"execute.{name}")
    failed = f"{name} '{printable(text)}'"
    with tempfile.TemporaryFile() as output:  # no pipe, which a process left behind would keep open
        try:
            with _group(words, tree, output, build) as process:
                code = process.wait(build.timeout)
        except OSError as error:
            raise CommandFailedError(f"{failed} could not be started: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise CommandFailedError(
                f"{failed} took longer than {build.timeout:g} s{_tail(output)}", hint="see execute.timeout"
            ) from error
        if code:
            ended = f"failed with exit code {code}" if code > 0 else f"was killed by signal {-code}"
            raise CommandFailedError(f"{failed} {ended}{_tail(output)}")
        tail = _tail(output)
        return f"{failed}{tail}\n" if tail else ""


@contextlib.contextmanager
def _group(words: str | list[str], tree: Path, output: IO[bytes], build: Build) -> Iterator[subprocess.Popen[bytes]]:
    """A command in a process group of its own, of which nothing is left when it takes too long or is interrupted."""
    posix = os.name == "posix"
    process = subprocess.Popen(
        words,
        cwd=tree,
        shell=build.shell,
        env={**inherited(), **build.activation},
        stdin=subprocess.DEVNULL,  # a question would wait for ever
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=posix,  # a group of its own, so that a signal reaches all its children
    )
    try:
        yield process
    except BaseException:
        with contextlib.suppress(OSError):
            if posix:
                os.killpg(process.pid, signal.SIGKILL)  # setsid(2): the leader's number is the group's
            else:
                process.kill()
        process.wait()
        raise


def _tail(output: IO[bytes]) -> str:
    """The end of what was printed, on lines of its own."""
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - _TAIL))
    text = printable_lines(output.read().decode(errors="replace")).strip()
    return f":\n{text}" if text else ""
