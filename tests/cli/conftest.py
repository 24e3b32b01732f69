"""The command line in this process, which takes a tenth of the time, and profiles that say what a test wants."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing import profiles
from perfcore_testing.project import Done, Project

from perfcore.cli import main
from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.repository import Repository
from perfcore.repository.repository import UserPlaces


class Here(Project):
    """A project whose `perf` runs in this process, with the environment and folder of its own."""

    def perf(
        self,
        *words: str,
        code: int | None = 0,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Done:
        assert not options, "what else a process can have needs a real one: `real`"
        out, err = _stream(), _stream()
        with pytest.MonkeyPatch.context() as patch, open(os.devnull) as nothing:
            for name in list(os.environ):
                patch.delenv(name)
            for name, value in {**self.env, **(env or {})}.items():
                patch.setenv(name, value)
            patch.chdir(cwd or self.path)
            patch.setattr(sys, "stdin", nothing)
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            ended = main(list(words))
        done = Done(argv=("perf", *words), code=ended, out=_text(out), err=_text(err))
        assert code is None or done.code == code, done
        return done

    @property
    def real(self) -> Project:
        """The same project, with real processes."""
        return Project(self.path, self.home)

    @property
    def repository(self) -> Repository:
        places = UserPlaces(self.home / "config.yml", self.home / "trusted", self.home / "trees")
        return Repository.open(self.path, places=places)

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD").out.strip()

    def save(self, profile: Profile | None = None, **changes: Any) -> str:
        """A pending profile of the head; gives its name."""
        changes.setdefault("origin", self.head)
        return self.repository.save(replace(profile or profiles.timed(), **changes)).name

    def register(self, profile: Profile | None = None, **changes: Any) -> str:
        """A registered profile of the head; gives its id."""
        name = self.save(profile, **changes)
        return self.perf("add", name).out.split()[0]

    def snapshot(self) -> dict[str, tuple[int, int, str]]:
        """Every file below `.perf` with its time, its mode and a hash of its content, but for the cache."""
        perf = self.path / ".perf"
        cache = perf / "cache"
        return {str(path): _facts(path) for path in sorted(perf.rglob("*")) if cache not in (path, *path.parents)}


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository of one commit, with a performance history, to be copied."""
    folder = tmp_path_factory.mktemp("template")
    made = Here(folder / "project", folder / "home")
    made.path.mkdir()
    made.git("init", "--quiet", "--initial-branch=main")
    made.commit("First", README="hello\n")
    made.perf("init")
    return made.path


@pytest.fixture
def here(template: Path, tmp_path: Path) -> Here:
    """A git repository of one commit, with a performance history."""
    return _copied(template, tmp_path)


@pytest.fixture(scope="session")
def made(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Here]:
    """A copy of the template, or of another, for fixtures of a module that fill it once."""
    return lambda source=template: _copied(source, tmp_path_factory.mktemp("made"))


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Here], Here]:
    """A copy for one test of what was made once."""
    return lambda source: _copied(source.path, tmp_path)


@pytest.fixture(scope="session")
def slowed_template(made: Callable[..., Here]) -> Path:
    """The same with profiles of two versions of which the second takes twice as long."""
    here = made()
    for subject, wall in (("", 100_000_000), ("Slower", 200_000_000)):
        if subject:
            here.commit(subject)
        here.register(profiles.timed(runs=12, wall=wall))
    return here.path


@pytest.fixture
def slowed(slowed_template: Path, tmp_path: Path) -> Here:
    """A git repository of two versions of which the second takes twice as long."""
    return _copied(slowed_template, tmp_path)


@pytest.fixture
def bare(empty_project: Project) -> Here:
    """A folder with nothing in it."""
    return Here(empty_project.path, empty_project.home)


@pytest.fixture
def python() -> Callable[[str], tuple[str, ...]]:
    """A command that runs a line of Python without its own slow start."""
    return lambda code: (sys.executable, "-S", "-E", "-c", code)


def _copied(source: Path, folder: Path) -> Here:
    return Here(Path(shutil.copytree(source, folder / "project", symlinks=True)), folder / "home")


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "backslashreplace")


def _facts(path: Path) -> tuple[int, int, str]:
    status = path.lstat()
    digest = hashlib.sha1(path.read_bytes()).hexdigest() if path.is_file() else ""
    return status.st_mtime_ns, status.st_mode, digest
