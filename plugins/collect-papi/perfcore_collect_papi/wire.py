"""Frames between perf and the process that counts: four bytes of length and a marshalled tuple."""

from __future__ import annotations

import marshal
import socket
from typing import Any

Frame = tuple[Any, ...]


class FailedError(Exception):
    """A step that failed: its name, the number of PAPI's or the system's error, and a word about what."""

    def __init__(self, step: str, number: int, detail: str = "") -> None:
        super().__init__(step, number, detail)
        self.frame = ("failed", step, number, detail)


class GoneError(Exception):
    """The process at the other end of the socket is no more."""


class Wire:
    """Frames over a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def send(self, frame: Frame) -> None:
        data = marshal.dumps(frame)
        try:
            self.connection.sendall(len(data).to_bytes(4, "big") + data)
        except OSError as error:
            raise GoneError from error

    def receive(self) -> Frame:
        frame: Frame = marshal.loads(self._read(int.from_bytes(self._read(4), "big")))
        return frame

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                chunk = self.connection.recv(size - len(data))
            except OSError:
                chunk = b""
            if not chunk:
                raise GoneError
            data += chunk
        return data
