"""The core works with no other distribution than a storage."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from perfcore.config.layers import LOCAL_FILE

ROOT = Path(__file__).parents[1]
KEEP = """
from perfcore import open_repository
from perfcore.model import Header, Profile, Tool
from perfcore.profile.table import column, table

history = open_repository()
resources = table("resources", [column("wall", [3, 4], unit="ns", role="value")])
header = Header(type="time", argv=("sort",), cmd="sort")
history.save(Profile(header=header, created=1, collector=Tool(name="time"), tables={"resources": resources}))
wall = history.profile("0@p").tables["resources"]["wall"]
print(list(wall), wall.unit)
"""
posix = pytest.mark.skipif(os.name != "posix", reason="links to what is installed")


@attrs.frozen
class Alone:
    """`perf` where little is installed, and the folder in which it runs."""

    folder: Path
    run: Callable[..., subprocess.CompletedProcess[str]]
    python: Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture
def alone(tmp_path: Path) -> Alone:
    """Runs `perf` where only perfcore-core and perfcore-storage-local are installed, with what they depend on."""
    site, folder = tmp_path / "site", tmp_path / "project"
    site.mkdir()
    folder.mkdir()
    ours = ("perfcore", "perfcore_", "__editable__", "_perfcore")
    for name in ("purelib", "platlib"):
        for path in Path(sysconfig.get_path(name)).iterdir():
            is_wanted = path.name.startswith(("perfcore_core-", "perfcore_storage_local-"))
            if (is_wanted or not path.name.startswith(ours)) and not (site / path.name).exists():
                (site / path.name).symlink_to(path)
    paths = (site, ROOT, ROOT / "plugins" / "storage-local")
    environment = {
        **{name: text for name, text in os.environ.items() if not name.startswith(("PERF_", "XDG_", "PYTHON"))},
        "HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }

    def python(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        # without `site`, the links of editable installations are not followed
        command = [sys.executable, "-S", *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done
        return done

    return Alone(folder, functools.partial(python, "-m", "perfcore"), functools.partial(python, "-c"))


@posix
def test_the_core_brings_no_plugin_of_its_own(alone: Alone) -> None:
    script = "from perfcore.plugins.registry import Plugins as P; print({d.info.distribution for d in P().describe()})"
    assert alone.python(script).stdout.strip() == "{'perfcore-storage-local'}"
    assert f"pip install -e {ROOT}/plugins/command-plugins" in alone.run("plugins", "list", code=2).stderr
    assert alone.run("--version").stdout.startswith("perfcore ")


@posix
def test_an_environment_that_is_not_installed_is_told_with_its_distribution(alone: Alone) -> None:
    script = """
from perfcore.errors import PluginError
from perfcore.plugins.registry import Plugins
try:
    Plugins().load("environment", "venv")
except PluginError as error:
    print(error.hint)
"""
    assert f"pip install -e {ROOT}/plugins/environment-python" in alone.python(script).stdout


@posix
def test_a_missing_version_control_system_is_named(alone: Alone) -> None:
    done = alone.run("init", code=5)
    assert "pip install perfcore-vcs-git" in done.stderr
    assert "perf init" in alone.run("status", code=3).stderr


@posix
def test_a_profile_goes_in_and_out(alone: Alone) -> None:
    """A store needs no version control system before a profile is registered."""
    for name in ("jobs", "logs", "objects", "cache", "tmp"):
        (alone.folder / ".perf" / name).mkdir(parents=True)
    (alone.folder / ".perf" / LOCAL_FILE).write_text("format: 1\n")
    assert alone.python(KEEP).stdout == "[3, 4] ns\n"
    assert f"pip install -e {ROOT}/plugins/command-store" in alone.run("fsck", code=2).stderr
    assert f"pip install -e {ROOT}/plugins/command-exchange" in alone.run("export", "0@p", code=2).stderr
