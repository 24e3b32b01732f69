"""The contract of the kind for the storage `object`, on a server of moto.

moto stands in an environment of its own, whose `bin` folder PERFCORE_TEST_HARNESSES names, or on PATH. Its server
compares and writes in two steps, so it answers one request after the other here.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import socket
import subprocess
import time
import urllib.request
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from perfcore_testing.storage import StorageContract

from perfcore_storage_object.driver import ObjectStorage
from perfcore_storage_object.settings import ObjectStorageSettings

BUCKET = "store"
_SERVER = """
import sys
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple
run_simple("127.0.0.1", int(sys.argv[1]), DomainDispatcherApplication(create_backend_app), threaded=False)
"""


class ObjectStorageContract(StorageContract):
    """Several processes that write to one bucket."""

    # Each request is one over HTTP to a server that answers one at a time.
    kills = 6
    lifetime = 0.5
    crowd = 8
    increments = 10

    @pytest.fixture(autouse=True)
    def s3(self, monkeypatch: pytest.MonkeyPatch) -> None:
        environment = server()
        if environment is None:
            pytest.skip("moto is not installed: pip install 'moto[server]', and PERFCORE_TEST_HARNESSES names its bin")
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

    @pytest.fixture
    def driver(self, tmp_path: Path) -> ObjectStorage:
        url = f"s3://{BUCKET}/{uuid.uuid4().hex}"
        return ObjectStorage(tmp_path / "place", ObjectStorageSettings(url=url))

    @pytest.fixture
    def reopen(self, driver: ObjectStorage) -> Callable[[], ObjectStorage]:
        return functools.partial(ObjectStorage, driver.place, driver.settings)


@functools.cache
def server() -> dict[str, str] | None:
    """The environment in which S3 is a server of moto with an empty bucket; None without moto."""
    python = _python_with_moto()
    if python is None:
        return None
    port = free_port()
    process = subprocess.Popen([python, "-c", _SERVER, str(port)], stderr=subprocess.DEVNULL)
    atexit.register(process.kill)
    wait_for(port, process)
    made = urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT")
    urllib.request.urlopen(made).close()
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until something listens there."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"no server listens on port {port}")


def _python_with_moto() -> str | None:
    folder = os.environ.get("PERFCORE_TEST_HARNESSES")
    program = shutil.which("moto_server", path=folder) if folder else shutil.which("moto_server")
    if program is None:
        return None
    python = Path(program).with_name("python")
    return str(python) if python.exists() else None
