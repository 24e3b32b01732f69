"""Commits: streamed from one `git log`, and read from their raw form. Both give the same for the same commit."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from perfcore.errors import VersionError
from perfcore.model import MinorVersion
from perfcore_vcs_git.command import finish, stop

if TYPE_CHECKING:
    from perfcore_vcs_git.command import Runner

_FORMAT = "--format=tformat:%H%x00%P%x00%an%x00%ae%x00%ct%x00%s"
_FIELDS = 6
# The capacity of a pipe on Linux (pipe(7)): a larger read would get no more.
_CHUNK = 1 << 16
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# Digits that fit into 64 bits: broken commits have times that do not.
_SECONDS = re.compile(r"[0-9]{1,18}")
_version = functools.partial(tuple.__new__, MinorVersion)  # as `MinorVersion._make`, without a call of Python


def walk(runner: Runner, head: str, newest: int | None = None) -> Iterator[MinorVersion]:
    """`head` and its ancestors, as git prints them; at most the `newest` in git's default order.

    `--date-order` is the one order of git that is both newest first and never has a version after its parent,
    whatever the clocks said; it streams at once where git keeps a commit-graph, and elsewhere reads all commits
    first, which costs no more in the end. The order is git's own, not its default: that one breaks when clocks
    are wrong.
    """
    process = runner.start(
        "log",
        *("-z", "--date-order" if newest is None else f"--max-count={newest}", _FORMAT, "--encoding=UTF-8"),
        *("--no-show-signature", "--no-color", "--no-decorate", "--no-patch"),
        head,
        "--",
        env={"GIT_FLUSH": "0"},  # or else git writes to a pipe commit by commit, at more than the cost of reading
    )
    done = False
    try:
        unlisted: list[str] = []
        incomplete = b""
        while chunk := process.stdout.read1(_CHUNK):
            records, zero, incomplete = (incomplete + chunk).rpartition(b"\0")
            if zero:
                fields = unlisted + records.decode("utf-8", "replace").split("\0")
                end = len(fields) - len(fields) % _FIELDS
                unlisted = fields[end:]
                yield from _versions(fields[:end])
        done = True
    finally:
        if not done:
            stop(process)
    status, complaint = finish(process)
    if status:
        raise runner.explain(("log",), status, complaint)


def parse_commit(id: str, data: bytes, *, ends_here: bool = False) -> MinorVersion:
    """A commit object. `ends_here` says that a shallow clone does not have its parents."""
    head, _, body = data.partition(b"\n\n")
    fields: dict[str, list[bytes]] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key.decode("latin-1"), []).append(value)
    encoding = fields.get("encoding", [b"utf-8"])[0].decode("latin-1")
    author, email, _ = _identity(_decode(fields.get("author", [b""])[0], encoding))
    _, _, date = _identity(_decode(fields.get("committer", [b""])[0], encoding))
    parents = () if ends_here else tuple(parent.decode("latin-1") for parent in fields.get("parent", []))
    if not all(map(_ID.fullmatch, parents)):
        raise VersionError(f"the commit {id} is damaged: its parents are not ids", hint="`git fsck` tells what else is")
    return MinorVersion(
        id=id, parents=parents, author=author, email=email, date=date, subject=_subject(_decode(body, encoding))
    )


def _versions(fields: list[str]) -> Iterator[MinorVersion]:
    """The versions of these fields, column by column: a history has many."""
    ids, parents, authors, emails, dates, subjects = (fields[column::_FIELDS] for column in range(_FIELDS))
    seconds = [int(date or 0) for date in dates]
    return map(_version, zip(ids, map(tuple, map(str.split, parents)), authors, emails, seconds, subjects, strict=True))


def _identity(text: str) -> tuple[str, str, int]:
    """(name, address, time) of `Jane <jane@example.org> 1700000000 +0100`; nothing of what is not written so."""
    name, _, address = text.partition("<")
    email, closed, _ = address.partition(">")
    if not closed:
        return "", "", 0
    seconds = _SECONDS.search(address.rpartition(">")[2])
    return name.rstrip(" \t\r"), email, int(seconds[0]) if seconds else 0


def _decode(data: bytes, encoding: str) -> str:
    """Text as `git log --encoding=UTF-8` gives it: as it stands where it is not what the commit says it is."""
    try:
        return data.partition(b"\0")[0].decode(encoding)
    except (LookupError, ValueError):  # not every codec of Python tells with a UnicodeDecodeError
        return data.partition(b"\0")[0].decode("utf-8", "replace")


def _subject(message: str) -> str:
    """The first paragraph in one line, as git's `%s`."""
    lines: list[str] = []
    for line in message.split("\n"):
        trimmed = line.rstrip(" \t\r")
        if not trimmed and lines:
            break
        if trimmed:
            lines.append(trimmed)
    return " ".join(lines)
