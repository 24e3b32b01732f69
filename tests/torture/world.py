"""A repository to be tortured: how it is made, what may be done to it, and what must hold afterwards.

Commands run in forked children of this process, which has imported perfcore once: such a child runs the real
`perfcore.cli.main` with real arguments over real files and real git, and only the start of the interpreter is left
out. `World.start(..., real=True)` executes a new interpreter instead.
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
from perfcore_command_store.examination import examine

from perfcore import cli
from perfcore.cli.verbs import VERBS
from perfcore.model import Entry, Header, Profile, Tool
from perfcore.profile.table import column, table
from perfcore.repository import Repository
from perfcore.repository.repository import UserPlaces
from perfcore.store.store import Store

CREATED = 1_750_000_000_000_000_000
TOKEN = "PERF_TORTURE"
INTERNAL = 70
ROWS = 5000
AGAIN = 100  # what is taken off and registered again is moved by nanoseconds


@attrs.frozen(kw_only=True)
class State:
    """What a store holds: the tags of every registered profile by its number, the numbers that are pending, and how
    many other profiles (those that were measured) are in each place."""

    registered: dict[int, tuple[str, ...]]
    pending: tuple[int, ...]
    measured: int = 0
    waiting: int = 0


@attrs.frozen(kw_only=True)
class Ended:
    """A command that ended: its exit code, negative if a signal killed it, and what it said."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str

    def __repr__(self) -> str:
        return f"\n$ perf {' '.join(self.words)}\n{self.out}{self.err}(exit code {self.code})\n"


@attrs.define
class Running:
    """A command that runs in a child."""

    words: tuple[str, ...]
    pid: int
    out: Path
    err: Path

    def wait(self) -> Ended:
        _, status = os.waitpid(self.pid, 0)
        return self._ended(status)

    def poll(self) -> Ended | None:
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return self._ended(status) if pid else None

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def _ended(self, status: int) -> Ended:
        code = os.waitstatus_to_exitcode(status)
        texts = [path.read_text(errors="backslashreplace") for path in (self.out, self.err)]
        self.out.unlink()
        self.err.unlink()
        return Ended(words=self.words, code=code, out=texts[0], err=texts[1])


class World:
    """A git repository with a performance history at `base/project`, and a user whose files are in `base/home`.
    The user has changes that are staged, that are not, and files that git does not know."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.path = base / "project"
        self.home = base / "home"
        self.perf = self.path / ".perf"
        self.env = _environment(self.home)
        self._count = 0

    @classmethod
    def make(cls, base: Path) -> World:
        world = cls(base)
        (world.path / "folder").mkdir(parents=True)
        world.home.mkdir()
        world.git("init", "--quiet", "--initial-branch=main")
        for name in ("file", "folder/other", "folder/third"):
            (world.path / name).write_text(f"{name}\n" * 20)
        world.git("add", "--all")
        world.git("commit", "--quiet", "--message", "First")
        (world.path / "file").write_text("changed\n")
        (world.path / "folder/other").write_text("staged\n")
        world.git("add", "folder/other")
        (world.path / "unknown").write_text("nobody knows me\n")
        ended = world.run("init")
        assert ended.code == 0, ended
        return world

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    @property
    def repository(self) -> Repository:
        places = UserPlaces(self.home / "config.yml", self.home / "trusted", self.home / "trees")
        return Repository.open(self.path, places=places)

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.path, env=self.env, capture_output=True, text=True, check=True)
        return done.stdout

    def start(self, *words: str, real: bool = False, first: Callable[[], object] = lambda: None) -> Running:
        """Begin a command; `first` is called in its process before."""
        self._count += 1
        out, err = self.base / f"out-{self._count}", self.base / f"err-{self._count}"
        out.touch()
        err.touch()
        pid = os.fork()
        if pid == 0:
            self._be(words, out, err, real, first)
        return Running(words=words, pid=pid, out=out, err=err)

    def run(self, *words: str, real: bool = False, first: Callable[[], object] = lambda: None) -> Ended:
        return self.start(*words, real=real, first=first).wait()

    def add_pending(self, number: int) -> str:
        """Make a profile wait; gives its name."""
        return self.repository.save(profile(number, self.head)).name

    def state(self) -> State:
        """What is there, every profile read to its last value. AssertionError if one is not what it was."""
        store = self.repository.store
        registered: dict[int, tuple[str, ...]] = {}
        waiting: list[int] = []
        measured = others = 0
        for entry in _live(store):
            number = _verified(store.load(entry.profile))
            if number is None:
                measured += 1
                continue
            assert number not in registered, f"{number} is registered twice"
            assert (entry.cmd, entry.args) == ("work", str(number)), number
            assert 0 <= entry.created - CREATED - number < AGAIN, number
            registered[number] = entry.tags
        for pending in self.repository.pending():
            assert pending.profile is not None, pending.damage
            number = _verified(pending.profile)
            if number is None:
                others += 1
            else:
                waiting.append(number)
        return State(registered=registered, pending=tuple(sorted(waiting)), measured=measured, waiting=others)

    def wrongs(self) -> list[str]:
        """What `perf fsck` calls an error."""
        found = examine(self.repository.store)
        return [f"{finding.key}: {finding.text}" for finding in found if finding.level == "error"]

    def tree(self) -> dict[str, object]:
        """Everything of the user's that could be noticed to have changed."""
        found: dict[str, object] = {}
        for folder, below, names in os.walk(self.path):
            below[:] = [name for name in below if name not in (".git", ".perf")]
            for name in names:
                path = Path(folder, name)
                status = path.lstat()
                found[str(path)] = (status.st_mode, status.st_mtime_ns, path.read_bytes())
        for words in (("status", "--porcelain=v2", "--branch", "-uall"), ("stash", "list"), ("for-each-ref",)):
            found[" ".join(words)] = self.git("--no-optional-locks", *words)
        found["staged"] = self.git("ls-files", "--stage")
        found["beside"] = sorted(path.name for path in self.path.iterdir())
        return found

    def processes(self) -> list[str]:
        """The processes that commands of this world have started and that are still there, Linux only."""
        mark = f"{TOKEN}={self.base}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if int(folder.name) != os.getpid() and mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except (OSError, ValueError):
                continue
        return found

    def settle(self, patience: float = 20.0) -> list[str]:
        """The processes that do not go away by themselves."""
        deadline = time.monotonic() + patience
        while left := self.processes():
            if time.monotonic() > deadline:
                return left
            time.sleep(0.05)
        return []

    def keep(self) -> Path:
        """A copy of `.perf` as it is now, for `restore`."""
        kept = self.base / "kept"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.perf, kept, symlinks=True)
        return kept

    def restore(self) -> None:
        shutil.rmtree(self.perf)
        shutil.copytree(self.base / "kept", self.perf, symlinks=True)

    def _be(self, words: tuple[str, ...], out: Path, err: Path, real: bool, first: Callable[[], object]) -> None:
        """Become the command. Never returns."""
        code = INTERNAL
        try:
            for number, path in ((1, out), (2, err)):
                fd = os.open(path, os.O_WRONLY)
                os.dup2(fd, number)
                os.close(fd)
            fd = os.open(os.devnull, os.O_RDONLY)
            os.dup2(fd, 0)
            os.close(fd)
            os.chdir(self.path)
            os.environ.clear()
            os.environ.update(self.env)
            if real:
                os.execve(sys.executable, [sys.executable, "-m", "perfcore", *words], self.env)
            sys.stdin, sys.stdout, sys.stderr = io.StringIO(), _writer(1), _writer(2)
            first()
            code = cli.main(list(words))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(_flushed(code))


def profile(number: int, origin: str | None = None, rows: int = ROWS, name: str = "work") -> Profile:
    """A profile whose content is decided by a number; with more than 4096 rows its table leaves the JSON."""
    values = [number * 7 + row % 50 for row in range(rows)]
    return Profile(
        header=Header(type="time", argv=(name, str(number)), cmd=name, args=str(number)),
        created=CREATED + number,
        collector=Tool(name="time"),
        origin=origin,
        tables={"resources": table("resources", [column("wall", values, unit="ns", role="value")])},
    )


def warm() -> None:
    """Import what commands import, so that children need not."""
    for verb in VERBS.values():
        importlib.import_module(f"perfcore.cli.{verb.module}")
    for name in (
        "collect_time",
        "command_exchange",
        "executor_local",
        "storage_git",
        "storage_local",
        "vcs_git",
        "view_table",
    ):
        importlib.import_module(f"perfcore_{name}")
    for name in ("perfcore_check_pair", "perfcore_executor_local.trees"):
        importlib.import_module(name)
    for name in ("measure.runner", "environment"):
        importlib.import_module(f"perfcore.{name}")
    for name in ("helper", "launcher", "machine"):
        importlib.import_module(f"perfcore_collect_time.{name}")
    for name in ("git", "platformdirs.unix", "typer._click.decorators"):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or every child copies the pages of all objects when its collector looks at them


def _verified(found: Profile) -> int | None:
    """The number of a profile of ours, whose every value is as it was; None for one that was measured."""
    tables = {name: found.tables[name] for name in found.tables}
    if found.header.cmd != "work":
        assert tables["resources"].rows > 0
        return None
    number = int(found.header.args)
    wanted = profile(number, rows=tables["resources"].rows).tables["resources"]
    assert found.created == CREATED + number, number
    assert list(tables["resources"].columns[0]) == list(wanted.columns[0]), number
    return number


def _live(store: Store) -> Iterator[Entry]:
    for key, index in store.indexes():
        assert not isinstance(index, Exception), (key, index)
        yield from index.live


def _writer(number: int) -> Any:
    return open(number, "w", encoding="utf-8", closefd=False)


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return code or INTERNAL
    return code


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PERF_", "XDG_"))}
    for role in ("AUTHOR", "COMMITTER"):
        kept |= {f"GIT_{role}_NAME": "Tester", f"GIT_{role}_EMAIL": "tester@example.org"}
    return kept | {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "NO_COLOR": "1",
        "COLUMNS": "120",
        TOKEN: str(home.parent),
    }
