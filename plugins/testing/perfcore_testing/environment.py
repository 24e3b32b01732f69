"""The contract of environments. Inherit from it in your tests:

class TestTools(EnvironmentContract):
    @pytest.fixture
    def driver(self):
        return Tools()

    def write(self, tree, content):
        (tree / "tools.lock").write_text(content)
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perfcore.errors import PerfError
from perfcore.model import Build
from perfcore.model.record import replace
from perfcore_testing.kinds import misfits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfcore.hookspecs import Environment

GIGABYTE = 10**9


class EnvironmentContract:
    """What every environment keeps. Override `driver`, `write` and, if some content cannot be made, `broken`."""

    broken: str | None = None
    """A content of which no environment can be made."""

    @pytest.fixture
    def driver(self) -> Environment:
        raise NotImplementedError("override the fixture `driver` and return what makes environments")

    def write(self, tree: Path, content: str) -> None:
        """Write the files that the environment is made of: equal contents are equal environments."""
        raise NotImplementedError("override `write`")

    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        return tmp_path / "environments"

    @pytest.fixture
    def build(self) -> Build:
        return Build(cache=GIGABYTE, timeout=600)

    def tree(self, folder: Path, name: str, content: str) -> Path:
        """A tree of a version with this content."""
        tree = folder / name
        if not tree.exists():
            tree.mkdir()
            self.write(tree, content)
        return tree

    def test_it_fits_the_kind(self, driver: Environment) -> None:
        """Its method has the specification's arguments."""
        assert misfits("environment", driver) == []

    def test_equal_contents_share_an_environment(
        self, driver: Environment, directory: Path, build: Build, tmp_path: Path
    ) -> None:
        """Wherever their trees are, and another content has another one."""
        with driver.provide(self.tree(tmp_path, "first", "1"), directory, build) as first:
            files = _files(directory)
        with driver.provide(self.tree(tmp_path, "second", "1"), directory, build) as second:
            assert dict(first) == dict(second)
            assert _files(directory) == files, "it was made a second time"
        with driver.provide(self.tree(tmp_path, "other", "2"), directory, build) as other:
            assert dict(other) != dict(first)

    def test_its_programs_come_first(self, driver: Environment, directory: Path, build: Build, tmp_path: Path) -> None:
        """In PATH, whose other folders follow."""
        with driver.provide(self.tree(tmp_path, "first", "1"), directory, build) as variables:
            first, _, others = variables["PATH"].partition(os.pathsep)
            assert Path(first).is_relative_to(directory)
            assert others.split(os.pathsep)[-1] == os.environ["PATH"].split(os.pathsep)[-1]

    def test_the_tree_stays_as_it_was(self, driver: Environment, directory: Path, build: Build, tmp_path: Path) -> None:
        """What is beside the sources would be measured, too."""
        tree = self.tree(tmp_path, "first", "1")
        before = sorted(tree.rglob("*"))
        with driver.provide(tree, directory, build):
            assert sorted(tree.rglob("*")) == before

    def test_a_new_one_is_made_where_it_is_wanted(
        self, driver: Environment, directory: Path, build: Build, tmp_path: Path
    ) -> None:
        """`rebuild` makes it once for each command."""
        tree = self.tree(tmp_path, "first", "1")
        with driver.provide(tree, directory, build):
            before = _files(directory)
        again = replace(build, rebuild=True)
        with driver.provide(tree, directory, again):
            made = _files(directory)
            assert made != before
            with driver.provide(tree, directory, again):
                assert _files(directory) == made

    def test_nothing_is_kept_without_room(
        self, driver: Environment, directory: Path, build: Build, tmp_path: Path
    ) -> None:
        """Environments are there while they are used."""
        with driver.provide(self.tree(tmp_path, "first", "1"), directory, replace(build, cache=0)) as variables:
            folder = Path(variables["PATH"].partition(os.pathsep)[0])
            assert folder.is_dir()
        assert not folder.exists()

    def test_one_that_failed_is_not_used(
        self, driver: Environment, directory: Path, build: Build, tmp_path: Path
    ) -> None:
        """The next command fails in the same way."""
        if self.broken is None:
            pytest.skip("no content is broken")
        tree = self.tree(tmp_path, "broken", self.broken)
        for _ in range(2):
            with pytest.raises(PerfError), driver.provide(tree, directory, build):
                pytest.fail("it gave an environment")
        assert not [path for path in directory.iterdir() if path.is_dir()]
        shutil.rmtree(directory)


def _files(directory: Path) -> Mapping[Path, tuple[int, int]]:
    """The number and the time of each program."""
    programs = [path for path in directory.glob("*/bin/*") if path.is_file()]
    return {path: (path.lstat().st_ino, path.lstat().st_ctime_ns) for path in programs}
