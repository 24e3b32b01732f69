"""What versions with 1 % new stacks add to a store, in blocks of the disk, where each imported file has another name.

    python benchmarks/new_stacks.py [--stacks 10000] [--versions 40]

A repository with a version for each file is made in a temporary folder, and `perf import --add folded` run there.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.yardstick.cost import weight
from benchmarks.yardstick.folded import lines


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--stacks", type=int, default=10_000)
    arguments.add_argument("--versions", type=int, default=40)
    given = arguments.parse_args()
    first, each = added((sys.executable, "-m", "perfcore"), given.stacks, given.versions)
    print(f"{given.stacks:,} stacks: the first version takes {first / 1000:.1f} kB in blocks, each of the last half")
    print(f"{each / 1000:.1f} kB after `perf gc`")


def added(perf: Sequence[str], stacks: int, versions: int) -> tuple[int, float]:
    """Bytes in blocks of the first version, and what each of the later half adds."""
    new = stacks // 100
    pool = list(lines(stacks + new * versions))
    chance = random.Random(1)
    current, rest = pool[:stacks], pool[stacks:]
    packed: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        work, environment = Path(folder) / "work", {**os.environ, "HOME": folder}
        work.mkdir()

        def run(*words: str) -> None:
            subprocess.run(words, cwd=work, check=True, env=environment, capture_output=True)

        run("git", "init", "-q", "-b", "main")
        for version in range(versions):
            run("git", "-c", "user.name=n", "-c", "user.email=n@x", "commit", "-q", "--allow-empty", "-m", str(version))
            if version == 0:
                run(*perf, "init")
            else:
                for _ in range(new):
                    current[chance.randrange(len(current))] = rest.pop(0)
            path = Path(folder) / f"profile-{version}.folded"
            path.write_text("".join(current))
            run(*perf, "import", "--add", "folded", str(path))
            shutil.rmtree(work / ".perf/cache", ignore_errors=True)  # as in a fresh clone
            if version in (0, versions // 2, versions - 1):
                run(*perf, "gc", "--grace", "0s")
                packed.append(weight(work / ".perf")[1])
    first, half, whole = packed
    return first, (whole - half) / (versions - 1 - versions // 2)


if __name__ == "__main__":
    main()
