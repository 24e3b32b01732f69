"""Commands that profiles and journals hold: what they run, in words and as a hash, and which of them the user measured.

What a clone, an import or a merged store brings is data. Its commands run only where the same command was measured
in this repository on this machine, or was shown to the user and confirmed.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from perfcore.config.trust import command_digest
from perfcore.errors import StorageError
from perfcore.measure.schedule import split_options
from perfcore.model import Job, Profile
from perfcore.repository import Repository
from perfcore.text import printable


def profile_digest(home: Path, profile: Profile) -> str:
    """The hash of all that measuring a profile again runs. A profile does not hold the environment."""
    _, options = split_options(profile.collector.params)
    header = profile.header
    return command_digest(
        home,
        of="profile",
        argv=header.argv,
        shell=header.shell,
        collector=profile.collector.name,
        params=options,
    )


def note_measured(repository: Repository, profile: Profile) -> None:
    """List the command of a profile that was measured just now. If the list cannot be written, `perf bisect` asks."""
    try:
        repository.commands.note(profile_digest(repository.home, profile))
    except StorageError as error:
        repository.plugins.warn(f"{error}; `perf bisect` will ask before it runs the same command again")


def words(job: Job) -> str:
    """The real command as one would type it, whole and on one line."""
    return printable(" ".join(job.argv) if job.shell else shlex.join(job.argv))


def label(job: Job) -> str:
    """The command as people call it, with the real one where that is another."""
    called = printable(job.label)
    return called if _is_real(job) else f"{called} (which runs {words(job)})"


def effects(job: Job) -> Iterator[str]:
    """The command, directory, variables, collector and options of a stored job, a line each."""
    yield f"command: {words(job)}" + (" (run by a shell)" if job.shell else "")
    if str(job.cwd) != ".":
        yield f"folder: {printable(str(job.cwd))}"
    for name, value in sorted(job.env.items()):
        yield f"variable: {printable(f'{name}={value}')}"
    yield f"collector: {printable(job.collector.name)}"
    _, options = split_options(job.collector.params)
    for name, value in sorted(options.items()):
        if value not in (None, False, "", [], ()):
            yield f"option of the collector: {printable(f'{name}={value}')}"


def _is_real(job: Job) -> bool:
    if job.shell:
        return job.argv == (job.label,)
    try:
        return shlex.split(job.label) == list(job.argv)
    except ValueError:
        return False
