"""Environments that are kept: complete or made again, and never removed while they are used."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from perfcore_environment_python.inputs import contents
from perfcore_environment_python.store import Store

from perfcore.errors import StorageError, UsageError
from perfcore.model import Build
from perfcore.model.record import replace

BUILD = Build(cache=10**9, timeout=600)
KILLED = """
import os, pathlib, signal, sys
from perfcore.model import Build
from perfcore_environment_python.store import Store
def make(folder):
    folder.mkdir()
    (folder / "half").touch()
    os.kill(os.getpid(), signal.SIGKILL)
with Store().provide(pathlib.Path(sys.argv[1]), {"a": 1}, Build(cache=10**9), make):
    pass
"""


def _make(folder: Path) -> None:
    folder.mkdir()
    (folder / "content").write_bytes(b"x" * 1000)


def test_one_whose_command_was_killed_is_made_again(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert list(tmp_path.glob("*/half"))
    with Store().provide(tmp_path, {"a": 1}, BUILD, _make) as folder:
        assert os.listdir(folder) == ["content"]


def test_what_was_not_used_for_longest_goes_first_and_what_is_used_stays(tmp_path: Path) -> None:
    small = replace(BUILD, cache=2500)
    with Store().provide(tmp_path, {"a": 0}, small, _make) as used:
        os.utime(used.with_suffix(".json"), (0, 0))
        for number in (1, 2, 3):
            with Store().provide(tmp_path, {"a": number}, small, _make) as folder:
                os.utime(folder.with_suffix(".json"), (number, number))
        assert used.is_dir()
    assert len(list(tmp_path.glob("*/content"))) == 2
    assert not used.exists()


def test_one_in_use_is_not_made_anew_under_its_user(tmp_path: Path) -> None:
    with Store().provide(tmp_path, {"a": 1}, BUILD, _make):
        again = replace(BUILD, rebuild=True, timeout=0.1)
        with (
            pytest.raises(StorageError, match="another command uses"),
            Store().provide(tmp_path, {"a": 1}, again, _make),
        ):
            pytest.fail("it was removed")
        assert list(tmp_path.glob("*/content"))


def test_included_requirements_count(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_text("-r more.txt\n-c limits.txt\n")
    (tmp_path / "more.txt").write_text("attrs\n")
    (tmp_path / "limits.txt").write_text("attrs<30\n")
    before = contents(tmp_path, ["all.txt"])
    assert sorted(before) == ["all.txt", "limits.txt", "more.txt"]
    (tmp_path / "limits.txt").write_text("attrs<31\n")
    assert contents(tmp_path, ["all.txt"]) != before


@pytest.mark.parametrize("name", ["missing.txt", "../outside.txt"])
def test_a_file_that_the_version_does_not_have_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside.txt").touch()
    tree = tmp_path / "tree"
    tree.mkdir()
    with pytest.raises(UsageError, match="which the version does not have"):
        contents(tree, [name])
