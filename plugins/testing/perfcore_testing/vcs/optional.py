"""Optional methods: linked trees, the author, directories that are ignored, and the trigger."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perfcore.errors import VersionError
from perfcore_testing.hostile import unsafe
from perfcore_testing.vcs.base import VcsLaws
from perfcore_testing.vcs.script import Script, content, everything

if TYPE_CHECKING:
    from perfcore.hookspecs import Vcs


class OptionalLaws(VcsLaws):
    """Optional methods: linked trees, the author, directories that are ignored, and the trigger."""

    def test_a_worktree_shares_the_home(
        self, driver: Vcs, script: Script, elsewhere: Path, opened: Callable[[Path], Vcs]
    ) -> None:
        self._need_worktree()
        ids = script.grow(2)
        driver.worktree(ids[0], elsewhere / "tree")
        found = type(driver).detect(elsewhere / "tree")
        assert found is not None
        linked = opened(found)
        assert linked.home().samefile(script.root)
        assert linked.get_minor_head() == ids[0]
        assert not linked.is_dirty()
        driver.remove_worktree(elsewhere / "tree")

    def test_a_removed_worktree_leaves_nothing(self, driver: Vcs, script: Script, elsewhere: Path) -> None:
        self._need_worktree()
        (id,) = script.grow(1)
        before = everything(script.root).keys()
        driver.worktree(id, elsewhere / "tree")
        (elsewhere / "tree" / "built").write_bytes(b"1")
        driver.remove_worktree(elsewhere / "tree")
        assert list(elsewhere.iterdir()) == []
        assert {name for name in everything(script.root).keys() - before if (script.root / name).is_file()} == set()

    def test_removing_a_worktree_twice_is_no_error(self, driver: Vcs, script: Script, elsewhere: Path) -> None:
        self._need_worktree()
        (id,) = script.grow(1)
        driver.worktree(id, elsewhere / "tree")
        driver.remove_worktree(elsewhere / "tree")
        driver.remove_worktree(elsewhere / "tree")
        driver.remove_worktree(elsewhere / "never made")

    @pytest.mark.parametrize("damage", ["folder gone", "half empty", "nothing but a folder"])
    def test_what_a_killed_worktree_left_is_removed(
        self, driver: Vcs, script: Script, elsewhere: Path, damage: str
    ) -> None:
        self._need_worktree()
        (id,) = script.grow(1)
        tree = elsewhere / "tree"
        driver.worktree(id, tree)
        for path in sorted(tree.rglob("*"), reverse=True):
            if damage != "half empty" or not path.name.startswith("."):
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        if damage == "folder gone":
            tree.rmdir()
        driver.remove_worktree(tree)
        assert not tree.exists()
        driver.worktree(id, tree)
        assert content(tree, self.private) == content(script.root, self.private)
        driver.remove_worktree(tree)

    def test_the_users_own_tree_is_no_worktree_to_remove(self, driver: Vcs, script: Script) -> None:
        self._need_worktree()
        script.grow(1)
        before = content(script.root)
        for path in (script.root, script.root.parent):
            with pytest.raises(VersionError):
                driver.remove_worktree(path)
        assert content(script.root) == before

    def _need_worktree(self) -> None:
        if not self.has_worktree:
            pytest.skip("no worktree")

    # --- who works here

    def test_the_author_is_text_on_one_line(self, driver: Vcs) -> None:
        if not hasattr(driver, "author"):
            pytest.skip("it does not know who works here")
        said = driver.author()
        assert said == said.strip()
        assert unsafe(said) | ({"\n", "\t"} & set(said)) == set()

    def test_every_tag_names_a_version(self, driver: Vcs, script: Script) -> None:
        if not hasattr(driver, "tags"):
            pytest.skip("it lists no tags")
        ids = script.grow(2)
        for tag, version in driver.tags().items():
            assert version in ids
            assert driver.massage_parameter(tag) == version

    def test_remotes_are_places_by_name(self, driver: Vcs) -> None:
        if not hasattr(driver, "remotes"):
            pytest.skip("it has no remotes")
        for name, url in driver.remotes().items():
            assert name
            assert url

    # --- what is no part of a version

    def test_an_ignored_directory_is_no_part_of_a_version(self, driver: Vcs, complete: Vcs, script: Script) -> None:
        if not hasattr(driver, "ignore"):
            pytest.skip("nothing is ignored")
        script.grow(1)
        script.write({"ignored/file": b"1", "ignored/deeper/file": b"1"})
        for _ in range(2):
            driver.ignore(script.root / "ignored")
        changed = complete.changed_files(None, script.version("next", {"other": b"1", "below/ignored/file": b"1"}))
        assert [path for path in changed if path.startswith("ignored/")] == []
        assert "below/ignored/file" in changed, "a directory was named, not every directory of its name"

    @pytest.mark.skipif(sys.platform == "win32", reason="names cannot have these characters there")
    def test_a_directory_is_ignored_by_its_name_as_it_is(self, driver: Vcs, complete: Vcs, script: Script) -> None:
        if not hasattr(driver, "ignore"):
            pytest.skip("nothing is ignored")
        script.grow(1)
        for name in ("#made", "!all", "with blank ", "a*[b]?"):
            script.write({f"{name}/file": b"1"})
            driver.ignore(script.root / name)
        changed = complete.changed_files(None, script.version("next", {"a1b2/file": b"1", "made/file": b"1"}))
        assert {path for path in changed if path.endswith("/file")} == {"a1b2/file", "made/file"}

    def test_only_a_directory_below_the_root_is_ignored(self, driver: Vcs, script: Script, elsewhere: Path) -> None:
        if not hasattr(driver, "ignore"):
            pytest.skip("nothing is ignored")
        script.grow(1)
        for path in (script.root, elsewhere):
            with pytest.raises(VersionError):
                driver.ignore(path)

    # --- the trigger

    def test_the_trigger_runs_after_every_version(self, driver: Vcs, script: Script, elsewhere: Path) -> None:
        if not self.has_trigger:
            pytest.skip("no trigger")
        log = elsewhere / 'it\'s "here" $HOME'
        program = "import pathlib, sys; pathlib.Path(sys.argv[1]).open('a').write('ran\\n')"
        script.grow(1)
        for _ in range(2):
            assert driver.install_trigger([sys.executable, "-c", program, str(log)]).is_file()
        script.version("next", {"file": b"1"})
        script.version("and next", {"file": b"2"})
        assert log.read_text() == "ran\nran\n"

    def test_a_trigger_replaces_the_one_before(self, driver: Vcs, script: Script, elsewhere: Path) -> None:
        if not self.has_trigger:
            pytest.skip("no trigger")
        program = "import pathlib, sys; pathlib.Path(sys.argv[1]).touch()"
        for name in ("first", "second"):
            driver.install_trigger([sys.executable, "-c", program, str(elsewhere / name)])
        script.version("one", {"file": b"1"})
        assert [path.name for path in elsewhere.iterdir()] == ["second"]

    def test_a_trigger_that_fails_does_not_stop_the_user(self, driver: Vcs, script: Script) -> None:
        if not self.has_trigger:
            pytest.skip("no trigger")
        driver.install_trigger([sys.executable, "-c", "raise SystemExit(1)"])
        id = script.version("one", {"file": b"1"})
        assert driver.get_minor_head() == id
