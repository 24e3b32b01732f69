"""What a program costs: it is run in turn with its peer, and the kernel is asked what each process tree took."""

from __future__ import annotations

import os
import shlex
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Literal

import attrs

Quantity = Literal["CPU", "wall", "memory", "size", "disk"]
KEPT = ("PATH", "LD_LIBRARY_PATH", "LC_ALL", "LANG", "SSL_CERT_FILE")


@attrs.frozen(kw_only=True)
class Program:
    """A command to measure. Before each run its folder is made anew of `fresh`, what is `without` is taken away, and
    the command `after` is run, which does not count. `makes` is the file or folder that it leaves, and `prints` the
    least number of lines by which it shows that it did its work."""

    argv: tuple[str, ...]
    cwd: Path
    home: Path
    prints: int = 1
    fresh: Path | None = None
    without: tuple[Path, ...] = ()
    after: tuple[str, ...] = ()
    makes: Path | None = None


@attrs.frozen
class Cost:
    """Seconds of CPU of a process and of all that it waited for, seconds on the wall, bytes of the largest of these
    processes at its peak; bytes that it left, as files and in blocks of the disk."""

    cpu: float
    wall: float
    memory: int
    size: int
    disk: int

    def of(self, quantity: Quantity) -> float:
        return float(getattr(self, quantity.lower()))


@attrs.frozen
class Race:
    """The costs of two programs, round by round; `theirs` is empty where the peer did not run."""

    ours: tuple[Cost, ...]
    theirs: tuple[Cost, ...]

    def __add__(self, other: Race) -> Race:
        """The rounds of both."""
        return Race(self.ours + other.ours, self.theirs + other.theirs)

    def ratio(self, quantity: Quantity) -> float | None:
        """The median over the rounds; None where the peer has nothing to compare."""
        pairs = [(our.of(quantity), their.of(quantity)) for our, their in zip(self.ours, self.theirs, strict=False)]
        return statistics.median(our / their for our, their in pairs) if pairs and all(dict(pairs).values()) else None


def median(costs: tuple[Cost, ...], quantity: Quantity) -> float | None:
    return statistics.median(cost.of(quantity) for cost in costs) if costs else None


def race(ours: Program, theirs: Program | None, rounds: int, first: int = 0) -> Race:
    """Run both so often, each first in every other round, after once that does not count. A peer that is so slow that
    it runs in one round only is spared that. `first` is the number of the first."""
    programs = [ours] if theirs is None else [ours, theirs]
    for program in programs if rounds > 1 else [ours]:
        run(program)
    costs: list[list[Cost]] = [[] for _ in programs]
    for number in range(first, first + rounds):
        for place in _order(len(programs), number):
            costs[place].append(run(programs[place]))
    return Race(tuple(costs[0]), tuple(costs[1]) if theirs else ())


def run(program: Program) -> Cost:
    """SystemExit where it fails or does nothing."""
    if program.fresh:
        shutil.rmtree(program.cwd, ignore_errors=True)
        shutil.copytree(program.fresh, program.cwd, symlinks=True)
    for folder in program.without:
        shutil.rmtree(folder, ignore_errors=True)
    if program.after:
        subprocess.run(program.after, env=environment(program.home), stdin=subprocess.DEVNULL, check=True)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as talk:
        start = time.perf_counter()
        process = subprocess.Popen(
            program.argv,
            cwd=program.cwd,
            env=environment(program.home),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=talk,
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        _demand_success(program, process.returncode, output, talk)
    size, disk = weight(program.makes) if program.makes else (0, 0)
    if program.makes and not size:
        raise SystemExit(f"{shlex.join(program.argv)}\nin {program.cwd}: made nothing of {program.makes.name}")
    return Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss * 1024, size, disk)


def environment(home: Path) -> Mapping[str, str]:
    """What a user's shell gives, and nothing that changes how Python runs."""
    return {"HOME": str(home), **{name: os.environ[name] for name in KEPT if name in os.environ}}


def weight(path: Path) -> tuple[int, int]:
    """(bytes of the files, bytes of the blocks they take with their folders) at or below a path."""
    found = [path.lstat(), *_stats_below(path)] if path.is_dir() else [path.lstat()]
    files = sum(stat.st_size for stat in found if not _is_folder(stat))
    return files, sum(stat.st_blocks * 512 for stat in found)


def _stats_below(path: Path) -> Iterator[os.stat_result]:
    with os.scandir(path) as entries:
        for entry in entries:
            yield entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                yield from _stats_below(Path(entry.path))


def _is_folder(stat: os.stat_result) -> bool:
    return stat.st_mode & 0o170000 == 0o040000


def _order(count: int, number: int) -> tuple[int, ...]:
    order = tuple(range(count))
    return order[::-1] if number % 2 else order


def _demand_success(program: Program, code: int, output: IO[bytes], talk: IO[bytes]) -> None:
    output.seek(0)
    lines = sum(chunk.count(b"\n") for chunk in iter(lambda: output.read(1 << 20), b""))
    if code == 0 and lines >= program.prints:
        return
    talk.seek(0)
    told = talk.read().decode(errors="replace")[-2000:]
    raise SystemExit(f"{shlex.join(program.argv)}\nin {program.cwd}: exit code {code}, {lines} lines\n{told}")
