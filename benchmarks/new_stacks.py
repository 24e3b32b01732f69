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
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.yardstick.cost import weight
from benchmarks.yardstick.folded import lines


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--stacks", type=int, default=10_000)
    arguments.add_argument("--versions", type=int, default=40)
    given = arguments.parse_args()
    new = given.stacks // 100
    pool = list(lines(given.stacks + new * given.versions))
    chance = random.Random(1)
    current, rest = pool[: given.stacks], pool[given.stacks :]
    packed: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        work, environment = Path(folder) / "work", {**os.environ, "HOME": folder}
        work.mkdir()

        def run(*words: str) -> None:
            subprocess.run(words, cwd=work, check=True, env=environment, capture_output=True)

        run("git", "init", "-q", "-b", "main")
        for version in range(given.versions):
            run("git", "-c", "user.name=n", "-c", "user.email=n@x", "commit", "-q", "--allow-empty", "-m", str(version))
            if version == 0:
                run(sys.executable, "-m", "perfcore", "init")
            else:
                for _ in range(new):
                    current[chance.randrange(len(current))] = rest.pop(0)
            path = Path(folder) / f"profile-{version}.folded"
            path.write_text("".join(current))
            run(sys.executable, "-m", "perfcore", "import", "--add", "folded", str(path))
            shutil.rmtree(work / ".perf/cache", ignore_errors=True)  # as in a fresh clone
            if version in (0, given.versions // 2):
                run(sys.executable, "-m", "perfcore", "gc", "--grace", "0s")
                packed.append(weight(work / ".perf")[1])
        run(sys.executable, "-m", "perfcore", "gc", "--grace", "0s")
        packed.append(weight(work / ".perf")[1])
    first, half, whole = packed
    later = given.versions - 1 - given.versions // 2
    print(f"{given.stacks:,} stacks: the first version takes {first / 1000:.1f} kB in blocks, each of the last {later}")
    print(f"{(whole - half) / 1000 / later:.1f} kB after `perf gc`")


if __name__ == "__main__":
    main()
