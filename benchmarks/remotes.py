"""What remotes cost and bear, as numbers: several pushes at once, and one more version beside many.

    python benchmarks/remotes.py rounds --over git|folder|s3://BUCKET/FOLDER [--writers 2] [--rounds 100]
    python benchmarks/remotes.py growth --over git|folder|s3://BUCKET/FOLDER [--versions 10000]

`rounds`: in each round every clone registers a profile, and then all push at once, each in its own process; in the
end another clone pulls, and has to have all of them. `growth`: so many versions with a profile of a hundred rows are
pushed, then one more; of this one are printed its stored size, and the bytes that a git server or an object store was
sent and sent back, or that were read and written as contents of a folder. For a bucket, the environment names a server,
as `plugins/storage-object/README.md` says; the bytes are counted by a server between that and this.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import importlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import attrs
from perfcore_command_remote.memory import Memory
from perfcore_command_remote.transfer import Transferred, transfer
from perfcore_testing import profiles
from perfcore_testing.http_server import serving
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore.model import Entry
from perfcore.model.listener import SilentListener
from perfcore.model.record import replace
from perfcore.plugins import Plugins
from perfcore.store import objects
from perfcore.store.read_model import ReadModel
from perfcore.store.store import Store, object_key

STORAGE_GIT = Path(__file__).parents[1] / "plugins" / "storage-git"


@attrs.define
class Counted:
    """Bytes of bodies on their way."""

    sent: int = 0
    received: int = 0
    requests: int = 0


class CountingStorage:
    """A storage whose contents are counted as they are read and written."""

    def __init__(self, storage: Any, counted: Counted) -> None:
        self._storage = storage
        self._counted = counted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def read(self, key: str) -> Any:
        stored = self._storage.read(key)
        self._counted.received += len(stored.data)
        return stored

    def replace(self, key: str, data: bytes, tag: str | None) -> Any:
        self._counted.sent += len(data)
        return self._storage.replace(key, data, tag)

    def create_many(self, items: Iterable[tuple[str, bytes]]) -> Any:
        every = list(items)
        self._counted.sent += sum(len(data) for _, data in every)
        return self._storage.create_many(every)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["rounds", "growth"])
    parser.add_argument("--over", default="git")
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--versions", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.what == "rounds":
            found: Mapping[str, object] = rounds(Path(folder), arguments.over, arguments.writers, arguments.rounds)
        else:
            found = growth(Path(folder), arguments.over, arguments.versions)
    print(json.dumps({"what": arguments.what, "over": arguments.over.partition(":")[0], **found}))


def place(folder: Path, over: str) -> str:
    """The URL of an empty remote."""
    if over == "git":
        subprocess.run(["git", "init", "--quiet", "--bare", str(folder / "origin.git")], check=True)
        return str(folder / "origin.git")
    return str(folder / "shared") if over == "folder" else f"{over.rstrip('/')}/{uuid.uuid4().hex}"


def rounds(folder: Path, over: str, writers: int, count: int) -> dict[str, object]:
    """Every clone registers and pushes; the reader has to have everything."""
    url, clones = place(folder, over), []
    first = Project(folder / "first", folder / "home", always_processes=True)
    first.path.mkdir()
    first.git("init", "--quiet")
    first.commit("First")
    for number in range(writers + 1):
        first.git("clone", "--quiet", str(first.path), str(folder / f"clone{number}"))
        clone = Project(folder / f"clone{number}", folder / f"home{number}", always_processes=True)
        clone.perf("init")
        clone.perf("remote", "add", "shared", url)
        clones.append(clone)
    reader, *pushing = clones
    expected: set[str] = set()
    failed: list[str] = []
    began = time.monotonic()
    for number in range(count):
        for writer, clone in enumerate(pushing):
            expected.add(_register(clone, 1 + number + writer * 1_000_000))
        command = [sys.executable, "-m", "perfcore", "push", "shared"]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        running = [subprocess.Popen(command, cwd=clone.path, env=clone.env, **quiet) for clone in pushing]  # type: ignore[call-overload]
        for process in running:
            said = process.communicate()[1]
            if process.returncode:
                failed.append(said.decode(errors="replace")[-300:])
        reader.perf("pull", "shared")
        arrived = {entry.profile for _, entry in open_repository(reader.path).repository.everywhere()}
        assert arrived == expected, (number, len(arrived), len(expected))
    reader.perf("fsck")
    assert not failed, failed[:3]
    return {
        "writers": writers,
        "rounds": count,
        "pushes": writers * count,
        "arrived": len(expected),
        "seconds": round(time.monotonic() - began),
    }


def _register(clone: Project, wall: int) -> str:
    history = open_repository(clone.path)
    made = replace(profiles.timed(3, wall), origin=history.version(), created=wall)
    return history.register(history.save(made)).profile


def growth(folder: Path, over: str, versions: int) -> dict[str, float]:
    """Push so many versions, and then one more."""
    _, driver = Plugins().make("storage", "local", {}, place=folder / "here")
    here = Store(driver)
    for number in range(versions):
        _enter(here, number)
    model = ReadModel(folder / "derived.db")
    counted = Counted()
    with remote(folder, over, counted) as there:
        _push(here, there(), model)
        _enter(here, versions)
        counted.sent = counted.received = counted.requests = 0
        used = _cpu()
        done = _push(here, there(), model)
    index = len(here.storage.read(object_key(_version(versions))).data)
    stored = done.bytes + index
    moved = counted.sent + counted.received
    return {
        "versions": versions,
        "stored": stored,
        "sent": counted.sent,
        "received": counted.received,
        "requests": counted.requests,
        "allowed": 3 * stored + 20_000,
        "within": moved <= 3 * stored + 20_000,
        "cpu": round(_cpu() - used, 2),
    }


def _version(number: int) -> str:
    """An id as git gives them, so that keys are spread over all folders."""
    return hashlib.sha1(str(number).encode(), usedforsecurity=False).hexdigest()


def _enter(store: Store, number: int) -> None:
    version = _version(number)
    made = replace(profiles.timed(100, 1000 + number), origin=version, created=number)
    content, tables = store.encode_profile(made)
    id = objects.identify(objects.Object("profile", "time", content))
    entry = Entry(profile=id, created=number, name=f"p{number}", type="time", cmd="./work", tables=tables)
    store.register("git", version, content, "time", entry)


def _push(here: Store, there: Store, model: ReadModel) -> Transferred:
    done = transfer(here, there, Memory.read(model, "push"), SilentListener())
    assert not done.problems
    return done


@contextlib.contextmanager
def remote(folder: Path, over: str, counted: Counted) -> Iterator[Callable[[], Store]]:
    """What opens the store at an empty remote, each time as another command does."""

    def opened(kind: str, options: dict[str, object], at: Path) -> Store:
        return Store(Plugins().make("storage", kind, options, place=at)[1])

    if over == "folder":
        yield lambda: Store(CountingStorage(opened("local", {}, folder / "shared").storage, counted))
    elif over == "git":
        sys.path.insert(0, str(STORAGE_GIT))
        smart = importlib.import_module("tests.servers").http

        served = folder / "served"
        subprocess.run(["git", "init", "--quiet", "--bare", str(served / "origin.git")], check=True)
        with smart(served, "ci", "token") as url, passing(url, counted) as through:
            named = through.replace("http://", "http://ci:token@")
            yield lambda: opened("git", {"url": f"{named}/origin.git", "hold": 3600.0}, folder / "copy")
    else:
        upstream = os.environ["AWS_ENDPOINT_URL"]
        with passing(upstream, counted) as through:
            os.environ["AWS_ENDPOINT_URL"] = through
            url = place(folder, over)
            yield lambda: opened("object", {"url": url, "recall": 86_400.0}, folder / "copy")
            os.environ["AWS_ENDPOINT_URL"] = upstream


@contextlib.contextmanager
def passing(upstream: str, counted: Counted) -> Iterator[str]:
    """A server that passes everything on, and counts bodies."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def _pass(self) -> None:
            chunked = self.headers.get("Transfer-Encoding", "").lower() == "chunked"
            body = self._chunks() if chunked else self.rfile.read(int(self.headers.get("Content-Length", 0)))
            dropped = ("connection", "transfer-encoding", "content-length")
            headers = {name: text for name, text in self.headers.items() if name.lower() not in dropped}
            connection = http.client.HTTPConnection(upstream.removeprefix("http://"))
            connection.request(self.command, self.path, body or None, {**headers, "Content-Length": str(len(body))})
            answer = connection.getresponse()
            content = answer.read()
            with lock:
                counted.sent += len(body)
                counted.received += len(content)
                counted.requests += 1
            self.send_response(answer.status)
            for name, text in answer.headers.items():
                if name.lower() not in dropped:
                    self.send_header(name, text)
            of_head = answer.headers.get("Content-Length", "0")
            self.send_header("Content-Length", of_head if self.command == "HEAD" else str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            connection.close()

        def _chunks(self) -> bytes:
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _pass  # noqa: N815

    with serving(Handler) as url:
        yield url


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    assert shutil.which("git")
    main()
