"""Trees of other versions are what a checkout gives, and making them leaves no trace with the user."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_testing.vcs import content
from perfcore_vcs_git import Git

from perfcore.errors import NotFoundError, VersionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfcore_vcs_git.contract import GitScript

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX system")
ways = pytest.mark.parametrize("way", ["export", "worktree"])
WITHOUT = (".git",)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def made(driver: Git, way: str, version: str, folder: Path) -> dict[str, tuple[str, bytes, bool]]:
    getattr(driver, way)(version, folder)
    return content(folder, WITHOUT)


def traces(script: GitScript) -> dict[str, str]:
    """The user's refs, stash, index and configuration."""
    asked = ("for-each-ref", "stash list", "reflog", "config --list --local")
    found = {name: script.git(*name.split()) for name in asked}
    for path in sorted((script.root / ".git").glob("*")):
        if path.is_file():
            found[path.name] = hashlib.sha1(path.read_bytes()).hexdigest()
    return found


@ways
def test_nothing_of_the_users_is_touched(driver: Git, script: GitScript, tmp_path: Path, way: str) -> None:
    ids = script.grow(3)
    script.write({"number": b"stashed"})
    script.git("stash", "-q")
    script.write({"number": b"staged"})
    script.git("add", "number")
    script.write({"number": b"changed"})
    before = traces(script)
    made(driver, way, ids[0], tmp_path / "tree")
    if way == "worktree":
        driver.remove_worktree(tmp_path / "tree")
    assert traces(script) == before
    assert len(script.git("worktree", "list").splitlines()) == 1
    assert script.git("fsck", "--strict") == ""


@ways
def test_filters_and_line_endings_are_git_s(driver: Git, script: GitScript, tmp_path: Path, way: str) -> None:
    script.git("config", "--global", "filter.shout.smudge", "tr a-z A-Z")
    script.git("config", "--global", "filter.shout.clean", "tr A-Z a-z")
    script.write({".gitattributes": b"*.crlf eol=crlf\n*.txt filter=shout\n*.id ident\n"})
    script.write({"a.crlf": b"one\ntwo\n", "a.txt": b"shouted\n", "a.id": b"$Id$\n"})
    id = script.commit("with filters")
    script.version("without", {".gitattributes": b"* -text\n", "a.crlf": b"x\n"})
    found = made(driver, way, id, tmp_path / "tree")
    assert found["a.crlf"][1] == b"one\r\ntwo\r\n"
    assert found["a.txt"][1] == b"SHOUTED\n"
    assert found["a.id"][1].startswith(b"$Id: ")


@ways
def test_a_filter_that_fails_is_told(driver: Git, script: GitScript, tmp_path: Path, way: str) -> None:
    script.version("one", {".gitattributes": b"*.big filter=big\n", "a.big": b"1"})
    script.git("config", "--global", "filter.big.smudge", "echo the server is away >&2; false")
    script.git("config", "--global", "filter.big.required", "true")
    with pytest.raises(VersionError, match=r"the server is away; .*a\.big"):
        made(driver, way, driver.get_minor_head(), tmp_path / "tree")
    if way == "worktree":
        driver.remove_worktree(tmp_path / "tree")
        assert not (tmp_path / "tree").exists()
    assert len(script.git("worktree", "list").splitlines()) == 1


@ways
def test_attributes_of_archives_are_of_archives_only(driver: Git, script: GitScript, tmp_path: Path, way: str) -> None:
    files = {".gitattributes": b"tests export-ignore\nv export-subst\n", "tests/t.py": b"1", "v": b"$Format:%H$\n"}
    id = script.version("one", files)
    assert {name: data for name, (_, data, _) in made(driver, way, id, tmp_path / "tree").items()} == files


@ways
def test_a_sparse_tree_gives_whole_ones(driver: Git, script: GitScript, tmp_path: Path, way: str) -> None:
    id = script.version("one", {"in/a": b"1", "out/b": b"1", "c": b"1"})
    script.git("sparse-checkout", "set", "in")
    assert not (script.root / "out").exists()
    assert sorted(made(driver, way, id, tmp_path / "tree")) == ["c", "in/a", "out/b"]
    assert not (script.root / "out").exists()
    assert not driver.is_dirty()


@ways
def test_a_version_without_files_is_an_empty_tree(driver: Git, script: GitScript, tmp_path: Path, way: str) -> None:
    script.git("commit", "-q", "--allow-empty", "-m", "nothing")
    assert made(driver, way, driver.get_minor_head(), tmp_path / "tree") == {}
    assert driver.changed_files(None, driver.get_minor_head()) == ()


@ways
def test_a_folder_whose_parents_are_missing_is_made(driver: Git, script: GitScript, tmp_path: Path, way: str) -> None:
    (id,) = script.grow(1)
    assert made(driver, way, id, tmp_path / "some" / "where" / "-else $x") == {"number": ("file", b"0\n", False)}


@ways
def test_a_relative_folder_is_of_the_working_directory(
    driver: Git, script: GitScript, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    (id,) = script.grow(1)
    monkeypatch.chdir(tmp_path)
    made(driver, way, id, Path("relative"))
    assert (tmp_path / "relative" / "number").exists()
    if way == "worktree":
        driver.remove_worktree(Path("relative"))
        assert not (tmp_path / "relative").exists()
        assert len(script.git("worktree", "list").splitlines()) == 1


@ways
def test_trees_of_one_name_are_made_at_once(script: GitScript, tmp_path: Path, way: str) -> None:
    ids = script.grow(4)
    failed: list[BaseException] = []

    def make(number: int) -> None:
        try:
            driver = Git(script.root)
            found = made(driver, way, ids[number], tmp_path / str(number) / "tree")
            assert found == {"number": ("file", f"{number}\n".encode(), False)}
            if way == "worktree":
                driver.remove_worktree(tmp_path / str(number) / "tree")
            driver.close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(script.git("worktree", "list").splitlines()) == 1


# --- linked trees


def test_from_a_linked_tree_another_is_made(driver: Git, script: GitScript, tmp_path: Path) -> None:
    ids = script.grow(2)
    driver.worktree(ids[0], tmp_path / "first")
    linked = Git(tmp_path / "first")
    linked.worktree(ids[1], tmp_path / "second")
    assert linked.home() == Git(tmp_path / "second").home() == script.root
    with pytest.raises(VersionError):
        linked.remove_worktree(tmp_path / "first")
    linked.remove_worktree(tmp_path / "second")
    driver.remove_worktree(tmp_path / "first")
    assert len(script.git("worktree", "list").splitlines()) == 1


def test_linked_trees_of_the_users_stay(driver: Git, script: GitScript, tmp_path: Path) -> None:
    (id,) = script.grow(1)
    script.git("worktree", "add", "-q", str(tmp_path / "users"), "-b", "side")
    script.git("worktree", "add", "-q", "--detach", str(tmp_path / "moved away"))
    (tmp_path / "moved away").rename(tmp_path / "for now")
    listed = script.git("worktree", "list")
    with pytest.raises(VersionError, match="is a working tree of branch side; it stays"):
        driver.remove_worktree(tmp_path / "users")
    driver.worktree(id, tmp_path / "ours")
    driver.remove_worktree(tmp_path / "ours")
    assert script.git("worktree", "list") == listed
    assert (tmp_path / "users" / "number").exists()


@posix
def test_other_folders_are_not_removed_for_trees(
    driver: Git, script: GitScript, repository: Callable[..., GitScript], tmp_path: Path
) -> None:
    script.grow(1)
    other = repository("other")
    other.grow(1)
    (tmp_path / "link").symlink_to(other.root)
    for path in (other.root, tmp_path / "link", script.root / ".git", tmp_path):
        with pytest.raises(VersionError, match="is not a tree that was made to be measured"):
            driver.remove_worktree(path)
    assert (other.root / "number").exists()


@posix
def test_a_tree_with_read_only_folders_is_removed(driver: Git, script: GitScript, tmp_path: Path) -> None:
    id = script.version("one", {"a/b/c": b"1"})
    driver.worktree(id, tmp_path / "tree")
    for folder in ("a/b", "a"):
        (tmp_path / "tree" / folder).chmod(0o555)
    driver.remove_worktree(tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


@posix
def test_a_link_in_a_tree_is_removed_not_followed(driver: Git, script: GitScript, tmp_path: Path) -> None:
    (id,) = script.grow(1)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_bytes(b"1")
    driver.worktree(id, tmp_path / "tree")
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "precious")
    driver.remove_worktree(tmp_path / "tree")
    assert (tmp_path / "precious" / "file").exists()


def test_a_locked_tree_that_a_killed_git_left_is_removed(driver: Git, script: GitScript, tmp_path: Path) -> None:
    (id,) = script.grow(1)
    driver.worktree(id, tmp_path / "tree")
    (entry,) = (script.root / ".git/worktrees").iterdir()
    (entry / "locked").write_text("initializing")
    (entry / "HEAD").write_text("0" * 40 + "\n")
    (entry / "index").unlink()
    (tmp_path / "tree" / ".git").unlink()
    driver.remove_worktree(tmp_path / "tree")
    assert not entry.exists()
    assert not (tmp_path / "tree").exists()


@posix
@pytest.mark.parametrize("seconds", [0.002, 0.006, 0.012, 0.02])
def test_a_git_that_is_killed_while_it_makes_a_tree_leaves_what_can_be_removed(
    driver: Git, script: GitScript, tmp_path: Path, seconds: float
) -> None:
    id = script.version("many", {f"folder {n % 10}/{n}": b"%d" % n for n in range(300)})
    command = ["git", "worktree", "add", "-q", "--detach", str(tmp_path / "tree"), id]
    process = subprocess.Popen(command, cwd=script.root, stderr=subprocess.PIPE)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    process.kill()
    process.communicate()
    driver.remove_worktree(tmp_path / "tree")
    assert not (tmp_path / "tree").exists()
    driver.worktree(id, tmp_path / "tree")
    assert content(tmp_path / "tree", WITHOUT) == content(script.root, WITHOUT)
    driver.remove_worktree(tmp_path / "tree")


# --- submodules


@pytest.fixture
def nested(script: GitScript, repository: Callable[..., GitScript], monkeypatch: pytest.MonkeyPatch) -> GitScript:
    """A repository with a submodule that has a submodule, at two versions each."""
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "always")
    leaf, library = repository("leaf"), repository("library")
    leaf.version("leaf 1", {"leaf": b"1"})
    library.git("submodule", "--quiet", "add", str(leaf.root), "deps/the leaf")
    library.version("library 1", {"library": b"1"})
    script.git("submodule", "--quiet", "add", "--name", "odd/name", str(library.root), "libs/žluť")
    script.git("submodule", "--quiet", "update", "--init", "--recursive")
    script.version("one", {"main": b"1"})
    library.version("library 2", {"library": b"2"})
    git(script.root / "libs/žluť", "pull", "-q", "origin", "main")
    script.version("two", {"main": b"2"})
    return script


@ways
def test_submodules_come_from_this_machine_at_their_commits(
    nested: GitScript, driver: Git, tmp_path: Path, way: str
) -> None:
    for name in ("leaf", "library"):  # no server answers
        (tmp_path / name).rename(tmp_path / f"{name} is away")
    old, new = driver.massage_parameter("HEAD~1"), driver.get_minor_head()
    for number, id in ((b"1", old), (b"2", new)):
        found = made(driver, way, id, tmp_path / number.decode())
        found.pop(".gitmodules")
        found.pop("libs/žluť/.gitmodules")
        assert {name: data for name, (_, data, _) in found.items()} == {
            "main": number,
            "libs/žluť/library": number,
            "libs/žluť/deps/the leaf/leaf": b"1",
        }
    assert not driver.is_dirty()
    assert driver.changed_files(old, new) == ("libs/žluť", "main")


@ways
def test_submodules_that_the_user_does_not_have_stay_empty(nested: GitScript, tmp_path: Path, way: str) -> None:
    git(tmp_path, "clone", "-q", str(nested.root), str(tmp_path / "clone"))
    driver = Git(tmp_path / "clone")
    assert sorted(made(driver, way, driver.get_minor_head(), tmp_path / "tree")) == [".gitmodules", "main"]
    assert (tmp_path / "tree/libs/žluť").is_dir()


@ways
def test_a_commit_that_a_submodule_lacks_is_told(nested: GitScript, driver: Git, tmp_path: Path, way: str) -> None:
    commit = git(nested.root / "libs/žluť", "rev-parse", "HEAD~1")
    shutil.rmtree(nested.root / ".git/modules/odd/name/objects")
    git(tmp_path, "clone", "-q", "--bare", "--depth=1", f"file://{tmp_path}/library", str(tmp_path / "fresh"))
    shutil.copytree(tmp_path / "fresh/objects", nested.root / ".git/modules/odd/name/objects")
    with pytest.raises(VersionError) as caught:
        made(driver, way, driver.massage_parameter("HEAD~1"), tmp_path / "tree")
    assert f"needs commit {commit[:10]} of its submodule libs/žluť" in caught.value.message
    assert caught.value.hint == "git -C libs/žluť fetch"
    if way == "worktree":
        assert not (tmp_path / "tree").exists()
        assert len(nested.git("worktree", "list").splitlines()) == 1


def test_changes_in_a_submodule_are_dirt(nested: GitScript, driver: Git) -> None:
    inner = nested.root / "libs/žluť"
    assert not driver.is_dirty()
    (inner / "untracked").write_bytes(b"1")
    assert not driver.is_dirty()
    (inner / "library").write_bytes(b"changed")
    assert driver.is_dirty()
    git(inner, "checkout", "-q", "library")
    git(inner, "checkout", "-q", "HEAD~1")
    assert driver.is_dirty()


def test_a_file_is_not_read_through_a_submodule(nested: GitScript, driver: Git) -> None:
    head = driver.get_minor_head()
    for path in ("libs/žluť", "libs/žluť/library"):
        with pytest.raises(NotFoundError):
            driver.read_file(head, path)


@ways
def test_a_submodule_with_a_wicked_name_goes_nowhere(
    driver: Git, script: GitScript, repository: Callable[..., GitScript], tmp_path: Path, way: str
) -> None:
    outside = repository("outside")
    commit = outside.version("secret", {"secret": b"1"})
    script.write({"file": b"1"})
    for name, path in (("../../outside/.git", "sub"), ("x", "../escaped"), (str(outside.root / ".git"), "absolute")):
        text = f'[submodule "{name}"]\n\tpath = {path}\n\turl = nowhere\n'
        (script.root / ".gitmodules").write_text(text)
        script.git("add", ".gitmodules", "file")
        if not path.startswith(".."):
            script.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")
        script.git("commit", "-qm", name)
        folder = tmp_path / f"tree of {path.strip('./')}"
        assert set(made(driver, way, driver.get_minor_head(), folder)) == {".gitmodules", "file"}
    assert not (tmp_path / "escaped").exists()


# --- reading


def test_a_link_is_read_as_where_it_points_to(driver: Git, script: GitScript) -> None:
    script.write({"file": b"1"})
    (script.root / "link").symlink_to("file")
    assert driver.read_file(script.commit("one"), "link") == b"file"


def test_files_are_read_without_filters(driver: Git, script: GitScript) -> None:
    script.git("config", "filter.odd.smudge", "false")
    id = script.version("one", {".gitattributes": b"* text eol=crlf filter=odd\n", "a": b"one\ntwo\n"})
    assert driver.read_file(id, "a") == b"one\ntwo\n"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are Unicode here")
def test_file_names_need_not_be_unicode(driver: Git, script: GitScript, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9\n\xff")
    id = script.version("one", {name: b"1"})
    assert driver.read_file(id, name) == b"1"
    assert driver.changed_files(None, id) == (name,)
    driver.export(id, tmp_path / "tree")
    assert os.listdir(os.fsencode(tmp_path / "tree")) == [os.fsencode(name)]
    script.write({name: b"2"})
    state = driver.save_state()
    assert (script.root / name).read_bytes() == b"1"
    driver.restore_state(state)
    assert (script.root / name).read_bytes() == b"2"
