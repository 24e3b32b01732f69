"""What thirty versions of one program take in the store, a million samples each, beside folded stacks in zlib.

    python benchmarks/stacks.py [--versions 30] [--stacks 20000]

Each version replaces 1 % of the stacks, moves the lines of three of three hundred files and counts anew.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perfcore_storage_local import LocalStorage

from perfcore.model import Header, Profile, Tool
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column, table
from perfcore.store import pending
from perfcore.store.store import Store

FILES, FUNCTIONS, SAMPLES = 300, 4_000, 1_000_000
CHURN, MOVED_FILES = 0.01, 3

Call = tuple[int, int]  # a function, and a line in it


class Program:
    """A made-up program whose stacks change from version to version."""

    def __init__(self, stacks: int, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.first = [self.random.randrange(1, 2_000) for _ in range(FUNCTIONS)]
        self.paths: list[tuple[Call, ...]] = [((0, 1),)]
        self.wanted = stacks

    def version(self) -> None:
        """Change some, as a commit would."""
        gone = int(len(self.paths) * CHURN)
        for _ in range(gone):
            self.paths.pop(self.random.randrange(1, len(self.paths)))
        while len(self.paths) < self.wanted:
            self.paths.append(self._path())
        for file in self.random.sample(range(FILES), MOVED_FILES):
            for function in range(file, FUNCTIONS, FILES):
                self.first[function] += 3

    def counts(self) -> list[int]:
        weights = [self.random.paretovariate(1.2) for _ in self.paths]
        whole = sum(weights)
        return [max(1, round(SAMPLES * weight / whole)) for weight in weights]

    def _path(self) -> tuple[Call, ...]:
        """Something new below a place that is there already, 10 to 40 deep."""
        known = self.random.choice(self.paths)
        kept = known[: self.random.randint(1, len(known))]
        depth = self.random.randint(max(10, len(kept) + 1), max(24, min(40, len(kept) + 8)))
        return (*kept, *(self._call() for _ in range(depth - len(kept))))

    def _call(self) -> Call:
        function = min(int(self.random.paretovariate(0.35)), FUNCTIONS) - 1
        return function, self.random.choice((1, 4, 9))


def profile(program: Program, number: int) -> Profile:
    builder = StackBuilder()
    stack = [builder.add(_frames(program, path)) for path in program.paths]
    resources = table(
        "resources",
        (column("stack", stack, dtype="i64"), column("samples", program.counts(), dtype="i64", role="value")),
    )
    return Profile(
        header=Header(type="sample", argv=("./program",), cmd="program"),
        created=1_750_000_000_000_000_000 + number,
        collector=Tool(name="sample"),
        config_id="1:" + "0" * 40,
        tables={"resources": resources, **builder.tables()},
    )


def _frames(program: Program, path: tuple[Call, ...]) -> Iterator[Frame]:
    for function, line in path:
        first = program.first[function]
        yield Frame(
            f"Module{function % FILES}.function_{function}", f"src/file{function % FILES}.py", first + line, first
        )


def folded(program: Program, counts: list[int]) -> bytes:
    rows = (
        ";".join(f"{frame.name} ({frame.file}:{frame.line})" for frame in _frames(program, path)) + f" {count}"
        for path, count in zip(program.paths, counts, strict=True)
    )
    return "\n".join(rows).encode()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--versions", type=int, default=30)
    arguments.add_argument("--stacks", type=int, default=20_000)
    given = arguments.parse_args()
    program = Program(given.stacks)
    with tempfile.TemporaryDirectory() as folder:
        perf = Path(folder)
        storage: Any = LocalStorage(perf)
        store = Store(storage, perf / "cache")
        spent = written = 0.0
        text = text_spent = 0.0
        for number in range(given.versions):
            program.version()
            made = profile(program, number)
            start = time.process_time()
            pending.save(store, made)
            last = time.process_time() - start
            start = time.process_time()
            text += len(zlib.compress(folded(program, made.tables["resources"]["samples"].data.tolist()), 6))
            text_spent += time.process_time() - start
            spent += last
            written = sum(path.stat().st_size for path in perf.rglob("*") if path.is_file())
        nodes = made.tables["stacks"].rows
        first = time.process_time()
        loaded = store.decode_profile(pending.read(store, pending.walk(store)[-1].name)[1], "the last")
        rows = loaded.tables["stacks"].rows
        first = time.process_time() - first
    each = written / given.versions / 1000
    print(f"{given.versions} versions, {len(program.paths):,} stacks and {nodes:,} nodes each")
    print(f"a version on disk: {each:.1f} kB, as folded stacks in zlib {text / given.versions / 1000:.1f} kB")
    print(f"size of the folded stacks / ours: {text / written:.1f}")
    print(f"CPU time of storing / of writing folded stacks: {spent / text_spent:.2f}")
    print(f"CPU time of reading the last / of storing one: {first * given.versions / spent:.2f}, {rows:,} nodes")


if __name__ == "__main__":
    main()
