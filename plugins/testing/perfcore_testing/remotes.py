"""The laws of remotes: what `perf push` and `perf pull` owe to their users over a real place that others write to, too.

A plugin with a storage for remotes has them in its tests:

    class TestFolder(RemoteContract):
        @pytest.fixture
        def remote(self, tmp_path):
            return FolderRemote(tmp_path / "shared")

A `Remote` reaches behind the storage, as a failing disk, an old copy or a liar would.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

import attrs
import pytest

from perfcore.hookspecs import STORAGE
from perfcore.library import open_repository
from perfcore.model.record import replace
from perfcore.store import index as indexes
from perfcore.store import objects
from perfcore.store.store import is_object_key, key_id
from perfcore_testing import profiles
from perfcore_testing.project import Done, Project

NAME = "shared"
HOUR = 3600
DAMAGED = 4  # the exit code of what is damaged


class Remote(Protocol):
    """A place that is pushed to. `url` is what `perf remote add` gets, `env` what commands need to reach it."""

    url: str
    env: Mapping[str, str]

    def storage(self, place: Path) -> Any:
        """The storage of the place, from one more machine that keeps its copies in a folder."""
        ...

    def keep(self) -> Any:
        """A copy of everything, for `restore`."""
        ...

    def restore(self, kept: Any) -> None:
        """Set the place back to a copy."""


Lie = Callable[["Tampering"], None]


@attrs.define
class Tampering:
    """A remote's keys, read and changed behind the back of those who use it."""

    storage: Any

    def profiles(self) -> list[str]:
        return [key for key in self._keys() if objects.is_compressed(self.storage.read(key).data)]

    def indexes(self) -> list[str]:
        return [key for key in self._keys() if indexes.is_index(self.storage.read(key).data)]

    def put(self, key: str, data: bytes) -> None:
        self.storage.replace(key, data, self.storage.read(key).tag)

    def drop(self, key: str) -> None:
        self.storage.delete(key, self.storage.read(key).tag)

    def _keys(self) -> list[str]:
        return [row.key for row in self.storage.list("objects/") if is_object_key(row.key)]


def _flip(remote: Tampering) -> None:
    for key in remote.profiles():
        data = bytearray(remote.storage.read(key).data)
        data[len(data) // 2] ^= 4
        remote.put(key, bytes(data))


def _cut(remote: Tampering) -> None:
    for key in remote.profiles():
        remote.put(key, remote.storage.read(key).data[:-3])


def _swap(remote: Tampering) -> None:
    first, second = remote.profiles()[:2]
    data = remote.storage.read(first).data
    remote.put(first, remote.storage.read(second).data)
    remote.put(second, data)


def _drop(remote: Tampering) -> None:
    for key in remote.profiles():
        remote.drop(key)


def _flip_index(remote: Tampering) -> None:
    for key in remote.indexes():
        data = bytearray(remote.storage.read(key).data)
        data[len(data) // 2] ^= 4
        remote.put(key, bytes(data))


def _empty_index(remote: Tampering) -> None:
    for key in remote.indexes():
        remote.put(key, b"")


def _swap_indexes(remote: Tampering) -> None:
    first, second = remote.indexes()[:2]
    data = remote.storage.read(first).data
    remote.put(first, remote.storage.read(second).data)
    remote.put(second, data)


def _promise(remote: Tampering) -> None:
    """Entries of profiles that are nowhere."""
    for key in remote.indexes():
        index = indexes.decode(remote.storage.read(key).data, where=key)
        entries = tuple(entry._replace(profile=f"{serial:040x}") for serial, entry in enumerate(index.entries, 1))
        remote.put(key, indexes.encode(index._replace(entries=entries)))


LIES: Mapping[str, Lie] = {
    "a flipped bit of each profile": _flip,
    "profiles that are cut short": _cut,
    "profiles under each other's names": _swap,
    "profiles that are not there": _drop,
    "a flipped bit of each index": _flip_index,
    "empty indexes": _empty_index,
    "indexes of other versions": _swap_indexes,
    "indexes of profiles that are nowhere": _promise,
}


class RemoteWriters:
    """Two clones on two hosts, whose clocks differ by hours, and a remote between them: what depends on how it is
    reached."""

    kills = 6
    rounds = 2

    @pytest.fixture
    def remote(self) -> Remote:
        raise NotImplementedError

    @pytest.fixture
    def clones(self, project: Project, remote: Remote, tmp_path: Path) -> tuple[Project, Project]:
        project.commit("Second")
        project.git("clone", "--quiet", "--origin", NAME, str(project.path), str(tmp_path / "other"))
        home = tmp_path / "other-home"
        both = (project, Project(tmp_path / "other", home, always_processes=project.always_processes))
        both[1].perf("init")
        for clone in both:
            clone.env.update(remote.env)
            clone.perf("remote", "add", NAME, remote.url)
        return both

    def test_two_writers_on_two_hosts_lose_nothing(self, clones: tuple[Project, Project]) -> None:
        expected: set[str] = set()
        clocks = [clock_env(-7 * HOUR), clock_env(5 * HOUR)]
        for turn in range(self.rounds):
            pushes = []
            for host, (clone, clock) in enumerate(zip(clones, clocks, strict=True)):
                expected.add(register(clone, 1000 * (host + 1) + turn, host=f"lab{host}"))
                pushes.append(start(clone, "push", env=clock))
            for push in pushes:
                push.succeeded()
        for clone, clock in zip(clones, clocks, strict=True):
            assert run(clone, "pull", env=clock).code == 0
            assert registered(clone) == expected
            clone.perf("fsck")

    def test_a_transfer_that_is_killed_is_finished_by_the_next(self, clones: tuple[Project, Project]) -> None:
        first, second = clones
        dice = random.Random(self.kills)
        expected: set[str] = set()
        for turn in range(self.kills):
            expected.add(register(first, 100 + turn))
            for clone, verb in ((first, "push"), (second, "pull")):
                start(clone, verb).end(dice.uniform(0.1, 1.0))
            assert registered(second) <= expected
            second.perf("fsck")
        first.perf("push")
        second.perf("pull")
        assert registered(second) == expected
        for clone in clones:
            clone.perf("fsck")


class RemoteContract(RemoteWriters):
    """The same, and what depends on what a remote says."""

    lies: Mapping[str, Lie] = LIES

    def test_what_a_lying_remote_says_is_named_and_not_taken(
        self, clones: tuple[Project, Project], remote: Remote, tmp_path: Path
    ) -> None:
        first, second = clones
        truth = {register(first, 100), register(first, 200, version="HEAD~1")}
        first.perf("push")
        kept, empty = remote.keep(), shutil.copytree(second.path / ".perf", tmp_path / "empty", symlinks=True)
        for name, lie in self.lies.items():
            lie(Tampering(remote.storage(tmp_path / "liar" / name)))
            for words in (("pull", "--dry-run"), ("pull",), ("pull",)):
                done = second.perf(*words, code=None)
                assert done.code == DAMAGED or (words[-1] == "--dry-run" and done.code == 0), (name, done)
                assert done.code == 0 or any(word in done.err for word in ("damaged", "missing")), (name, done)
                assert "Traceback" not in done.err, (name, done)
            assert registered(second) <= truth, name
            second.perf("fsck")
            remote.restore(kept)
            self.set_back(second, empty)
        second.perf("pull")
        assert registered(second) == truth

    def test_a_remote_that_was_set_back_is_named_and_mended(
        self, clones: tuple[Project, Project], remote: Remote, tmp_path: Path
    ) -> None:
        first, second = clones
        old = register(first, 100)
        first.perf("push")
        kept = remote.keep()
        new = {register(first, 200), register(first, 300, version="HEAD~1")}
        first.perf("push")
        remote.restore(kept)
        done = first.perf("pull", code=DAMAGED)
        assert "the remote lacks 2 profiles that were pushed to it" in done.err
        assert registered(first) == {old, *new}
        first.perf("push")
        first.perf("pull")
        second.perf("pull")
        assert registered(second) == {old, *new}

    def test_a_remote_that_hides_a_version_is_named_and_mended(
        self, clones: tuple[Project, Project], remote: Remote, tmp_path: Path
    ) -> None:
        first, second = clones
        truth = {register(first, 100), register(first, 200, version="HEAD~1")}
        first.perf("push")
        liar = Tampering(remote.storage(tmp_path / "liar"))
        liar.drop(liar.indexes()[0])
        assert "the remote lacks 1 profile" in first.perf("pull", code=DAMAGED).err
        first.perf("push")
        second.perf("pull")
        assert registered(second) == truth

    def test_what_is_old_is_taken_off_the_remote_alone_and_stays_off(
        self, clones: tuple[Project, Project], remote: Remote, tmp_path: Path
    ) -> None:
        """Retention by age, and a collection of garbage; then pushes of those who have it still."""
        first, second = clones
        now = time.time_ns()
        old = {register(first, 100), register(first, 101, version="HEAD~1")}
        tagged, new = register(first, 102, tags=("release",)), register(first, 103, created=now)
        first.perf("push")
        second.perf("pull")
        refused = first.perf("remote", "gc", "--expire", "1h", code=2)
        assert "--alone" in refused.err
        dry = first.perf("remote", "gc", "--expire", "30d", "--dry-run", "--json").json
        assert {row["profile"] for row in dry["expired"]} == old
        assert self.held(remote, tmp_path) == {*old, tagged, new}
        done = first.perf("remote", "gc", "--expire", "30d")
        assert "removed 2 profiles of 2 versions" in done.err
        assert "removed 0 objects" in done.err
        assert self.held(remote, tmp_path) == {*old, tagged, new}  # in their grace, for those who are reading
        first.perf("remote", "gc", "--grace", "0s", "--alone")
        assert self.held(remote, tmp_path) == {tagged, new}
        for clone in clones:
            clone.perf("push")
            clone.perf("pull")
            assert registered(clone) == {*old, tagged, new}
            clone.perf("fsck")
        assert self.held(remote, tmp_path) == {tagged, new}
        late = register(second, 104, created=now)
        second.perf("push")
        assert self.held(remote, tmp_path) == {tagged, new, late}

    def test_garbage_is_collected_beside_writers(self, clones: tuple[Project, Project], tmp_path: Path) -> None:
        expected: set[str] = set()
        for turn in range(self.rounds):
            for host, clone in enumerate(clones):
                expected.add(register(clone, 1000 * (host + 1) + turn, created=time.time_ns()))
            commands = [(clone, verb) for clone in clones for verb in ("push", "pull")]
            running = [start(clone, verb) for clone, verb in commands]
            running.append(start(clones[0], "remote", "gc", "--expire", "1d", "--grace", "0s", "--alone"))
            for command in running:
                command.succeeded()
        for verb in ("push", "pull"):
            for clone in clones:
                clone.perf(verb)
        for clone in clones:
            assert registered(clone) == expected
            clone.perf("fsck")

    def held(self, remote: Remote, folder: Path) -> set[str]:
        """The ids of the profiles whose objects are there."""
        storage = remote.storage(folder / f"held-{time.monotonic_ns()}")
        rows = [row.key for row in storage.list("objects/") if is_object_key(row.key)]
        return {key_id(key) for key in rows if objects.is_compressed(storage.read(key).data)}

    def set_back(self, clone: Project, kept: Path) -> None:
        shutil.rmtree(clone.path / ".perf")
        shutil.copytree(kept, clone.path / ".perf", symlinks=True)


def register(
    project: Project,
    wall: int,
    *,
    version: str = "HEAD",
    host: str = "lab",
    tags: Sequence[str] = (),
    created: int | None = None,
) -> str:
    """Register a profile, which is old unless `created` says otherwise; gives its id."""
    history = open_repository(project.path)
    origin = history.version(version)
    made = replace(
        profiles.timed(3, wall), origin=origin, created=wall if created is None else created, machine={"host": host}
    )
    return history.register(history.save(made), origin, tags=tags).profile


def registered(project: Project) -> set[str]:
    return {entry.profile for _, entry in open_repository(project.path).repository.everywhere()}


def clock_env(seconds: int) -> dict[str, str]:
    """The environment of a host whose clock is so much ahead; without libfaketime that of this host."""
    library = next(iter(_faketime()), None)
    if library is None:
        return {}
    return {"LD_PRELOAD": str(library), "FAKETIME": f"{seconds:+d}s"}


def _faketime() -> list[Path]:
    return sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


@attrs.define
class Started:
    """A command in a process of its own, with what it says."""

    process: subprocess.Popen[bytes]
    log: IO[bytes]

    def succeeded(self) -> None:
        """Wait for its end. AssertionError with what it said if it failed."""
        code = self.process.wait()
        self.log.seek(0)
        said = self.log.read().decode(errors="replace")
        self.log.close()
        assert code == 0, said

    def end(self, seconds: float) -> None:
        """Kill it after so many seconds, unless it has come to its end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        self.process.kill()
        self.process.wait()
        self.log.close()


def start(project: Project, *words: str, env: Mapping[str, str] | None = None) -> Started:
    """Begin a command."""
    log = tempfile.TemporaryFile()  # noqa: SIM115  (closed by whoever waits)
    command = [sys.executable, "-m", "perfcore", *words]
    variables = {**project.env, **(env or {})}
    process = subprocess.Popen(
        command, cwd=project.path, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log
    )
    return Started(process, log)


def run(project: Project, *words: str, env: Mapping[str, str] | None = None) -> Done:
    return project.run(sys.executable, "-m", "perfcore", *words, env=env)


@attrs.define
class RemoteInFolder:
    """A remote all of which is in a folder."""

    path: Path

    def keep(self) -> Path:
        kept = self.path.with_name(f"{self.path.name}-{time.monotonic_ns()}")
        shutil.copytree(self.path, kept)
        return kept

    def restore(self, kept: Path) -> None:
        shutil.rmtree(self.path)
        shutil.copytree(kept, self.path)


@attrs.define
class FolderRemote(RemoteInFolder):
    """A folder that all can reach."""

    env: Mapping[str, str] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)  # whoever pulls before the first push finds it empty

    @property
    def url(self) -> str:
        return str(self.path)

    def storage(self, place: Path) -> Any:
        from perfcore.plugins import Plugins

        _, driver = Plugins().make(STORAGE, "local", {}, place=self.path)
        return driver
