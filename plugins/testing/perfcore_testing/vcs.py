"""The contract of the kind `vcs`. A plugin's whole test of it is

    from perfcore_testing.vcs import Script, VcsContract

    class MyScript(Script):
        ...  # how a user commits, branches and merges in this system

    class TestContract(VcsContract):
        @pytest.fixture
        def script(self, tmp_path):
            return MyScript(tmp_path / "project")

        @pytest.fixture
        def driver(self, script):
            return MyVcs(script.root)

The script makes an empty repository; give its folder a name with blanks, quotes and letters beyond ASCII. What
the system cannot do is said by the flags of `VcsContract`. Where `type(driver)(root)` is not how to open another
working tree, override `opened`. Some tests open the repository in another process, by the driver's class.
"""

from __future__ import annotations

import abc
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perfcore.errors import NotFoundError, VersionError
from perfcore_testing.hostile import NAMES, unsafe
from perfcore_testing.kinds import misfits

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
} | ({} if sys.platform == "win32" else {"line\nbreak": b"two lines\n", "back\\slash\ttab": b"tab\n"})

NO_VERSIONS: tuple[str, ...] = (
    "",
    " ",
    "-",
    "--all",
    "--output=pwned",
    "-n1",
    "\n",
    "\0",
    "..",
    "a..b",
    "no such version",
    "nosuchversion~2",
    "../../etc/passwd",
    "0" * 40,
    "f" * 64,
    "$(touch pwned)",
    *NAMES,
)
MESSAGES = ("<b>it</b> & 'that' \"too\"", "ž 日本語 🚀", "\x1b[31mred", "-x --all", "%H%n%x00 \\n")
NO_FILES = ("", ".", "none", "folder", "folder/", "folder/none", "file/below", "/file", "../file", "fil", "a\0b")
_CHILD = """
import importlib, pathlib, sys
module, name, root, *versions = sys.argv[1:]
driver = getattr(importlib.import_module(module), name)(pathlib.Path(root))
driver.save_state()
for version in versions:
    driver.checkout(version)
print("ready", flush=True)
sys.stdin.read()
"""


class Script(abc.ABC):
    """A user of the version control system, in the working tree at `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @abc.abstractmethod
    def commit(self, message: str) -> str:
        """Record every file of the tree as a new version of the current line, and give its full id."""

    def branch(self, name: str) -> None:
        """Begin a line at the current version, and go to it."""
        raise NotImplementedError

    def switch(self, name: str) -> None:
        """Go to a line."""
        raise NotImplementedError

    def merge(self, name: str) -> str:
        """Make a version of the current line whose parents are its head and the other line's; give its id."""
        raise NotImplementedError

    def write(self, files: Mapping[str, bytes | None]) -> None:
        """Write files, remove those that are None."""
        for name, content in files.items():
            path = self.root / name
            if content is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)

    def version(self, message: str, files: Mapping[str, bytes | None]) -> str:
        """Write files and commit."""
        self.write(files)
        return self.commit(message)

    def grow(self, count: int) -> list[str]:
        """So many versions, oldest first; version `n` (from 0) has the line `n` in the file `number`."""
        return [self.version(f"Version {n}", {"number": f"{n}\n".encode()}) for n in range(count)]


def content(folder: Path, without: tuple[str, ...] = ()) -> dict[str, tuple[str, bytes, bool]]:
    """(kind, bytes or target, executable) of everything below a folder but some names at its top. Empty folders
    do not count."""
    found = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if inside.parts[0] in without:
            continue
        if path.is_symlink():
            found[inside.as_posix()] = ("link", os.fsencode(os.readlink(path)), False)
        elif path.is_file():
            found[inside.as_posix()] = ("file", path.read_bytes(), bool(path.stat().st_mode & stat.S_IXUSR))
    return found


class VcsContract:
    """What every version control system owes to perfcore.

    `private` are the names at the top of a working tree that belong to the system; `has_branches`, that there
    can be several lines; `has_merges`, that a version can have two parents; `has_untracked`, that a new file is
    not part of the next version by itself; `has_messages`, that a version keeps the text it was committed with;
    `has_modes` and `has_links`, that executable files and symbolic links are versioned; `has_worktree` and
    `has_trigger`, that the optional methods are there; `has_state`, that a working tree can be put at other
    versions and back (a driver without it refuses with VersionError).
    """

    private: tuple[str, ...] = ()
    has_branches = True
    has_merges = True
    has_untracked = True
    has_messages = True
    has_modes = sys.platform != "win32"
    has_links = sys.platform != "win32"
    has_worktree = True
    has_trigger = True
    has_state = True

    @pytest.fixture
    def script(self, tmp_path: Path) -> Script:
        """A user in an empty repository. To be overridden."""
        raise NotImplementedError

    @pytest.fixture
    def driver(self, script: Script) -> Vcs:
        """The driver at `script.root`. To be overridden."""
        raise NotImplementedError

    @pytest.fixture
    def opened(self, driver: Vcs) -> Callable[[Path], Vcs]:
        """Opens another working tree, or the same again."""
        return type(driver)

    @pytest.fixture
    def elsewhere(self, tmp_path: Path) -> Path:
        """A folder outside the repository."""
        folder = tmp_path / "else where"
        folder.mkdir()
        return folder

    # --- the class, and finding a repository

    def test_fits_the_specification(self, driver: Vcs) -> None:
        assert misfits("vcs", driver) == []

    def test_flags_tell_the_truth(self, driver: Vcs) -> None:
        assert hasattr(driver, "worktree") == hasattr(driver, "remove_worktree") == self.has_worktree
        assert hasattr(driver, "install_trigger") == self.has_trigger

    def test_detect_finds_the_root_from_anywhere_inside(self, driver: Vcs, script: Script) -> None:
        script.version("one", {"deep/er/file": b"x"})
        for path in (script.root, script.root / "deep", script.root / "deep/er", script.root / "deep/er/file"):
            found = type(driver).detect(path)
            assert found is not None
            assert found.samefile(script.root), path

    def test_detect_finds_an_empty_repository(self, driver: Vcs, script: Script) -> None:
        found = type(driver).detect(script.root)
        assert found is not None
        assert found.samefile(script.root)

    def test_detect_finds_nothing_outside(self, driver: Vcs, elsewhere: Path) -> None:
        assert type(driver).detect(elsewhere) is None
        assert type(driver).detect(elsewhere / "not there") is None

    def test_home_is_the_working_tree_that_is_linked_to_no_other(self, driver: Vcs, script: Script) -> None:
        assert driver.home().samefile(script.root)

    def test_init_makes_an_empty_repository(self, opened: Callable[[Path], Vcs], elsewhere: Path) -> None:
        driver = opened(elsewhere)
        driver.init()
        found = type(driver).detect(elsewhere)
        assert found is not None
        assert found.samefile(elsewhere)
        self._assert_empty(opened(elsewhere))

    def test_an_empty_repository_has_no_head(self, driver: Vcs) -> None:
        self._assert_empty(driver)

    def test_init_never_loses_a_history(self, driver: Vcs, script: Script) -> None:
        (head,) = script.grow(1)
        with pytest.raises(VersionError):
            driver.init()
        assert driver.get_minor_head() == head

    def _assert_empty(self, driver: Vcs) -> None:
        with pytest.raises(VersionError):
            driver.get_minor_head()
        assert driver.get_head_major_version().head is None
        assert list(driver.walk_major_versions()) == []
        assert not driver.is_dirty()
        assert driver.saved_state() is None
        with pytest.raises(VersionError):
            driver.massage_parameter("nothing")

    # --- history

    def test_walk_gives_all_versions_newest_first(self, driver: Vcs, script: Script) -> None:
        ids = script.grow(7)
        walked = list(driver.walk_minor_versions(ids[-1]))
        assert [version.id for version in walked] == ids[::-1]
        assert [version.parents for version in walked] == [(parent,) for parent in ids[-2::-1]] + [()]

    def test_walk_begins_at_any_version(self, driver: Vcs, script: Script) -> None:
        ids = script.grow(4)
        assert [version.id for version in driver.walk_minor_versions(ids[1])] == [ids[1], ids[0]]

    def test_walk_can_be_given_up(self, driver: Vcs, script: Script) -> None:
        ids = script.grow(3)
        walk = driver.walk_minor_versions(ids[-1])
        assert next(walk).id == ids[-1]
        walk.close()  # type: ignore[attr-defined]
        assert len(list(driver.walk_minor_versions(ids[-1]))) == 3

    def test_two_walks_do_not_disturb_each_other(self, driver: Vcs, script: Script) -> None:
        ids = script.grow(3)
        pairs = list(zip(driver.walk_minor_versions(ids[-1]), driver.walk_minor_versions(ids[-1]), strict=True))
        assert [(a.id, b.id) for a, b in pairs] == [(id, id) for id in ids[::-1]]

    def test_a_walked_version_is_what_is_known_of_it(self, driver: Vcs, script: Script) -> None:
        ids = script.grow(3)
        for version in driver.walk_minor_versions(ids[-1]):
            assert driver.get_minor_version_info(version.id) == version
            assert version.date > 0

    def test_walk_shows_every_version_before_its_parents(self, driver: Vcs, script: Script) -> None:
        if not self.has_merges:
            pytest.skip("no merges")
        first, *_ = script.grow(2)
        trunk = driver.get_head_major_version().name
        for name in ("left", "right"):
            script.switch(trunk)
            script.branch(name)
            script.version(name, {name: b"1"})
            script.version(name, {name: b"2"})
        head = script.merge("left")
        walked = list(driver.walk_minor_versions(head))
        places = {version.id: place for place, version in enumerate(walked)}
        assert len(places) == len(walked) == 7
        assert (walked[0].id, walked[-1].id) == (head, first)
        assert len(walked[0].parents) == 2
        for version in walked:
            assert all(places[parent] > places[version.id] for parent in version.parents)

    def test_walk_leaves_out_what_is_no_ancestor(self, driver: Vcs, script: Script) -> None:
        if not self.has_branches:
            pytest.skip("one line only")
        base, *_ = script.grow(1)
        trunk = driver.get_head_major_version().name
        script.branch("side")
        side = script.version("side", {"side": b"1"})
        script.switch(trunk)
        main = script.version("main", {"main": b"1"})
        assert [v.id for v in driver.walk_minor_versions(main)] == [main, base]
        assert [v.id for v in driver.walk_minor_versions(side)] == [side, base]

    @pytest.mark.parametrize("message", MESSAGES, ids=ascii)
    def test_subject_is_the_first_line_as_it_is(self, driver: Vcs, script: Script, message: str) -> None:
        if not self.has_messages:
            pytest.skip("versions have no messages")
        script.write({"a": b"1"})
        id = script.commit(message + "\n\nAnd why.\n")
        assert driver.get_minor_version_info(id).subject == message
        assert next(driver.walk_minor_versions(id)).subject == message

    # --- lines, and what is checked out

    def test_head_follows_the_user(self, driver: Vcs, script: Script) -> None:
        for number in range(3):
            id = script.version(str(number), {"number": b"%d" % number})
            assert driver.get_minor_head() == id
            assert driver.get_head_major_version().head == id

    def test_the_line_that_is_checked_out_is_listed(self, driver: Vcs, script: Script) -> None:
        (id,) = script.grow(1)
        line = driver.get_head_major_version()
        assert line.name
        assert [(m.name, m.head) for m in driver.walk_major_versions()] == [(line.name, id)]
        assert driver.massage_parameter(line.name) == id

    def test_lines_are_sorted_by_name(self, driver: Vcs, script: Script) -> None:
        if not self.has_branches:
            pytest.skip("one line only")
        (base,) = script.grow(1)
        trunk = driver.get_head_major_version().name
        heads = {trunk: base}
        for name in ("zeta", "alpha", "alpha-2", "Upper"):
            script.switch(trunk)
            script.branch(name)
            heads[name] = script.version(name, {"file": name.encode()})
            assert (driver.get_head_major_version().name, driver.get_minor_head()) == (name, heads[name])
        assert [(m.name, m.head) for m in driver.walk_major_versions()] == sorted(heads.items())

    # --- what people write for a version

    def test_a_full_id_and_a_short_one_are_massaged_to_the_full_one(self, driver: Vcs, script: Script) -> None:
        for id in script.grow(3):
            assert driver.massage_parameter(id) == id
            assert driver.massage_parameter(id[:12]) == id

    def test_validity_is_of_full_ids(self, driver: Vcs, script: Script) -> None:
        (id,) = script.grow(1)
        driver.check_minor_version_validity(id)
        for wrong in (id[:-1], id[:12], id + "0", id.upper() + "\n", " " + id, id + "\n"):
            with pytest.raises(VersionError):
                driver.check_minor_version_validity(wrong)

    @pytest.mark.parametrize("text", NO_VERSIONS, ids=lambda text: ascii(text)[:30])
    def test_what_is_no_version_is_refused_in_clean_words(self, driver: Vcs, script: Script, text: str) -> None:
        script.grow(1)
        before = content(script.root, self.private)
        for ask in (driver.massage_parameter, driver.check_minor_version_validity, driver.get_minor_version_info):
            with pytest.raises(VersionError) as caught:
                ask(text)
            assert unsafe(caught.value.message + (caught.value.hint or "")) == set()
        with pytest.raises(VersionError):
            list(driver.walk_minor_versions(text))
        assert content(script.root, self.private) == before

    # --- dirt

    def test_only_tracked_files_make_dirt(self, driver: Vcs, script: Script) -> None:
        script.version("one", {"file": b"1", "other": b"1"})
        assert not driver.is_dirty()
        script.write({"file": b"2"})
        assert driver.is_dirty()
        script.write({"file": b"1"})
        assert not driver.is_dirty()
        script.write({"other": None})
        assert driver.is_dirty()
        script.write({"other": b"1", "new": b"1"})
        assert driver.is_dirty() is not self.has_untracked

    def test_our_own_folders_are_never_dirt(self, driver: Vcs, script: Script) -> None:
        script.grow(1)
        script.write({".perf/local.yml": b"x", ".perf/objects/ab/cd": b"y"})
        if ".tagit" not in self.private:
            script.write({".tagit/objects/ab/cd": b"z"})
        assert not driver.is_dirty()

    def test_readers_never_write(self, driver: Vcs, script: Script) -> None:
        ids = script.version("odd", {"a": b"1", "b": b"1"}), *script.grow(2)
        script.write({"a": b"2"})
        os.utime(
            script.root / "b", (1_000_000_000, 1_000_000_000)
        )  # a hint to look at it again, which must not be noted down
        before = _everything(script.root)
        driver.is_dirty()
        driver.get_minor_head()
        driver.get_head_major_version()
        driver.massage_parameter(ids[0][:12])
        driver.get_minor_version_info(ids[0])
        driver.check_minor_version_validity(ids[0])
        driver.read_file(ids[0], "a")
        driver.changed_files(None, ids[0])
        driver.changed_files(ids[0], ids[-1])
        driver.home()
        driver.saved_state()
        list(driver.walk_major_versions())
        list(driver.walk_minor_versions(ids[-1]))
        assert _everything(script.root) == before

    # --- files of a version

    def test_files_are_read_as_they_were(self, driver: Vcs, script: Script) -> None:
        old = script.version("old", ODD_FILES)
        new = script.version("new", {name: data + b"new" for name, data in ODD_FILES.items()})
        for name, data in ODD_FILES.items():
            assert driver.read_file(old, name) == data, name
            assert driver.read_file(new, name) == data + b"new", name

    def test_a_large_file_is_read_whole(self, driver: Vcs, script: Script) -> None:
        large = os.urandom(1 << 16) * 48
        assert driver.read_file(script.version("large", {"large": large}), "large") == large

    @pytest.mark.parametrize("path", NO_FILES, ids=ascii)
    def test_what_is_no_file_is_not_found(self, driver: Vcs, script: Script, path: str) -> None:
        id = script.version("one", {"file": b"1", "folder/file": b"1"})
        with pytest.raises(NotFoundError):
            driver.read_file(id, path)

    def test_a_file_that_came_later_is_not_found(self, driver: Vcs, script: Script) -> None:
        old = script.version("old", {"file": b"1"})
        script.version("new", {"later": b"1"})
        with pytest.raises(NotFoundError):
            driver.read_file(old, "later")

    def test_no_file_is_read_of_an_unknown_version(self, driver: Vcs, script: Script) -> None:
        id = script.version("one", {"file": b"1"})
        for version in ("1" * len(id), "", id[:9], "--help"):
            with pytest.raises(VersionError):
                driver.read_file(version, "file")

    def test_changed_files_are_those_that_differ(self, driver: Vcs, script: Script) -> None:
        old = script.version("old", {"same": b"1", "edited": b"1", "gone": b"1", "folder/same": b"1"})
        new = script.version("new", {"edited": b"2", "gone": None, "folder/new": b"1"})
        assert driver.changed_files(old, new) == ("edited", "folder/new", "gone")
        assert driver.changed_files(new, old) == ("edited", "folder/new", "gone")
        assert driver.changed_files(new, new) == ()
        assert driver.changed_files(None, new) == ("edited", "folder/new", "folder/same", "same")

    def test_changed_files_keep_odd_names(self, driver: Vcs, script: Script) -> None:
        old = script.version("old", {"file": b"1"})
        new = script.version("new", ODD_FILES)
        assert driver.changed_files(old, new) == tuple(sorted(ODD_FILES))

    def test_a_renamed_file_is_two_changes(self, driver: Vcs, script: Script) -> None:
        old = script.version("old", {"before": b"the same text\n" * 50})
        new = script.version("new", {"before": None, "after": b"the same text\n" * 50})
        assert driver.changed_files(old, new) == ("after", "before")

    def test_changes_of_unknown_versions_are_refused(self, driver: Vcs, script: Script) -> None:
        (id,) = script.grow(1)
        for old, new in ((None, "1" * len(id)), ("1" * len(id), id), (id, "HEAD^{tree}"), ("--stat", id)):
            with pytest.raises(VersionError):
                driver.changed_files(old, new)

    # --- trees elsewhere

    @pytest.fixture
    def tree(self, driver: Vcs, elsewhere: Path, request: pytest.FixtureRequest) -> Callable[[str], Path]:
        """Makes the tree of a version, by `export` or by `worktree`."""
        return _maker(driver, elsewhere, request.param)

    both = pytest.mark.parametrize("tree", ["export", "worktree"], indirect=True)

    @both
    def test_a_tree_has_the_files_of_its_version(self, script: Script, tree: Callable[[str], Path]) -> None:
        ids = [script.version("old", ODD_FILES), script.version("new", {"plain.txt": b"new\n", "empty": None})]
        wanted = content(script.root, self.private)
        assert content(tree(ids[1]), self.private) == wanted
        assert content(tree(ids[0]), self.private) == {name: ("file", data, False) for name, data in ODD_FILES.items()}

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
        self, driver: Vcs, script: Script, tree: Callable[[str], Path]
    ) -> None:
        id = script.version("one", {"file": b"1", "other": b"1"})
        script.write({"file": b"changed", "other": None, "new": b"new"})
        before = content(script.root, self.private)
        assert content(tree(id), self.private) == {"file": ("file", b"1", False), "other": ("file", b"1", False)}
        assert content(script.root, self.private) == before
        assert driver.get_minor_head() == id
        assert driver.is_dirty()

    @both
    def test_no_tree_of_an_unknown_version(self, script: Script, tree: Callable[[str], Path]) -> None:
        (id,) = script.grow(1)
        for wrong in ("1" * len(id), "nosuch", "-f", ""):
            with pytest.raises(VersionError):
                tree(wrong)

    def test_a_tree_does_not_overwrite(self, driver: Vcs, script: Script, elsewhere: Path) -> None:
        (id,) = script.grow(1)
        (elsewhere / "full").mkdir()
        (elsewhere / "full" / "precious").write_bytes(b"1")
        for make in (driver.export, *([driver.worktree] if self.has_worktree else [])):
            with pytest.raises(VersionError):
                make(id, elsewhere / "full")
        assert content(elsewhere / "full") == {"precious": ("file", b"1", False)}

    def test_an_exported_tree_belongs_to_no_repository(self, driver: Vcs, script: Script, elsewhere: Path) -> None:
        (id,) = script.grow(1)
        driver.export(id, elsewhere)
        assert type(driver).detect(elsewhere) is None

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
        before = _everything(script.root).keys()
        driver.worktree(id, elsewhere / "tree")
        (elsewhere / "tree" / "built").write_bytes(b"1")
        driver.remove_worktree(elsewhere / "tree")
        assert list(elsewhere.iterdir()) == []
        assert {name for name in _everything(script.root).keys() - before if (script.root / name).is_file()} == set()

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
            assert driver.saved_state() is None
        finally:
            driver.restore_state(state)
        assert self._state_of(driver, script) == before

    def test_checkout_goes_to_versions_and_restore_comes_back(
        self, driver: Vcs, script: Script, changed: list[str], elsewhere: Path
    ) -> None:
        before = self._state_of(driver, script)
        state = driver.save_state()
        for number, id in enumerate([changed[0], changed[1], changed[0], changed[2], changed[1]]):
            driver.checkout(id)
            assert driver.get_minor_head() == id
            assert not driver.is_dirty()
            driver.export(id, elsewhere / str(number))
            files = content(script.root, (*self.private, "notes.txt"))
            files.pop("new/notes", None)
            assert files == content(elsewhere / str(number))
        driver.restore_state(state)
        assert self._state_of(driver, script) == before
        assert driver.saved_state() is None

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
        before = self._state_of(driver, script)
        with _child(driver, script.root, *changed[:2]) as child:
            assert driver.saved_state() is None, "its process is alive"
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
        before = self._state_of(driver, script)
        with _child(driver, script.root, changed[0]) as child:
            child.kill()
        with pytest.raises(VersionError):
            driver.save_state()
        state = driver.saved_state()
        assert state is not None
        driver.restore_state(state)
        assert self._state_of(driver, script) == before

    def _state_of(self, driver: Vcs, script: Script) -> tuple[object, ...]:
        return (
            driver.get_minor_head(),
            driver.get_head_major_version(),
            driver.is_dirty(),
            content(script.root, self.private),
        )

    # --- who works here

    def test_the_author_is_text_on_one_line(self, driver: Vcs) -> None:
        if not hasattr(driver, "author"):
            pytest.skip("it does not know who works here")
        said = driver.author()
        assert said == said.strip()
        assert unsafe(said) | ({"\n", "\t"} & set(said)) == set()

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


def _maker(driver: Vcs, elsewhere: Path, how: str) -> Callable[[str], Path]:
    if not hasattr(driver, how):
        pytest.skip(f"no {how}")

    def make(version: str) -> Path:
        folder = elsewhere / f"tree {len(list(elsewhere.iterdir()))}"
        if how == "export":
            folder.mkdir()
        getattr(driver, how)(version, folder)
        return folder

    return make


def _everything(root: Path) -> dict[str, tuple[int, int]]:
    """(size, time of change) of everything below a folder, what belongs to the system included."""
    found = {}
    for folder, _, files in os.walk(root):
        for path in (Path(folder), *(Path(folder, name) for name in files)):
            status = path.lstat()
            found[str(path.relative_to(root))] = (status.st_size, status.st_mtime_ns)
    return found


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
