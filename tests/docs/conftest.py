"""Pages of the documentation as tests see them: files to be written, terminal sessions to be run.

A fenced block whose first line is a comment with a file name (`# acme_wall.py`) is that file. A block of the
language `console` is a session: lines that begin with `$ ` are typed, the others are what is printed. A line that ends
with an ellipsis is the beginning of a line; an ellipsis alone stands for any lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs
import pytest
from perfcore_testing.distributions import Site
from perfcore_testing.processes import PATIENCE
from perfcore_testing.project import Project

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"(?:#|//) ([\w./-]+\.\w+|Makefile)\n")
_TYPED = re.compile(r"^\$ (.*(?:\\\n.*)*)\n", re.MULTILINE)
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_MEASURED = re.compile(
    r"-?\d{8}T\d{6}(?:-\d+)?|\b[0-9a-f]{10,40}\b|[+-]?\d[\d,.:]*(?: ?(?:[nmµ]?s|[kMG]i?B|KiB|B|%)(?!\w))?"
)
_LAWS = re.compile(r"\d+ laws: ")


@attrs.frozen
class File:
    """A file that the reader is to write."""

    name: str
    text: str


@attrs.frozen
class Command:
    """A line of a session, and what is printed below it."""

    typed: str
    printed: str


@attrs.frozen
class Page:
    """A page, and what its reader does with it, in order."""

    text: str
    steps: tuple[File | Command, ...]

    @property
    def files(self) -> Mapping[str, str]:
        return {step.name: step.text for step in self.steps if isinstance(step, File)}

    @property
    def commands(self) -> tuple[Command, ...]:
        return tuple(step for step in self.steps if isinstance(step, Command))


class Shell:
    """Types commands, each where the one before ended, and compares what is printed."""

    def __init__(self, here: Path, env: Mapping[str, str], told: Path) -> None:
        self.here = here
        self.env = env
        self._told = told

    def type(self, command: Command) -> None:
        done = subprocess.run(
            f"{command.typed}\npwd > '{self._told}'",
            shell=True,
            cwd=self.here,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )
        assert agrees(unmeasured(done.stdout), unmeasured(command.printed)), f"$ {command.typed}\n{done.stdout}"
        self.here = Path(self._told.read_text().removesuffix("\n"))


def unmeasured(text: str) -> list[str]:
    """Lines without what differs from one run to the next: numbers with their units, ids, and the widths of columns.
    The numbers of laws are those of a contract, and stay."""
    lines = _ESCAPES.sub("", text).rstrip().split("\n")
    comparable = (line if _LAWS.match(line) else _MEASURED.sub("#", line) for line in lines)
    return [re.sub(r"\s+", " ", line).strip() for line in comparable if line.strip()]


def agrees(printed: list[str], expected: list[str]) -> bool:
    """Whether lines are those that a page shows, whose ellipses stand for what it leaves out."""
    if not expected:
        return not printed
    if expected[0] == "…":
        return any(agrees(printed[number:], expected[1:]) for number in range(len(printed) + 1))
    return bool(printed) and _is_line(printed[0], expected[0]) and agrees(printed[1:], expected[1:])


def _is_line(printed: str, expected: str) -> bool:
    parts = [re.escape(part.strip()) for part in expected.split("…")]
    return re.fullmatch(".*".join(parts), printed) is not None


@pytest.fixture
def page_of() -> Callable[[str], Page]:
    """The page at a place below `docs`."""
    return lambda place: _read(DOCS / place)


@pytest.fixture
def shell_in() -> Callable[..., Shell]:
    return Shell


@pytest.fixture
def install(site: Site) -> Callable[[Page], None]:
    """Installs the files of a page, as the entry points of its pyproject.toml say."""

    def installed(page: Page) -> None:
        project = tomllib.loads(page.files["pyproject.toml"])["project"]
        points = {
            group: [f"{name} = {target}" for name, target in entries.items()]
            for group, entries in project["entry-points"].items()
        }
        modules = {name.removesuffix(".py"): text for name, text in page.files.items() if name.endswith(".py")}
        site.install(project.get("name", "acme-perf"), points=points, **modules)

    return installed


@pytest.fixture
def play(project: Project, site: Site, tmp_path: Path) -> Callable[[Page], None]:
    """Types the sessions of a page, in a fresh project."""
    return lambda page: _play(page, Shell(project.path, _with_perf(project, tmp_path, site.env), tmp_path / "here"))


@pytest.fixture
def follow(empty_project: Project, tmp_path: Path) -> Callable[[Page], None]:
    """Does what a page says, from its files on, in a new git repository. What it shows of real measurements comes true
    in one of three attempts: on a machine that others use, two sessions of one program may differ by a tenth."""
    env = _with_perf(empty_project, tmp_path, {})

    def followed(page: Page) -> None:
        for attempt in range(3):
            project = Project(empty_project.path / str(attempt), empty_project.home)
            project.path.mkdir()
            project.git("init", "--quiet", "--initial-branch=main")
            for name, text in page.files.items():
                project.write(name, text)
            try:
                return _play(page, Shell(project.path, env, tmp_path / "here"))
            except AssertionError:
                if attempt == 2:
                    raise
        return None

    return followed


def _with_perf(project: Project, folder: Path, variables: Mapping[str, str]) -> Mapping[str, str]:
    """An environment in which `perf` and `python` are those of the tests."""
    shims = folder / "bin"
    shims.mkdir()
    for name, words in (("perf", "-m perfcore"), ("python", ""), ("python3", "")):
        (shims / name).write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
        (shims / name).chmod(0o755)
    return {**project.env, **variables, "PATH": f"{shims}{os.pathsep}{os.environ['PATH']}"}


def _play(page: Page, shell: Shell) -> None:
    for command in page.commands:
        shell.type(command)


def _read(path: Path) -> Page:
    text = path.read_text(encoding="utf-8")
    steps: list[File | Command] = []
    for language, content in _BLOCK.findall(text):
        if language == "console":
            steps += _session(content)
        elif match := _NAMED.match(content):
            steps.append(File(match[1], content))
    return Page(text, tuple(steps))


def _session(content: str) -> list[Command]:
    _, *parts = _TYPED.split(content)
    return [Command(typed, printed) for typed, printed in zip(parts[::2], parts[1::2], strict=True)]
