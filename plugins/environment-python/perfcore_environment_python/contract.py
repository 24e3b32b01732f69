"""How the laws of the kind environment are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from perfcore_testing.environment import EnvironmentContract

from perfcore_environment_python.recipes import (
    Command,
    CommandSettings,
    Conda,
    CondaSettings,
    PythonSettings,
    Uv,
    Venv,
)

_FAKE_CONDA = """#!/bin/sh
# The calls of conda that the recipe makes: --version, and env create --yes --prefix FOLDER --file FILE.
[ "$1" = --version ] && { echo "conda 0 (fake)"; exit; }
[ "$1 $2 $3 $4" = "env create --yes --prefix" ] || exit 3
mkdir -p "$5/bin" && cp "$7" "$5/bin/packages"
"""


class _Bare(Venv):
    venv_options = ("--without-pip",)  # it takes seconds to install, and these laws install nothing


class VenvContract(EnvironmentContract):
    """Environments without packages, which need no network."""

    @pytest.fixture
    def driver(self) -> Venv:
        return _Bare(PythonSettings(inputs=("inputs.txt",)))

    def write(self, tree: Path, content: str) -> None:
        (tree / "inputs.txt").write_text(content)


class UvContract(EnvironmentContract):
    """The same with uv, where it is installed."""

    @pytest.fixture
    def driver(self) -> Uv:
        if shutil.which("uv") is None:
            pytest.skip("uv is not in PATH")
        return Uv(PythonSettings(requirements=("requirements.txt",)))

    def write(self, tree: Path, content: str) -> None:
        (tree / "requirements.txt").write_text(f"# {content}\n")


class CondaContract(EnvironmentContract):
    """A program that takes the words of conda and makes a folder."""

    @pytest.fixture
    def driver(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Conda:
        programs = tmp_path / "programs"
        programs.mkdir()
        (programs / "conda").write_text(_FAKE_CONDA)
        (programs / "conda").chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        return Conda(CondaSettings())

    def write(self, tree: Path, content: str) -> None:
        (tree / "environment.yml").write_text(f"dependencies: [sort={content}]\n")


class CommandContract(EnvironmentContract):
    """A command that copies a file."""

    broken = "broken"

    @pytest.fixture
    def driver(self) -> Command:
        script = (
            'mkdir -p "$PERFCORE_ENVIRONMENT/bin" && cp tools "$PERFCORE_ENVIRONMENT/bin" && ! grep -q broken tools'
        )
        return Command(CommandSettings(command=script, inputs=("tools",)))

    def write(self, tree: Path, content: str) -> None:
        (tree / "tools").write_text(content)
