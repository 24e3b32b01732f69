"""Command lines that users write: split into words as a shell would, and jobs of them."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Sequence

from perfcore.config.documents import Source
from perfcore.errors import UsageError
from perfcore.model import Job
from perfcore.text import brief

_OPERATORS = {"&&", "||", "|", ";", "&", ">", ">>", "<", "2>", "2>&1"}


def job(argv: Sequence[str], *, workload: Sequence[str] = (), shell: bool = False) -> Job:
    """A job from a command line that is split already."""
    if not argv or not argv[0]:
        raise UsageError("there is no command to measure", hint="write it after `--`")
    for word in (*argv, *workload):
        if "\0" in word:
            raise UsageError("a command cannot hold a NUL character")
    cmd, args = (argv[0], shlex.join(argv[1:])) if not shell else (" ".join(argv), "")
    full_argv = (" ".join([*argv, *map(shlex.quote, workload)]),) if shell else (*argv, *workload)
    return Job(argv=full_argv, cmd=cmd, args=args, workload=shlex.join(workload), shell=shell)


def split(text: str, where: Source | str) -> list[str]:
    """A string as the words a shell would make of it. UsageError where only a shell could run it."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{where}: {brief(text)} cannot be split into words: {error}") from error
    operators = _operators(text, words)
    if operators:
        raise UsageError(
            f"{where}: {brief(text)} needs a shell for {operators[0]!r}",
            hint="say --shell, or `shell: true` in a file; or quote it",
        )
    return words


def _operators(text: str, words: list[str]) -> list[str]:
    """The words that only a shell would understand, the quoted ones left out."""
    if not any(word in _OPERATORS or word.endswith(";") for word in words):
        return []
    with contextlib.suppress(ValueError):  # of an escaped quote, which is no quote when escapes are not read
        words = shlex.split(text, posix=False)
    return [word for word in words if word in _OPERATORS or word.endswith(";")]
