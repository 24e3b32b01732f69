"""What the storage contract runs in processes of its own. Imports no pytest, to start quickly."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import pickle
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from perfcore.errors import ConflictError, KeyExistsError, KeyMissingError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from perfcore.hookspecs import Listed, Storage

_PROGRAM = "import pickle, sys; function, arguments = pickle.load(sys.stdin.buffer); function(*arguments)"
_READY = b"ready\n"


class Child:
    """A process that runs `function(*arguments)`, which is importable and takes what can be pickled.

    The function calls `ready()` once, which returns when the parent says `go()`, and may `tell()` things.
    """

    def __init__(self, function: Callable[..., None], *arguments: Any) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.after_kill: Callable[[], None] = lambda: None
        assert self.process.stdin is not None
        self._stdin = self.process.stdin
        pickle.dump((function, arguments), self._stdin)
        self._stdin.flush()

    def wait_until_ready(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line == _READY, f"the child said {line!r} and ended with {self.process.poll()}"

    def go(self) -> None:
        self._stdin.write(b"go\n")
        self._stdin.flush()

    def check_running(self) -> None:
        """For who waits for what it does, and would wait for ever once it has ended."""
        assert self.process.poll() is None, f"the child ended with {self.process.returncode}"

    def told(self) -> list[Any]:
        """Everything it told until its end, which must be a good one."""
        output, _ = self.process.communicate(timeout=300)
        assert self.process.returncode == 0, f"the child ended with {self.process.returncode}"
        return _lines(output)

    def kill(self) -> list[Any]:
        """End it as `kill -9` does; gives what it told before. A line cut short was not told."""
        self.process.kill()
        told = _lines(self.process.communicate(timeout=300)[0])
        self.after_kill()
        return told

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def ready() -> None:
    """Called by a child when it is about to begin."""
    os.write(1, _READY)
    sys.stdin.buffer.readline()


def tell(value: Any) -> None:
    """Called by a child: one JSON value for the parent, at once."""
    os.write(1, json.dumps(value).encode() + b"\n")


def payload(number: int) -> bytes:
    """Bytes that say which they are, of a size that differs from their neighbours'."""
    # Less than a block of a disk, less and more than a pipe or a socket takes at once, and several reads.
    size = random.Random(number).choice((10, 1_000, 60_000, 250_000))
    pattern = hashlib.sha256(b"%d" % number).hexdigest().encode()
    return b"%d\n" % number + (pattern * (size // len(pattern) + 1))[:size]


def payload_number(data: bytes) -> int | None:
    """The number of a payload that is whole, None for one that is not."""
    head = data.partition(b"\n")[0]
    generation = int(head) if head.isdigit() else None
    return generation if generation is not None and data == payload(generation) else None


def create_once(reopen: Callable[[], Storage], key: str, number: int) -> None:
    """Tells whether it was this process that created the key."""
    storage = reopen()
    ready()
    try:
        storage.create(key, payload(number))
    except KeyExistsError:
        tell(False)
    else:
        tell(True)


def create_many(reopen: Callable[[], Any], count: int, number: int) -> None:
    """Creates so many keys at once, which others create too; tells those that were new."""
    storage = reopen()
    ready()
    wanted = [number_key("objects", index) for index in range(count)]
    there = set(storage.create_many((key, payload(number)) for key in wanted))
    tell([key for key in wanted if key not in there])


def create_many_for_ever(reopen: Callable[[], Any], folder: str) -> None:
    """Creates many keys at a time."""
    storage = reopen()
    ready()
    for part in itertools.count():
        storage.create_many((number_key(folder, 100 * part + index), payload(index)) for index in range(100))


def increment(reopen: Callable[[], Storage], key: str, times: int) -> None:
    """Counts up so many times with compare and swap."""
    storage = reopen()
    ready()
    for _ in range(times):
        while not _incremented(storage, key):
            pass


def come_and_go(reopen: Callable[[], Storage], key: str, times: int, number: int) -> None:
    """Creates and deletes one key in turn with others; tells how often each worked."""
    storage = reopen()
    ready()
    created = deleted = 0
    for _ in range(times):
        try:
            tag = storage.create(key, payload(number))
            created += 1
        except KeyExistsError:
            tag = _tag(storage, key)
        try:
            storage.delete(key, tag)
            deleted += 1
        except (ConflictError, KeyMissingError):
            pass
    tell([created, deleted])


def touch_all(reopen: Callable[[], Storage], keys: list[str]) -> None:
    """Touches keys; tells those that were there."""
    storage = reopen()
    ready()
    touched = []
    for key in keys:
        try:
            storage.touch(key)
            touched.append(key)
        except KeyMissingError:
            pass
    tell(touched)


def delete_listed(reopen: Callable[[], Storage], rows: list[Listed]) -> None:
    """Deletes what is as it was listed; tells what was."""
    storage = reopen()
    ready()
    deleted = []
    for row in rows:
        try:
            storage.delete(row.key, row.tag)
            deleted.append(row.key)
        except ConflictError:
            pass
    tell(deleted)


def replace_all_for_ever(reopen: Callable[[], Storage], keys: list[str]) -> None:
    """Replaces each of the keys in turn until it is killed."""
    storage = reopen()
    ready()
    generation = 0
    while True:
        for key in keys:
            generation += 1
            storage.replace(key, payload(generation), storage.read(key).tag)


def write_for_ever(reopen: Callable[[], Storage], counter: str, folder: str, number: int) -> None:
    """Until it is killed: creates the key of a number and sets the counter to it; tells what is done."""
    storage = reopen()
    ready()
    tag = storage.read(counter).tag
    while True:
        number += 1
        try:
            storage.create(number_key(folder, number), payload(number))
        except KeyExistsError:  # by a process that was killed before it came to the counter
            storage.touch(number_key(folder, number))
        tell(["created", number])
        tag = storage.replace(counter, payload(number), tag)
        tell(["replaced", number])


def number_key(folder: str, number: int) -> str:
    # Several folders: drivers look at each, and objects of a store are spread as well.
    return f"{folder}/{number % 16:x}/{number}"


def read_key(reopen: Callable[[], Storage], key: str) -> None:
    """Tells the number of the payload under a key."""
    storage = reopen()
    ready()
    tell(payload_number(storage.read(key).data))


def _incremented(storage: Storage, key: str) -> bool:
    data, tag = storage.read(key)
    try:
        storage.replace(key, b"%d" % (int(data) + 1), tag)
    except ConflictError:
        return False
    return True


def _tag(storage: Storage, key: str) -> str:
    try:
        return storage.read(key).tag
    except KeyMissingError:
        return ""


def _lines(output: bytes) -> list[Any]:
    return [json.loads(line) for line in output.splitlines(keepends=True) if line.endswith(b"\n")]
