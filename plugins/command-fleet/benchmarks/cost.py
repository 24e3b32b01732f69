"""Time, memory and space of a fleet: `python cost.py FOLDER` ingests the traces below FOLDER into a new repository.

FOLDER has a folder of traces for each host; other files in it are passed over. Times are CPU seconds, each beside the
time that the same run needs to unpack and hash the traces, which any reader has to do.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from perfcore_command_fleet import library, questions, saved
from perfcore_command_fleet.files import Candidate, candidates
from perfcore_fleet_kit.counting import count
from perfcore_fleet_kit.query import Query
from perfcore_source_statprofiler.packets import MAGIC, Packets

from perfcore.plugins.registry import Plugins
from perfcore.repository.repository import Repository

T = TypeVar("T")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--label", default="action=cart")
    arguments = parser.parse_args()
    traces = [file for file in candidates([arguments.folder]) if _is_trace(file.path)]
    peer, size = timed(lambda: _unpacked(traces))
    print(f"load {os.getloadavg()[0]:.1f}; unpacking and hashing {size / 1e6:.0f} MB: {peer:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        _in_child(lambda: _ingest(path, traces, peer))
        stored = sum(file.stat().st_size for file in (path / ".perf").rglob("*") if file.is_file())
        print(f"stored {stored / 1e6:.2f} MB")
        queries = ((arguments.label, Query(saved.parse_where(arguments.label))), ("everything", Query()))
        for ask in (_counts, _tree):
            for name, query in queries:
                _in_child(functools.partial(_ask, path, query, name, peer, ask))


def timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def _is_trace(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _unpacked(traces: Sequence[Candidate]) -> int:
    size = 0
    for file in traces:
        with file.path.open("rb") as stream:
            packets = Packets(stream, hashlib.sha1(usedforsecurity=False))
            packets.head()
            size += sum(map(len, packets.chunks()))
    return size


def _in_child(work: Callable[[], None]) -> None:
    """In a process of its own, whose memory is its own."""
    pid = os.fork()
    if pid == 0:
        work()
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)


def _ingest(path: Path, traces: Sequence[Candidate], peer: float) -> None:
    git = ["git", "-C", str(path), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "Release"], ["tag", "R1"]):
        subprocess.run([*git, *words], check=True)
    repository = Repository.init(path, plugins=Plugins())
    seconds, result = timed(lambda: library.ingester(repository, release="R1").ingest(traces))
    segments = sum(result.outcomes.values())
    _print(f"ingest {segments} segments, {result.samples:,} samples", seconds, peer)


def _ask(path: Path, query: Query, name: str, peer: float, ask: Callable[[Repository, Query], int]) -> None:
    repository = Repository.open(path, plugins=Plugins())
    seconds, total = timed(lambda: ask(repository, query))
    _print(f"{ask.__name__.strip('_')} of {name}, {total:,} samples", seconds, peer)


def _counts(repository: Repository, query: Query) -> int:
    return questions.counts(repository, "R1", query)[2].counts.total


def _tree(repository: Repository, query: Query) -> int:
    """One tree that is counted then."""
    _, _, merged = questions.merged(repository, "R1", query)
    return count(merged.union.tree, merged.union.samples).total


def _print(text: str, seconds: float, peer: float) -> None:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{text}: {seconds:.2f} s ({seconds / peer:.1f} x), {memory:.0f} MB")


if __name__ == "__main__":
    main()
