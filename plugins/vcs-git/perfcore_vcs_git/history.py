"""Commits: streamed from one `git log`, and read from their raw form. Both give the same for the same commit."""

from __future__ import annotations

import contextlib
import functools
import re
from io import BytesIO
from typing import IO, TYPE_CHECKING

from perfcore.errors import VersionError
from perfcore.model import MinorVersion
from perfcore_vcs_git.command import finish, stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from perfcore_vcs_git.command import Runner
    from perfcore_vcs_git.kept_walk import KeptWalk

_FORMAT = "--format=tformat:%H%x00%P%x00%an%x00%ae%x00%ct%x00%s"
_FIELDS = 6
# Or else git writes to a pipe commit by commit, at more than the cost of reading.
_ENVIRONMENT = {"GIT_FLUSH": "0"}
# The capacity of a pipe on Linux (pipe(7)): a larger read would get no more.
_CHUNK = 1 << 16
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# Digits that fit into 64 bits: broken commits have times that do not.
_SECONDS = re.compile(r"[0-9]{1,18}")
_version = functools.partial(tuple.__new__, MinorVersion)  # as `MinorVersion._make`, without a call of Python


def walk(runner: Runner, head: str, kept: KeptWalk) -> Iterator[MinorVersion]:
    """`head` and its ancestors, as git prints them, or printed them before.

    `--date-order` is the one order of git that is both newest first and never has a version after its parent,
    whatever the clocks said; it streams at once where git keeps a commit-graph, and elsewhere reads all commits
    first, which costs no more in the end. The order is git's own, not its default: that one breaks when clocks
    are wrong.
    """
    with contextlib.ExitStack() as opened:
        opened.callback(kept.close)
        if last := kept.read():
            opened.enter_context(last.records)
        if last is not None and last.head == head:
            yield from _parsed(last.records.read)
            return
        if last is not None and (newer := _newer(runner, last.head, head)) is not None:
            yield from _parsed(_recorded(_chained(BytesIO(newer), last.records), kept))
        else:
            yield from _listed(runner, ("--date-order",), head, kept)
        kept.keep(head)


def newest(runner: Runner, head: str, count: int) -> Iterator[MinorVersion]:
    """`head` and its ancestors in git's default order, at most so many."""
    return _listed(runner, (f"--max-count={count}",), head)


def _listed(runner: Runner, options: Sequence[str], head: str, kept: KeptWalk | None = None) -> Iterator[MinorVersion]:
    process = runner.start(*_log(*options), head, "--", env=_ENVIRONMENT)
    done = False
    try:
        read = process.stdout.read1
        yield from _parsed(read if kept is None else _recorded(read, kept))
        done = True
    finally:
        if not done:
            stop(process)
    status, complaint = finish(process)
    if status:
        raise runner.explain(("log",), status, complaint)


def _newer(runner: Runner, base: str, head: str) -> bytes | None:
    """What git prints of the commits since an ancestor, if it would print these and then, in its order, that ancestor:
    where they are descendants of it, all of them. None for anything else."""
    try:
        records = runner.run(*_log("--date-order"), head, f"^{base}", "--")
    except VersionError:  # the commit of the earlier walk may be gone
        return None
    fields = records.decode("ascii", "replace").split("\0")[:-1]
    later = {base, *fields[0::_FIELDS]}
    parents = list(map(str.split, fields[1::_FIELDS]))
    return records if parents and all(of_one and later.issuperset(of_one) for of_one in parents) else None


def _log(*options: str) -> tuple[str, ...]:
    plain = ("--encoding=UTF-8", "--no-show-signature", "--no-color", "--no-decorate", "--no-patch")
    return "log", "-z", *options, _FORMAT, *plain


def _chained(first: IO[bytes], second: IO[bytes]) -> Callable[[int], bytes]:
    return lambda size: first.read(size) or second.read(size)


def _recorded(read: Callable[[int], bytes], kept: KeptWalk) -> Callable[[int], bytes]:
    def recorded(size: int) -> bytes:
        part = read(size)
        kept.record(part)
        return part

    return recorded


def _parsed(read: Callable[[int], bytes]) -> Iterator[MinorVersion]:
    """The versions of records, which are read part by part."""
    unlisted: list[str] = []
    incomplete = b""
    while part := read(_CHUNK):
        records, zero, incomplete = (incomplete + part).rpartition(b"\0")
        if zero:
            fields = unlisted + records.decode("utf-8", "replace").split("\0")
            end = len(fields) - len(fields) % _FIELDS
            unlisted = fields[end:]
            yield from _versions(fields[:end])


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
