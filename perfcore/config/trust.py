"""What may run on this machine, by its hash, in files of the user's own: contents of versioned files that the user
has trusted, and commands that the user has measured or confirmed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from perfcore.config.layers import Layer
from perfcore.digests import sha256
from perfcore.errors import StorageError, UntrustedError
from perfcore.locks import Lock
from perfcore.named_tuple import NamedTuple
from perfcore.text import printable

# 4,000 commands, in two files of this size. A file is read whole for every question: in about 0.2 ms.
_MOST_BYTES = 1 << 18


class Trust(NamedTuple):
    """The list at `path`, outside every repository: a clone cannot bring its own."""

    path: Path

    def holds(self, digest: str) -> bool:
        try:
            return digest.encode() in self.path.read_bytes().split()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {error.strerror}") from error

    def add(self, digest: str) -> None:
        """Trust a content for good. Appending is atomic, so two commands may do it at once."""
        if self.holds(digest):
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, _line(digest.encode()))
            finally:
                os.close(handle)
        except OSError as error:
            raise StorageError(f"cannot write {self.path}: {error.strerror}", hint="XDG_DATA_HOME names it") from error

    def covers(self, layer: Layer) -> bool:
        """Whether nothing in the layer runs, or its content was trusted, or it is the user's own."""
        return layer.name not in ("project", "local") or not layer.running or self.holds(layer.digest)

    def require(self, layer: Layer | None) -> None:
        """UntrustedError unless the layer is covered."""
        if layer is not None and not self.covers(layer):
            raise UntrustedError(
                f"{layer.path} says what is run ({', '.join(layer.running)}) and you have not trusted it yet",
                hint="read it, then say `perf config trust`",
            )


class Commands:
    """The commands that the user has measured or confirmed: a hash a line in `path`, outside every repository.

    A command that a profile or a journal holds runs only if it is listed here. Appending is one write, so several
    processes may do it at once. A full file becomes the older one beside it, and the older one before goes: commands
    that nobody has measured for long are forgotten, which costs a question. Lines that make no sense mean nothing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._noted: set[bytes] = set()

    def hold(self, digest: str) -> bool:
        """Whether the command of a hash was measured or confirmed on this machine."""
        line = digest.encode()
        return line in self._noted or any(line in _lines(path) for path in (self.path, self._older))

    def note(self, digest: str) -> None:
        """List a command. A file that nobody can write is a StorageError."""
        line = digest.encode()
        if line in self._noted:
            return
        if line not in _lines(self.path):
            self._append(line)
        self._noted.add(line)

    @property
    def _older(self) -> Path:
        return self.path.with_name(f"{self.path.name}.older")

    def _append(self, line: bytes) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self._is_full():
                self._turn_over()
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, _line(line))
            finally:
                os.close(handle)
        except OSError as error:
            raise StorageError(f"cannot write {printable(str(self.path))}: {error.strerror}") from error

    def _is_full(self) -> bool:
        return self.path.exists() and self.path.stat().st_size > _MOST_BYTES

    def _turn_over(self) -> None:
        """Begin a new file."""
        # Under a lock, with a second look: two processes that did it at once would lose the full file.
        lock = Lock(self.path.with_name(f"{self.path.name}.lock"))
        if not lock.acquire(0.0):  # another process is at it
            return
        try:
            if self._is_full():
                os.replace(self.path, self._older)  # nothing is written
        finally:
            lock.release()


def command_digest(home: Path, **parts: Any) -> str:
    """The hash of all that a command runs, in the repository at `home`: `./sort` is another program elsewhere."""
    import json

    text = json.dumps({"home": str(home), **parts}, sort_keys=True, default=str)
    return sha256(text.encode()).hexdigest()


def _line(digest: bytes) -> bytes:
    """A line of a list."""
    return b"\n" + digest + b"\n"  # a break in front, too: the last line there may be torn


def _lines(path: Path) -> frozenset[bytes]:
    """The lines of a list of commands, none where there is no such file."""
    try:
        with path.open("rb") as file:
            return frozenset(file.read(2 * _MOST_BYTES).split())  # no list of perfcore is longer
    except FileNotFoundError:
        return frozenset()
    except OSError as error:
        raise StorageError(f"cannot read {printable(str(path))}: {error.strerror}") from error
