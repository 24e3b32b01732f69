"""CPU time of a folder of annotated sources: `python site.py [--files 400] [--stacks 20000]`.

Makes a profile over files of a git repository, writes the folder, writes it again without a change, and once more with
one source changed. The peer, in the same run, reads the same files by `git cat-file --batch` and escapes them for HTML,
which any such page has to do.
"""

from __future__ import annotations

import argparse
import html
import os
import random
import resource
import subprocess
import tempfile
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from perfcore_fleet_kit.stack_tree import StackTree
from perfcore_testing import profiles
from perfcore_testing.output import FakeOutput
from perfcore_view_annotate import AnnotateView

from perfcore.model import MinorVersion, Profile, ViewData
from perfcore.profile.table import ColumnSpec, from_buffer, table

T = TypeVar("T")
LINES, FUNCTIONS, DEPTH = 160, 10, 12


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--stacks", type=int, default=20_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        version = _repository(root / "src", arguments.files)
        profile = _profile(arguments.files, arguments.stacks)
        peer, texts = timed(lambda: _read(root / "src", version, arguments.files))
        print(f"load {os.getloadavg()[0]:.1f}; {arguments.files} files, {profile.tables['stacks'].rows:,} stacks")
        print(f"peer (read and escape): {peer:.2f} s")
        for name in ("written", "again", "one source changed"):
            if name == "one source changed":
                texts["lib/m000.py"] += b"\n# changed\n"
            seconds, said = timed(lambda: _write(profile, version, texts, root / "site"))
            print(f"{name}: {seconds:.2f} s ({seconds / peer:.1f} x)  {said}")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of this process and its children."""
    start = _cpu()
    result = work()
    return _cpu() - start, result


def _cpu() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _repository(root: Path, files: int) -> str:
    numbers = random.Random(1)
    (root / "lib").mkdir(parents=True)
    for file in range(files):
        lines = [f"    x{line} = work({numbers.randrange(10**6)})  # {'<&>' * 3}" for line in range(LINES)]
        for function in range(FUNCTIONS):
            lines[function * LINES // FUNCTIONS] = f"def f{function}():"
        (root / _path(file)).write_text("\n".join(lines))
    git = ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Release"]):
        subprocess.run([*git, *words], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def _path(file: int) -> str:
    return f"lib/m{file:03d}.py"


def _profile(files: int, stacks: int) -> Profile:
    numbers = random.Random(2)
    tree = StackTree()
    nodes: dict[int, int] = {}
    for _ in range(stacks):
        chain = []
        for _ in range(numbers.randint(2, DEPTH)):
            file, function = min(files - 1, int(numbers.paretovariate(0.6)) - 1), numbers.randrange(FUNCTIONS)
            first = function * LINES // FUNCTIONS + 1
            line = first + numbers.choice((3, 7, 11))
            chain.append(tree.frame(f"f{function}", _path((file * 7 + function) % files), line, first))
        node = tree.stack(chain)
        nodes[node] = nodes.get(node, 0) + numbers.randint(1, 20)
    resources = table(
        "resources",
        [
            from_buffer(ColumnSpec("stack", "i64"), array("q", nodes)),
            from_buffer(ColumnSpec("samples", "i64", role="value"), array("q", nodes.values())),
        ],
    )
    return profiles.sampled().replace_tables(resources=resources, **tree.tables())


def _read(root: Path, version: str, files: int) -> dict[str, bytes]:
    names = "".join(f"{version}:{_path(file)}\n" for file in range(files))
    batch = subprocess.run(
        ["git", "-C", str(root), "cat-file", "--batch"], input=names.encode(), capture_output=True, check=True
    )
    html.escape(batch.stdout.decode())
    return {_path(file): (root / _path(file)).read_bytes() for file in range(files)}


def _write(profile: Profile, version: str, texts: dict[str, bytes], folder: Path) -> str:
    output = FakeOutput()
    output.path = folder
    data = ViewData(profiles=(profile,), versions=(MinorVersion(version),), source=lambda _, path: texts.get(path))
    AnnotateView().render(data, output)
    return output.said[0].partition(": ")[2]


if __name__ == "__main__":
    main()
