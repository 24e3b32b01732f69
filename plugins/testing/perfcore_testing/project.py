"""A fresh repository in a temporary folder, and the command line run in it as a user would run it."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from perfcore_testing import command_line
from perfcore_testing.processes import PATIENCE

# The variables that say where a user's files are, and the folder below the home for each.
_HOME = {"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache"}


@attrs.frozen(kw_only=True)
class Done:
    """A command that ran. Its repr is the whole run, so that a failing test tells everything."""

    argv: tuple[str, ...]
    code: int
    out: str
    err: str

    def __repr__(self) -> str:
        return f"\n$ {' '.join(self.argv)}\n{self.out}{self.err}(exit code {self.code})\n"

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Project:
    """A folder with `perf` and `git` at hand. Configuration, trust and caches are its own, below `home`."""

    def __init__(self, path: Path, home: Path, *, always_processes: bool = False) -> None:
        self.always_processes = always_processes
        self.path = path
        self.home = home
        self.env = _environment(home)

    def perf(self, *words: str, code: int | None = 0, **options: Any) -> Done:
        """Run `perf` and expect an exit code; None accepts any. `cwd`, `env`, `input` as for subprocess.run.

        It runs in a copy of this process, which is several times faster than a process of its own; tests marked
        `process`, and environments that only a new interpreter reads, get that.
        """
        env = {**self.env, **(options.get("env") or {})}
        if self.always_processes or not command_line.is_possible(env):
            done = self.run(sys.executable, "-m", "perfcore", *words, **options)
        else:
            done = self._run_copy(words, env=env, **{k: v for k, v in options.items() if k != "env"})
        assert code is None or done.code == code, done
        return done

    def _run_copy(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | None = None,
        input: str | None = None,
        timeout: float = PATIENCE,
    ) -> Done:
        stdin = None if input is None else input.encode()
        ended = command_line.run(words, cwd=cwd or self.path, env=env, input=stdin, timeout=timeout)
        out, err = (text.decode("utf-8", "backslashreplace") for text in (ended.out, ended.err))
        return Done(argv=("perf", *words), code=ended.code, out=out, err=err)

    def git(self, *words: str, code: int | None = 0, **options: Any) -> Done:
        done = self.run("git", *words, **options)
        assert code is None or done.code == code, done
        return done

    def run(
        self,
        *argv: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        timeout: float = PATIENCE,
    ) -> Done:
        done = subprocess.run(
            argv,
            cwd=cwd or self.path,
            env={**self.env, **(env or {})},
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            timeout=timeout,
            check=False,
        )
        return Done(argv=argv, code=done.returncode, out=done.stdout, err=done.stderr)

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def commit(self, subject: str, **files: str) -> str:
        """Write files (by name, dots as double underscores), commit everything and give the id."""
        for name, text in files.items():
            self.write(name.replace("__", "."), text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)
        return self.git("rev-parse", "HEAD").out.strip()

    def collect(self, *command: str, repeat: int = 3, **options: Any) -> Done:
        """Measure a command quickly."""
        return self.perf("collect", "time", "--repeat", str(repeat), "--warmup", "0", "--", *command, **options)

    def use_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Give this process the home of the project, so that calls of the library know no other configuration."""
        for name in _HOME:
            monkeypatch.setenv(name, self.env[name])


def new_repository(folder: Path) -> Project:
    """`folder/project`, an empty git repository with a performance history, and a home beside it."""
    made = Project(folder / "project", folder / "home")
    made.path.mkdir()
    made.git("init", "--quiet")
    made.perf("init")
    return made


@pytest.fixture
def empty_project(tmp_path: Path, request: pytest.FixtureRequest) -> Project:
    """A folder with nothing in it."""
    path = tmp_path / "project"
    path.mkdir()
    marked = request.node.get_closest_marker("process") is not None
    return Project(path, tmp_path / "home", always_processes=marked)


@pytest.fixture
def project(empty_project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A git repository of one commit, with a performance history."""
    shutil.copytree(_template(tmp_path_factory.getbasetemp()), empty_project.path, symlinks=True, dirs_exist_ok=True)
    return empty_project


@functools.cache
def _template(base: Path) -> Path:
    """Such a repository, made once by git and `perf init`, to be copied."""
    folder = Path(tempfile.mkdtemp(prefix="template-", dir=base))
    project = Project(folder / "project", folder / "home")
    project.path.mkdir()
    project.git("init", "--quiet", "--initial-branch=main")
    project.commit("First", README="hello\n")
    project.perf("init")
    return project.path


def _environment(home: Path) -> dict[str, str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PERF_", "XDG_"))}
    for role in ("AUTHOR", "COMMITTER"):
        variables |= {f"GIT_{role}_NAME": "Tester", f"GIT_{role}_EMAIL": "tester@example.org"}
    return variables | {
        **{name: str(home / folder) for name, folder in _HOME.items()},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "NO_COLOR": "1",
        "COLUMNS": "120",
        "PYTHONWARNINGS": "error",
    }
