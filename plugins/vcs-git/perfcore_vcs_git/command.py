"""Running git, always in the same environment, and what its failures mean.

What changes something goes through GitPython (`change`): trees, the index, heads, new repositories. What only reads
starts git itself (`run`, `start`): `perf status`, `log` and `add` do no more than that, and importing GitPython
takes longer than the git they need.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import TYPE_CHECKING, Any

from perfcore.errors import PerfError, PluginError, VersionError
from perfcore.named_tuple import NamedTuple
from perfcore.text import printable
from perfcore_vcs_git import programs as own_programs
from perfcore_vcs_git.programs import Programs

if TYPE_CHECKING:
    from git.cmd import Git as GitCommand

# That of Ubuntu 20.04. What newer ones know is used where there is something to do without it.
OLDEST = (2, 25)
# Lines of a complaint in a message: the first ones name the cause, what follows are its consequences.
_TOLD = 4
_PLUGIN = "vcs git"
# Hooks and the file system monitor are the user's: neither measuring nor looking may start them. An empty value
# also means "none" to git before 2.36, where `core.fsmonitor` is the path of a hook.
_CONFIG = ("core.hooksPath=/dev/null", "core.fsmonitor=", "submodule.recurse=false")
# Optional locks: `git status` would refresh the user's index, and stop a git that works beside it. Prompts would wait
# for a password for ever. The locale: the texts of errors are matched below.
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "LC_ALL": "C"}
# Variables that point git at another repository or change what its commands mean; git sets some for its hooks.
_FOREIGN = frozenset(
    f"GIT_{name}"
    for name in (
        *("DIR", "WORK_TREE", "COMMON_DIR", "INDEX_FILE", "IMPLICIT_WORK_TREE", "PREFIX", "NAMESPACE", "CONFIG"),
        *("GRAFT_FILE", "SHALLOW_FILE", "INTERNAL_SUPER_PREFIX", "ATTR_SOURCE", "EXTERNAL_DIFF", "DIFF_OPTS"),
        *("LITERAL_PATHSPECS", "GLOB_PATHSPECS", "NOGLOB_PATHSPECS", "ICASE_PATHSPECS"),
    )
)
_OBJECTS = frozenset({"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"})
# Who only looks reaches no other repository: in a partial clone the configuration of the clone, which somebody else
# may have written, says by which program git fetches an object that is not here. GIT_NO_LAZY_FETCH is of git 2.45;
# in older ones no protocol is allowed. (`none` is no protocol; on Windows an empty variable is none.)
_LOOKING = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
_PROTOCOLS = "file:git:http:https:ssh"
_FILTERING = frozenset(("status", "read-tree", "worktree", "update-index"))  # commands that may run filters
_swapping = threading.Lock()


class Runner(NamedTuple):
    """Runs git in a folder. `common_dir` is asked for when it is needed; `options` go before the command. Of the
    filters in the repository's own configuration only those in `filters` run."""

    folder: Path
    common_dir: Callable[[], Path]
    options: tuple[str, ...] = ()
    filters: frozenset[str] = frozenset()

    def run(
        self,
        *words: str,
        config: Sequence[str] = (),
        stdin: bytes | None = None,
        ok: Sequence[int] = (0,),
        hooks: bool = False,
    ) -> bytes:
        """What a git command that only reads prints. VersionError says what it complained about, unless it ended
        as in `ok`."""
        if words[0] in _FILTERING:
            config = (*config, *self._programs(words).config(strict=False))
        process = self.start(*words, config=config, stdin=stdin is not None, hooks=hooks)
        return self._outcome(process, words, stdin, ok)

    def start(
        self,
        *words: str,
        config: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        stdin: bool = False,
        hooks: bool = False,
    ) -> Any:
        """The process of a git command that only reads, with pipes."""
        variables = {name: value for name, value in os.environ.items() if not self._is_strange(name)}
        command = self._command(_program(), words, config, hooks)
        try:
            return Popen(
                command,
                stdin=PIPE if stdin else DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                env=variables | self._variables(env) | _LOOKING,
            )
        except OSError as error:
            raise _missing(error) from error

    def change(
        self,
        *words: str,
        config: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        ok: Sequence[int] = (0,),
        pass_fds: Sequence[int] = (),
    ) -> bytes:
        """As `run`, for a command that writes to the repository or to a tree: through GitPython."""
        git = _gitpython()
        # GitPython that failed to be imported because there was no git leaves the first unset when tried again.
        program = git.GIT_PYTHON_GIT_EXECUTABLE or git.git_exec_name
        descriptors: dict[str, Any] = {"pass_fds": tuple(pass_fds)} if pass_fds else {}
        programs = self._programs(words) if words[0] in _FILTERING else Programs(transport=True)
        config = (*config, *programs.config(strict=True))
        try:
            with self._own_environment():
                process = git.execute(
                    self._command(program, words, config),
                    as_process=True,
                    shell=False,
                    env=self._variables(env) | _reaching(programs),
                    **descriptors,
                )
        except (_not_found(), OSError) as error:
            raise _missing(error) from error
        try:
            return self._outcome(process, words, None, ok)
        except PerfError as error:
            raise programs.explain(error) from error

    def _programs(self, words: Sequence[str]) -> Programs:
        return own_programs.of(self, submodules=words[0] == "status")

    def _outcome(self, process: Any, words: Sequence[str], stdin: bytes | None, ok: Sequence[int]) -> bytes:
        try:
            out, complaint = process.communicate(stdin)
        except BaseException:
            process.kill()
            process.communicate()
            raise
        if process.returncode not in ok:
            raise self.explain(words, process.returncode, complaint)
        return bytes(out)

    def _command(self, program: str, words: Sequence[str], config: Sequence[str], hooks: bool = False) -> list[str]:
        settings = [*(_CONFIG[1:] if hooks else _CONFIG), *config]
        options = [word for setting in settings for word in ("-c", setting)]
        # Not by a working directory: it may be gone, and GitPython expands `~` and `$` in it.
        return [program, "-C", str(self.folder), "--no-pager", "--literal-pathspecs", *self.options, *options, *words]

    def _variables(self, env: Mapping[str, str] | None) -> dict[str, str]:
        # The ceiling: a repository that git finds broken must not lead it to another one further up.
        return {**_ENVIRONMENT, "GIT_CEILING_DIRECTORIES": str(self.folder.parent), **(env or {})}

    def explain(self, words: Sequence[str], status: int, complaint: bytes) -> PerfError:
        """The error that tells the truth about a command that failed."""
        text = complaint.decode("utf-8", "replace")
        # 129 is git's exit code for a wrong usage: an old git meets an option that it does not know.
        if status == 129 or "is not a git command" in text:
            version = self.version()
            if version < OLDEST:
                return PluginError(
                    f"git {_dotted(version)} is too old",
                    plugin=_PLUGIN,
                    hint=f"install git {_dotted(OLDEST)} or newer",
                )
        return _explained(self.folder, words[0], status, text)

    def version(self) -> tuple[int, ...]:
        """The version of git itself."""
        match = re.search(rb"(\d+)\.(\d+)(?:\.(\d+))?", self.start("version").communicate()[0])
        return tuple(int(component) for component in match.groups(b"0")) if match else (0,)

    @contextlib.contextmanager
    def _own_environment(self) -> Iterator[None]:
        """GitPython hands down the whole environment and can add to it but not take away: what would point git
        elsewhere is taken out while the process is started."""
        strange = [name for name in os.environ if self._is_strange(name)]
        if not strange:
            yield
            return
        with _swapping:
            removed = {name: os.environ.pop(name) for name in strange if name in os.environ}
            try:
                yield
            finally:
                os.environ.update(removed)

    def _is_strange(self, name: str) -> bool:
        if not name.startswith("GIT_"):
            return False
        if name in _OBJECTS:
            return not self._in_quarantine()
        if name.startswith("GIT_TRACE"):  # to a file is harmless, to a pipe that nobody empties is not
            return not os.path.isabs(os.environ[name])
        return name in _FOREIGN

    def _in_quarantine(self) -> bool:
        """Whether this is a hook that looks at a push to this repository before git accepts it."""
        path = os.environ.get("GIT_QUARANTINE_PATH")
        if not path:
            return False
        try:
            return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.common_dir()))
        except PerfError:
            return False


def _reaching(programs: Programs) -> dict[str, str]:
    """What lets git fetch what a partial clone lacks for a tree, unless the clone says by which programs."""
    if programs.transport:
        return _LOOKING
    return {"GIT_ALLOW_PROTOCOL": os.environ.get("GIT_ALLOW_PROTOCOL", _PROTOCOLS)}


def stop(process: Any) -> None:
    """End a process, whatever it is doing, and close its pipes."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            process.kill()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            with contextlib.suppress(OSError):  # a request that nobody will read any more
                pipe.close()
    process.wait()


def disown(process: Any) -> None:
    """Let go of what a forked process has of its parent's process, which goes on for the parent."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()
    process.returncode = 0  # or else Popen would warn that it was not waited for


def finish(process: Any) -> tuple[int, bytes]:
    """(exit code, complaint) of a process that ends by itself: all it printed was read, or nothing is asked of
    it any more."""
    if process.stdin:
        with contextlib.suppress(OSError):
            process.stdin.close()
    process.stdout.close()
    with process.stderr:
        complaint = bytes(process.stderr.read())
    return int(process.wait()), complaint


def _program() -> str:
    """The git that GitPython would start."""
    named = os.environ.get("GIT_PYTHON_GIT_EXECUTABLE")
    if named or sys.platform != "win32":
        return named or "git"
    # Windows would take one from the working directory first, whoever put it there.
    folders = [Path(folder) for folder in os.get_exec_path() if os.path.isabs(folder)]
    return str(next((folder / "git.exe" for folder in folders if (folder / "git.exe").is_file()), "git"))


def _gitpython() -> GitCommand:
    try:
        from git.cmd import Git as GitCommand
    except ModuleNotFoundError as error:
        raise PluginError(
            f"the Python package {error.name} is missing", plugin=_PLUGIN, hint="pip install GitPython"
        ) from error
    except ImportError as error:  # GitPython looks for git when it is imported
        raise _missing(error) from error
    return GitCommand()


def _not_found() -> type[Exception]:
    from git.exc import GitCommandNotFound

    return GitCommandNotFound


def _missing(error: BaseException) -> PluginError:
    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
        return PluginError(f"the program git cannot be started: {error.strerror}", plugin=_PLUGIN)
    return PluginError(
        "the program git is not installed, or not on the PATH",
        plugin=_PLUGIN,
        hint="install git (https://git-scm.com), or put it on the PATH",
    )


_MEANINGS: tuple[tuple[str, str, str], ...] = (
    (
        r"dubious ownership|unsafe repository",
        "git refuses to work in {folder}: it belongs to another user",
        "if you trust its owner: git config --global --add safe.directory {quoted}",
    ),
    (
        r"safe\.bareRepository",
        "git refuses the bare repository {folder}: safe.bareRepository is `explicit`",
        "git config --global safe.bareRepository all",
    ),
    (
        r"not a git repository|cannot change to|not in a git directory",
        "there is no git repository at {folder} that git can open",
        "`git fsck` there tells what is wrong with one that should be",
    ),
    (
        r"\.lock': File exists|Another git process",
        "another git process is at work in {folder}: {line}",
        "wait for it; if there is none, remove the file",
    ),
    (
        r"No space left on device",
        "the disk is full: {line}",
        "free some space and try again",
    ),
    (
        r"from promisor remote|transport '.*' not allowed|lazy fetching disabled",
        "an object of {folder} is not available in this partial clone: {line}",
        "git fetch --refetch --no-filter (git 2.36 or newer) brings all of them, once you trust where it fetches from",
    ),
    (
        r"(?i:bad object|corrupt|unable to (?:read|parse|unpack)|could not (?:read|parse)|inflate|missing object|"
        r"bad tree object|unable to find|failed to (?:read|traverse)|index file smaller|bad (?:index|signature))",
        "the repository {folder} is damaged, or objects are missing: {line}",
        "`git fsck` lists what is wrong; `git fetch` can bring objects back",
    ),
)


def _explained(folder: Path, command: str, status: int, complaint: str) -> VersionError:
    line = _telling_line(complaint) or f"exit code {status}"
    printable_folder = printable(str(folder))
    for pattern, message, hint in _MEANINGS:
        if re.search(pattern, complaint):
            import shlex

            values = {"folder": printable_folder, "line": line, "quoted": shlex.quote(str(folder))}
            return VersionError(message.format(**values), hint=printable(hint.format(**values)))
    return VersionError(f"git {command} failed in {printable_folder}: {_in_short(complaint) or line}")


def _telling_line(complaint: str) -> str:
    """The line of a complaint that says what is wrong."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    # The first error names the cause; the `fatal:` that follows often says only that git gave up.
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    fatal = [line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")]
    return printable((errors[:1] or fatal[-1:] or lines[-1:] or [""])[0])


def _in_short(complaint: str) -> str:
    """The first lines of a complaint in one."""
    lines = [re.sub(r"^(error|fatal): ", "", line.strip()) for line in complaint.splitlines()]
    messages = [printable(line) for line in lines if line and not line.startswith("hint:")]
    return "; ".join(messages[:_TOLD])


def _dotted(version: Sequence[int]) -> str:
    return ".".join(str(component) for component in version)
