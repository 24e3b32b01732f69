"""A network that is gone over ssh: nothing comes any more, and nothing says so."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from perfcore_storage_git import GitStorage, GitStorageSettings, ssh
from perfcore_testing import ssh_server

from perfcore.errors import StorageError


@contextlib.contextmanager
def relay(port: int, silence: Path) -> Iterator[int]:
    """Passes connections on. Once there is the file, nothing of the server comes through any more."""
    with contextlib.ExitStack() as opened:
        listening = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        threads = []

        def passed(source: socket.socket, target: socket.socket, is_server: bool) -> None:
            with contextlib.suppress(OSError):
                while data := source.recv(1 << 12):
                    if not (is_server and silence.exists()):
                        target.sendall(data)

        def serve() -> None:
            with contextlib.suppress(OSError):  # the test is over
                while True:
                    near = opened.enter_context(listening.accept()[0])
                    far = opened.enter_context(socket.create_connection(("127.0.0.1", port)))
                    opened.callback(near.shutdown, socket.SHUT_RDWR)
                    opened.callback(far.shutdown, socket.SHUT_RDWR)
                    for arguments in ((near, far, False), (far, near, True)):
                        threads.append(threading.Thread(target=passed, args=arguments))
                        threads[-1].start()

        threads.append(threading.Thread(target=serve))
        threads[0].start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            threads[0].join()
            with contextlib.suppress(OSError):
                opened.close()
            for thread in threads:
                thread.join()


@pytest.mark.parametrize(("is_welcome", "words"), [(False, "timed out"), (True, "not responding")])
def test_a_server_that_says_nothing_more_is_given_up(
    is_welcome: bool, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the beginning, or once it has let somebody in."""
    program, client = ssh_server.program(), shutil.which("ssh")
    if program is None or client is None:
        pytest.skip("sshd is not installed")
    monkeypatch.setattr(ssh, "_SILENCE", 1)
    silence, command = tmp_path / "silence", tmp_path / "command"
    command.write_text(f"#!/bin/sh\ntouch '{silence}'\nexec cat >/dev/null\n")
    command.chmod(0o755)
    if not is_welcome:
        silence.touch()
    with (
        ssh_server.running(tmp_path, program, ForceCommand=command) as server,
        relay(server.port, silence) as port,
    ):
        with_keys = tmp_path / "bin" / "ssh"
        with_keys.parent.mkdir()
        with_keys.write_text(f'#!/bin/sh\nexec {server.command.replace("ssh", client, 1)} "$@"\n')
        with_keys.chmod(0o755)
        monkeypatch.setenv("PATH", f"{with_keys.parent}{os.pathsep}{os.environ['PATH']}")
        url = f"{server.url.replace(str(server.port), str(port))}/origin.git"
        with pytest.raises(StorageError, match=f"git cannot reach ssh://.*{words}"):
            list(GitStorage(tmp_path / "place", GitStorageSettings(url=url)).list(""))


def test_an_ssh_that_the_user_chose_keeps_its_options(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    assert "ServerAliveInterval" in ssh.limited(environ)["GIT_SSH_COMMAND"]
    for name in ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT"):
        assert ssh.limited({**environ, name: "plink"}) == {}
    subprocess.run(["git", "config", "--global", "core.sshCommand", "ssh -v"], env=environ, check=True)
    assert ssh.limited(environ) == {}
