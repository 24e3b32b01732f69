"""The user's consent to run a command that a file holds."""

from __future__ import annotations

from perfcore.cli.console import Console
from perfcore.errors import StorageError, UntrustedError
from perfcore.measure import stored_command
from perfcore.model import Job


def require(console: Console, digest: str, job: Job, *, source: str, typed: str) -> None:
    """UntrustedError unless the command of a hash was measured here, or the user confirms it now. `source` says where
    the command is from, `typed` how the user says on the command line that it is to run."""
    if console.repository.commands.hold(digest):
        return
    console.say(f"{source} holds a command that was not measured by you on this machine:")
    for line in stored_command.effects(job):
        console.say(f"  {line}")
    if not console.confirm("run it?"):
        raise UntrustedError(
            f"nothing was run: {source} says what is run, and you have not measured that on this machine",
            hint=f"read the command above; to run it, type it yourself: {typed}",
        )


def note(console: Console, digest: str) -> None:
    """List a command that the user typed or confirmed. Where that fails, the next time is asked."""
    try:
        console.repository.commands.note(digest)
    except StorageError as error:
        console.warn(f"{error}; `perf bisect` will ask before it runs the same command again")
