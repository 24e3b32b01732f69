"""What differs between the head, the index and the files, and how changed files are kept and put back."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, get_args

from perfcore.errors import VersionError
from perfcore.named_tuple import NamedTuple
from perfcore.text import printable
from perfcore_vcs_git import durable

if TYPE_CHECKING:
    from perfcore_vcs_git.command import Runner

OURS = (".perf", ".tagit")
_GITLINK = b"160000"  # the mode of a submodule in a tree of git
# Paths in a message: enough to recognize them, and the hint still fits on the screen.
_LISTED = 5


class Change(NamedTuple):
    """A tracked path whose file, index entry and entry in the head are not all the same."""

    path: str
    submodule: bool

    @property
    def ours(self) -> bool:
        """Whether it belongs to perfcore or tagit, and does not count."""
        return self.path.split("/", 1)[0] in OURS


_Kind = Literal["missing", "file", "link", "folder"]


class Kept(NamedTuple):
    """How a changed path was: `data` is the file's name among the kept ones, or the target of a link."""

    kind: _Kind
    data: str = ""


def changed(runner: Runner) -> list[Change]:
    """The tracked paths with uncommitted changes. Nothing is written, not even git's index."""
    words = ("status", "--porcelain=v2", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=untracked")
    out = runner.run(*words)
    paths = []
    for item in out.split(b"\0")[:-1]:
        # git-status(1), porcelain format 2: blanks before the path of a changed entry (`1`) and of an unmerged one
        # (`u`). The third field is `S…` for a submodule. Renames (`2`) are switched off.
        fields = {b"1": 8, b"u": 10}.get(item[:1])
        if fields is not None:
            words_of = item.split(b" ", fields)
            paths.append(Change(os.fsdecode(words_of[fields]), words_of[2].startswith(b"S")))
    return paths


def overlooked(runner: Runner) -> list[Change]:
    """The tracked paths that git was told not to look at: assume-unchanged and skip-worktree. It overwrites them."""
    # git-ls-files(1): lower case is assume-unchanged, `S` is skip-worktree; `git status` tells of neither.
    items = runner.run("ls-files", "-v", "-z").split(b"\0")[:-1]
    return [Change(os.fsdecode(item[2:]), submodule=False) for item in items if item[:1].islower() or item[:1] == b"S"]


def plan(root: Path, found: Sequence[Change]) -> dict[str, Kept]:
    """How each changed path is now. VersionError where it could not be put back exactly as it is."""
    for change in found:
        if change.submodule:
            raise VersionError(
                f"the submodule {printable(change.path)} has changes, which cannot be put aside",
                hint="commit them, or measure in a tree elsewhere instead of in place",
            )
        if change.ours:
            raise VersionError(
                f"git tracks {printable(change.path)}, which has changes that measuring in place would revert",
                hint="take it out of git: git rm -r --cached " + change.path.split("/", 1)[0],
            )
    paths = {change.path for change in found}
    return {path: _how_it_is(root, path, paths, str(index)) for index, path in enumerate(sorted(paths))}


def copy_out(root: Path, path: str, kept: Kept, folder: Path) -> None:
    """Keep a file in a folder, byte for byte."""
    if kept.kind == "file":
        durable.copy(root / path, folder / kept.data)


def refuse_foreign(path: str, kept: Kept) -> None:
    """ValueError unless `plan` can have made this of a working tree: nothing leads out of it, or into git's folder."""
    parts = path.split("/")
    if "\0" in path or not {"", ".", ".."}.isdisjoint(parts) or ".git" in (part.lower() for part in parts):
        raise ValueError(f"{path!r} is no path that git tracks")
    if kept.kind not in get_args(_Kind) or not re.fullmatch("[0-9]+" if kept.kind == "file" else "(?s:.*)", kept.data):
        raise ValueError(f"{kept!r} is nothing that was kept")


def copy_back(root: Path, path: str, kept: Kept, folder: Path) -> None:
    """Make a path again what it was. Called for all of them in the order of their names."""
    target = root / path
    blocker = _not_a_folder_above(root, path)  # which may be a link to anywhere: nothing goes through it
    if kept.kind == "missing":
        if blocker is None and not _is_folder(target):
            target.unlink(missing_ok=True)
            _remove_empty(target.parent, root)
        return
    if blocker is not None:
        (root / blocker).unlink()
    is_folder = _is_folder(target)
    if kept.kind == "folder":
        if not is_folder:
            target.unlink(missing_ok=True)
            target.mkdir(parents=True, exist_ok=True)
        return
    if is_folder:
        shutil.rmtree(target)
    target.unlink(missing_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    if kept.kind == "link":
        os.symlink(kept.data, target)
    else:
        shutil.copy2(folder / kept.data, target)


def refuse_checkout(runner: Runner, root: Path, old: str, new: str) -> None:
    """VersionError where going from one version to another would overwrite what git does not track, or leave
    submodules behind. git itself overwrites ignored files."""
    added: set[str] = set()
    deleted: set[str] = set()
    for status, modes, path in _raw_diff(runner, old, new):
        if path.split("/", 1)[0] in OURS:
            raise VersionError(f"version {new[:10]} would replace {printable(path)}, which git tracks")
        if _GITLINK in modes and os.path.lexists(root / path / ".git"):
            raise VersionError(
                f"version {new[:10]} has another commit of the submodule {printable(path)}",
                hint="measure in a tree elsewhere instead of in place",
            )
        if status in b"AD":
            (added if status == b"A" else deleted).add(path)
    in_the_way = sorted({untracked for path in added for untracked in _untracked_at(root, path, deleted)})
    if in_the_way:
        listed = ", ".join(printable(path) for path in in_the_way[:_LISTED])
        further = f" and {len(in_the_way) - _LISTED} more" if len(in_the_way) > _LISTED else ""
        raise VersionError(
            f"version {new[:10]} would overwrite files that git does not track: {listed}{further}",
            hint="move them away, or measure in a tree elsewhere instead of in place",
        )


def _how_it_is(root: Path, path: str, paths: Collection[str], name: str) -> Kept:
    blocker = _not_a_folder_above(root, path)
    if blocker is not None:
        if blocker not in paths:
            raise _in_the_way(blocker)
        return Kept("missing")
    try:
        mode = os.lstat(root / path).st_mode
    except FileNotFoundError:
        return Kept("missing")
    if stat.S_ISREG(mode):
        return Kept("file", name)
    if stat.S_ISLNK(mode):
        return Kept("link", os.readlink(root / path))
    if not stat.S_ISDIR(mode):
        raise _in_the_way(path)
    for inside in _files_in(root, path):
        if inside not in paths:
            raise _in_the_way(inside)
    return Kept("folder")


def _in_the_way(path: str) -> VersionError:
    return VersionError(
        f"{printable(path)} stands where git has something else, and git does not track it",
        hint="move it away, or measure in a tree elsewhere instead of in place",
    )


def _untracked_at(root: Path, path: str, tracked: Collection[str]) -> Iterator[str]:
    """What stands at a path that is to be written, other than tracked files that will be gone."""
    blocker = _not_a_folder_above(root, path)
    if blocker is not None:
        if blocker not in tracked:
            yield blocker
    elif os.path.isdir(root / path) and not os.path.islink(root / path):
        yield from (inside for inside in _files_in(root, path) if inside not in tracked)
    elif os.path.lexists(root / path):
        yield path


def _not_a_folder_above(root: Path, path: str) -> str | None:
    """The first part of a path that is a file or a link, so that git cannot have what is below it."""
    for parent in reversed(PurePosixPath(path).parents[:-1]):
        parent_path = root / parent
        if os.path.islink(parent_path) or (os.path.lexists(parent_path) and not os.path.isdir(parent_path)):
            return str(parent)
    return None


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _files_in(root: Path, path: str) -> Iterator[str]:
    for folder, names, files in os.walk(root / path):
        links = [name for name in names if os.path.islink(os.path.join(folder, name))]
        for name in (*files, *links):
            yield Path(folder, name).relative_to(root).as_posix()


def _raw_diff(runner: Runner, old: str, new: str) -> Iterator[tuple[bytes, tuple[bytes, bytes], str]]:
    words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--ignore-submodules=none", old, new)
    fields = iter(runner.run(*words).split(b"\0")[:-1])
    for head, path in zip(fields, fields, strict=True):
        # git-diff-tree(1), raw format: `:mode mode id id status`, NUL, path.
        parts = head[1:].split(b" ")
        yield parts[4], (parts[0], parts[1]), os.fsdecode(path)


def _remove_empty(folder: Path, root: Path) -> None:
    """Remove a folder and those above it as far as they are empty, as git does."""
    while folder != root:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def between(runner: Runner, old: str | None, new: str) -> tuple[str, ...]:
    """The paths that differ between two versions, sorted; all paths where the old one is None."""
    if old is None:
        # With `-z` everywhere: git quotes odd paths otherwise (core.quotePath).
        out = runner.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", new)
        return tuple(sorted(os.fsdecode(path) for path in out.split(b"\0")[:-1]))
    return tuple(sorted(path for _, _, path in _raw_diff(runner, old, new)))
