"""The laws of remotes, over a bucket; and a server whose listings lie, between the bucket and those who ask."""

from __future__ import annotations

import contextlib
import http.client
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import attrs
import pytest
from perfcore_storage_object import ObjectStorage, ObjectStorageSettings
from perfcore_storage_object.bucket import Bucket
from perfcore_storage_object.contract import BUCKET, server
from perfcore_testing.http_server import serving
from perfcore_testing.project import Project
from perfcore_testing.remotes import DAMAGED, LIES, Lie, RemoteContract, register, registered

# A copy of a process in which the library of the bucket has started its threads is none that it works in.
pytestmark = pytest.mark.process
_ROW = re.compile(rb"<Contents>.*?</Contents>", re.DOTALL)
_PASSED = ("ETag", "Last-Modified", "Content-Type", "Content-Range", "Accept-Ranges")
Change = Callable[[bytes], bytes]


@attrs.define
class BucketRemote:
    url: str
    env: Mapping[str, str]

    def storage(self, place: Path) -> ObjectStorage:
        return ObjectStorage(place, ObjectStorageSettings(url=self.url))

    def keep(self) -> dict[str, bytes]:
        bucket = Bucket(self.url)
        answers = ((name, bucket.get(name)) for name, _ in bucket.list(""))
        return {name: answer.data for name, answer in answers if answer is not None}

    def restore(self, kept: dict[str, bytes]) -> None:
        bucket = Bucket(self.url)
        for name, _ in bucket.list(""):
            bucket.remove(name)
        for name, body in kept.items():
            bucket.create(name, body)


class TestBucket(RemoteContract):
    # Each command is a process of its own here; what is said does not depend on where it stands.
    kills = 2
    rounds = 1
    lies: Mapping[str, Lie] = {
        name: LIES[name] for name in ("a flipped bit of each profile", "indexes of profiles that are nowhere")
    }

    @pytest.fixture
    def remote(self, monkeypatch: pytest.MonkeyPatch) -> BucketRemote:
        environment = server()
        if environment is None:
            pytest.skip("moto is not installed: pip install 'moto[server]', and PERFCORE_TEST_HARNESSES names its bin")
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return BucketRemote(f"s3://{BUCKET}/{uuid.uuid4().hex}", environment)

    @pytest.mark.parametrize("lie", ["_half", "_twice", "_none"])
    def test_lists_that_lie_change_nothing_wrongly(
        self, clones: tuple[Project, Project], remote: BucketRemote, lie: str
    ) -> None:
        """Lists that end early, and those that are empty, and keys that come twice."""
        first, second = clones
        truth = {register(first, 100 + number, version="HEAD" if number % 2 else "HEAD~1") for number in range(4)}
        first.perf("push")
        with lying(remote.env["AWS_ENDPOINT_URL"], globals()[lie]) as url:
            env = {"AWS_ENDPOINT_URL": url}
            # Who pushed has something to compare it with. Half of a list may lack objects alone, which it has.
            accepted = {0, DAMAGED} if lie == "_half" else {DAMAGED}
            assert first.perf("pull", env=env, code=None).code in accepted
            for clone, verb in ((second, "pull"), (second, "push"), (first, "push")):
                done = clone.perf(verb, code=None, env=env)
                assert "Traceback" not in done.err, done
                assert registered(clone) <= truth
        first.perf("push")
        second.perf("pull")
        assert registered(second) == truth
        second.perf("fsck")


def _half(body: bytes) -> bytes:
    rows = _ROW.findall(body)
    for row in rows[len(rows) // 2 :]:
        body = body.replace(row, b"")
    return body


def _twice(body: bytes) -> bytes:
    return _ROW.sub(lambda row: row[0] * 2, body)


def _none(body: bytes) -> bytes:
    return _ROW.sub(b"", body)


@contextlib.contextmanager
def lying(upstream: str, change: Change) -> Iterator[str]:
    """A server that passes everything on, and changes listings."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            self._pass()

        def do_PUT(self) -> None:
            self._pass()

        def do_HEAD(self) -> None:
            self._pass()

        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
            # As they were written: the server knows its headers by their capitals.
            headers = {name: text for name, text in self.headers.items() if name.lower() != "connection"}
            connection = http.client.HTTPConnection(upstream.removeprefix("http://"))
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            status, fields, content = answer.status, answer.headers, answer.read()
            connection.close()
            if "list-type" in self.path:
                content = change(content)
            self.send_response(status)
            for name in _PASSED:
                if name in fields:
                    self.send_header(name, fields[name])
            length = fields.get("Content-Length", "0") if self.command == "HEAD" else str(len(content))
            self.send_header("Content-Length", length)
            self.end_headers()
            self.wfile.write(content)

    with serving(Handler) as url:
        yield url
