"""The user's consent to run a command that a profile or a journal holds.

Both may come from a clone or an import. Their commands run only if the user measured the same command on this machine,
or confirms it after seeing all that runs.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from perfcore.errors import StorageError, UntrustedError
from perfcore.measure import commands
from perfcore.measure.schedule import split_options
from perfcore.model import Job
from perfcore.repository import Repository
from perfcore.text import printable

Confirm: TypeAlias = Callable[[Iterable[str]], bool]
"""Shows these lines, and asks whether to run what they say."""


def refuse(lines: Iterable[str]) -> bool:
    """The answer without a user: no."""
    return False


def require(repository: Repository, confirm: Confirm, digest: str, job: Job, *, source: str, typed: str) -> None:
    """UntrustedError unless the command of a hash was measured here, or the user confirms it now. `source` names the
    origin of the command, `typed` the command line that runs it without a question."""
    if repository.commands.hold(digest):
        return
    heading = f"{source} holds a command that was not measured by you on this machine:"
    if not confirm([heading, *(f"  {line}" for line in _effects(job))]):
        raise UntrustedError(
            f"nothing was run: {source} holds a command that you have not measured on this machine",
            hint=f"read the command above; to run it, type it yourself: {typed}",
        )


def remember(repository: Repository, digest: str) -> None:
    """List a command that the user typed or confirmed. If the list cannot be written, the next bisection asks."""
    try:
        repository.commands.note(digest)
    except StorageError as error:
        repository.plugins.warn(f"{error}; `perf bisect` will ask before it runs the same command again")


def command_line(job: Job, good: str, bad: str, *, reset: bool = False) -> str:
    """The line that a user types to bisect with this command; with `reset`, instead of the bisection under way."""
    options = "--reset " if reset else ""
    if job.collector.name != "time":
        options += f"--collector {printable(shlex.quote(job.collector.name))} "
    if job.shell:
        options += "--shell "
    if str(job.cwd) != ".":
        options += f"--cwd {printable(shlex.quote(str(job.cwd)))} "
    return f"perf bisect {options}{good[:10]} {bad[:10]} -- {commands.words(job)}"


def _effects(job: Job) -> Iterator[str]:
    """The command, directory, variables, collector and options of a stored job, a line each."""
    yield f"command: {commands.words(job)}" + (" (run by a shell)" if job.shell else "")
    if str(job.cwd) != ".":
        yield f"folder: {printable(str(job.cwd))}"
    for name, value in sorted(job.env.items()):
        yield f"variable: {printable(f'{name}={value}')}"
    yield f"collector: {printable(job.collector.name)}"
    _, options = split_options(job.collector.params)
    for name, value in sorted(options.items()):
        if value not in (None, False, "", [], ()):
            yield f"option of the collector: {printable(f'{name}={value}')}"
