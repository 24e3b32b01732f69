"""The room that the yardstick works in: environments, repositories and profiles, made when they are first asked for and
kept for the next time.

What takes much memory to make is made by processes of its own: the kernel counts what the process that starts a program
takes as if the program had taken it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from benchmarks.yardstick.cost import Program, environment

CHECKOUT = Path(__file__).parents[2]
PERUN, ASV = "perun-toolsuite==0.28.3", "asv==0.6.6"
ROWS = 100
FOLDED = "stacks.folded"
AS_IT_IS = ""
DATA = "3"  # counts the ways in which the data were made: another number makes them anew


@attrs.frozen
class Room:
    """`installed`: take perfcore as it was installed last, although its sources have changed since."""

    root: Path
    installed: bool = False
    _ready: set[str] = attrs.field(factory=set, init=False)

    # Environments

    def perf(self, *words: str) -> tuple[str, ...]:
        """A command of perfcore, installed with its plugins as a user would."""
        return (str(self.environment_of_perf() / "bin/perf"), *words)

    def python(self, *words: str) -> tuple[str, ...]:
        return (str(self.environment_of_perf() / "bin/python"), *words)

    def perun(self, *words: str) -> tuple[str, ...]:
        return (str(self.environment_of_perun() / "bin/perun"), *words)

    def perun_python(self, *words: str) -> tuple[str, ...]:
        return (str(self.environment_of_perun() / "bin/python"), *words)

    def perun_script(self, name: str) -> str:
        """The path of one of the scripts that Perun brings."""
        return str(next(self.environment_of_perun().glob(f"lib/python3*/site-packages/perun/scripts/{name}")))

    def environment_of_perf(self) -> Path:
        lines = (CHECKOUT / "requirements.txt").read_text().splitlines()
        return self._environment("perf", [str(CHECKOUT / line.removeprefix("-e ")) for line in lines], self._sources())

    def environment_of_core(self) -> Path:
        parts = [CHECKOUT, CHECKOUT / "plugins/storage-local"]
        return self._environment("core", [str(part) for part in parts], self._sources())

    def environment_of_perun(self) -> Path:
        return self._environment("perun", [PERUN], PERUN)

    def asv(self) -> str:
        return str(self._environment("asv", [ASV], ASV) / "bin/asv")

    def _sources(self) -> str:
        return AS_IT_IS if self.installed else _hash_of_sources()

    def _environment(self, name: str, parts: Sequence[str], key: str) -> Path:
        def make(place: Path) -> None:
            self._tell("installing", name)
            _call((sys.executable, "-m", "venv", str(place)), self.root, os.environ)
            # The script of a command is written by pip, and that of the pip that comes with Python may be years old.
            for wanted in (["--upgrade", "pip"], parts):
                _call((str(place / "bin/python"), "-m", "pip", "install", "-q", *wanted), self.root, os.environ)

        return self._made(name, key, make)

    # Repositories and what is in them

    def small(self) -> Path:
        """Three versions; one profile registered with the last and one pending, in both tools."""

        def fill(place: Path) -> None:
            for argv in (
                *(self.perf("collect", "time", "--", "true"),) * 2,
                self.perf("add", "0@p"),
                *(self.perun("collect", "-c", "true", "time"),) * 2,
                self.perun("add", "0@p"),
            ):
                self.call(argv, place)

        return self._repository("small", 3, fill)

    def history(self, versions: int) -> Path:
        """So many versions, each with a profile of 100 rows, in both tools."""

        def fill(place: Path) -> None:
            self.call(self.perun_python(script("perun_profiles.py"), "history", str(ROWS)), place)
            self.call(self.python(script("perfcore_profiles.py"), "history", str(ROWS)), place)
            self.call(self.perf("gc"), place)

        return self._repository(f"{versions} versions", versions, fill)

    def calls(self, rows: int) -> Path:
        """One pending profile of so many calls, in both tools."""

        def fill(place: Path) -> None:
            self.call(self.perun_python(script("perun_profiles.py"), "calls", str(rows)), place)
            self.call(self.perf("import", "perun", str(perun_pending(place))), place)

        return self._repository(f"{rows} calls", 1, fill)

    def store(self, versions: int) -> Path:
        """The folder `.perf` of a history, without what can be derived again."""
        shutil.rmtree(self.history(versions) / "work/.perf/cache", ignore_errors=True)
        return self.history(versions) / "work/.perf"

    def pending(self, kind: str, count: int) -> Path:
        """One pending profile of perfcore: so many `rows` of a table, `decimals` with four digits after the point, or
        stacks of a million samples (`sampled`)."""

        def fill(place: Path) -> None:
            self.call(self.python(script("perfcore_profiles.py"), kind, str(count)), place)

        return self._repository(f"{count} {kind}", 1, fill)

    def suite(self, versions: int) -> Path:
        """So many versions with five runs of 20 benchmarks, in the forms of perfcore (`work`) and asv (`asv`)."""

        def make(place: Path) -> None:
            self._tell("making", place.name)
            self.home.mkdir(exist_ok=True)
            self.call((sys.executable, script("suite.py"), "make", str(place), str(versions)), self.root)

        return self._made(f"{versions} of a suite", DATA, make)

    def crowded(self, profiles: int) -> Path:
        """One version with so many profiles of 100 rows, and one more that is pending, in both tools."""

        def fill(place: Path) -> None:
            self.call(self.perun_python(script("perun_profiles.py"), "crowd", str(ROWS), str(profiles)), place)
            self.call(self.python(script("perfcore_profiles.py"), "crowd", str(ROWS), str(profiles)), place)
            self.call(self.perun("collect", "-c", "true", "time"), place)
            self.call(self.perf("collect", "time", "--", "true"), place)

        return self._repository(f"{profiles} profiles", 1, fill)

    def folded(self, stacks: int) -> Path:
        """The folded file of samples of so many distinct stacks, in a repository where it is not imported yet."""
        return self._repository(f"{stacks} folded", 1, lambda place: self._fold(stacks, place))

    def allocations(self, stacks: int) -> Path:
        """One pending profile of an allocation at each of so many distinct stacks, in both tools."""

        def fill(place: Path) -> None:
            self._fold(stacks, place)
            self.call(self.perun_python(script("perun_profiles.py"), "allocations", FOLDED), place)
            self.call(self.perf("import", "perun", str(perun_pending(place))), place)

        return self._repository(f"{stacks} allocations", 1, fill)

    def samples(self, stacks: int) -> Path:
        """One pending profile of samples of so many distinct stacks, in both tools, and the folded file of them."""

        def fill(place: Path) -> None:
            self._fold(stacks, place)
            self.call(self.perun("import", "perf", "stack", FOLDED), place)
            self.call(self.perf("import", "folded", FOLDED), place)

        return self._repository(f"{stacks} samples", 1, fill)

    def _fold(self, stacks: int, place: Path) -> None:
        with (place / FOLDED).open("w") as file:
            subprocess.run((sys.executable, script("folded.py"), str(stacks)), stdout=file, check=True)

    def program(self, argv: Sequence[str], place: Path, *, prints: int = 1, makes: str | None = None) -> Program:
        """A command in a repository, which is as it was made before each run, except for long histories: commands that
        are measured there only look. `makes` is a file or folder in it."""
        work, pristine = place / "work", place / "pristine"
        return Program(
            argv=tuple(argv),
            cwd=work,
            home=self.home,
            prints=prints,
            fresh=pristine if pristine.is_dir() else None,
            makes=work / makes if makes else None,
        )

    @property
    def home(self) -> Path:
        return self.root / "home"

    def call(self, argv: Sequence[str], place: Path) -> None:
        _call(argv, place, environment(self.home))

    def _repository(self, name: str, versions: int, fill: Callable[[Path], None]) -> Path:
        """A folder with a repository `work`, and a copy of it, `pristine`. Perun knows it by its path, so that it
        stays where it is."""

        def make(place: Path) -> None:
            self._tell("making", name)
            work = place / "work"
            self.call(("git", "init", "-q", "-b", "main", str(work)), self.root)
            self.home.mkdir(exist_ok=True)
            with subprocess.Popen(("git", "fast-import", "--quiet"), cwd=work, stdin=subprocess.PIPE) as process:
                assert process.stdin is not None
                process.stdin.writelines(_commits(versions))
            for argv in (
                ("git", "reset", "-q", "--hard"),
                self.perf("init"),
                self.perun("init", "--vcs-type=git", "."),
            ):
                self.call(argv, work)
            fill(work)
            if "versions" not in name:
                shutil.copytree(work, place / "pristine", symlinks=True)

        return self._made(name, DATA, make)

    def _made(self, name: str, key: str, make: Callable[[Path], None]) -> Path:
        """A folder that is made once; what was left unfinished or has another key is made anew."""
        place, mark = self.root / name, self.root / f"{name}.made"
        if name in self._ready:
            return place
        self._ready.add(name)
        if mark.is_file() and key in (mark.read_text(), AS_IT_IS):
            return place
        mark.unlink(missing_ok=True)
        shutil.rmtree(place, ignore_errors=True)
        self.root.mkdir(parents=True, exist_ok=True)
        make(place)
        mark.write_text(key)
        return place

    def _tell(self, *words: str) -> None:
        print(*words, file=sys.stderr, flush=True)


def perun_pending(place: Path) -> Path:
    """The profile that Perun keeps as pending in a repository, seen from it."""
    return next((place / ".perun/jobs").glob("*.perf")).relative_to(place)


def script(name: str) -> str:
    return str(Path(__file__).with_name(name))


def _commits(count: int) -> Iterator[bytes]:
    """A stream of `git fast-import`: one line of versions."""
    for number in range(1, count + 1):
        subject = b"Change number %d of a history, in words as long as usual" % number
        moment = 1_300_000_000 + number * 600
        yield b"commit refs/heads/main\nmark :%d\n" % number
        yield b"author Jana Nov\xc3\xa1k <jana%d@example.org> %d +0100\n" % (number % 50, moment)
        yield b"committer Jana Nov\xc3\xa1k <jana@example.org> %d +0100\n" % moment
        yield b"data %d\n%s\n" % (len(subject), subject)
        yield b"from :%d\n" % (number - 1) if number > 1 else b""
        yield b"M 100644 inline file\ndata 8\n%08d\n" % number


@functools.cache
def _hash_of_sources() -> str:
    """A hash of what gets installed."""
    told = hashlib.sha256()
    files = [*CHECKOUT.glob("perfcore/**/*"), *CHECKOUT.glob("plugins/*/perfcore_*/**/*")]
    files += [*CHECKOUT.glob("pyproject.toml"), *CHECKOUT.glob("plugins/*/pyproject.toml")]
    for path in sorted(path for path in files if path.is_file() and "__pycache__" not in path.parts):
        told.update(str(path.relative_to(CHECKOUT)).encode() + b"\0" + path.read_bytes())
    return told.hexdigest()


def _call(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
    variables = {name: value for name, value in env.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(argv, cwd=cwd, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}\nin {cwd}: exit code {done.returncode}\n{done.stderr[-3000:]}")
