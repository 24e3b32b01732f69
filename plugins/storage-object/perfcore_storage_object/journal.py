"""The journal of a bucket: which keys its writers were about to change, so that nobody has to list all of them again.

    -journal/0000000012         an entry: a writer announces keys, before it changes them
    -journal/0000000012-done    it has changed them, and changes nothing more

Entries are numbered without a gap. The server decides who gets the next number, as for every key that is created, and
an entry never changes. Its content is lines of text:

    pjnl 1 7d0f6c3a5d0c4f0f9f6f0a55a1d3b2c4    the version of the format, and 16 random bytes
    objects/ab/cdef...                         a key on each line, sorted; or * for any key
    sha1 4a6b...                               of all bytes before this line

An entry that has no end for a day is taken to have come to it: a push takes no day.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Iterable

from perfcore_storage_kit.keys import is_key
from perfcore_storage_kit.parallel import AT_ONCE, in_parallel

from perfcore.named_tuple import NamedTuple
from perfcore_storage_object.bucket import Bucket

FOLDER = "-journal/"
DAY = 86_400.0  # seconds
MOST_KEYS = 1_000  # of an entry; of more keys it says that any may change, as who reads it would list all of them
_MOST_ENTRIES = 256  # that are read one by one; of more it is quicker to list all keys
_KEPT = 1_000  # entries that are not removed
_EVERY = 256  # entries, after which old ones are removed
_LARGEST = 1 << 20  # bytes: a larger entry is none of ours
_NAME = re.compile(re.escape(FOLDER) + r"(\d{10})(-done)?")
_HEAD = re.compile(rb"pjnl 1 [0-9a-f]{32}\n")


class Entry(NamedTuple):
    """`tag` is the tag of its object. `keys` are those that were about to change; None is any."""

    number: int
    tag: str
    keys: frozenset[str] | None


class Overview(NamedTuple):
    """A list of the journal: the number of the last entry and its tag, and those entries of the last day that have not
    come to their end."""

    last: int
    tag: str
    open: frozenset[int]


class Journal:
    """The journal of one bucket."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def announce(self, keys: Iterable[str] | None, after: int | None = None) -> int:
        """Write an entry and give its number. `after` is the last number that is known."""
        body = encode(keys)
        for number in itertools.count((self.overview().last if after is None else after) + 1):
            if self._bucket.create(_name(number), body):
                break
        return number

    def confirm(self, number: int) -> None:
        """Say that an entry has come to its end."""
        self._bucket.create(f"{_name(number)}-done", b"done\n")
        if number % _EVERY == 0:
            self.prune()

    def tag(self, number: int) -> str | None:
        """The tag of an entry; None where there is none."""
        answer = self._bucket.head(_name(number))
        return None if answer is None else answer.tag

    def is_done(self, number: int) -> bool:
        """Whether an entry has come to its end."""
        return self._bucket.head(f"{_name(number)}-done") is not None

    def read(self, number: int) -> Entry | None:
        """None where there is no such entry. Of one that cannot be read, any key may have changed."""
        answer = self._bucket.get(_name(number), 0, _LARGEST)
        return None if answer is None else Entry(number, answer.tag, decode(answer.data))

    def since(self, number: int) -> list[Entry] | None:
        """The entries after this one; None where there are too many. Each is asked for by its number, as lists of some
        servers are late."""
        entries: list[Entry] = []
        while len(entries) < _MOST_ENTRIES:
            first, width = number + len(entries) + 1, min(len(entries) or 1, AT_ONCE)  # mostly there is none, or one
            for entry in in_parallel(self.read, range(first, first + width)):
                if entry is None:
                    return entries
                entries.append(entry)
        return None

    def overview(self) -> Overview:
        """By a list of the journal, which can have an end that is too early: `tag` says whether there is one more."""
        entries, done = self._listed()
        if not entries:
            return Overview(0, "", frozenset())
        last = max(entries)
        newest = max(modified for _, modified in entries.values())
        recent = {number for number, (_, modified) in entries.items() if newest - modified < DAY * 1e9}
        return Overview(last, entries[last][0], frozenset(recent - done))

    def _listed(self) -> tuple[dict[int, tuple[str, int]], set[int]]:
        """The tag and the time of each entry by its number, and the numbers of those that have come to their end."""
        entries: dict[int, tuple[str, int]] = {}
        done: set[int] = set()
        for name, answer in self._bucket.list(FOLDER.rstrip("/")):
            if (matched := _NAME.fullmatch(name)) is None:
                continue
            if matched[2]:
                done.add(int(matched[1]))
            else:
                entries[int(matched[1])] = (answer.tag, answer.modified)
        return entries, done

    def prune(self, kept: int = _KEPT, age: float = 2 * DAY) -> None:
        """Remove old entries, but for the last ones and those that are younger than so many seconds by the clock of the
        server. Who remembers the journal up to one that is gone lists all keys."""
        entries, done = self._listed()
        newest = max((modified for _, modified in entries.values()), default=0)
        old = [number for number, (_, modified) in entries.items() if newest - modified >= age * 1e9]
        removed = sorted(number for number in old if number <= max(entries) - kept)
        names = [f"{_name(number)}-done" for number in removed if number in done] + list(map(_name, removed))
        for _ in in_parallel(self._bucket.remove, names):
            pass


def encode(keys: Iterable[str] | None) -> bytes:
    """The content of an entry, which differs from that of every other."""
    known = None if keys is None else sorted(set(keys))
    lines = ["*"] if known is None or len(known) > MOST_KEYS else known
    body = "".join(f"{line}\n" for line in (f"pjnl 1 {os.urandom(16).hex()}", *lines)).encode()
    return body + _checksum(body)


def decode(data: bytes) -> frozenset[str] | None:
    """The keys of an entry. None for any key: also for an entry that is damaged or of a newer format."""
    end = data.rfind(b"sha1 ")
    if end < 0 or data[end:] != _checksum(data[:end]) or (head := _HEAD.match(data)) is None:
        return None
    keys = data[head.end() : end].decode("ascii", errors="replace").split("\n")[:-1]
    return frozenset(keys) if all(map(is_key, keys)) else None


def _checksum(body: bytes) -> bytes:
    return f"sha1 {hashlib.sha1(body, usedforsecurity=False).hexdigest()}\n".encode()


def _name(number: int) -> str:
    return f"{FOLDER}{number:010d}"
