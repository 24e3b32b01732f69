"""How the laws of the kind vcs are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.vcs import Script, VcsContract

from perfcore_vcs_git.driver import Git


class GitScript(Script):
    """A user in a repository of git. The clock goes on by a minute with every commit."""

    def __init__(self, root: Path, *options: str) -> None:
        super().__init__(root)
        self.clock = 1_700_000_000
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main", *options)

    def git(self, *words: str, stdin: bytes | None = None, code: int = 0, **env: str) -> str:
        """Run git and give what it prints."""
        done = subprocess.run(
            ["git", *words], cwd=self.root, input=stdin, capture_output=True, env={**os.environ, **env}, check=False
        )
        assert done.returncode == code, (words, done)
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def commit(self, message: str) -> str:
        self.git("add", "--all")
        self.clock += 60
        self.git("commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "-m", message, **self.times())
        return self.git("rev-parse", "HEAD")

    def times(self) -> dict[str, Any]:
        return {f"GIT_{role}_DATE": f"{self.clock} +0100" for role in ("AUTHOR", "COMMITTER")}

    def branch(self, name: str) -> None:
        self.git("checkout", "--quiet", "-b", name)

    def switch(self, name: str) -> None:
        self.git("checkout", "--quiet", name)

    def merge(self, name: str) -> str:
        self.clock += 60
        self.git("merge", "--quiet", "--no-ff", "-m", f"Merge {name}", name, **self.times())
        return self.git("rev-parse", "HEAD")


def forget_configuration(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Have git neither the configuration nor the environment of whoever runs this."""
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Žofie Tester")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "tester@example.org")


class GitContract(VcsContract):
    private = (".git",)

    @pytest.fixture(autouse=True)
    def nobodys_git(self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
        """git without the configuration of whoever runs the tests."""
        forget_configuration(monkeypatch, tmp_path_factory.mktemp("home"))

    @pytest.fixture
    def script(self, tmp_path: Path) -> GitScript:
        """A user in an empty repository whose path is as odd as paths are."""
        return GitScript(tmp_path / 'it\'s $HOME ~ "žluťoučký" 日本')

    @pytest.fixture
    def driver(self, script: GitScript) -> Iterator[Git]:
        driver = Git(script.root)
        yield driver
        driver.close()
