"""A server that takes connections and stops answering, like one behind a network that drops packets."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import attrs
import pytest
from perfcore_storage_kit.errors import UnreachableError
from perfcore_storage_object.bucket import Bucket
from perfcore_testing.processes import PATIENCE
from perfcore_testing.project import Project

from perfcore.errors import StorageError

_NAMES = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")
_HEAD = (
    b'HTTP/1.1 200 OK\r\nETag: "tag"\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n'
    b"Content-Type: application/xml\r\nContent-Length: 1000\r\n\r\n"
)


@attrs.define
class Silent:
    """Sends a part of an answer, at most, and says nothing more."""

    socket: socket.socket
    answer: bytes = b""
    requests: list[bytes] = attrs.field(factory=list)
    asked: threading.Event = attrs.field(factory=threading.Event)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.socket.getsockname()[1]}"

    def serve(self) -> None:
        with contextlib.ExitStack() as connections, contextlib.suppress(OSError):  # the test is over
            while True:
                connection = connections.enter_context(self.socket.accept()[0])
                self.requests.append(connection.recv(1 << 16))
                if b"range: " not in self.requests[-1]:
                    connection.sendall(self.answer)
                self.asked.set()


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Silent(listening)
        for name, value in zip(_NAMES, (f"http://{server.host}", "test", "test", "us-east-1"), strict=True):
            monkeypatch.setenv(name, value)
        thread = threading.Thread(target=server.serve)
        thread.start()
        yield server
        with contextlib.suppress(OSError):  # a test did it
            listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize("answer", [b"", _HEAD[:20], _HEAD + b"x"], ids=["nothing", "head", "body"])
def test_reading_from_a_silent_server_ends_and_names_it(silent: Silent, answer: bytes) -> None:
    silent.answer = answer
    bucket = Bucket("s3://bucket/folder", patience=0.05)
    for read in (lambda: bucket.get("name"), lambda: list(bucket.list(""))):
        with pytest.raises(UnreachableError) as error:
            read()
        assert str(error.value) == f"s3://bucket/folder cannot be reached: {silent.host} does not answer"


def test_a_small_write_to_a_silent_server_ends(silent: Silent) -> None:
    with pytest.raises(StorageError, match=f"{silent.host} does not answer"):
        Bucket("s3://bucket/folder", patience=0.05).create("name", b"body")


def test_a_server_that_refuses_connections_cannot_be_reached(silent: Silent) -> None:
    silent.socket.shutdown(socket.SHUT_RDWR)
    silent.socket.close()
    with pytest.raises(UnreachableError):
        Bucket("s3://bucket/folder").get("name")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("words", [("push",), ("pull", "--full")], ids=["push", "pull"])
def test_a_signal_does_not_wait_for_a_silent_server(
    project: Project, silent: Silent, words: tuple[str, ...], number: signal.Signals
) -> None:
    project.perf("remote", "add", "shared", "s3://bucket/folder")
    project.perf("collect", "time", "--add", "--repeat", "1", "--", "true")
    process = subprocess.Popen(
        [sys.executable, "-m", "perfcore", *words, "shared"],
        cwd=project.path,
        env={**project.env, **{name: os.environ[name] for name in _NAMES}},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert silent.asked.wait(PATIENCE)
    process.send_signal(number)
    errors = process.communicate(timeout=PATIENCE)[1]
    assert (process.returncode, "Traceback" in errors) == (128 + number, False), errors
    assert len(silent.requests) == 1  # who waits for the library sees it ask once more
