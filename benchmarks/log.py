"""What `perf log` costs beside `git log`: the ratio of their CPU time, in one run.

    python benchmarks/log.py                      1,000, 10,000 and 100,000 versions
    python benchmarks/log.py 5000 --repeat 3
    python benchmarks/log.py --perf .venv/bin/perf

Needs git, and perfcore with `storage-local` and `vcs-git`. The histories are made by `git fast-import`, each version
with one profile, in temporary folders. Time is user and system time of the command and of all that it starts, the
median of several runs in turn. `first` is `perf log` without its cache, which is removed before each of these runs;
`status` is what every command takes. An installation that is not editable gives honest figures.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from perfcore.model import Entry
from perfcore.store import index as indexes
from perfcore.store import objects

SIZES = (1_000, 10_000, 100_000)
HOUR = 3600 * 10**9


def history(count: int) -> Iterator[bytes]:
    """A stream of `git fast-import`: one line of versions, some hours apart."""
    for number in range(1, count + 1):
        subject = b"Change number %d of a history, in words as long as usual" % number
        date = 1_000_000_000 + number * 6_007
        yield b"commit refs/heads/main\nmark :%d\n" % number
        yield b"committer Jana Nov\xc3\xa1k <jana%d@example.org> %d +0100\n" % (number % 50, date)
        yield b"data %d\n%s\n" % (len(subject), subject)
        if number > 1:
            yield b"from :%d\n" % (number - 1)
        yield b"M 100644 inline file\ndata 8\n%08d\n" % number


def make(folder: Path, count: int, perf: str) -> None:
    """A repository of so many versions with a profile each."""
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    with subprocess.Popen(["git", "fast-import", "--quiet"], cwd=folder, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.writelines(history(count))
    subprocess.run([perf, "init"], cwd=folder, check=True, capture_output=True)
    versions = subprocess.check_output(["git", "rev-list", "main"], cwd=folder, text=True).split()
    for number, version in enumerate(versions):
        register(folder / ".perf" / "objects", number, version)
    settle(folder / ".perf")


def register(place: Path, number: int, version: str) -> None:
    """What registering leaves: an object and an index. Written directly, since this is not what is measured."""
    id, data = objects.encode(objects.Object("profile", "time", b'{"format":1,"number":%d}' % number))
    entry = Entry(
        profile=id,
        created=(1_000_000_000 - number * 6_007) * 10**9,
        name=f"time-sort-big.txt-{number}.perf",
        type="time",
        cmd="./sort",
        args="--stable",
        workload="big.txt",
        collector="time",
        config_id=hashlib.sha1(b"configuration").hexdigest(),
        environment_id=hashlib.sha1(b"environment").hexdigest(),
    )
    index = indexes.encode(indexes.Index(vcs="git", version=version, entries=(entry,)))
    for name, content in ((id, data), (version, index)):
        path = place / name[:2] / name[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


def settle(perf: Path) -> None:
    """Make the folders look as if nothing had been written to them for an hour."""
    then = time.time_ns() - HOUR
    for folder, _, _ in os.walk(perf):
        os.utime(folder, ns=(then, then))


def cpu(command: Sequence[str], folder: Path) -> float:
    """Seconds of user and system time of a command and all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def forget(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder / ".perf" / "cache")


def measure(folder: Path, perf: str, repeat: int) -> dict[str, float]:
    """The median CPU time of each command, in seconds."""
    commands: dict[str, tuple[Sequence[str], Callable[[Path], None]]] = {
        "git log": (["git", "log"], lambda folder: None),
        "first": ([perf, "log"], forget),
        "log": ([perf, "log"], lambda folder: None),
        "log --short": ([perf, "log", "--short"], lambda folder: None),
        "status": ([perf, "status"], lambda folder: None),
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeat):
        for name, (command, prepare) in commands.items():
            prepare(folder)
            taken[name].append(cpu(command, folder))
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="The CPU time of `perf log` beside that of `git log`.")
    parser.add_argument("versions", type=int, nargs="*", default=SIZES)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--perf", default=str(Path(sys.executable).with_name("perf")))
    options = parser.parse_args(arguments)
    perf = os.path.abspath(options.perf)
    for count in options.versions:
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder, "project"), count, perf)
            found = measure(Path(folder, "project"), perf, options.repeat)
        peer = found.pop("git log")
        told = "  ".join(f"{name} {seconds / peer:.1f} x" for name, seconds in found.items())
        print(f"{count:>7,} versions: git log {peer * 1000:.0f} ms;  {told}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
