"""Takes the pictures of `docs/gallery.md`: measures a real program over its commits, renders every view, and opens each
page in a headless Chromium.

    python docs/gallery.py [NAME...]

It needs git, Chromium and python_papi (`PYTHONPATH=$(.ci/papi)`, for the picture of the machine), and takes some
minutes; NAME takes only these pictures. They are committed: together they have less than a megabyte, and nobody
who builds the site needs a browser.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import attrs
from perfcore_testing import browser

PICTURES = Path(__file__).resolve().parent / "gallery"
_SHARPNESS = 80  # of WebP, from which on thin lines have no visible noise

PROGRAM = '''\
"""Prints the commonest words of a generated text, and what formatting does with it, as JSON."""
import ast
import difflib
import inspect
import json
import re
import sys
import textwrap
from collections import Counter


def text(count):
    return " ".join(f"word{number * 7919 % 997} and-more" for number in range(count))


def tokens(source):
    return [match.group().lower() for match in re.finditer(r"[\\w-]+", source)]


def unique(items):
    return list(dict.fromkeys(items))


def ranked(words):
    return sorted(Counter(words).items(), key=lambda pair: (-pair[1], pair[0]))


def changes(source):
    tidy = ast.unparse(ast.parse(source))
    return list(difflib.unified_diff(source.splitlines(), tidy.splitlines()))


def report(count):
    words = tokens(text(count))
    lines = textwrap.wrap(text(count // 4), 70)
    return {"unique": len(unique(words)), "most": ranked(words)[:200], "lines": lines, "changes": changes(CODE)}


CODE = inspect.getsource(textwrap)
if __name__ == "__main__":
    for _ in range(int(sys.argv[2])):
        print(json.dumps(report(int(sys.argv[1])), indent=2))
'''
SUITE = """\
from perfcore_collect_bench import benchmark

from words import ranked, text, tokens, unique

SIZES = {"size": [100, 200, 400, 800, 1600]}


@benchmark(params=SIZES, setup=lambda size: text(size))
def tokenize(source):
    tokens(source)


@benchmark(params=SIZES, setup=lambda size: tokens(text(size)))
def remove_duplicates(words):
    unique(words)


@benchmark(params=SIZES, setup=lambda size: tokens(text(size)))
def rank(words):
    ranked(words)
"""
_DICT = "list(dict.fromkeys(items))"
_LIST = "[item for at, item in enumerate(items) if item not in items[max(0, at - 150):at]]"
# Subject, text to replace, replacement: without a text, a note is written.
COMMITS = (
    ("Count words", "", ""),
    ("Add a note", "", ""),
    ("Name the encoding", "", ""),
    ("Release 1.0", "", ""),
    ("Accept items that cannot be hashed", _DICT, _LIST),
    ("Explain the options", "", ""),
    ("Thank contributors", "", ""),
    (
        "Compile the pattern's flags once",
        '.group().lower() for match in re.finditer(r"[\\w-]+", source)',
        '.lower() for match in re.findall(r"[\\w-]+", source)',
    ),
    ("Release 2.0", "", ""),
    ("Sort the notes", "", ""),
)
SLOWER = 4


@attrs.frozen
class Picture:
    """A page and how it is taken: the words of `perf`, the keys that are pressed in it, and the colours of its user."""

    name: str
    words: str
    keys: tuple[str, ...] = ()
    colors: str = "light"
    height: int = 720


def pictures(slow: str, fast: str, profiles: dict[str, str]) -> tuple[Picture, ...]:
    """All of them, in the order of the page; versions by their ids."""
    sampled = f"show {slow}:{profiles['sample']}"
    both = f"{fast}:{profiles['sample']} {slow}:{profiles['sample']}"
    suite = f"show {slow}:{profiles['bench']}"
    return (
        Picture("flame-graph", f"{sampled} flamegraph", keys=("p",)),
        Picture(
            "sandwich",
            f"{sampled} flamegraph",
            keys=("p", "/", *"Visitor.visit", "Enter", "Escape", "s"),
            colors="dark",
        ),
        Picture("difference", f"diff {both} --view flamegraph", keys=("p",)),
        Picture("versions", f"show {both} flamegraph", keys=("p",)),
        Picture("history", "history"),
        Picture("heatmap", "history --view heatmap"),
        Picture("compare", "compare v1.0 v2.0 --view compare"),
        Picture("histogram", f"show {fast}:{profiles['time']} {slow}:{profiles['time']} histogram"),
        Picture("scatter", f"{suite} scatter --over size"),
        Picture("bars", f"{suite} bars"),
        Picture("topology", f"show {slow}:{profiles['papi']} topology"),
        Picture("report", "compare v1.0 v2.0 --view report", height=1100),
    )


class Program:
    """A repository with the program and its commits, in which `perf` runs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "words"
        self.path.mkdir()
        self._env = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "100"}

    def run(self, *words: str, allowed: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run(words, cwd=self.path, env=self._env, capture_output=True, encoding="utf-8", check=False)
        if done.returncode not in allowed:
            raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
        sys.stderr.write(done.stderr)
        return done.stdout.strip()

    def perf(self, words: str) -> str:
        return self.run(sys.executable, "-m", "perfcore", *words.split(), allowed=(0, 1, 8))

    def write_history(self) -> list[str]:
        """Make the commits; gives their ids, the oldest first."""
        self.run("git", "init", "--quiet", "--initial-branch=main")
        (self.path / "benchmarks").mkdir()
        (self.path / "benchmarks" / "bench_words.py").write_text(SUITE)
        program, ids = PROGRAM, []
        for number, (subject, old, new) in enumerate(COMMITS):
            assert old in program, subject
            program = program.replace(old, new) if old else program
            (self.path / "words.py").write_text(program)
            (self.path / "NOTES").write_text(f"{number}\n")
            self.run("git", "add", ".")
            author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
            self.run("git", *author, "commit", "--quiet", "--message", subject)
            if subject.startswith("Release"):
                self.run("git", "tag", f"v{subject.split()[1]}")
            ids.append(self.run("git", "rev-parse", "HEAD"))
        return ids

    def measure(self, versions: str) -> dict[str, str]:
        """Measure all commits, and sample the `versions`; gives what each collector's profile is called."""
        self.perf("init")
        for words in (
            "time --repeat 8 --all --add -- python3 words.py 1500 1",
            "bench --repeat 6 --all --add -- benchmarks",
        ):
            self.perf(f"collect {words}")
        self.perf(f"collect sample --rate 1000 --repeat 4 {versions} --add -- python3 words.py 3000 60")
        self.perf(f"collect papi --fallback --repeat 3 {versions} --add -- python3 words.py 1500 1")
        self.perf("check all")
        return {"time": "0@i", "bench": "1@i", "sample": "2@i", "papi": "3@i"}


def take(window: Any, page: Path, picture: Picture) -> None:
    """Open a page and keep what is to be seen of it."""
    window.resize(1200, picture.height)
    window.media(prefers_color_scheme=picture.colors, prefers_reduced_motion="reduce")
    window.open(page.as_uri(), "main, h1")
    window.frames(4)
    window.press(*picture.keys)
    answer = window.call("Page.captureScreenshot", format="webp", quality=_SHARPNESS)
    path = PICTURES / f"{picture.name}.webp"
    path.write_bytes(base64.b64decode(answer["data"]))
    print(f"{path.name}  {path.stat().st_size // 1000} kB, of a page of {page.stat().st_size // 1000} kB")


def main(names: list[str]) -> None:
    PICTURES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="perfcore-gallery-") as folder,
        browser.window(Path(folder, "chromium")) as window,
    ):
        program = Program(Path(folder))
        ids = program.write_history()
        fast, slow = ids[SLOWER - 1], ids[SLOWER]
        profiles = program.measure(f"-v {fast} -v {slow}")
        for picture in pictures(slow, fast, profiles):
            if not names or picture.name in names:
                page = Path(folder, f"{picture.name}.html")
                program.perf(f"{picture.words} -o {page}")
                take(window, page, picture)


if __name__ == "__main__":
    main(sys.argv[1:])
