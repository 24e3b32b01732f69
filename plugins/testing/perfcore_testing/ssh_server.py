"""A real server of ssh on this machine, for tests of what goes over ssh."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from perfcore.named_tuple import NamedTuple
from perfcore_testing.processes import PATIENCE


class Server(NamedTuple):
    """A server: its URL and port, the file of its user's key, and the command that reaches it without questions."""

    url: str
    port: int
    key: Path
    command: str


def program() -> str | None:
    """The server's program; None where it is not installed."""
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


@contextlib.contextmanager
def running(folder: Path, program: str, **more: object) -> Iterator[Server]:
    """A server for the user of this process, with keys of its own in the folder; `more` are options of sshd."""
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    options = {
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "user.pub",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        "ListenAddress": f"127.0.0.1:{port}",
        **more,
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([program, "-D", "-e", "-f", "/dev/null", *words], stderr=log)
    try:
        _wait_for(port, server, folder / "log")
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        known = f"-o UserKnownHostsFile={folder / 'known'} -o StrictHostKeyChecking=no -o IdentitiesOnly=yes"
        command = f"ssh -F none -i {folder / 'user'} -o BatchMode=yes {known}"
        yield Server(f"ssh://{user}@127.0.0.1:{port}", port, folder / "user", command)
    finally:
        server.terminate()
        server.wait()


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise AssertionError(f"sshd does not listen: {log.read_text()}")
