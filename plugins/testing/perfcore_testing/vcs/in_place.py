"""Other versions checked out in place, and the state of the tree put back."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perfcore.errors import VersionError
from perfcore_testing.vcs.base import VcsLaws
from perfcore_testing.vcs.script import Script, content, everything

if TYPE_CHECKING:
    from perfcore.hookspecs import Vcs

_CHILD = """import importlib, pathlib, sys
module, name, root, *versions = sys.argv[1:]
driver = getattr(importlib.import_module(module), name)(pathlib.Path(root))
driver.save_state()
for version in versions:
    driver.checkout(version)
print("ready", flush=True)
sys.stdin.read()
"""


class StateLaws(VcsLaws):
    """Other versions checked out in place, and the state of the tree put back."""

    # --- other versions in place

    @pytest.fixture
    def changed(self, driver: Vcs, script: Script) -> list[str]:
        """Three versions, and changes in the tree."""
        if not self.has_state:
            pytest.skip("versions are not checked out in place")
        ids = [
            script.version("one", {"file": b"1", "gone": b"1", "folder/a": b"1", "old": b"1"}),
            script.version("two", {"file": b"2", "folder/b": b"2", "old": None, "run": b"2"}),
            script.version("three", {"file": b"3", "folder/a": None, "new/c": b"3"}),
        ]
        script.write({"file": b"my change", "gone": None, "new/c": b"my other change\r\n"})
        if self.has_modes:
            (script.root / "run").chmod(0o755)
        if self.has_untracked:
            script.write({"notes.txt": b"mine", "new/notes": b"mine too"})
        return ids

    def test_save_leaves_a_clean_tree_of_the_head(self, driver: Vcs, script: Script, changed: list[str]) -> None:
        before = self._state_of(driver, script)
        state = driver.save_state()
        try:
            assert not driver.is_dirty()
            assert driver.get_minor_head() == changed[2]
            assert (script.root / "file").read_bytes() == b"3"
            assert (script.root / "gone").read_bytes() == b"1"
            assert self._saved(driver) is None
        finally:
            driver.restore_state(state)
        assert self._state_of(driver, script) == before

    def test_checkout_goes_to_versions_and_restore_comes_back(
        self, driver: Vcs, complete: Vcs, script: Script, changed: list[str], elsewhere: Path
    ) -> None:
        before = self._state_of(driver, script)
        visited = [changed[0], changed[1], changed[0], changed[2], changed[1]]
        for number, id in enumerate(visited):
            (elsewhere / str(number)).mkdir()
            complete.export(id, elsewhere / str(number))
        state = driver.save_state()
        for number, id in enumerate(visited):
            driver.checkout(id)
            assert driver.get_minor_head() == id
            assert not driver.is_dirty()
            files = content(script.root, (*self.private, "notes.txt"))
            files.pop("new/notes", None)
            assert files == content(elsewhere / str(number))
        driver.restore_state(state)
        assert self._state_of(driver, script) == before
        assert self._saved(driver) is None

    def test_what_runs_in_a_checked_out_version_may_change_it(
        self, driver: Vcs, script: Script, changed: list[str]
    ) -> None:
        before = self._state_of(driver, script)
        state = driver.save_state()
        driver.checkout(changed[0])
        script.write({"file": b"built", "folder/a": None})
        driver.checkout(changed[1])
        assert (script.root / "file").read_bytes() == b"2"
        script.write({"file": b"built again"})
        driver.restore_state(state)
        assert self._state_of(driver, script) == before

    def test_restoring_is_idempotent(self, driver: Vcs, script: Script, changed: list[str]) -> None:
        before = self._state_of(driver, script)
        state = driver.save_state()
        driver.checkout(changed[1])
        driver.restore_state(state)
        driver.restore_state(state)
        assert self._state_of(driver, script) == before

    def test_a_state_can_be_saved_again(self, driver: Vcs, script: Script, changed: list[str]) -> None:
        before = self._state_of(driver, script)
        for id in changed:
            state = driver.save_state()
            driver.checkout(id)
            driver.restore_state(state)
            assert self._state_of(driver, script) == before

    def test_a_clean_tree_can_be_saved(self, driver: Vcs, script: Script) -> None:
        if not self.has_state:
            pytest.skip("versions are not checked out in place")
        ids = script.grow(2)
        before = self._state_of(driver, script)
        state = driver.save_state()
        driver.checkout(ids[0])
        driver.restore_state(state)
        assert self._state_of(driver, script) == before

    def test_a_state_is_saved_once_at_a_time(self, driver: Vcs, script: Script, changed: list[str]) -> None:
        before = self._state_of(driver, script)
        state = driver.save_state()
        with pytest.raises(VersionError):
            driver.save_state()
        driver.restore_state(state)
        assert self._state_of(driver, script) == before

    def test_nothing_is_checked_out_unless_the_state_was_saved(
        self, driver: Vcs, script: Script, changed: list[str]
    ) -> None:
        before = self._state_of(driver, script)
        with pytest.raises(VersionError):
            driver.checkout(changed[0])
        assert self._state_of(driver, script) == before

    def test_an_unknown_version_is_not_checked_out(self, driver: Vcs, script: Script, changed: list[str]) -> None:
        before = self._state_of(driver, script)
        state = driver.save_state()
        for wrong in ("1" * len(changed[0]), "nosuch", "-f"):
            with pytest.raises(VersionError):
                driver.checkout(wrong)
        assert driver.get_minor_head() == changed[2]
        driver.restore_state(state)
        assert self._state_of(driver, script) == before

    def test_untracked_files_are_never_overwritten(self, driver: Vcs, script: Script, changed: list[str]) -> None:
        if not self.has_untracked:
            pytest.skip("every file is tracked")
        script.write({"old": b"mine, though version one had it"})
        before = self._state_of(driver, script)
        state = driver.save_state()
        with pytest.raises(VersionError, match="old"):
            driver.checkout(changed[0])
        assert (script.root / "old").read_bytes() == b"mine, though version one had it"
        driver.checkout(changed[1])
        driver.restore_state(state)
        assert self._state_of(driver, script) == before

    def test_the_state_of_a_killed_process_is_found_and_restored(
        self, driver: Vcs, script: Script, changed: list[str], opened: Callable[[Path], Vcs]
    ) -> None:
        self._need_saved_state(driver)
        before = self._state_of(driver, script)
        with _child(driver, script.root, *changed[:2]) as child:
            assert self._saved(driver) is None, "its process is alive"
            with pytest.raises(VersionError):
                driver.save_state()
            child.kill()
        late = opened(script.root)
        state = late.saved_state()
        assert state is not None
        late.restore_state(state)
        assert self._state_of(late, script) == before
        assert late.saved_state() is None
        assert opened(script.root).saved_state() is None

    def test_no_new_state_is_saved_over_that_of_a_killed_process(
        self, driver: Vcs, script: Script, changed: list[str]
    ) -> None:
        self._need_saved_state(driver)
        before = self._state_of(driver, script)
        with _child(driver, script.root, changed[0]) as child:
            child.kill()
        with pytest.raises(VersionError):
            driver.save_state()
        state = driver.saved_state()
        assert state is not None
        driver.restore_state(state)
        assert self._state_of(driver, script) == before

    def test_a_copy_of_the_repository_is_independent(
        self, driver: Vcs, script: Script, changed: list[str], elsewhere: Path, opened: Callable[[Path], Vcs]
    ) -> None:
        """The core checks out versions in a copy of the names at the top that belong to the system."""
        if not self.private:
            pytest.skip("no name at the top of the tree belongs to the system alone")
        before = self._state_of(driver, script), everything(script.root)
        for name in self.private:
            shutil.copytree(script.root / name, elsewhere / name, symlinks=True)
        copy = opened(elsewhere)
        copy.save_state()
        copy.checkout(changed[0])
        files = {"file": b"1", "gone": b"1", "folder/a": b"1", "old": b"1"}
        assert content(elsewhere, self.private) == {name: ("file", data, False) for name, data in files.items()}
        assert (self._state_of(driver, script), everything(script.root)) == before

    def _saved(self, driver: Vcs) -> str | None:
        return driver.saved_state() if hasattr(driver, "saved_state") else None

    def _need_saved_state(self, driver: Vcs) -> None:
        if not hasattr(driver, "saved_state"):
            pytest.skip("states of killed processes are not listed")

    def _state_of(self, driver: Vcs, script: Script) -> tuple[object, ...]:
        return (
            driver.get_minor_head(),
            driver.get_head_major_version(),
            driver.is_dirty(),
            content(script.root, self.private),
        )


class _child:  # noqa: N801
    """A process that saved the state, checked out versions, and waits to be killed."""

    def __init__(self, driver: Vcs, root: Path, *versions: str) -> None:
        words = [type(driver).__module__, type(driver).__qualname__, str(root), *versions]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CHILD, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> subprocess.Popen[str]:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        return self._process

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.kill()
