"""The recipes of environments: venv with pip, uv, conda, or a command of the project."""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
from perfcore_executor_local.build import run_build

from perfcore.errors import CommandFailedError, UsageError
from perfcore.model import Build
from perfcore.model.record import replace
from perfcore.settings import option
from perfcore.text import printable
from perfcore_environment_python.inputs import NO_SOURCES, contents
from perfcore_environment_python.store import Store

FOLDER = "PERFCORE_ENVIRONMENT"
"""The variable that holds the folder of the environment."""
_FACTS = "import json,os,sys;print(json.dumps([os.path.realpath(sys.executable),sys.version]))"
_INPUTS_HELP = "More files or folders of the tree that decide what the environment holds."


class _Recipe:
    """What all recipes do: find the environment by its identity, or make it."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self._store = Store()

    @contextmanager
    def provide(self, tree: Path, directory: Path, build: Build) -> Iterator[Mapping[str, str]]:
        """The variables of the environment of the version in a tree."""
        identity = {
            "recipe": type(self).__name__,
            "settings": attrs.asdict(self.settings),
            "files": contents(tree.resolve(), self._files(tree)),
            "tool": self._tool(),
            "platform": [platform.system(), platform.release(), platform.machine(), platform.libc_ver()],
        }

        def make(folder: Path) -> None:
            active = replace(build, activation={**build.activation, FOLDER: str(folder), **self._settled(folder)})
            if not getattr(self.settings, "project", False):
                self._make(tree, folder, active)
                return
            with tempfile.TemporaryDirectory(prefix="perfcore-") as scratch:  # building a project writes beside it
                copy = Path(scratch, "project")
                shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(*NO_SOURCES))
                self._make(copy, folder, active)

        with self._store.provide(directory, identity, build, make) as folder:
            yield self._variables(folder)

    def _files(self, tree: Path) -> Sequence[str]:
        """The files of the tree that it reads."""
        raise NotImplementedError

    def _tool(self) -> object:
        """The program that makes it, and its version."""
        return None

    def _settled(self, folder: Path) -> Mapping[str, str]:
        """Variables of the commands that make it."""
        return {}

    def _make(self, tree: Path, folder: Path, build: Build) -> None:
        raise NotImplementedError

    def _variables(self, folder: Path) -> Mapping[str, str]:
        """Those that its script `activate` sets."""
        path = f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return {"PATH": path, FOLDER: str(folder)} | (
            {"VIRTUAL_ENV": str(folder)} if (folder / "pyvenv.cfg").exists() else {}
        )


@attrs.frozen
class PythonSettings:
    """What is installed, and by which interpreter."""

    requirements: tuple[str, ...] = option(
        (), help="Files of requirements; pyproject.toml stands for the project's dependencies."
    )
    project: bool = option(False, help="Install the project itself: every different tree has its own environment.")
    python: str = option("python3", help="The interpreter: a program of PATH, or a path.")
    inputs: tuple[str, ...] = option((), help=_INPUTS_HELP)
    install_options: tuple[str, ...] = option((), help="More words of `pip install`, such as --no-index.")


class Venv(_Recipe):
    """python -m venv, with the requirements that pip installs."""

    Settings = PythonSettings
    contract = "perfcore_environment_python.contract:VenvContract"
    settings: PythonSettings
    venv_options: tuple[str, ...] = ()

    def _files(self, tree: Path) -> Sequence[str]:
        return (".",) if self.settings.project else (*self.settings.requirements, *self.settings.inputs)

    def _tool(self) -> object:
        return _interpreter(self.settings.python)

    def _make(self, tree: Path, folder: Path, build: Build) -> None:
        _run([_program(self.settings.python), "-m", "venv", *self.venv_options, str(folder)], tree, build)
        words = list(_requirement_words(self.settings.requirements, tree))
        words += [str(tree)] if self.settings.project else []
        if words:
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
            _run([*pip, *self.settings.install_options, *words], tree, build)


class Uv(_Recipe):
    """uv venv, with the requirements that uv installs; without requirements, what uv.lock says."""

    Settings = PythonSettings
    contract = "perfcore_environment_python.contract:UvContract"
    settings: PythonSettings

    def _files(self, tree: Path) -> Sequence[str]:
        if self.settings.project:
            return (".",)
        locked = () if self.settings.requirements else ("pyproject.toml", "uv.lock")
        return (*self.settings.requirements, *locked, *self.settings.inputs)

    def _tool(self) -> object:
        return [_interpreter(self.settings.python), _output([_program("uv"), "--version"])]

    def _settled(self, folder: Path) -> Mapping[str, str]:
        return {"UV_PROJECT_ENVIRONMENT": str(folder), "VIRTUAL_ENV": str(folder)}

    def _make(self, tree: Path, folder: Path, build: Build) -> None:
        uv, python, options = _program("uv"), _program(self.settings.python), self.settings.install_options
        _run([uv, "venv", "--python", python, str(folder)], tree, build)
        if not self.settings.requirements and (tree / "uv.lock").exists():
            project = ["--no-editable"] if self.settings.project else ["--no-install-project"]
            _run([uv, "sync", "--frozen", "--python", python, *project, *options], tree, build)
            return
        words = [word for name in self.settings.requirements for word in ("-r", name)]
        words += [str(tree)] if self.settings.project else []
        if words:
            _run([uv, "pip", "install", *options, *words], tree, build)


@attrs.frozen
class CondaSettings:
    """The file that names the packages."""

    file: str = option("environment.yml", help="The file that names channels and packages.")
    program: str | None = option(None, help="The program. Default: the first of conda, mamba and micromamba in PATH.")
    inputs: tuple[str, ...] = option((), help=_INPUTS_HELP)


class Conda(_Recipe):
    """conda env create, or the same with mamba or micromamba."""

    Settings = CondaSettings
    contract = "perfcore_environment_python.contract:CondaContract"
    settings: CondaSettings

    def _files(self, tree: Path) -> Sequence[str]:
        return (self.settings.file, *self.settings.inputs)

    def _tool(self) -> object:
        return _output([self._conda(), "--version"])

    def _make(self, tree: Path, folder: Path, build: Build) -> None:
        _run(
            [self._conda(), "env", "create", "--yes", "--prefix", str(folder), "--file", self.settings.file],
            tree,
            build,
        )

    def _variables(self, folder: Path) -> Mapping[str, str]:
        return {**super()._variables(folder), "CONDA_PREFIX": str(folder)}

    def _conda(self) -> str:
        names = [self.settings.program] if self.settings.program else ["conda", "mamba", "micromamba"]
        programs = [path for path in map(shutil.which, names) if path]
        if not programs:
            raise UsageError(f"no program {' or '.join(names)} is in PATH", hint="the environment needs it")
        return programs[0]


@attrs.frozen(kw_only=True)
class CommandSettings:
    """The command, and what it reads."""

    command: str = option(help=f"A command of the shell that makes the folder ${FOLDER}; it runs in the tree.")
    inputs: tuple[str, ...] = option(help="The files or folders of the tree that the command reads.")


class Command(_Recipe):
    """A command of the shell, which makes a folder; its subfolder bin comes in front of PATH."""

    Settings = CommandSettings
    contract = "perfcore_environment_python.contract:CommandContract"
    settings: CommandSettings

    def _files(self, tree: Path) -> Sequence[str]:
        return self.settings.inputs

    def _make(self, tree: Path, folder: Path, build: Build) -> None:
        run_build(replace(build, commands=(self.settings.command,), shell=True), tree, "environment")
        if not folder.is_dir():
            raise CommandFailedError(
                f"environment '{printable(self.settings.command)}' made no folder", hint=f"its path is in ${FOLDER}"
            )


def _requirement_words(names: Sequence[str], tree: Path) -> Iterator[str]:
    """Words of `pip install`, which reads no dependencies from pyproject.toml without the project."""
    for name in names:
        if Path(name).name != "pyproject.toml":
            yield from ("-r", name)
            continue
        try:
            table = tomllib.loads((tree / name).read_text())
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{printable(name)} is no TOML: {error}") from error
        yield from table.get("project", {}).get("dependencies", ())


def _run(words: Sequence[str], tree: Path, build: Build) -> None:
    run_build(replace(build, commands=(shlex.join(words),), shell=False), tree, "environment")


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise UsageError(f"there is no program {printable(name)} in PATH", hint="the environment needs it")
    return os.path.abspath(path)


def _interpreter(name: str) -> object:
    """Real path and version."""
    return json.loads(_output([_program(name), "-I", "-S", "-c", _FACTS]))


def _output(words: Sequence[str]) -> str:
    try:
        return subprocess.run(
            words, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise CommandFailedError(f"environment: {printable(str(error))}") from error
