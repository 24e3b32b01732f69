"""Files, changes and trees of versions, as the core gets them: from the driver, or built on `checkout`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perfcore.errors import NotFoundError, VersionError
from perfcore_testing.vcs.base import VcsLaws
from perfcore_testing.vcs.script import Script, content, everything

if TYPE_CHECKING:
    from perfcore.hookspecs import Vcs

ODD_FILES: Mapping[str, bytes] = {
    "plain.txt": b"text\n",
    "no final newline": b"text",
    "empty": b"",
    "binary.dat": bytes(range(256)) * 3,
    "with blanks  in it/and 'quotes' \"too\".c": b"quoted\n",
    "-rf": b"not an option\n",
    "deep/er/and/deeper/still.h": b"deep\n",
    "žluťoučký kůň/日本語.py": "žluťoučký\n".encode(),
    "percent %41 $HOME ${x} `id`; # & |": b"no shell\n",
    "glob*[a-z]?": b"no pattern\n",
    ":(exclude)a": b"no magic\n",
} | ({} if sys.platform == "win32" else {"back\\slash\ttab": b"tab\n"})
_LINE_BREAK = {"line\nbreak": b"two lines\n"}
NO_FILES = ("", ".", "none", "folder", "folder/", "folder/none", "file/below", "/file", "../file", "fil", "a\0b")


class FileLaws(VcsLaws):
    """Files, changes and trees of versions, as the core gets them: from the driver, or built on `checkout`."""

    @property
    def odd_files(self) -> Mapping[str, bytes]:
        """Files with names as odd as the system takes them."""
        return {**ODD_FILES, **_LINE_BREAK} if self.has_line_breaks else ODD_FILES

    # --- dirt

    def test_only_tracked_files_make_dirt(self, complete: Vcs, script: Script) -> None:
        script.version("one", {"file": b"1", "other": b"1"})
        assert not complete.is_dirty()
        script.write({"file": b"2"})
        assert complete.is_dirty()
        script.write({"file": b"1"})
        assert not complete.is_dirty()
        script.write({"other": None})
        assert complete.is_dirty()
        script.write({"other": b"1", "new": b"1"})
        assert complete.is_dirty() is not self.has_untracked

    def test_our_own_folders_are_never_dirt(self, complete: Vcs, script: Script) -> None:
        script.grow(1)
        script.write({".perf/local.yml": b"x", ".perf/objects/ab/cd": b"y"})
        if ".tagit" not in self.private:
            script.write({".tagit/objects/ab/cd": b"z"})
        assert not complete.is_dirty()

    def test_readers_never_write(self, complete: Vcs, script: Script) -> None:
        ids = script.version("odd", {"a": b"1", "b": b"1"}), *script.grow(2)
        script.write({"a": b"2"})
        os.utime(
            script.root / "b", (1_000_000_000, 1_000_000_000)
        )  # a hint to look at it again, which must not be noted down
        before = everything(script.root)
        complete.is_dirty()
        complete.get_minor_head()
        complete.get_head_major_version()
        complete.massage_parameter(ids[0][:12])
        complete.get_minor_version_info(ids[0])
        complete.check_minor_version_validity(ids[0])
        complete.read_file(ids[0], "a")
        complete.changed_files(None, ids[0])
        complete.changed_files(ids[0], ids[-1])
        complete.home()
        complete.saved_state()
        list(complete.walk_major_versions())
        list(complete.walk_minor_versions(ids[-1]))
        assert everything(script.root) == before

    # --- files of a version

    def test_files_are_read_as_they_were(self, complete: Vcs, script: Script) -> None:
        old = script.version("old", self.odd_files)
        new = script.version("new", {name: data + b"new" for name, data in self.odd_files.items()})
        for name, data in self.odd_files.items():
            assert complete.read_file(old, name) == data, name
            assert complete.read_file(new, name) == data + b"new", name

    def test_a_large_file_is_read_whole(self, complete: Vcs, script: Script) -> None:
        # 3 MiB: more than a pipe holds, so who reads it in one call gets a part.
        large = os.urandom(1 << 16) * 48
        assert complete.read_file(script.version("large", {"large": large}), "large") == large

    @pytest.mark.parametrize("path", NO_FILES, ids=ascii)
    def test_what_is_no_file_is_not_found(self, complete: Vcs, script: Script, path: str) -> None:
        id = script.version("one", {"file": b"1", "folder/file": b"1"})
        with pytest.raises(NotFoundError):
            complete.read_file(id, path)

    def test_a_file_that_came_later_is_not_found(self, complete: Vcs, script: Script) -> None:
        old = script.version("old", {"file": b"1"})
        script.version("new", {"later": b"1"})
        with pytest.raises(NotFoundError):
            complete.read_file(old, "later")

    def test_no_file_is_read_of_an_unknown_version(self, complete: Vcs, script: Script) -> None:
        id = script.version("one", {"file": b"1"})
        for version in ("1" * len(id), "", id[:9], "--help"):
            with pytest.raises(VersionError):
                complete.read_file(version, "file")

    def test_changed_files_are_those_that_differ(self, complete: Vcs, script: Script) -> None:
        old = script.version("old", {"same": b"1", "edited": b"1", "gone": b"1", "folder/same": b"1"})
        new = script.version("new", {"edited": b"2", "gone": None, "folder/new": b"1"})
        assert complete.changed_files(old, new) == ("edited", "folder/new", "gone")
        assert complete.changed_files(new, old) == ("edited", "folder/new", "gone")
        assert complete.changed_files(new, new) == ()
        assert complete.changed_files(None, new) == ("edited", "folder/new", "folder/same", "same")

    def test_changed_files_keep_odd_names(self, complete: Vcs, script: Script) -> None:
        old = script.version("old", {"file": b"1"})
        new = script.version("new", self.odd_files)
        assert complete.changed_files(old, new) == tuple(sorted(self.odd_files))

    def test_a_renamed_file_is_two_changes(self, complete: Vcs, script: Script) -> None:
        old = script.version("old", {"before": b"the same text\n" * 50})
        new = script.version("new", {"before": None, "after": b"the same text\n" * 50})
        assert complete.changed_files(old, new) == ("after", "before")

    def test_changes_of_unknown_versions_are_refused(self, complete: Vcs, script: Script) -> None:
        (id,) = script.grow(1)
        for old, new in ((None, "1" * len(id)), ("1" * len(id), id), (id, "HEAD^{tree}"), ("--stat", id)):
            with pytest.raises(VersionError):
                complete.changed_files(old, new)

    # --- trees elsewhere

    @pytest.fixture
    def tree(self, complete: Vcs, elsewhere: Path, request: pytest.FixtureRequest) -> Callable[[str], Path]:
        """Makes the tree of a version, by `export` or by `worktree`."""
        return _maker(complete, elsewhere, request.param)

    both = pytest.mark.parametrize("tree", ["export", "worktree"], indirect=True)

    @both
    def test_a_tree_has_the_files_of_its_version(self, script: Script, tree: Callable[[str], Path]) -> None:
        ids = [script.version("old", self.odd_files), script.version("new", {"plain.txt": b"new\n", "empty": None})]
        wanted = content(script.root, self.private)
        assert content(tree(ids[1]), self.private) == wanted
        assert content(tree(ids[0]), self.private) == {
            name: ("file", data, False) for name, data in self.odd_files.items()
        }

    @both
    def test_a_tree_keeps_modes_and_links(self, script: Script, tree: Callable[[str], Path]) -> None:
        if not (self.has_modes or self.has_links):
            pytest.skip("neither modes nor links")
        script.write({"run.sh": b"#!/bin/sh\n", "folder/file": b"1"})
        if self.has_modes:
            (script.root / "run.sh").chmod(0o755)
        if self.has_links:
            (script.root / "link").symlink_to("folder/file")
            (script.root / "to folder").symlink_to("folder")
            (script.root / "nowhere").symlink_to("/not/there")
        wanted = content(script.root, self.private)
        assert content(tree(script.commit("links")), self.private) == wanted

    @both
    def test_a_tree_has_nothing_of_the_users_changes(
        self, complete: Vcs, script: Script, tree: Callable[[str], Path]
    ) -> None:
        id = script.version("one", {"file": b"1", "other": b"1"})
        script.write({"file": b"changed", "other": None, "new": b"new"})
        before = content(script.root, self.private)
        assert content(tree(id), self.private) == {"file": ("file", b"1", False), "other": ("file", b"1", False)}
        assert content(script.root, self.private) == before
        assert complete.get_minor_head() == id
        assert complete.is_dirty()

    @both
    def test_no_tree_of_an_unknown_version(self, script: Script, tree: Callable[[str], Path]) -> None:
        (id,) = script.grow(1)
        for wrong in ("1" * len(id), "nosuch", "-f", ""):
            with pytest.raises(VersionError):
                tree(wrong)

    def test_a_tree_does_not_overwrite(self, complete: Vcs, script: Script, elsewhere: Path) -> None:
        (id,) = script.grow(1)
        (elsewhere / "full").mkdir()
        (elsewhere / "full" / "precious").write_bytes(b"1")
        for make in (complete.export, *([complete.worktree] if self.has_worktree else [])):
            with pytest.raises(VersionError):
                make(id, elsewhere / "full")
        assert content(elsewhere / "full") == {"precious": ("file", b"1", False)}

    def test_an_exported_tree_belongs_to_no_repository(
        self, driver: Vcs, complete: Vcs, script: Script, elsewhere: Path
    ) -> None:
        (id,) = script.grow(1)
        complete.export(id, elsewhere)
        assert type(driver).detect(elsewhere) is None


def _maker(complete: Vcs, elsewhere: Path, how: str) -> Callable[[str], Path]:
    if not hasattr(complete, how):
        pytest.skip(f"no {how}")

    def make(version: str) -> Path:
        folder = elsewhere / f"tree {len(list(elsewhere.iterdir()))}"
        if how == "export":
            folder.mkdir()
        getattr(complete, how)(version, folder)
        return folder

    return make
