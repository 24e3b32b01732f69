"""A server that takes connections and answers nothing, like one behind a network that drops packets."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from perfcore_storage_object.bucket import Bucket
from perfcore_storage_object.parallel import in_parallel
from perfcore_testing.processes import PATIENCE
from perfcore_testing.project import Project

from perfcore.errors import StorageError

_NAMES = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The system takes the connections of a socket that listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        values = (f"http://127.0.0.1:{listening.getsockname()[1]}", "test", "test", "us-east-1")
        for name, value in zip(_NAMES, values, strict=True):
            monkeypatch.setenv(name, value)
        yield listening


@pytest.mark.usefixtures("silent")
def test_reading_from_a_silent_server_ends() -> None:
    bucket = Bucket("s3://bucket/folder", patience=0.05)
    with pytest.raises(StorageError, match="cannot be reached"):
        bucket.head("name")
    with pytest.raises(StorageError, match="cannot be reached"):
        list(bucket.list(""))


@pytest.mark.parametrize("words", [("push",), ("pull", "--full")], ids=["push", "pull"])
def test_an_interrupt_does_not_wait_for_a_silent_server(
    project: Project, silent: socket.socket, words: tuple[str, ...]
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
    with silent.accept()[0] as connection:
        connection.recv(1)  # the request is on its way
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 130


def test_results_have_the_order_of_their_items() -> None:
    assert list(in_parallel(lambda number: number * 2, range(100))) == list(range(0, 200, 2))


def test_nothing_is_on_its_way_after_a_failure() -> None:
    ended: list[int] = []

    def request(number: int) -> None:
        if number == 0:
            raise StorageError("refused")
        ended.append(number)

    with pytest.raises(StorageError, match="refused"):
        list(in_parallel(request, range(8)))
    assert sorted(ended) == list(range(1, 8))
