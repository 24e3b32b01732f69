"""The files to ingest: which there are, what they are called, whose they are, and which source reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from perfcore.errors import NotFoundError, PluginError
from perfcore.hookspecs import SOURCE, Source
from perfcore.repository.repository import Repository
from perfcore.text import printable

SNIFFED = 4096  # bytes, as the contract of the kind says
DEAD_LETTERS = "dead-letter"
_TEMPORARY = (".tmp", ".part", "~")


@attrs.frozen
class Candidate:
    """A file below one of the places. `host` is the first folder below the place, empty without one."""

    path: Path
    host: str
    size: int
    modified: int


def candidates(places: Sequence[Path]) -> Iterator[Candidate]:
    """All files at places, which are files or folders, in the order of their names. Links, hidden files, files that are
    being written under another name, and the dead letters are passed over."""
    for place in places:
        if place.is_file():
            yield from _candidate(place, "")
        elif place.is_dir():
            yield from _below(place, place)
        else:
            raise NotFoundError(f"{printable(str(place))} is not there")


def _below(folder: Path, place: Path) -> Iterator[Candidate]:
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith(".") or entry.name.endswith(_TEMPORARY):
            continue
        if entry.is_dir(follow_symlinks=False):
            if not (folder == place and entry.name == DEAD_LETTERS):
                yield from _below(path, place)
        elif entry.is_file(follow_symlinks=False):
            parts = path.relative_to(place).parts
            yield from _candidate(path, parts[0] if len(parts) > 1 else "")


def _candidate(path: Path, host: str) -> Iterator[Candidate]:
    try:
        status = path.stat()
    except OSError:  # moved away since it was listed
        return
    yield Candidate(path, host, status.st_size, status.st_mtime_ns)


class Sources:
    """The installed sources, by the files that they read."""

    def __init__(self, repository: Repository, name: str | None, options: Mapping[str, object] | None = None) -> None:
        plugins = repository.plugins
        names = [name] if name else plugins.names("source")
        if not names:
            raise PluginError("no source is installed", hint="pip install perfcore-source-statprofiler")
        self._is_named = name is not None
        self._drivers: dict[str, Source] = {}
        for source in names:
            values = {**repository.plugin_options("source", source), **(options or {})}
            self._drivers[source] = plugins.make(SOURCE, source, values)[1]

    def names(self) -> str:
        return ", ".join(self._drivers)

    def of(self, path: Path) -> str | None:
        """The name of the source of a file; None where there is none. OSError where it cannot be read."""
        with path.open("rb") as file:
            head = file.read(SNIFFED)
        if self._is_named:
            return next(iter(self._drivers))
        return next((name for name, driver in self._drivers.items() if driver.sniff(head, path.name)), None)

    def driver(self, name: str) -> Source:
        return self._drivers[name]
