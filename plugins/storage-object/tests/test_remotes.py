"""The laws of remotes, over a bucket; and a server whose listings lie, between the bucket and those who ask."""

from __future__ import annotations

import contextlib
import re
import threading
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import attrs
import pytest
from perfcore_storage_object import ObjectStorage, ObjectStorageSettings
from perfcore_storage_object.bucket import Bucket
from perfcore_storage_object.contract import BUCKET, server
from perfcore_testing.project import Project
from perfcore_testing.remotes import DAMAGED, RemoteContract, register, registered

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
    kills = 3

    @pytest.fixture
    def remote(self, monkeypatch: pytest.MonkeyPatch) -> BucketRemote:
        environment = server()
        if environment is None:
            pytest.skip("moto is not installed: pip install 'moto[server]', and PERFCORE_TEST_HARNESSES names its bin")
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return BucketRemote(f"s3://{BUCKET}/{uuid.uuid4().hex}", environment)

    def test_lists_that_lie_change_nothing_wrongly(self, clones: tuple[Project, Project], remote: BucketRemote) -> None:
        """Lists of yesterday, lists that end early, keys that come twice, sizes that are not so."""
        first, second = clones
        truth = {register(first, 100 + number, version="HEAD" if number % 2 else "HEAD~1") for number in range(4)}
        first.perf("push")
        for lie in (_half, _twice, _tiny, _none):
            name = lie.__name__
            with lying(remote.env["AWS_ENDPOINT_URL"], lie) as url:
                for clone in clones:
                    done = clone.perf("pull", code=None, env={"AWS_ENDPOINT_URL": url})
                    assert "Traceback" not in done.err, (name, done)
                    assert registered(clone) <= truth, name
                    clone.perf("fsck")
                    if clone is first:  # who pushed, and so has something to compare it with
                        assert done.code == DAMAGED, (name, done)
                    pushed = clone.perf("push", code=None, env={"AWS_ENDPOINT_URL": url})
                    assert "Traceback" not in pushed.err, (name, pushed)
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


def _tiny(body: bytes) -> bytes:
    return re.sub(rb"<Size>\d+</Size>", b"<Size>3</Size>", body)


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

        do_PUT = do_HEAD = do_DELETE = do_POST = do_GET

        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
            headers = {name: text for name, text in self.headers.items() if name.lower() not in ("connection",)}
            request = urllib.request.Request(f"{upstream}{self.path}", body, headers, method=self.command)
            try:
                with urllib.request.urlopen(request) as answer:
                    status, fields, content = answer.status, answer.headers, answer.read()
            except urllib.error.HTTPError as error:
                status, fields, content = error.code, error.headers, error.read()
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

    passing = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=passing.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{passing.server_port}"
    finally:
        passing.shutdown()
        passing.server_close()
        thread.join()
