"""A server in a process of its own, on a repository with a history, and a client that sends what it is told."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from perfcore_testing.measured import NAMES, STEP, measure
from perfcore_testing.pages import axe, browser, window
from perfcore_testing.processes import PATIENCE
from perfcore_testing.project import Project, empty_project, new_repository, project

__all__ = ["axe", "browser", "empty_project", "project", "window"]


@attrs.frozen
class Answer:
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)

    @property
    def text(self) -> str:
        return self.body.decode()


@attrs.frozen
class Served:
    """A running server: the address that it printed."""

    url: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        return urllib.parse.urlsplit(self.url).port or 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def ask(self, path: str, *, method: str = "GET", cookie: str = "", body: str = "", **headers: str) -> Answer:
        """One request. Headers are named with underscores; `Host` may be another than that of the server."""
        sent = {name.replace("_", "-"): content for name, content in headers.items()}
        if cookie:
            sent["Cookie"] = cookie
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host="Host" in sent, skip_accept_encoding=True)
            for name, content in sent.items():
                connection.putheader(name, content)
            if body:
                connection.putheader("Content-Length", str(len(body.encode())))
            connection.endheaders(body.encode() if body else None)
            response = connection.getresponse()
            received = response.read()
        return Answer(response.status, {name.lower(): text for name, text in response.getheaders()}, received)

    def until_ready(self) -> Answer:
        """The overview, which waits for the first comparison."""
        host = urllib.parse.urlsplit(self.url).netloc
        cookie, end = self.cookie_by(host), time.monotonic() + PATIENCE
        while (answer := self.ask("/", cookie=cookie, Host=host)).status == 503 and time.monotonic() < end:
            time.sleep(0.05)
        return answer

    def cookie(self) -> str:
        """What the token of the printed address is exchanged for."""
        return self.cookie_by(self.host)

    def cookie_by(self, host: str) -> str:
        """The same, by another name of the server."""
        address = urllib.parse.urlsplit(self.url)
        answer = self.ask(f"{address.path}?{address.query}", Host=host)
        assert answer.status == 303
        return answer.headers["set-cookie"].partition(";")[0]


PERF = (str(Path(sys.executable).with_name("perf")),)


@contextlib.contextmanager
def running(project: Project, *options: str, program: Sequence[str] = PERF, wait: bool = True) -> Iterator[Served]:
    """`perf serve` on a project until the block ends, from when its pages are there."""
    command = [*program, "serve", "--port", "0", *options]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # A session of its own, so that the signal which ends it reaches nothing else.
    with subprocess.Popen(command, cwd=project.path, env=project.env, start_new_session=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            url = process.stdout.readline().strip()
            assert url.startswith("http://"), process.stderr.read()
            server = Served(url, process)
            if wait:
                server.until_ready()
            yield server
        finally:
            os.kill(process.pid, signal.SIGINT)
            assert process.wait(30) in (0, 130, -signal.SIGINT)


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository whose `./slow` takes twice as long from the eighth version on, with commands of all kinds of
    names. Nobody changes it."""
    project = new_repository(tmp_path_factory.mktemp("measured"))
    commands = {name: lambda at: 3_000_000 for name in ("./steady", *NAMES)}
    measure(project, {"./slow": lambda at: 5_000_000 * (1 + (at >= STEP)), **commands})
    return project


@pytest.fixture(scope="session")
def served(measured: Project) -> Iterator[Served]:
    """A server that only reads."""
    with running(measured) as server:
        yield server


@pytest.fixture(scope="session")
def cookie(served: Served) -> str:
    return served.cookie()
