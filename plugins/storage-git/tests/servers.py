"""Real servers for git on this machine: smart HTTP by git's own program, and ssh."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import NamedTuple

from perfcore_testing.http_server import serving


@contextlib.contextmanager
def http(root: Path, user: str, password: str) -> Iterator[str]:
    """The repositories below a folder by smart HTTP, for one user. Gives the URL of the folder."""
    accepted = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self._body())

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def _answer(self, body: bytes) -> None:
            if self.headers.get("Authorization") != accepted:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            done = subprocess.run(
                ["git", "http-backend"],
                input=body,
                capture_output=True,
                check=True,
                env={
                    **os.environ,
                    "GIT_PROJECT_ROOT": str(root),
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "REMOTE_USER": user,
                    "REQUEST_METHOD": self.command,
                    "PATH_INFO": path,
                    "QUERY_STRING": query,
                    "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                    "CONTENT_LENGTH": str(len(body)),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                },
            )
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self.send_response(int(fields.pop("Status", "200").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with serving(Handler) as url:
        yield url


class Ssh(NamedTuple):
    """Where a server of ssh listens, and the command that reaches it without questions."""

    url: str
    command: str


def sshd() -> str | None:
    """The server's program; None where it is not installed."""
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


@contextlib.contextmanager
def ssh(folder: Path, program: str) -> Iterator[Ssh]:
    """A server for the user of this process, with keys of its own."""
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
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([program, "-D", "-e", "-f", "/dev/null", *words], stderr=log)
    try:
        _wait_for(port, server, folder / "log")
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        known = f"-o UserKnownHostsFile={folder / 'known'} -o StrictHostKeyChecking=no -o IdentitiesOnly=yes"
        yield Ssh(f"ssh://{user}@127.0.0.1:{port}", f"ssh -F none -i {folder / 'user'} -o BatchMode=yes {known}")
    finally:
        server.terminate()
        server.wait()


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise AssertionError(f"sshd does not listen: {log.read_text()}")
