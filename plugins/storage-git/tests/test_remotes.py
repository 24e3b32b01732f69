"""The laws of remotes, over git: a bare repository, smart HTTP and ssh."""

from __future__ import annotations

import base64
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs
import pytest
from perfcore_storage_git import GitStorage, GitStorageSettings
from perfcore_testing import ssh_server
from perfcore_testing.project import Project
from perfcore_testing.remotes import (
    DAMAGED,
    RemoteContract,
    RemoteInFolder,
    RemoteWriters,
    Tampering,
    register,
    registered,
)

from . import servers
from .conftest import bare

REF = "refs/perf/store"


@attrs.define
class GitRemote(RemoteInFolder):
    """A bare repository, and the URL by which others reach it."""

    url: str
    env: Mapping[str, str] = attrs.field(factory=dict)

    def storage(self, place: Path) -> GitStorage:
        return GitStorage(place, GitStorageSettings(url=str(self.path)))

    def git(self, *words: str, **options: object) -> str:
        run = ["git", f"--git-dir={self.path}", *words]
        return subprocess.run(run, check=True, capture_output=True, text=True, **options).stdout  # type: ignore[call-overload, no-any-return]


class TestBareRepository(RemoteContract):
    @pytest.fixture
    def remote(self, tmp_path: Path) -> GitRemote:
        path = bare(tmp_path / "origin.git")
        return GitRemote(path, str(path))

    def test_a_key_that_is_there_twice_is_named(
        self, clones: tuple[Project, Project], remote: GitRemote, tmp_path: Path
    ) -> None:
        """An index, with a copy that claims to be older, and another that claims to be newer."""
        first, second = clones
        truth = {register(first, 100)}
        first.perf("push")
        key = Tampering(remote.storage(tmp_path / "liar")).indexes()[0]
        (row,) = [row for row in remote.git("ls-tree", "-r", REF).splitlines() if f"\t{key}=" in row]
        profile = next(row for row in remote.git("ls-tree", "-r", REF).splitlines() if f"\t{key}=" not in row)
        for times in ("1.1", "7fffffffffffffff.7fffffffffffffff"):
            kept = remote.keep()
            tree = remote.git("ls-tree", "-r", REF)
            blob = profile.split()[2]
            added = f"{row.split()[0]} blob {blob}\t{key}={times}\n"
            index = {"GIT_INDEX_FILE": str(tmp_path / f"index-{times}"), "PATH": "/usr/bin:/bin"}
            remote.git("update-index", "--index-info", input=tree + added, env=index)
            made = remote.git("write-tree", env=index).strip()
            named = {f"GIT_{role}_{part}": "x@y" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
            commit = remote.git("commit-tree", "-m", "x", "-p", REF, made, env={**index, **named}).strip()
            remote.git("update-ref", REF, commit)
            assert "is listed twice" in second.perf("pull", code=DAMAGED).err
            assert registered(second) <= truth
            second.perf("fsck")
            remote.restore(kept)
        second.perf("pull")
        assert registered(second) == truth

    def test_objects_that_the_repository_lost_are_told(
        self, clones: tuple[Project, Project], remote: GitRemote
    ) -> None:
        first, second = clones
        register(first, 100)
        first.perf("push")
        for name in ("pack", "??"):
            for path in (remote.path / "objects").glob(f"{name}/*"):
                path.chmod(0o600)
                path.write_bytes(path.read_bytes()[:-2])
        done = second.perf("pull", code=None)
        assert done.code != 0
        assert "git cannot read" in done.err or "git cannot reach" in done.err
        assert registered(second) == set()

    def test_the_history_begins_anew_and_old_bytes_cannot_be_reached(
        self, clones: tuple[Project, Project], remote: GitRemote, tmp_path: Path
    ) -> None:
        first, second = clones
        register(first, 100)
        first.perf("push")
        old = remote.git("rev-list", "--objects", REF).splitlines()
        blob = next(row.split()[0] for row in old if " objects/" in row)
        kept = register(first, 300, created=time.time_ns())
        first.perf("push")
        first.perf("remote", "gc", "--expire", "30d", "--grace", "0s", "--alone")
        assert remote.git("rev-list", "--count", REF).strip() == "1"
        remote.git("gc", "--quiet", "--prune=now")
        everything = remote.git("cat-file", "--batch-all-objects", "--batch-check")
        assert blob in old[0] or any(blob in row for row in old)
        assert self.held(remote, tmp_path) == {kept}
        assert len(everything.splitlines()) < len(old)
        second.perf("pull")
        assert registered(second) == {kept}


class TestHttp(RemoteWriters):
    kills = 2
    rounds = 1

    @pytest.fixture
    def remote(self, tmp_path: Path) -> Iterator[GitRemote]:
        path = bare(tmp_path / "served" / "origin.git")
        token = base64.b64encode(b"ci:token").decode()
        with servers.http(tmp_path / "served", "ci", "token") as url:
            settings = {
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": f"http.{url}.extraHeader",
                "GIT_CONFIG_VALUE_0": f"Authorization: Basic {token}",
            }
            yield GitRemote(path, f"{url}/origin.git", settings)


class TestSsh(RemoteWriters):
    kills = 2
    rounds = 1

    @pytest.fixture
    def remote(self, tmp_path: Path) -> Iterator[GitRemote]:
        program = ssh_server.program()
        if program is None:
            pytest.skip("sshd is not installed")
        path = bare(tmp_path / "origin.git")
        (tmp_path / "keys").mkdir()
        with ssh_server.running(tmp_path / "keys", program) as server:
            yield GitRemote(path, f"{server.url}{path}", {"GIT_SSH_COMMAND": server.command})
