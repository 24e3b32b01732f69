"""Environments that are kept between commands: a folder each, named by the hash of what it is made of.

An environment cannot be moved, since its programs hold its path. So it is made where it stays, under a lock, and is
complete once its marker exists: a killed command leaves a folder without one, which the next command removes. Whoever
uses an environment holds a shared lock, so that no other command removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from perfcore import files
from perfcore.errors import StorageError
from perfcore.locks import Lock
from perfcore.model import Build

_LAYOUT = 1  # raised with every change of the identity or of the files, so that no old environment is used as a new one
_PAUSE = 0.05  # seconds between two tries: making an environment takes seconds, so nobody notices


class Store:
    """The environments below a directory, as one command uses them."""

    def __init__(self) -> None:
        self._rebuilt: set[Path] = set()

    @contextlib.contextmanager
    def provide(
        self, directory: Path, identity: Mapping[str, Any], build: Build, make: Callable[[Path], None]
    ) -> Iterator[Path]:
        """The folder of the environment with this identity. `make` is called with its path where it is not there, or
        where the command wants a new one and has not made it yet."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = directory / _name(identity)
        deadline = time.monotonic() + build.timeout
        with contextlib.ExitStack() as stack:
            stack.callback(_prune, directory, build.cache)
            while True:
                if not (build.rebuild and folder not in self._rebuilt) and _use(folder, stack, deadline):
                    break
                self._make(folder, identity, build, make, deadline)
            yield folder

    def _make(
        self,
        folder: Path,
        identity: Mapping[str, Any],
        build: Build,
        make: Callable[[Path], None],
        deadline: float,
    ) -> None:
        patience = max(0.0, deadline - time.monotonic())
        with Lock(_lock(folder)).hold(patience, _in_use(folder)):
            if _marker(folder).exists() and not build.rebuild:  # another command made it meanwhile
                return
            _remove(folder)
            try:
                make(folder)
                facts = {"identity": identity, "bytes": _size(folder)}
                with files.replacement(_marker(folder), durable=False) as file:
                    file.write(json.dumps(facts, sort_keys=True).encode())
            except BaseException:
                _remove(folder)
                raise
            if build.rebuild:
                self._rebuilt.add(folder)


def _use(folder: Path, stack: contextlib.ExitStack, deadline: float) -> bool:
    """Hold a complete environment until the stack is closed; False where there is none."""
    with contextlib.ExitStack() as attempt:
        descriptor = os.open(_lock(folder), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        attempt.callback(os.close, descriptor)
        while not _shared(descriptor):
            if time.monotonic() >= deadline:
                raise _in_use(folder)
            time.sleep(_PAUSE)
        try:
            os.utime(_marker(folder))  # used now
        except FileNotFoundError:
            return False
        stack.push(attempt.pop_all())
    return True


def _shared(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _prune(directory: Path, limit: int) -> None:
    """Remove what killed commands left, and of the environments beyond `limit` bytes those not used for longest."""
    markers = {path: path.stat().st_mtime_ns for path in directory.glob("*.json")}
    kept, total = set(), 0
    for marker in sorted(markers, key=lambda path: markers[path], reverse=True):
        with contextlib.suppress(OSError, ValueError, KeyError):
            total += int(json.loads(marker.read_bytes())["bytes"])
            if total <= limit:
                kept.add(marker.with_suffix(""))
    for lock in directory.glob("*.lock"):
        folder, held = lock.with_suffix(""), Lock(lock)
        if folder not in kept and folder.exists() and held.acquire(0):  # nobody uses or makes it
            try:
                _remove(folder)
            finally:
                held.release()


def _remove(folder: Path) -> None:
    _marker(folder).unlink(missing_ok=True)  # first: half an environment is never complete
    shutil.rmtree(folder, ignore_errors=True)


def _name(identity: Mapping[str, Any]) -> str:
    text = json.dumps([_LAYOUT, identity], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()  # short: the length of a path is limited in `#!`


def _marker(folder: Path) -> Path:
    return folder.with_suffix(".json")


def _lock(folder: Path) -> Path:
    return folder.with_suffix(".lock")


def _in_use(folder: Path) -> StorageError:
    return StorageError(f"another command uses or makes the environment {folder}", hint="wait until it has ended")


def _size(folder: Path) -> int:
    """Bytes of all files of an environment."""
    total = 0
    for parent, _, names in os.walk(folder):
        total += sum(os.lstat(os.path.join(parent, name)).st_size for name in names)
    return total
