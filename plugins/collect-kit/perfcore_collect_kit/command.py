"""From a job to the process that is started: the program found, words and environment checked."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfcore.errors import CommandFailedError, UsageError, nearest
from perfcore.named_tuple import NamedTuple
from perfcore.text import clip, printable

if TYPE_CHECKING:
    from perfcore.model import Job

SHOWN = 100  # columns of a command in a message
SHELL = "/bin/sh"  # as system(3) and Python's subprocess use
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"  # where the job has no PATH at all
# Of thousands of programs one is like any word: `chcon` is not what was meant by `nosuchcommand`.
_ALIKE = 0.75
# Where git looks for a repository, its index and its objects. git sets them for its hooks, and then they name the
# repository of the hook: `git describe` in the tree of a version would name another version, and `git add` would write
# into the commit that is being made.
_OF_A_HOOK = frozenset(
    f"GIT_{name}"
    for name in (
        *("DIR", "WORK_TREE", "IMPLICIT_WORK_TREE", "COMMON_DIR", "INDEX_FILE", "PREFIX", "NAMESPACE", "GRAFT_FILE"),
        *("SHALLOW_FILE", "OBJECT_DIRECTORY", "ALTERNATE_OBJECT_DIRECTORIES", "QUARANTINE_PATH"),
    )
)
_SHELL_SIGNS = frozenset("|&;<>()$`*?'\"\\")  # POSIX, Shell Command Language, 2.2: they mean something to a shell only


class Spec(NamedTuple):
    """A command as it is started. `stdout` is a path, or a number that the collector gives a meaning; without `cpus`
    the command runs where the collecting process may."""

    path: bytes
    argv: list[bytes]
    environment: list[bytes]
    cwd: bytes
    stdin: bytes
    stdout: bytes | int
    cpus: tuple[int, ...]
    timeout: float | None


def inherited() -> Mapping[str, str]:
    """The environment of perf, which every command gets: without what points git at the repository of a hook, since git
    finds that of the folder in which the command runs."""
    return {name: text for name, text in os.environ.items() if name not in _OF_A_HOOK}


def check(job: Job) -> None:
    """UsageError for a job that no system could start, CommandFailedError when its folder is not there."""
    if not job.argv or not job.argv[0]:
        raise UsageError("there is no command to be measured")
    for text in (*job.argv, *job.env, *job.env.values(), str(job.cwd)):
        if "\0" in text or not _encodable(text):
            raise UsageError(f"{shown(job.argv)}: no command can take {clip(printable(repr(text)), SHOWN)}")
    for name in job.env:
        if not name or "=" in name:
            raise UsageError(f"{printable(name)!r} cannot be the name of an environment variable")
    if not job.cwd.is_dir():
        raise CommandFailedError(f"{shown(job.argv)} cannot run: there is no folder {printable(str(job.cwd))}")


def spec(
    job: Job,
    *,
    stdin: Path | None = None,
    stdout: bytes | int = os.devnull.encode(),
    cpus: tuple[int, ...] = (),
    timeout: float | None = None,
) -> Spec:
    """The measured command. CommandFailedError when its program or its input is not there."""
    prepared = shell(job, " ".join(job.argv)) if job.shell else _plain(job)
    return prepared._replace(stdin=_input(job, stdin), stdout=stdout, cpus=cpus, timeout=timeout)


def shell(job: Job, script: str, *, stdout: bytes | int = os.devnull.encode(), timeout: float | None = None) -> Spec:
    """A shell command in the folder and environment of a job."""
    return Spec(
        path=os.fsencode(SHELL),
        argv=[b"sh", b"-c", os.fsencode(script)],
        environment=_environment(job),
        cwd=os.fsencode(job.cwd.absolute()),
        stdin=os.devnull.encode(),
        stdout=stdout,
        cpus=(),
        timeout=timeout,
    )


def output(job: Job, chosen: str, inherit: int) -> bytes | int:
    """Where standard output goes, for the option `output`. `inherit` is how the collector says that it is ours."""
    if chosen == "inherit":
        return inherit
    return os.fsencode(os.devnull if chosen == "null" else job.cwd.absolute() / chosen)


def _plain(job: Job) -> Spec:
    return shell(job, "")._replace(path=os.fsencode(_program(job)), argv=[os.fsencode(word) for word in job.argv])


def _encodable(text: str) -> bool:
    try:
        return bool(os.fsencode(text)) or not text
    except UnicodeEncodeError:
        return False


def _environment(job: Job) -> list[bytes]:
    variables = {**inherited(), **job.variables}
    return [os.fsencode(name) + b"=" + os.fsencode(text) for name, text in variables.items()]  # not all of it is UTF-8


def _input(job: Job, stdin: Path | None) -> bytes:
    if stdin is None:
        return os.devnull.encode()
    path = job.cwd.absolute() / stdin
    if path.is_file() and os.access(path, os.R_OK):
        return os.fsencode(path)
    why = "it may not be read" if path.is_file() else "it is no file" if path.exists() else "it is not there"
    raise CommandFailedError(
        f"{shown(job.argv)} cannot get its input {printable(str(path))}: {why}", hint=_neighbour(path)
    )


def _program(job: Job) -> Path:
    """The file that `argv[0]` names, seen from the job's folder."""
    name = job.argv[0]
    if "/" in name:
        return _executable(job, job.cwd.absolute() / name)
    candidates = [folder / name for folder in _folders(job)]
    executables = [path for path in candidates if path.is_file()]
    usable = next((path for path in executables if os.access(path, os.X_OK)), None)  # as execvp(3)
    return usable or (_executable(job, executables[0]) if executables else _missing(job))


def _executable(job: Job, path: Path) -> Path:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise _not_started(job, error.strerror or str(error), _of_quoted_path(job, path)) from error
    if stat.S_ISDIR(mode):
        raise _not_started(job, "it is a folder")
    if not os.access(path, os.X_OK):
        raise _not_started(job, "it may not be executed", f"`chmod +x {printable(job.argv[0])}` allows it")
    return path


def _missing(job: Job) -> Path:
    name = job.argv[0]
    if (job.cwd / name).is_file():
        raise _not_started(job, "it is not in PATH", f"./{printable(name)} exists: write ./{printable(name)}")
    if hint := _quoted(job):
        raise _not_started(job, "no program has this name", hint)
    raise _not_started(job, "it is not in PATH", nearest(name, sorted(set(_commands(job))), alike=_ALIKE))


def is_quoted(job: Job) -> bool:
    """Whether a job that no shell runs is one word with blanks: a whole command in quotes, as hyperfine takes it."""
    return not job.shell and len(job.argv) == 1 and len(job.argv[0].split()) > 1


def _quoted(job: Job) -> str | None:
    """The hint of such a job."""
    if not is_quoted(job):
        return None
    text = job.argv[0]
    if _SHELL_SIGNS.isdisjoint(text) and "=" not in text.split()[0]:
        return "it was taken as one word: write it without quotes, or add --shell, which lets a shell run it"
    return "it was taken as one word: add --shell, which lets a shell run it"


def _of_quoted_path(job: Job, path: Path) -> str | None:
    """The hint of a path that is not there. One with a blank may be a file's, or a whole command in quotes, whose first
    word is then a program."""
    program = job.argv[0].split()[0] if is_quoted(job) else ""
    folders = [job.cwd] if "/" in program else _folders(job)
    if program and any((folder / program).is_file() for folder in folders):
        return _quoted(job)
    return _neighbour(path) or _quoted(job)


def _not_started(job: Job, why: str, hint: str | None = None) -> CommandFailedError:
    name = clip(printable(job.argv[0]), SHOWN)
    return CommandFailedError(f"cannot start `{name}`: {why[0].lower()}{why[1:]}", hint=hint)


def _neighbour(path: Path) -> str | None:
    """The nearest name in the same folder."""
    try:
        return nearest(path.name, sorted(sibling.name for sibling in path.parent.iterdir()), alike=_ALIKE)
    except OSError:
        return f"there is no folder {printable(str(path.parent))}"


def _folders(job: Job) -> list[Path]:
    """PATH as the command will have it."""
    # POSIX: an empty folder is the current one; that of the command, like all relative ones, is the job's.
    path = job.variables.get("PATH", os.environ.get("PATH", _DEFAULT_PATH))
    return [job.cwd.absolute() / folder for folder in path.split(os.pathsep)]


def _commands(job: Job) -> Iterator[str]:
    for folder in _folders(job):
        try:
            yield from os.listdir(folder)
        except OSError:
            continue


class StartError(Exception):
    """A command could not be started: `step` is cwd, stdin, output, cpus or start."""

    def __init__(self, step: str, errno: int) -> None:
        super().__init__(f"{step}: {os.strerror(errno)}")
        self.step = step
        self.errno = errno


def shown(words: Sequence[str]) -> str:
    """A command in a message: as one would type it, on one line, and not too long. A shell's script stays as it is."""
    return f"`{clip(printable(words[0] if len(words) == 1 else shlex.join(words)), SHOWN)}`"
