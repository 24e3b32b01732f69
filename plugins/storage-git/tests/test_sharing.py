"""`perf push` and `perf pull` of two clones, over the remote that both have in git."""

from __future__ import annotations

import base64
import functools
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

import pytest
from perfcore_testing import profiles, ssh_server
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore.model.record import replace

from . import servers
from .conftest import bare

SshServer: TypeAlias = Callable[..., AbstractContextManager[ssh_server.Server]]


def register(project: Project, wall: int) -> str:
    history = open_repository(project.path)
    made = replace(profiles.timed(3, wall), origin=history.version(), created=wall)
    return history.register(history.save(made)).profile


def clones(project: Project, folder: Path, url: str, count: int = 1) -> list[Project]:
    """The project with `url` as its origin, and clones of it."""
    project.git("remote", "add", "origin", url)
    project.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
    made = []
    for number in range(count):
        project.git("clone", "--quiet", "--branch", "main", url, str(folder / f"clone{number}"))
        made.append(Project(folder / f"clone{number}", project.home))
        made[-1].perf("init")
    return made


def exchanged(project: Project, other: Project) -> None:
    """Profiles, tags and acceptances go both ways."""
    first = register(project, 100)
    project.perf("tag", "release", "0@i")
    assert "pushed 1 profile of 1 version to origin" in project.perf("push").err
    assert "pulled 1 profile of 1 version from origin" in other.perf("pull").err
    assert first[:10] in other.perf("log").out
    assert "wall 100 ns" in other.perf("show", "--one-line", "release").out
    second = register(other, 200)
    assert "pushed 1 profile of 1 version" in other.perf("push").err
    project.perf("pull")
    assert second[:10] in project.perf("log").out
    assert "nothing here is missing there" in project.perf("push").err
    for clone in (project, other):
        clone.perf("fsck")


def test_profiles_travel_through_a_bare_repository(project: Project, tmp_path: Path) -> None:
    (other,) = clones(project, tmp_path, str(bare(tmp_path / "origin.git")))
    exchanged(project, other)
    assert other.git("for-each-ref", "--format=%(refname)").out.find("refs/perf") == -1


def test_profiles_travel_over_http_with_the_token_of_the_repository(project: Project, tmp_path: Path) -> None:
    """As a CI leaves it in the configuration of its checkout."""
    bare(tmp_path / "served" / "origin.git")
    token = base64.b64encode(b"ci:token").decode()
    with servers.http(tmp_path / "served", "ci", "token") as url:
        header = f"http.{url}.extraHeader=Authorization: Basic {token}"
        project.git("config", f"http.{url}.extraHeader", f"Authorization: Basic {token}")
        project.git("remote", "add", "origin", f"{url}/origin.git")
        project.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
        project.git("-c", header, "clone", "--quiet", "--branch", "main", f"{url}/origin.git", str(tmp_path / "clone"))
        other = Project(tmp_path / "clone", project.home)
        other.perf("init")
        refused = other.perf("pull", code=None)
        assert refused.code != 0
        assert "cannot reach" in refused.err
        other.git("config", f"http.{url}.extraHeader", f"Authorization: Basic {token}")
        exchanged(project, other)
    assert token not in "".join(path.read_text() for path in tmp_path.rglob(".perf/**/config"))


@pytest.fixture
def ssh(tmp_path: Path) -> SshServer:
    """Starts a server beside the bare repository `origin.git`."""
    program = ssh_server.program()
    if program is None:
        pytest.skip("sshd is not installed")
    bare(tmp_path / "origin.git")
    keys = tmp_path / "keys"
    keys.mkdir()
    return functools.partial(ssh_server.running, keys, program)


def test_profiles_travel_over_ssh(project: Project, tmp_path: Path, ssh: SshServer) -> None:
    with ssh() as server:
        project.env["GIT_SSH_COMMAND"] = server.command
        (other,) = clones(project, tmp_path, f"{server.url}{tmp_path}/origin.git")
        other.env["GIT_SSH_COMMAND"] = server.command
        exchanged(project, other)


def test_a_server_that_forbids_writing_is_quoted(project: Project, tmp_path: Path, ssh: SshServer) -> None:
    """As one answers who pushes from a clone of a repository of others."""
    answer = tmp_path / "answer"
    answer.write_text(
        "#!/bin/sh\n"
        'case "$SSH_ORIGINAL_COMMAND" in *receive-pack*)\n'
        "  echo 'ERROR: Permission to ann/sort.git denied to bob.' >&2; exit 1;;\n"
        'esac\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    answer.chmod(0o755)
    with ssh(ForceCommand=answer) as server:
        project.env["GIT_SSH_COMMAND"] = server.command
        project.git("remote", "add", "origin", f"{server.url}{tmp_path}/origin.git")
        register(project, 100)
        done = project.perf("push", code=4)
        assert "cannot write to" in done.err
        assert "ERROR: Permission to ann/sort.git denied to bob." in done.err
        assert "Could not read" not in done.err
        assert "perf push REMOTE" in done.err


def test_a_push_that_a_hook_of_the_server_rejects_says_why(project: Project, tmp_path: Path, ssh: SshServer) -> None:
    hook = tmp_path / "origin.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'only releases' >&2\nexit 1\n")
    hook.chmod(0o755)
    with ssh() as server:
        project.env["GIT_SSH_COMMAND"] = server.command
        project.git("remote", "add", "origin", f"{server.url}{tmp_path}/origin.git")
        register(project, 100)
        error = project.perf("push", code=4).err
    assert "remote: only releases; [remote rejected] (pre-receive hook declined)" in error
    assert "\\t" not in error


@pytest.mark.parametrize("rounds", [5])
def test_of_two_pushes_at_once_both_arrive(project: Project, tmp_path: Path, rounds: int) -> None:
    first, second, reader = clones(project, tmp_path, str(bare(tmp_path / "origin.git")), 3)
    expected = set()
    for number in range(rounds):
        expected |= {register(first, 1000 + number), register(second, 2000 + number)}
        failed: list[str] = []

        def push(clone: Project, failed: list[str] = failed) -> None:
            done = clone.run(sys.executable, "-m", "perfcore", "push")
            if done.code:
                failed.append(done.err)

        threads = [threading.Thread(target=push, args=(clone,)) for clone in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        reader.perf("pull")
        log = reader.perf("log", "--json").out
        assert all(profile in log for profile in expected)


def test_a_push_that_is_killed_is_finished_by_the_next(project: Project, tmp_path: Path) -> None:
    (other,) = clones(project, tmp_path, str(bare(tmp_path / "origin.git")))
    made = [register(project, 100 + number) for number in range(40)]
    for delay in (0.05, 0.2, 0.4, 0.6, 0.8, 1.0):
        process = subprocess.Popen(
            [sys.executable, "-m", "perfcore", "push"], cwd=project.path, env=project.env, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    project.perf("push")
    other.perf("pull")
    other.perf("fsck")
    log = other.perf("log", "--json").out
    assert all(profile in log for profile in made)
