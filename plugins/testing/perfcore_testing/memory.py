"""A storage without a place, for tests."""

from __future__ import annotations

import contextlib
import itertools
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from perfcore.errors import ConflictError, KeyExistsError, KeyMissingError, StorageError
from perfcore.hookspecs import Listed, Stored
from perfcore.text import printable

_BEGUN = r"[A-Za-z0-9._+@][A-Za-z0-9._+@-]*"
_NAME = rf"{_BEGUN}(?<!\.)"
_KEY = re.compile(rf"{_NAME}(?:/{_NAME})*")
_PREFIX = re.compile(rf"(?:{_NAME}/)*(?:{_BEGUN})?")


@attrs.define
class _Held:
    data: bytes
    tag: str
    modified: int
    listing_tag: str


class MemoryStorage:
    """Bytes by key in a dict, with the laws of `perfcore.hookspecs.Storage`; one instance may be used by many
    threads at once.

        store = Store(MemoryStorage())

    Tests of stores may look into it and break it: `damage` changes bytes behind the storage's back, `age` makes
    every key look as if it had been written earlier.
    """

    def __init__(self, place: Path = Path()) -> None:
        self.place = place
        self._held: dict[str, _Held] = {}
        self._serial = itertools.count(1)
        self._newest = 0
        # Of each folder, and never set back: a key that is deleted and made again has changed its folder twice.
        self._changes: Counter[str] = Counter()
        self._lock = threading.Lock()

    def read(self, key: str) -> Stored:
        with self._lock:
            held = self._get(key)
            return Stored(held.data, held.tag)

    def read_range(self, key: str, offset: int, length: int) -> bytes:
        return self.read(key).data[offset : offset + length]

    def read_many(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        for key in keys:
            with contextlib.suppress(KeyMissingError):
                yield key, self.read(key).data

    def missing(self, keys: Iterable[str]) -> Iterator[str]:
        for key in keys:
            if _checked(key) not in self._held:
                yield key

    def create(self, key: str, data: bytes) -> str:
        with self._lock:
            if _checked(key) in self._held:
                raise KeyExistsError(f"{key} is there already")
            return self._put(key, data)

    def replace(self, key: str, data: bytes, tag: str | None) -> str:
        with self._lock:
            self._check_state(key, tag)
            return self._put(key, data)

    def create_many(self, items: Iterable[tuple[str, bytes]]) -> Sequence[str]:
        there = []
        for key, data in items:
            try:
                self.create(key, data)
            except KeyExistsError:
                there.append(key)
        return there

    def write_many(self, writes: Iterable[tuple[str, bytes, str | None]]) -> None:
        every = tuple(writes)
        with self._lock:
            for key, _, tag in every:
                self._check_state(key, tag)
            for key, data, _ in every:
                self._put(key, data)

    def delete(self, key: str, tag: str) -> None:
        with self._lock:
            self._check_tag(key, tag)
            del self._held[key]
            self._changes[_folder(key)] += 1

    def touch(self, key: str) -> None:
        with self._lock:
            held = self._get(key)
            held.modified, held.listing_tag = self._now(), self._tag("l")

    def list(self, prefix: str) -> Iterator[Listed]:
        if not _PREFIX.fullmatch(prefix):
            raise StorageError(f"no key begins with '{printable(prefix)}'")
        with self._lock:
            rows = [
                Listed(key, len(held.data), held.modified, held.listing_tag)
                for key, held in sorted(self._held.items())
                if key.startswith(prefix)
            ]
        return iter(rows)

    def stamps(self, prefix: str) -> Mapping[str, str]:
        if not _PREFIX.fullmatch(prefix):
            raise StorageError(f"no key begins with '{printable(prefix)}'")
        level = prefix.count("/") + 1
        with self._lock:
            parts = [key.split("/") for key in self._held if key.startswith(prefix)]
            folders = {"/".join(segments[:level]) + "/" for segments in parts if len(segments) > level}
            return {folder: str(self._changes[folder]) for folder in sorted(folders)}

    def warnings(self) -> Sequence[str]:
        return ("what is kept in memory is gone when the process ends",)

    def prune(self, before: int) -> int:
        return 0

    def pack(self, prefix: str) -> int:
        return 0

    def damaged(self, prefix: str) -> Sequence[str]:
        return ()

    def damage(self, key: str, data: bytes) -> None:
        """Other bytes under a key that is there, as a failing disk would leave them."""
        with self._lock:
            self._get(key).data = data

    def age(self, nanoseconds: int) -> None:
        """Make all that is there look so much older."""
        with self._lock:
            for held in self._held.values():
                held.modified -= nanoseconds

    def _check_state(self, key: str, tag: str | None) -> None:
        """ConflictError unless the key has this tag; None: is not there."""
        if tag is None and _checked(key) in self._held:
            raise ConflictError(f"{key} is there by now")
        if tag is not None:
            try:
                self._check_tag(key, tag)
            except KeyMissingError as error:
                raise ConflictError(f"{key} is gone by now") from error

    def _get(self, key: str) -> _Held:
        try:
            return self._held[_checked(key)]
        except KeyError:
            raise KeyMissingError(f"there is no {key}") from None

    def _check_tag(self, key: str, tag: str) -> None:
        held = self._get(key)
        if tag not in (held.tag, held.listing_tag):
            raise ConflictError(f"{key} was changed by somebody else", hint="read it again and retry")

    def _put(self, key: str, data: bytes) -> str:
        tag = self._tag("c")
        self._changes[_folder(key)] += 1
        self._held[key] = _Held(bytes(data), tag, self._now(), self._tag("l"))
        return tag

    def _tag(self, kind: str) -> str:
        return f"{kind}{next(self._serial)}"

    def _now(self) -> int:
        """The time, later than every one that was given before."""
        # Two calls may see one tick of the clock, and tests rely on what is newer.
        self._newest = max(time.time_ns(), self._newest + 1)
        return self._newest


def _folder(key: str) -> str:
    """The part of a key up to its last slash, with it."""
    return key[: key.rfind("/") + 1]


def _checked(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise StorageError(f"'{printable(key)}' is not a key")
    return key
