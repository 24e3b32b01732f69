"""Lines in git's hooks that run a command after every new version."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfcore import files
from perfcore.errors import VersionError
from perfcore.text import printable

if TYPE_CHECKING:
    from perfcore_vcs_git.command import Runner
    from perfcore_vcs_git.discovery import Places

_BEGIN, _END = b"# >>> perfcore >>>", b"# <<< perfcore <<<"
_BLOCK = re.compile(re.escape(_BEGIN) + rb".*?" + re.escape(_END) + rb"\r?\n?", re.DOTALL)
_SHELL = re.compile(rb"#!\s*(\S*/)?(env\s+(-\S+\s+)*)?(sh|bash|dash|ksh|zsh|ash)(\.exe)?(\s|$)")
# New versions come by commits and by merges; to a bare repository they come by pushes.
_HOOKS, _BARE_HOOKS = ("post-commit", "post-merge"), ("post-receive",)


def install(runner: Runner, places: Places, command: Sequence[str]) -> Path:
    """Write the command into the hooks, once, beside what the user has there. Gives the first hook's file."""
    line = _line(command)
    folder = _hooks_folder(runner, places)
    hooks = [folder / name for name in (_BARE_HOOKS if places.bare else _HOOKS)]
    texts = {hook: _with_block(hook, line) for hook in hooks}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for hook, text in texts.items():
            _write(hook, text)
    except OSError as error:
        raise VersionError(f"cannot write {printable(str(folder))}: {error.strerror}") from error
    return hooks[0]


def _line(command: Sequence[str]) -> bytes:
    if not command or any("\0" in word for word in command):
        raise VersionError("there is no command that a hook could run")
    words = b" ".join(os.fsencode(shlex.quote(word)) for word in command)
    # Not before git's own variables are gone: they would point a git in the measured command at this repository.
    # From /dev/null, since post-receive has the pushed refs as its input; `|| :`, since its failure is not git's.
    return b"( unset $(git rev-parse --local-env-vars); exec " + words + b" ) </dev/null || :"


def _hooks_folder(runner: Runner, places: Places) -> Path:
    """Where git looks for hooks, unless other repositories use that folder too."""
    hooks_path = runner.run("rev-parse", "--git-path", "hooks", hooks=True).removesuffix(b"\n")
    folder = Path(os.path.realpath(places.root / os.fsdecode(hooks_path)))
    if not any(folder.is_relative_to(root) for root in (places.root, places.git_dir, places.common_dir)):
        raise VersionError(
            f"core.hooksPath is {printable(str(folder))}, outside this repository: its hooks run for others too",
            hint="write the line into a hook there yourself, or set core.hooksPath for this repository",
        )
    return folder


def _with_block(hook: Path, line: bytes) -> bytes:
    """The hook's text with our block right after its first line, where no `exit` or `exec` comes before it."""
    block = _BEGIN + b" written by perfcore, which replaces all up to the last line\n" + line + b"\n" + _END + b"\n"
    try:
        old = hook.read_bytes()
    except FileNotFoundError:
        return b"#!/bin/sh\n" + block
    except OSError as error:
        raise VersionError(f"cannot read {printable(str(hook))}: {error.strerror}") from error
    if not os.access(hook, os.X_OK):
        raise VersionError(
            f"{printable(str(hook))} is there but not executable, so git does not run it",
            hint="make it executable, or move it away",
        )
    # Taken out first, so that installing again replaces the block and never adds a second one.
    first, newline, remainder = _BLOCK.sub(b"", old).partition(b"\n")
    if not _SHELL.match(first):
        raise VersionError(
            f"{printable(str(hook))} is not a shell script",
            hint=printable(f"have it run {line.decode('utf-8', 'replace')}"),
        )
    return first + (newline or b"\n") + block + remainder


def _write(hook: Path, text: bytes) -> None:
    target = Path(os.path.realpath(hook))  # a link to a hook that is kept elsewhere stays a link
    mode = target.stat().st_mode & 0o7777 if target.exists() else 0o777 & ~_umask()
    if target.exists() and target.read_bytes() == text:
        return
    files.write_atomically(target, text)
    target.chmod(mode)


def _umask() -> int:
    # There is no call that only reads it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
