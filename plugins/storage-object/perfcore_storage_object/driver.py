"""The storage `object`: a key is an object of a bucket, and every write is conditional.

    16 random bytes, and then the content    a key
    15 random bytes                          a key that was deleted

With the random bytes each write has a tag of its own, also where it has the same content. Servers compare tags when
they write, but few do when they delete: so a key that was deleted leaves a mark, over which it can be created again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from perfcore_storage_kit.keys import check_key, check_prefix, is_key, shown
from perfcore_storage_kit.parallel import in_parallel

from perfcore import files
from perfcore.errors import ConflictError, KeyExistsError, KeyMissingError, StorageError
from perfcore.hookspecs import Listed, Stored
from perfcore_storage_object.bucket import Answer, Bucket
from perfcore_storage_object.journal import Journal
from perfcore_storage_object.listing import Listing
from perfcore_storage_object.settings import ObjectStorageSettings

_HEAD, _MARK = 16, 15  # bytes
_LONGEST = 900  # characters of a key; S3 allows 1,024 with the folder
_TRIES = 1_000  # writers that were faster, before a livelock is reported
_WAIT = 0.2  # seconds at most before the next try, so that writers do not stay in step


class ObjectStorage:
    """A store in a bucket. `place` is a folder of this machine, where it is kept what is known of the server."""

    Settings = ObjectStorageSettings
    contract = "perfcore_storage_object.contract:ObjectStorageContract"
    concurrent = True  # its methods may be called from several threads

    def __init__(self, place: Path, settings: ObjectStorageSettings | None = None) -> None:
        self.place = Path(place)
        self.settings = settings or ObjectStorageSettings()
        self._bucket = Bucket(self.settings.url)
        self._journal = Journal(self._bucket)
        self._listing = Listing(self._bucket, self._journal, self.place / "listing", self.settings.recall)
        self._is_proven = False
        self._announced: frozenset[str] | None = frozenset()  # None is any key
        self._announces_any = False
        self._announcing = threading.Lock()

    def read(self, key: str) -> Stored:
        _check(key)
        answer = _there(key, self._bucket.get(key))
        return Stored(answer.data[_HEAD:], answer.tag)

    def read_range(self, key: str, offset: int, length: int) -> bytes:
        """One request for these bytes."""
        _check(key)
        return _there(key, self._bucket.get(key, _HEAD + offset, length)).data

    def read_many(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Several requests at a time."""

        def read(key: str) -> tuple[str, bytes] | None:
            with contextlib.suppress(KeyMissingError):
                return key, self.read(key).data
            return None

        return (found for found in in_parallel(read, keys) if found is not None)

    def missing(self, keys: Iterable[str]) -> Iterator[str]:
        """Several requests at a time."""

        def look(key: str) -> tuple[str, bool]:
            _check(key)
            return key, _is_there(self._bucket.head(key))

        return (key for key, is_there in in_parallel(look, keys) if not is_there)

    def list(self, prefix: str) -> Iterator[Listed]:
        """Sorted here, because not every server does it."""
        check_prefix(prefix)
        listed = self._listing.rows() if self.settings.recall else self._bucket.list(prefix.rpartition("/")[0])
        rows = [
            Listed(name, answer.size - _HEAD, answer.modified, answer.tag)
            for name, answer in listed
            if name.startswith(prefix) and answer.size >= _HEAD and is_key(name)
        ]
        return iter(sorted(rows))

    def create(self, key: str, data: bytes) -> str:
        """The server decides who is first."""
        _check(key)
        self._prepare(key)
        body = _body(data)
        for _ in _tries(key):
            if tag := self._bucket.create(key, body):
                return tag
            answer = self._bucket.head(key)
            if _is_there(answer):
                raise KeyExistsError(f"{key} is there already")
            if answer is not None and (tag := self._bucket.update(key, body, answer.tag)):
                return tag
        raise AssertionError

    def create_many(self, items: Iterable[tuple[str, bytes]]) -> Sequence[str]:
        """Several requests at a time; the second of two with the same key finds the first there."""

        def create(item: tuple[str, bytes]) -> str | None:
            try:
                self.create(*item)
            except KeyExistsError:
                return item[0]
            return None

        self._prove()
        seen, twice = set[str](), list[str]()

        def once() -> Iterator[tuple[str, bytes]]:
            for key, data in items:
                if key in seen:
                    twice.append(key)
                else:
                    seen.add(key)
                    yield key, data

        there = [key for key in in_parallel(create, once()) if key is not None]
        return [*there, *twice]

    def replace(self, key: str, data: bytes, tag: str | None) -> str:
        """Compare and swap, by the server."""
        if tag is None:
            try:
                return self.create(key, data)
            except KeyExistsError as error:
                raise _changed(key) from error
        _check(key)
        self._prepare(key)
        if new := self._bucket.update(key, _body(data), tag):
            return new
        raise _changed(key)

    def delete(self, key: str, tag: str) -> None:
        """A mark stays in its place."""
        _check(key)
        self._prepare(key)
        if _there(key, self._bucket.head(key)).tag != tag:
            raise _changed(key)
        if not self._bucket.update(key, os.urandom(_MARK), tag):
            _there(key, self._bucket.head(key))
            raise _changed(key)

    def touch(self, key: str) -> None:
        """Writes it anew, with other random bytes."""
        _check(key)
        self._prepare(key)
        for _ in _tries(key):
            answer = _there(key, self._bucket.get(key))
            if self._bucket.update(key, _body(answer.data[_HEAD:]), answer.tag):
                return

    @contextlib.contextmanager
    def announced(self, keys: Iterable[str] | None) -> Iterator[None]:
        """Write these keys within; None is any. Those who remember what the bucket holds then look at these keys alone.
        What is written without it makes them list all keys."""
        before, chosen = self._announced, None if keys is None else frozenset(keys)
        if self._announces_any or before is None or (chosen is not None and chosen <= before):
            yield
            return
        self._prove()
        number = self._journal.announce(chosen, self._listing.last)
        self._announced = chosen
        try:
            yield
        except ConflictError:  # nothing is on its way, unlike after errors of the network
            self._journal.confirm(number)
            raise
        finally:
            self._announced = before
        self._journal.confirm(number)

    def forget_listing(self) -> None:
        """List all keys the next time, whatever is remembered."""
        self._listing.forget()

    def _prepare(self, key: str) -> None:
        """Before every write: the server is proven, and the write is announced. Where nobody did it, this announces
        once that any key may change from now on, as an entry for each write would double the requests of a store that
        is in a bucket alone."""
        self._prove()
        with self._announcing:
            if self._announces_any or self._announced is None or key in self._announced:
                return
            self._journal.announce(None, self._listing.last)
            self._announces_any = True

    def _prove(self) -> None:
        """StorageError for a server that ignores conditions, where the last of two writers would win: once for each
        place, or once for each driver where the place cannot be written to."""
        if self._is_proven:
            return
        known = self.place / "conditional"
        digest = hashlib.sha256(self.settings.url.encode()).hexdigest().encode()
        if files.cached(known) != digest:
            self._probe()
            files.cache(known, digest)
        self._is_proven = True

    def _probe(self) -> None:
        name = f"-probe/{os.urandom(10).hex()}"  # no key begins so
        first = self._bucket.create(name, _body(b"1"))
        try:
            ignores = first is None or self._bucket.create(name, _body(b"2")) is not None
            if not ignores and first is not None:
                second = self._bucket.update(name, _body(b"3"), first)
                ignores = second is None or self._bucket.update(name, _body(b"4"), first) is not None
        finally:
            self._bucket.remove(name)
        if ignores:
            raise StorageError(
                f"the server of {self.settings.url} ignores the conditions of a write (If-None-Match, If-Match), "
                "so that two writers would overwrite each other",
                hint="use another server, or a remote in git or in a folder",
            )


def _body(data: bytes) -> bytes:
    return os.urandom(_HEAD) + data


def _is_there(answer: Answer | None) -> bool:
    return answer is not None and answer.size >= _HEAD


def _there(key: str, answer: Answer | None) -> Answer:
    if answer is None or answer.size < _HEAD:
        raise KeyMissingError(f"there is no {key}")
    return answer


def _check(key: str) -> None:
    check_key(key)
    if len(key) > _LONGEST:
        raise StorageError(f"'{shown(key)}' is too long for an object store")


def _changed(key: str) -> ConflictError:
    return ConflictError(f"{key} was changed by somebody else", hint="read it again and retry")


def _tries(key: str) -> Iterator[int]:
    """Numbers of attempts, with a pause before each but the first; StorageError after too many."""
    for attempt in range(_TRIES):
        yield attempt
        time.sleep(random.uniform(0, min(_WAIT, 0.005 * 2 ** min(attempt, 10))))
    raise StorageError(f"{key} keeps changing: {_TRIES} tries to write it failed")
