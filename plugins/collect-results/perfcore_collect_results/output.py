"""Where a run leaves its results: its standard output, a fresh path in the command, or a path of the harness. Results
of an earlier run are never taken for those of this one."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from perfcore.errors import UsageError
from perfcore.model.record import replace

if TYPE_CHECKING:
    from perfcore.model import Job

PLACEHOLDER = "{output}"
Stamp = tuple[int, int, int]


@attrs.frozen
class Output:
    """The output of one run: the `job` as it is started, the `path` of the results, and their `name` in messages.
    `stamps` are the files below a path of the harness before the run."""

    job: Job
    path: Path
    name: str
    is_stdout: bool = False
    stamps: Mapping[Path, Stamp] | None = None

    def results(self, folder: Path) -> Path | None:
        """The results of this run; None if it wrote none. Of a folder, a copy of the files that this run wrote."""
        if self.stamps is None:
            return self.path if self.path.exists() else None
        written = [path for path, stamp in _stamps(self.path).items() if self.stamps.get(path) != stamp]
        if not written:
            return None
        if not self.path.is_dir():
            return self.path
        fresh = folder / "fresh"
        remove(fresh)
        for path in written:
            copy = fresh / path.relative_to(self.path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)  # formats read the times of files
        return fresh


def has_placeholder(job: Job) -> bool:
    return any(PLACEHOLDER in word for word in job.argv)


def check(job: Job, chosen: str | None) -> None:
    """UsageError for two places of results."""
    if chosen and has_placeholder(job):
        raise UsageError(f"the results are either in {PLACEHOLDER} or in --output {chosen}, not in both")


def prepare(job: Job, chosen: str | None, folder: Path) -> Output:
    """The output of the next run. The fresh path is the same in every run, since its length can change how fast a
    program runs."""
    if chosen:
        path = job.cwd.absolute() / chosen
        return Output(job, path, chosen, stamps=_stamps(path))
    path = folder.absolute() / "output.json"
    remove(path)
    if not has_placeholder(job):
        return Output(job, path, "standard output", is_stdout=True)
    text = shlex.quote(str(path)) if job.shell else str(path)
    argv = tuple(word.replace(PLACEHOLDER, text) for word in job.argv)
    return Output(replace(job, argv=argv), path, PLACEHOLDER)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _stamps(path: Path) -> dict[Path, Stamp]:
    """Inode, size and time of each file at or below a path. A harness replaces a file or writes it again."""
    return {file: _stamp(file) for file in _files(path) if file.is_file()}


def _stamp(file: Path) -> Stamp:
    status = file.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
    for parent, _, names in os.walk(path):
        yield from (Path(parent) / name for name in names)
