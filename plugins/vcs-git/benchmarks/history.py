"""Streaming a history and reading files through the driver, against git doing the same, in one run.

    python benchmarks/history.py [--commits N ...] [--files N] [--repeat N]

Repositories are made by `git fast-import` in a temporary folder. Time is CPU time, of the process and of the git it
starts, and the least of several interleaved runs; memory is the peak of Python and of git, against that of git. The
peers of streaming are a `git log` with the same fields whose output is read and thrown away, in the same order and
in git's own; that of reading files is a `git cat-file --batch` that is given all names at once.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

FIELDS = "--format=tformat:%H%x00%P%x00%an%x00%ae%x00%ct%x00%s"
CHUNK = 1 << 16


def history(count: int) -> Iterator[bytes]:
    """A stream of `git fast-import`: one line of versions, with a branch merged at every tenth."""
    for index in range(1, count + 1):
        subject = b"Change number %d of a history, in words as long as usual" % index
        yield b"commit refs/heads/main\nmark :%d\n" % index
        yield b"author Jana Nov\xc3\xa1k <jana%d@example.org> %d +0100\n" % (index % 50, 1_300_000_000 + index * 600)
        yield b"committer Jana Nov\xc3\xa1k <jana@example.org> %d +0100\n" % (1_300_000_000 + index * 600)
        yield b"data %d\n%s\n" % (len(subject), subject)
        if index > 1:
            yield b"from :%d\n" % (index - 1)
        if index % 10 == 0:
            yield b"merge :%d\n" % (index - 5)
        yield b"M 100644 inline file\ndata 8\n%08d\n" % index


def files(count: int) -> Iterator[bytes]:
    """A stream of `git fast-import`: one version with so many files of about four kilobytes."""
    yield b"commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\ndata 1\nx\n"
    for index in range(count):
        content = b"".join(b"line %d of file %d\n" % (line, index) for line in range(200))
        yield b"M 100644 inline folder %d/file %d\ndata %d\n%s\n" % (index % 40, index, len(content), content)


def make(folder: Path, stream: Iterator[bytes]) -> str:
    """A bare repository of a stream; gives the head."""
    subprocess.run(["git", "init", "-q", "--bare", folder], check=True)
    with subprocess.Popen(["git", "fast-import", "--quiet"], cwd=folder, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.writelines(stream)
    if process.returncode:
        raise SystemExit("git fast-import failed")
    return subprocess.check_output(["git", "rev-parse", "main"], cwd=folder, text=True).strip()


def walk_driver(folder: Path, head: str, _: int) -> int:
    from perfcore_vcs_git import Git

    return sum(1 for _version in Git(folder).walk_minor_versions(head))


def walk_git(folder: Path, head: str, _: int, *order: str) -> int:
    command = ["git", "log", "-z", *order, FIELDS, head, "--"]
    env = {**os.environ, "GIT_FLUSH": "0"}
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        output = process.stdout.fileno()
        return sum(chunk.count(b"\0") for chunk in iter(lambda: os.read(output, CHUNK), b"")) // 6


def walk_git_sorted(folder: Path, head: str, _: int) -> int:
    return walk_git(folder, head, 0, "--date-order")


def read_driver(folder: Path, head: str, count: int) -> int:
    from perfcore_vcs_git import Git

    driver = Git(folder)
    return sum(len(driver.read_file(head, f"folder {n % 40}/file {n}")) for n in range(count))


def read_git(folder: Path, head: str, count: int) -> int:
    names = "".join(f"{head}:folder {n % 40}/file {n}\n" for n in range(count)).encode()
    done = subprocess.run(["git", "cat-file", "--batch"], cwd=folder, input=names, stdout=subprocess.PIPE, check=True)
    return len(done.stdout) - count * len(f"{head} blob 1234\n\n")


SUBJECTS: dict[str, Callable[[Path, str, int], int]] = {
    "walk driver": walk_driver,
    "walk git": walk_git_sorted,
    "walk git-unsorted": walk_git,
    "read driver": read_driver,
    "read git": read_git,
}


def measure(names: Sequence[str], folder: Path, head: str, count: int, repeat: int) -> list[tuple[float, ...]]:
    """(CPU seconds of our process and of git, peak MB of ours, peak MB of git, what was done) of each subject, in a
    process of its own, in turn."""
    best: list[tuple[float, ...]] = [(float("inf"),)] * len(names)
    for _ in range(repeat):
        for index, name in enumerate(names):
            words = [sys.executable, __file__, "--subject", name, str(folder), head, str(count)]
            best[index] = min(best[index], tuple(map(float, subprocess.check_output(words).split())))
    return best


def subject(name: str, folder: Path, head: str, count: int) -> None:
    """What the inner process does: its own start and imports are not counted."""
    import resource

    from perfcore_vcs_git import Git  # noqa: F401

    before = resource.getrusage(resource.RUSAGE_SELF)
    done = SUBJECTS[name](folder, head, count)
    import gc

    gc.collect()  # ends the git of a driver that nobody holds
    own_usage, git = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own_usage.ru_utime + own_usage.ru_stime - before.ru_utime - before.ru_stime + git.ru_utime + git.ru_stime
    print(cpu, own_usage.ru_maxrss / 1024, git.ru_maxrss / 1024, done)


def compare(names: Sequence[str], title: str, folder: Path, head: str, count: int, repeat: int) -> None:
    """Print how the first of the subjects, the driver, does against the others."""
    (ours, own_memory, its_git, done), *peers = measure(names, folder, head, count, repeat)
    for name, (theirs, _, git_memory, done_too) in zip(names[1:], peers, strict=True):
        if done != done_too:
            raise SystemExit(f"{name} did {done_too}, the driver {done}")
        print(
            f"{title:<22} against {name:<17}  CPU {ours / theirs:.2f} x ({ours:.2f} s)  "
            f"memory {(own_memory + its_git) / git_memory:.2f} x (Python {own_memory:.0f} + git {its_git:.0f} MB)"
        )


def main(arguments: Sequence[str]) -> None:
    if arguments[:1] == ["--subject"]:
        subject(arguments[1], Path(arguments[2]), arguments[3], int(arguments[4]))
        return
    parser = argparse.ArgumentParser(description="Streaming and reading through the driver against git.")
    parser.add_argument("--commits", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--files", type=int, default=5_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        for count in options.commits:
            directory = Path(folder, f"history {count}")
            head = make(directory, history(count))
            compare(
                ("walk driver", "walk git", "walk git-unsorted"),
                f"walk {count} versions",
                directory,
                head,
                count,
                options.repeat,
            )
        directory = Path(folder, "files")
        head = make(directory, files(options.files))
        compare(
            ("read driver", "read git"), f"read {options.files} files", directory, head, options.files, options.repeat
        )


main(sys.argv[1:])
