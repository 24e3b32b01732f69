"""Where a repository is, found out by looking at files alone: no process, no GitPython.

What git itself calls the layout of a repository: gitrepository-layout(5), gitglossary(7).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from perfcore.errors import VersionError
from perfcore.named_tuple import NamedTuple
from perfcore.text import printable

# As git's own is_git_directory (setup.c): a HEAD of this form, and `objects` and `refs` or a `commondir`.
_HEAD = re.compile(rb"ref: |[0-9a-f]{40}")
_SECTION = r"\s*\[\s*([^\]\s\"]+)\s*(\"(?:[^\"\\]|\\.)*\")?\s*\](.*)"
_TRUE = {"true", "yes", "on", "1"}


class Places(NamedTuple):
    """One working tree (or bare repository) at `root`. `git_dir` is its own folder of administration, `common_dir`
    the one that linked working trees share."""

    root: Path
    git_dir: Path
    common_dir: Path

    @property
    def bare(self) -> bool:
        return self.root == self.git_dir

    @property
    def journal(self) -> Path:
        """The file that tells of changes which were put aside."""
        return self.git_dir / "perfcore-state"

    @property
    def shallow(self) -> Path:
        """The file that lists where the history of a shallow clone ends."""
        return self.common_dir / "shallow"


def detect(path: Path) -> Path | None:
    """The root of the working tree or bare repository that holds `path`."""
    start = Path(os.path.realpath(path))
    for folder in (start, *start.parents):
        marker = folder / ".git"
        if os.path.isfile(marker):
            return folder
        if _is_git_dir(marker):
            return _root_of(marker)
        if _is_git_dir(folder):
            return _root_of(folder)
    return None


def places(root: Path) -> Places:
    """What belongs to a root that `detect` gave. VersionError where there is no repository (any more)."""
    marker = root / ".git"
    if os.path.isfile(marker):
        git_dir = _linked(marker)
    elif _is_git_dir(marker):
        git_dir = Path(os.path.realpath(marker))
    elif _is_git_dir(root):
        git_dir = root
    else:
        raise VersionError(
            f"there is no git repository at {printable(str(root))}",
            hint="make one with `git init`; `git fsck` tells what is wrong with one that should be there",
        )
    return Places(root, git_dir, _common_dir(git_dir))


def home(found: Places) -> Path:
    """The main working tree; the folder of administration where there is none, or where git cannot tell."""
    common = found.common_dir
    core = _core(common)
    if core.get("bare", "false").lower() in _TRUE:
        return common
    if "worktree" in core:
        return Path(os.path.realpath(common / core["worktree"]))
    return common.parent if common.name == ".git" else common


def _root_of(git_dir: Path) -> Path:
    """The working tree of a folder of administration, or that folder if it is a bare repository's."""
    git_dir = Path(os.path.realpath(git_dir))
    # `gitdir` and `commondir` are what `git worktree add` writes: the folder is that of a linked working tree.
    gitdir_file = _read(git_dir / "gitdir")
    if gitdir_file is not None and (git_dir / "commondir").is_file():
        return Path(os.path.realpath(git_dir / os.fsdecode(gitdir_file.strip(b"\r\n")))).parent
    core = _core(git_dir)
    if core.get("bare", "false").lower() in _TRUE:
        return git_dir
    if "worktree" in core:
        tree = Path(os.path.realpath(git_dir / core["worktree"]))
        if os.path.exists(tree / ".git"):
            return tree
    return git_dir.parent if git_dir.name == ".git" else git_dir


def _is_git_dir(folder: Path) -> bool:
    head = folder / "HEAD"
    if os.path.islink(head):
        looks_right = True
    else:
        content = _read(head)
        looks_right = content is not None and _HEAD.match(content) is not None
    if not looks_right:
        return False
    if os.path.isfile(folder / "commondir"):
        return True
    return os.path.isdir(folder / "objects") and os.path.isdir(folder / "refs")


def _linked(marker: Path) -> Path:
    content = _read(marker) or b""
    if not content.startswith(b"gitdir: "):
        raise VersionError(
            f"{printable(str(marker))} is not a file that git wrote", hint="remove it if it is not needed"
        )
    target = Path(os.path.realpath(marker.parent / os.fsdecode(content[8:].rstrip(b"\r\n"))))
    if not _is_git_dir(target):
        raise VersionError(
            f"{printable(str(marker))} points to {printable(str(target))}, and there is no repository",
            hint="if the repository was moved, run `git worktree repair` in its main working tree",
        )
    return target


def _common_dir(git_dir: Path) -> Path:
    content = _read(git_dir / "commondir")
    if content is None:
        return git_dir
    return Path(os.path.realpath(git_dir / os.fsdecode(content.rstrip(b"\r\n"))))


def _core(common: Path) -> dict[str, str]:
    """`core.bare` and `core.worktree`, which git takes from the repository's own configuration only."""
    settings: dict[str, str] = {}
    # In this order, for the worktree's own file outweighs the shared one (extensions.worktreeConfig).
    for name in ("config", "config.worktree"):
        content = _read(common / name)
        if content is not None:
            settings |= _parse_core(content.decode("utf-8", "surrogateescape"))
    return settings


def _parse_core(text: str) -> dict[str, str]:
    settings: dict[str, str] = {}
    inside = False
    for line_text in text.splitlines():
        line = line_text
        if section := re.match(_SECTION, line):
            inside = section[1].lower() == "core" and section[2] is None
            line = section[3]
        key, sign, value = line.partition("=")
        if inside and key.strip().lower() in ("bare", "worktree"):
            settings[key.strip().lower()] = _value(value) if sign else "true"
    return settings


def _value(text: str) -> str:
    """A value of a configuration file, without its comment, quotes and escapes."""
    text = text.strip()
    if text.startswith('"'):
        closing = re.match(r'"((?:[^"\\]|\\.)*)"', text)
        return re.sub(r"\\(.)", r"\1", closing[1]) if closing else text
    return re.split(r"\s*[#;]", text, maxsplit=1)[0].replace("\\\\", "\\")


def _read(path: Path) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except (OSError, ValueError):
        return None
