"""tagit against git, in one run: save, status and checkout of the same tree of 5,000 small files.

    python plugins/vcs-tagit/benchmarks/save.py [--files 5000] [--rounds 5]

Each is a process as a user starts it, the two in turn; of each the fastest of all rounds counts, and what is printed
is the ratio of tagit's time to git's: under 1 means that tagit is faster. git runs with its own defaults, which do
not wait until objects are on the disk; tagit always does.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

_TAGIT = (sys.executable, "-c", "import sys; from perfcore_vcs_tagit.cli import main; sys.exit(main())")
_GIT = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "advice.detachedHead=false")


def make(root: Path, files: int) -> None:
    """Files of source code's size, of words that compress as it does."""
    chance = random.Random(1)
    words = [chance.randbytes(4).hex() for _ in range(2000)]
    for number in range(files):
        path = root / f"folder {number % 97}" / f"file {number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(" ".join(chance.choices(words, k=chance.randint(20, 800))))


def change(root: Path, version: int) -> None:
    """Another tree: every twentieth file is other."""
    for number, path in enumerate(sorted(root.glob("folder */*"))):
        if number % 20 == 0:
            path.write_text(f"version {version} of {path.name}\n" * 50)


def timed(root: Path, *commands: Sequence[str]) -> float:
    """Seconds that commands take one after another."""
    begin = time.perf_counter()
    for command in commands:
        subprocess.run(command, cwd=root, check=True, capture_output=True)
    return time.perf_counter() - begin


def measure(place: Path, files: int) -> dict[str, tuple[float, float]]:
    """(tagit, git) of each operation, once."""
    ours, theirs = place / "tagit", place / "git"
    for root in (ours, theirs):
        make(root, files)
    timed(ours, (*_TAGIT, "init"))
    timed(theirs, (*_GIT, "init", "-q"))
    add, commit = (*_GIT, "add", "-A"), (*_GIT, "commit", "-qm")
    found = {"first save": (timed(ours, (*_TAGIT, "save", "v1")), timed(theirs, add, (*commit, "v1")))}
    for root in (ours, theirs):
        change(root, 2)
    found["save of 5 % changed"] = (timed(ours, (*_TAGIT, "save", "v2")), timed(theirs, add, (*commit, "v2")))
    found["status, unchanged"] = (timed(ours, (*_TAGIT, "status")), timed(theirs, (*_GIT, "status")))
    found["checkout, 5 % differ"] = (
        timed(ours, (*_TAGIT, "checkout", "v1")),
        timed(theirs, (*_GIT, "checkout", "-q", "HEAD~1")),
    )
    found["whole tree elsewhere"] = (
        timed(ours, (*_TAGIT, "export", "v2", "../tagit-out")),
        timed(theirs, (*_GIT, "worktree", "add", "-q", "--detach", "../git-out", "HEAD")),
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    best: dict[str, tuple[float, float]] = {}
    os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    for _ in range(arguments.rounds):
        place = Path(tempfile.mkdtemp(prefix="tagit-benchmark-"))
        try:
            for name, pair in measure(place, arguments.files).items():
                before = best.get(name, pair)
                best[name] = min(pair[0], before[0]), min(pair[1], before[1])
        finally:
            shutil.rmtree(place)
    print(f"{arguments.files} files, fastest of {arguments.rounds}; tagit, git, ratio")
    for name, (ours, theirs) in best.items():
        print(f"{name:22} {ours * 1000:8.0f} ms {theirs * 1000:8.0f} ms  x{ours / theirs:.2f}")


if __name__ == "__main__":
    main()
