"""`perf demo`: the whole tour on a small real repository."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfcore.errors import PerfError, PluginError, UsageError

if TYPE_CHECKING:
    from perfcore.hookspecs import CommandContext

# The tenth of fifteen commits: nine before it and five after it are enough for the check of histories, which needs 8
# versions in all and sees most changes two versions later.
_SLOW = 9
_NEEDED = {"vcs": "git", "collector": "time", "check": "pair"}
_LONG = 200_000  # words: long enough to be sampled some hundred times
_FAST_INDEX = """def index(words):
    places = {}
    for place, word in enumerate(words):
        places.setdefault(word, []).append(place)
    return places
"""
# Copies a list to append to it: quadratic in the number of a word's places, a mistake that real programs make.
_SLOW_INDEX = """def index(words):
    places = {}
    for place, word in enumerate(words):
        places[word] = places.get(word, []) + [place]
    return places
"""
_MAIN = """import sys


def words(count):
    state, found = 12345, []
    for _ in range(count):
        state = (1103515245 * state + 12345) % 2147483648
        found.append("w%d" % (state >> 16 & 127))
    return found


{index}

{extra}
if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60000
    print(len(index(words(count))))
"""
_SUBJECTS = (
    "Index the words of a text",
    "Say what the program is for",
    "Count the words too",
    "Name the longest word",
    "Write the usage down",
    "Tell how often a word stands",
    "Sort the words by their places",
    "Add a licence",
    "Describe the input",
    "Build the lists without changing them",
    "Print the words that stand once",
    "Mention the version",
    "Explain the numbers",
    "Thank the first users",
    "Prepare the release",
)


def new_app() -> typer.Typer:
    """A new Typer app with the one command."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command()(demo)
    return app


def demo(
    ctx: typer.Context,
    directory: Annotated[Path, typer.Argument(help="The folder to make.")] = Path("perf-demo"),
) -> None:
    """Make a small git repository of fifteen commits, one of which is slower; measure all of them; find it.

    Every perf command is printed before it is run, so that you can go on by hand.
    """
    context: CommandContext = ctx.obj
    root = context.directory / directory
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise UsageError(f"{directory} is there already", hint="name another folder: perf demo FOLDER")
    for kind, name in _NEEDED.items():
        if name not in context.plugins.names(kind):
            raise PerfError(f"the demo needs the {kind} {name}", hint='pip install "perfcore-standard"')
    root.mkdir(parents=True, exist_ok=True)
    _make_history(root)
    context.line(f"{directory}: a git repository with {len(_SUBJECTS)} commits of a program that indexes words.")
    command = f"{Path(sys.executable).name} index.py"
    _perf(context, root, "init")
    _perf(context, root, "collect time --all --repeat 8 --add -- " + command)
    _perf(context, root, "log --short")
    # 5 %, so that a busy laptop shows no other change: the slow commit takes nearly twice as long.
    _perf(context, root, "check --all --threshold 0.05", allowed=(0, 1))
    slow = _git(root, "log", "--format=%h", "--grep", _SUBJECTS[_SLOW]).strip()
    code = _perf(context, root, f"check {slow}", allowed=(0, 1))
    page = _draw(context, root, slow, command)
    _perf(context, root, "status")
    context.line()
    verdict = "found it: its exit code was 1" if code == 1 else "did not find it: the machine may be too busy"
    context.line(f"The commit that was made slower is {slow} ({_SUBJECTS[_SLOW]}); `perf check {slow}` {verdict}.")
    if page is not None:
        context.line(f"Where its time goes: open {shlex.quote(str(directory / page))} in a browser.")
    context.line(f"Go on by hand: cd {shlex.quote(str(directory))}")
    if code != 1:
        raise PerfError("the slow commit was not found", hint="perf check --all --verbose tells what was measured")


def _draw(context: CommandContext, root: Path, slow: str, command: str) -> str | None:
    """A flame graph of the slow commit; None where its plugins are not installed or the system forbids sampling."""
    drivers = {"collector": "sample", "view": "flamegraph"}
    if not all(name in context.plugins.names(kind) for kind, name in drivers.items()):
        return None
    # The program runs for about a second: the default of 100 samples a second would show little of it.
    words = f"collect sample --rate 500 --version {slow} --add -- {command} {_LONG}"
    if _perf(context, root, words, allowed=(0, PluginError.exit_code)) != 0:
        return None
    _perf(context, root, f"show {slow}:1@i flamegraph --output slow.html")
    return "slow.html"


def _make_history(root: Path) -> None:
    _git(root, "init", "--quiet", "--initial-branch=main")
    for number, subject in enumerate(_SUBJECTS):
        (root / "index.py").write_text(_program(number))
        (root / "NOTES").write_text("\n".join(_SUBJECTS[: number + 1]) + "\n")
        _git(root, "add", "index.py", "NOTES")
        # Fixed dates, one day apart, and a fixed identity: the ids of the commits are the same on every machine.
        _git(root, "commit", "--quiet", "--message", subject, date=1_760_000_000 + 86_400 * number)


def _program(number: int) -> str:
    """The program as of a commit: from the slow one on, every word's list of places is copied to append to it."""
    extra = "\n".join(f"# {subject}" for subject in _SUBJECTS[1 : number + 1]) + "\n\n"
    return _MAIN.format(index=_SLOW_INDEX if number >= _SLOW else _FAST_INDEX, extra=extra)


def _perf(context: CommandContext, root: Path, words: str, allowed: tuple[int, ...] = (0,)) -> int:
    context.line()
    context.line(context.paint(f"$ perf {words}", "bold"))
    sys.stdout.flush()
    # The same Python whatever else is called so: a wrapper in PATH would take longer than the program.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    argv = [sys.executable, "-m", "perfcore", *shlex.split(words)]
    code = subprocess.call(argv, cwd=root, env={**os.environ, "PATH": path})
    if code not in allowed:
        raise PerfError(f"`perf {words}` ended with exit code {code}")
    return code


def _git(root: Path, *words: str, date: int = 0) -> str:
    """Run git with an identity and configuration of its own: the user's settings neither matter nor change."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        environ |= {
            f"GIT_{role}_NAME": "Demo",
            f"GIT_{role}_EMAIL": "demo@example.org",
            f"GIT_{role}_DATE": f"{date} +0000",
        }
    try:
        process = subprocess.run(["git", *words], cwd=root, env=environ, capture_output=True, text=True, check=False)
    except OSError as error:
        raise PerfError(f"git cannot be started: {error.strerror}", hint="install git") from error
    if process.returncode:
        raise PerfError(f"git {words[0]} failed: {process.stderr.strip()}")
    return process.stdout
