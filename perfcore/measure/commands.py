"""Commands: those that users write, split into words as a shell would and made jobs; the configuration of a job, the
properties that make two profiles comparable before postprocessing; and those that profiles and journals hold.

What a clone, an import or a merged store brings is data. Its commands run only where the same command was measured
in this repository on this machine, or was shown to the user and confirmed.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from perfcore import environment
from perfcore.config.documents import Source
from perfcore.config.trust import command_digest
from perfcore.errors import StorageError, UsageError
from perfcore.measure.schedule import split_options
from perfcore.model import Header, Job, Profile
from perfcore.model.record import replace
from perfcore.repository.repository import Repository
from perfcore.text import brief, printable

_OPERATORS = {"&&", "||", "|", ";", "&", ">", ">>", "<", "2>", "2>&1"}


def job(argv: Sequence[str], *, workload: Sequence[str] = (), shell: bool = False) -> Job:
    """A job from a command line that is split already."""
    if not argv or not argv[0]:
        raise UsageError("there is no command to measure", hint="write it after `--`")
    for word in (*argv, *workload):
        if "\0" in word:  # execve(2) takes texts that end there
            raise UsageError("a command cannot hold a NUL character")
    cmd, args = (argv[0], shlex.join(argv[1:])) if not shell else (" ".join(argv), "")
    full_argv = (" ".join([*argv, *map(shlex.quote, workload)]),) if shell else (*argv, *workload)
    return Job(argv=full_argv, cmd=cmd, args=args, workload=shlex.join(workload), shell=shell)


def in_folder(job: Job) -> Job:
    """The job called by its folder below the root of the tree, too: in another one, the words run something else."""
    return job if not job.cwd.parts or folder(job) else replace(job, cmd=f"{job.cwd.as_posix()}: {job.cmd}")


def folder(of: Job | Header) -> str:
    """The folder that a command is called by: `svc/one` of `svc/one: ./run`; nothing for the root of the tree."""
    return of.cmd.rpartition(f": {of.argv[0].removesuffix(f' {of.workload}')}")[0] if of.argv else ""


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


def job_config_id(job: Job, identity: Mapping[str, Any], type: str) -> str:
    """The id of the configuration before postprocessing: command, workload by content, collector, and where they
    are not the usual ones the folder and the type of the profile, so that older ids stay the same."""
    collector = job.collector.name.rpartition(":")[2]  # the full name of a plugin is no other configuration
    unusual = {"folder": folder(job), "type": "" if type == collector else type}
    return environment.config_id(
        {
            "argv": list(job.argv),
            "shell": job.shell,
            "env": dict(job.env),
            "workload": _workload_content(job),
            "collector": collector,
            "params": dict(identity),
            **{key: word for key, word in unusual.items() if word},
        }
    )


def profile_digest(home: Path, profile: Profile) -> str:
    """The hash of all that measuring a profile again runs. A profile does not hold the environment."""
    return _digest(home, profile.header, profile.collector.name, profile.collector.params)


def job_digest(home: Path, job: Job) -> str:
    """The `profile_digest` of the profile that a resolved job gives."""
    return _digest(home, job, job.collector.name.rpartition(":")[2], job.collector.params)


def _digest(home: Path, of: Job | Header, collector: str, params: Mapping[str, Any]) -> str:
    where, options = f"profile {folder(of)}".strip(), split_options(params)[1]
    return command_digest(home, of=where, argv=of.argv, shell=of.shell, collector=collector, params=options)


def note_measured(repository: Repository, profile: Profile, typed: Set[str] | None = None) -> None:
    """List the command of a profile that was measured just now, if it is one that was typed. If the list cannot be
    written, `perf bisect` asks."""
    digest = profile_digest(repository.home, profile)
    try:
        if typed is None or digest in typed:
            repository.commands.note(digest)
    except StorageError as error:
        repository.plugins.warn(f"{error}; `perf bisect` will ask before it runs the same command again")


def words(job: Job) -> str:
    """The real command as one would type it, whole and on one line."""
    return printable(" ".join(job.argv) if job.shell else shlex.join(job.argv))


def label(job: Job) -> str:
    """The command as people call it, with the real one where that is another."""
    called, run = printable(job.label), words(job)
    return called if called.removeprefix(f"{printable(folder(job))}: ") == run else f"{called} (which runs {run})"


def _operators(text: str, words: list[str]) -> list[str]:
    """The words that only a shell would understand, the quoted ones left out."""
    if not any(word in _OPERATORS or word.endswith(";") for word in words):  # `cd x; ls`
        return []
    with contextlib.suppress(ValueError):  # of an escaped quote, which is no quote when escapes are not read
        words = shlex.split(text, posix=False)  # keeps the quotes, so that a quoted operator is none
    return [word for word in words if word in _OPERATORS or word.endswith(";")]


def _workload_content(job: Job) -> list[str]:
    """The words of a workload; one that is a file of the tree by its content, not its name. So is a generated one."""
    if job.workload_file is not None:
        content = _content(job.workload_file)
        if content is None:
            raise UsageError(f"the generated workload {job.workload} is not on this machine")
        return [content]
    try:
        words = shlex.split(job.workload)
    except ValueError:
        words = [job.workload]
    return [_content(job.cwd / word) or word for word in words]


def _content(path: Path) -> str | None:
    try:
        if not path.is_file():
            return None
        import hashlib

        with path.open("rb") as file:
            return "sha1:" + hashlib.file_digest(file, "sha1").hexdigest()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the workload {path}: {error}") from error
