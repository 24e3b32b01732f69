"""Built trees kept between commands: what the build of a version changed, to be put into a fresh tree of that version.

A kept build is used where everything that it could read is the same: the version with its tree and path, the commands,
the environment, and the programs and packages of this machine. What a build reads elsewhere is not known, such as files
of the user's home or of the network; `--rebuild` is for that. Only a build that ended well is kept, and its file is
complete or absent.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import hashlib
import io
import json
import os
import re
import shutil
import stat
import tarfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from perfcore_collect_kit.command import inherited

from perfcore import files
from perfcore.errors import StorageError
from perfcore.hookspecs import ENVIRONMENT
from perfcore.model import Build
from perfcore.model.record import replace
from perfcore.plugins.drivers import guard
from perfcore_executor_local.build import run_build

if TYPE_CHECKING:
    from perfcore.plugins.registry import Plugins

_LAYOUT = 1  # raised with every change of the key or of the files, so that no old file is read as a new one
_FACTS = ".perfcore-build"  # the first member of an archive; no file of the tree
# The files of all repositories, by the names that `Repository.scratch` and `Builder` give. Others there are not ours.
_KEPT = f"{'[0-9a-f]' * 10}/builds/{'[0-9a-f]' * 40}.tar*"
_ABANDONED = 86_400  # seconds until the file that a killed command began goes: nothing is written for a day
# Variables of a terminal or a session. They change from one to the next, and no build depends on them.
_OF_SESSIONS = re.compile(
    r"_|PWD|OLDPWD|SHLVL|COLUMNS|LINES|WINDOWID|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|GPG_TTY|LS_COLORS|STY|TERM|TMUX"
    r"|(SSH|TERM|TMUX|XDG_SESSION|DBUS|VSCODE|ITERM|KITTY|PYTEST_CURRENT)_.*"
)
# Where package managers list what is installed; beside a folder of programs, that of an environment of Python.
_PACKAGES = ("/var/lib/dpkg/status", "/var/lib/rpm", "/lib/apk/db/installed", "/var/lib/pacman/local")
_PYTHON_PACKAGES = "../lib/python*/*-packages"

Listing = Mapping[str, tuple[int, ...]]
"""Mode, size, times and number of each file by its path; of a folder the mode."""


class Builder:
    """Builds the trees of one command. `directory` has the builds that earlier commands kept."""

    def __init__(self, build: Build, directory: Path, plugins: Plugins | None = None) -> None:
        step = build.environment
        self._environment = plugins.make(ENVIRONMENT, step.name, step.params) if plugins and step else None
        self._variables = {**inherited(), **build.activation}
        self.build, self._root, self._directory = build, directory, directory / "builds"

    def activated(self, tree: Path, stack: contextlib.ExitStack) -> Builder:
        """The builder in the environment of the version in `tree`, which is there as long as the stack is open."""
        if self._environment is None:
            return self
        plugin, driver = self._environment
        with guard(plugin, "provide"):
            variables = stack.enter_context(driver.provide(tree, self._root / "environments", self.build))
        return Builder(replace(self.build, activation=variables), self._root)

    def run(self, tree: Path, version: str) -> str:
        """Build the clean tree of a version, or put into it what its build made before, and give the end of what the
        commands printed. CommandFailedError for the first that fails."""
        if not self.build.commands or not self.build.cache:
            return run_build(self.build, tree)
        before, began = _listing(tree), time.time_ns()
        archive = self._directory / f"{self._key(tree, version, before)}.tar"
        log = None if self.build.rebuild else _restored(archive, tree, before)
        if log is None:
            log = run_build(self.build, tree)
            with contextlib.suppress(OSError, tarfile.TarError):  # a full disk costs time, nothing else
                _keep(archive, tree, before, {"began": began, "log": log}, self.build.cache)
        return log

    def _key(self, tree: Path, version: str, before: Listing) -> str:
        """The hash of what the build may read."""
        environment = sorted((name, text) for name, text in self._variables.items() if not _OF_SESSIONS.fullmatch(name))
        sizes = sorted((path, *entry[:2]) for path, entry in before.items())  # submodules and filters may differ
        facts = (_LAYOUT, version, str(tree), self.build.commands, self.build.shell, environment, self._tools, sizes)
        return hashlib.blake2b(repr(facts).encode(), digest_size=20).hexdigest()

    @functools.cached_property
    def _tools(self) -> list[tuple[object, ...]]:
        """Path, size and time of every program that can be called by its name, and the times of lists of packages."""
        folders = list(dict.fromkeys(self._variables.get("PATH", os.defpath).split(os.pathsep)))
        tools: list[tuple[object, ...]] = []
        for path in (*_PACKAGES, *(path for f in folders for p in ("*", _PYTHON_PACKAGES) for path in _matches(f, p))):
            with contextlib.suppress(OSError):  # a dangling link
                status = os.stat(path)
                tools.append((path, status.st_size, status.st_mtime_ns))
        return tools


def _matches(folder: str, pattern: str) -> list[str]:
    return sorted(glob.glob(os.path.join(glob.escape(folder), pattern)))


def _listing(tree: Path) -> Listing:
    return dict(_entries(str(tree), ""))


def _entries(folder: str, prefix: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            path, status = prefix + entry.name, entry.stat(follow_symlinks=False)
            if path == ".git":  # names this tree to git
                continue
            if stat.S_ISDIR(status.st_mode):
                yield path, (status.st_mode, 0)
                yield from _entries(entry.path, f"{path}/")
            else:
                times = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)  # a change leaves none of them
                yield path, (status.st_mode, status.st_size, *times)


def _keep(archive: Path, tree: Path, before: Listing, facts: dict[str, Any], limit: int) -> None:
    """Write what the build changed, and remove builds beyond `limit` bytes of all repositories."""
    after = _listing(tree)
    changed = [path for path, entry in sorted(after.items()) if before.get(path) != entry]
    if sum(after[path][1] for path in changed) > limit:
        return
    archive.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with files.replacement(archive, durable=False) as file:
        hashed = _Hashed(file)
        with tarfile.open(fileobj=hashed, mode="w|") as tar:  # type: ignore[call-overload]
            data = json.dumps({**facts, "removed": sorted(before.keys() - after.keys())}).encode()
            head = tarfile.TarInfo(_FACTS)
            head.size = len(data)
            tar.addfile(head, io.BytesIO(data))
            for path in changed:
                tar.add(tree / path, path, recursive=False)
        file.write(hashed.digest.digest())
    _prune(archive.parent, limit)


class _Hashed:
    """A file that is written, with the digest of what was."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.blake2b()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._file.write(data)


def _restored(archive: Path, tree: Path, before: Listing) -> str | None:
    """Put a kept build into a clean tree; None, with the tree as it was, where there is none that is whole."""
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open(archive, "rb"))
            if not _is_whole(file):
                return None
        except OSError:
            return None
        try:
            file.seek(0)
            tar = stack.enter_context(tarfile.open(fileobj=file, mode="r:"))
            facts = json.loads(tar.extractfile(tar.next()).read())  # type: ignore[arg-type, union-attr]
            _fill(tree, tar, facts, before)
            os.utime(archive)  # used now
        except (OSError, tarfile.TarError) as error:
            raise StorageError(f"cannot put the kept build into {tree}: {error}", hint="--rebuild builds it") from error
        return str(facts["log"])


def _fill(tree: Path, tar: tarfile.TarFile, facts: Mapping[str, Any], before: Listing) -> None:
    kept = set(before)
    for path in facts["removed"]:
        kept.discard(path)
        _remove(tree / path)
    while (member := tar.next()) is not None:
        kept.discard(member.name)
        if not member.isdir():
            _remove(tree / member.name)  # what is written through a link may be anywhere
        tar.extract(member, tree, filter="fully_trusted")  # our own file, whose digest fits
    for path in kept:  # make would build anew what is older than its sources
        if not stat.S_ISDIR(before[path][0]):
            os.utime(tree / path, ns=(facts["began"], facts["began"]), follow_symlinks=False)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _is_whole(file: IO[bytes]) -> bool:
    """Whether the digest at the end is that of what stands before it."""
    digest = hashlib.blake2b()
    left = os.fstat(file.fileno()).st_size - digest.digest_size
    while left > 0 and (data := file.read(min(left, 1 << 20))):
        digest.update(data)
        left -= len(data)
    return left == 0 and file.read() == digest.digest()


def _prune(builds: Path, limit: int) -> None:
    """Keep `limit` bytes over all repositories, those used last. Other commands may keep and remove builds meanwhile:
    each looks after it wrote, so that the last one sees every file."""
    status, total = {}, 0
    for path in {*builds.iterdir(), *builds.parent.parent.glob(_KEPT)}:
        with contextlib.suppress(OSError):  # removed by another command
            status[path] = path.stat()
    for path in sorted(status, key=lambda path: status[path].st_mtime_ns, reverse=True):
        total += status[path].st_size
        if total > limit if path.suffix == ".tar" else status[path].st_mtime < time.time() - _ABANDONED:
            with contextlib.suppress(OSError):  # one that cannot be removed must not protect the others
                path.unlink()
