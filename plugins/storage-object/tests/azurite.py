"""Azurite, the server of Azure's own tests, on this machine."""

from __future__ import annotations

import base64
import contextlib
import datetime
import hashlib
import hmac
import http.client
import subprocess
from collections.abc import Iterator
from pathlib import Path

from perfcore_storage_object.contract import BUCKET, free_port, wait_for

# The account that every Azurite has: https://learn.microsoft.com/azure/storage/common/storage-use-azurite
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
VERSION = "2021-08-06"


@contextlib.contextmanager
def azurite(program: Path, folder: Path) -> Iterator[dict[str, str]]:
    """The environment in which Azure is a server with an empty container."""
    port = free_port()
    where = ["--location", str(folder), "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    quiet = ["--silent", "--skipApiVersionCheck", "--disableTelemetry"]
    process = subprocess.Popen([program, *where, *quiet], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, process)
        _make_container(port)
        yield {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/{ACCOUNT}",
        }
    finally:
        process.kill()
        process.wait()


def _make_container(port: int) -> None:
    """By a request that is signed: https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key"""
    now = datetime.datetime.now(datetime.UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    signed = (
        f"PUT{chr(10) * 12}x-ms-date:{now}\nx-ms-version:{VERSION}\n/{ACCOUNT}/{ACCOUNT}/{BUCKET}\nrestype:container"
    )
    digest = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
    headers = {
        "x-ms-date": now,
        "x-ms-version": VERSION,
        "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}",
    }
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("PUT", f"/{ACCOUNT}/{BUCKET}?restype=container", headers=headers)
    assert connection.getresponse().status == 201
    connection.close()
