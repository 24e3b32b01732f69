"""What is checked out, read from git's files where they say it, and asked of git where they do not.

Every command asks for it, and starting git takes longer than the rest of most commands.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from perfcore.errors import VersionError
from perfcore.named_tuple import NamedTuple

if TYPE_CHECKING:
    from perfcore_vcs_git.command import Runner
    from perfcore_vcs_git.discovery import Places
    from perfcore_vcs_git.objects import Objects

BRANCH = "refs/heads/"
# 64 digits in a repository with SHA-256 (`git init --object-format`, git 2.29).
_ID = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64})\s*")


class Head(NamedTuple):
    """`ref` is the branch that is checked out, None for a detached head; `id` is None before the first commit."""

    ref: str | None
    id: str | None

    @property
    def name(self) -> str:
        """The branch as people call it, empty for a detached head."""
        return (self.ref or "").removeprefix(BRANCH)

    def version(self) -> str:
        """The version that is checked out."""
        if self.id is None:
            raise VersionError("there is no commit yet", hint="commit something first")
        return self.id


def read(runner: Runner, objects: Objects, places: Places) -> Head:
    """The head of a working tree."""
    path = places.git_dir / "HEAD"
    try:
        content = b"" if path.is_symlink() else path.read_bytes()
    except OSError as error:
        raise VersionError(f"cannot read git's file HEAD: {error.strerror}") from error
    if match := _ID.fullmatch(content):
        return Head(None, match[1].decode("ascii"))
    ref = content.removeprefix(b"ref: ").rstrip()
    if not content.startswith(b"ref: ") or ref.endswith(b"/.invalid"):  # the latter is what reftable writes there
        ref = runner.run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1)).rstrip(b"\n")
    name = os.fsdecode(ref) or None
    id = _id_in_files(places, name) if name else None
    return Head(name, id or _id_by_git(runner, objects))


def _id_in_files(places: Places, ref: str) -> str | None:
    """A branch's version where a file of its own or the packed ones tell it."""
    if not ref.startswith(BRANCH):
        return None
    try:
        match = _ID.fullmatch((places.common_dir / ref).read_bytes())
    except FileNotFoundError:
        match = _packed(places, ref)
    except OSError:
        return None
    return match[1].decode("ascii") if match else None


def _packed(places: Places, ref: str) -> re.Match[bytes] | None:
    try:
        content = (places.common_dir / "packed-refs").read_bytes()
    except OSError:
        return None
    # A search and not a loop: the file has a line for each branch and tag, and some projects have tens of thousands.
    end = content.find(b" " + os.fsencode(ref) + b"\n")
    return _ID.fullmatch(content, content.rfind(b"\n", 0, end) + 1, end) if end >= 0 else None


def _id_by_git(runner: Runner, objects: Objects) -> str | None:
    head_object = objects.ask("HEAD^{commit}")
    if head_object is not None:
        return head_object.id
    complaint = objects.complaints()
    if complaint.strip():
        raise runner.explain(("cat-file",), 128, complaint.encode())
    return None
