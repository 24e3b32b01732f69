"""Identity of two states of a program: equal trees of the version control system, or equal declared inputs.

A command may read any file, so nothing but these two is evidence that a change has no effect:

- Two versions whose trees are equal are one state: the same files are built by the same commands.
- Two built trees whose declared inputs hash alike are one state: the user says (`execute.inputs`, `--inputs`) that
  only these files, the built program among them, decide what the command does.

Everything else is measured.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfcore.errors import PerfError, UsageError
from perfcore.text import printable

if TYPE_CHECKING:
    from perfcore.hookspecs import Vcs

_State = tuple[str | None, Path]  # a version (None: the working tree) and its built tree


def is_identical(
    vcs: Vcs | None, first: _State, second: _State, inputs: Sequence[str], limit: float = math.inf
) -> bool:
    """Whether two states are the same. One working tree is the same as itself. Inputs of more than `limit` bytes are
    not read."""
    if first == second:
        return True
    if vcs is not None and first[0] is not None and second[0] is not None and same_tree(vcs, first[0], second[0]):
        return True
    hashes = [inputs_hash(tree, inputs, limit) for _, tree in (first, second)]
    return hashes[0] is not None and hashes[0] == hashes[1]


def state_key(vcs: Vcs, version: str, tree: Path, inputs: Sequence[str], keys: Mapping[str, str]) -> str:
    """A text that is equal for versions in the same state, among those whose keys are already in `keys`."""
    for keyed_version, key in keys.items():
        if same_tree(vcs, keyed_version, version):
            return key
    digest = inputs_hash(tree, inputs)
    return f"tree {version}" if digest is None else f"inputs {digest}"


def same_tree(vcs: Vcs, first: str, second: str) -> bool:
    """Whether no file differs between two versions. False if the version control system cannot tell."""
    if first == second:
        return True
    try:
        return not vcs.changed_files(first, second)
    except PerfError:  # an unreadable version is measured, and fails there with a better message
        return False


def inputs_hash(tree: Path, patterns: Sequence[str], limit: float = math.inf) -> str | None:
    """A hash over names, modes and contents of all files of a tree that match. None if there are no patterns, if they
    have more than `limit` bytes, or if a pattern matches no file: an input that is missing decides nothing about the
    command."""
    if not patterns:
        return None
    paths: set[Path] = set()
    for pattern in patterns:
        matches = list(_matches(tree, pattern))
        if not matches:
            return None
        paths.update(matches)
    # Not the tree ids of git: inputs are mostly built files, which git does not know.
    digest = hashlib.sha256()
    try:
        if sum(path.stat().st_size for path in paths if path.is_file()) > limit:
            return None
        for path in sorted(paths):
            for chunk in _parts(tree, path):
                digest.update(
                    b"%d:%b" % (len(chunk), chunk)
                )  # with its length, so that no two lists of parts are alike
    except OSError:
        return None
    return digest.hexdigest()


def _matches(tree: Path, pattern: str) -> Iterator[Path]:
    """The files that match a pattern such as `program` or `data/**`; a directory stands for every file below it."""
    if not pattern or Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        raise UsageError(
            f"the inputs {printable(repr(pattern))} are not a pattern of files below the tree",
            hint="write them relative to the root of the tree: --inputs program --inputs 'data/*.txt'",
        )
    for path in tree.glob(pattern):
        if path.is_symlink() or path.is_file():
            yield path
        elif path.is_dir():
            yield from (Path(folder, name) for folder, _, names in os.walk(path) for name in names)


def _parts(tree: Path, path: Path) -> tuple[bytes, ...]:
    # `lstat`, since the mode of a link's target is that of another file; the target's content counts below.
    name, mode = os.fsencode(path.relative_to(tree)), path.lstat().st_mode
    link = os.fsencode(os.readlink(path)) if path.is_symlink() else b""
    content = b""
    if path.is_file():
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").digest()
    # The executable bits only: the others depend on the umask of whoever built the tree.
    return name, b"%o" % (mode & 0o111), link, content
