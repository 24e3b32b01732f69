"""Workloads that a plugin generates: files made once for a run, before anything is measured, and removed after it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from perfcore.errors import PerfError, PluginError, UsageError
from perfcore.hookspecs import WORKLOAD
from perfcore.model.listener import Listener
from perfcore.plugins.drivers import guard
from perfcore.repository.repository import Repository
from perfcore.repository.scratch import LockedDirs

# Files of one generator: every file is measured by every command, and a generator without an end would fill the disk.
MAX_FILES = 1_000


@attrs.frozen(kw_only=True)
class Generator:
    """One entry of a matrix that says `generator`: the plugin with the spec and options, the entry's location in the
    matrix, and the folder of its files, which no other entry has."""

    name: str
    spec: Mapping[str, Any]
    options: Mapping[str, Any]
    location: str
    folder: str

    @property
    def label(self) -> str:
        """All its files, where none is generated yet."""
        return f"{self.folder}/*"


@attrs.frozen
class GeneratedFile:
    """`label` is the path below the folder of all files: the same in every run."""

    label: str
    path: Path


Files = Mapping[str, Sequence[GeneratedFile]]
"""The files by the folder of their generator."""


@contextlib.contextmanager
def generated(repository: Repository, generators: Sequence[Generator], listener: Listener) -> Iterator[Files]:
    """The files of all generators, as long as the context lasts. A directory that a killed command left is removed by
    the next one. The error of a generator begins with its location in the matrix."""
    if not generators:
        yield {}
        return
    with LockedDirs(repository.scratch, "workload") as directories:
        root = directories.acquire()
        files: dict[str, list[GeneratedFile]] = {}
        for generator in generators:
            directory = root / generator.folder
            # Not `exist_ok`: two generators in one folder would measure each other's files.
            directory.mkdir(parents=True)
            files[generator.folder] = []
            for file in _generate(repository, generator, directory):
                files[generator.folder].append(file)
                listener.progress(len(files[generator.folder]), 0, f"generating {file.label}")
        yield files


def _generate(repository: Repository, generator: Generator, directory: Path) -> Iterator[GeneratedFile]:
    options = {**repository.plugin_options("workload", generator.name), **generator.options}
    paths: set[Path] = set()
    try:
        info, driver = repository.plugins.make(WORKLOAD, generator.name, options)
        with guard(info, "generate"):
            # One more than allowed, to tell a generator without an end from one with exactly so many.
            for path in itertools.islice(driver.generate(generator.spec, directory), MAX_FILES + 1):
                _check(path, paths, directory, str(info))
                paths.add(path)
                yield GeneratedFile(f"{generator.folder}/{path.relative_to(directory).as_posix()}", path)
        if not paths:
            raise PluginError("it generated no file", plugin=str(info), phase="generate")
    except PerfError as error:
        error.message = f"{generator.location}: {error.message}"
        raise


def _check(path: object, paths: set[Path], directory: Path, plugin: str) -> None:
    if len(paths) == MAX_FILES:
        raise UsageError(f"the generator makes more than {MAX_FILES:,} files", hint="take a part at a time")
    # The path as it was given first: `resolve` of something that is no path would fail with the plugin's error.
    if not isinstance(path, Path) or directory not in path.parents or not path.is_file():
        raise PluginError("it gave no file below its directory", plugin=plugin, phase="generate")
    # A link out of the directory would be measured and not removed.
    if path in paths or directory.resolve() not in path.resolve().parents:
        raise PluginError(f"{path.name} is given twice or lies outside the directory", plugin=plugin, phase="generate")
