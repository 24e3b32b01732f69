"""Repositories as they occur: shallow, bare, empty, foreign, damaged, with other hashes; and machines without git."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_vcs_git import Git, GitSettings

from perfcore.errors import NotFoundError, PerfError, VersionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfcore_vcs_git.contract import GitScript

    Python = Callable[..., subprocess.CompletedProcess[str]]

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX system")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


# --- unborn, detached


def test_without_a_commit_everything_says_so(driver: Git, script: GitScript, tmp_path: Path) -> None:
    script.write({"file": b"1"})
    script.git("add", "file")
    for ask in (driver.get_minor_head, driver.save_state, lambda: driver.massage_parameter("HEAD~2")):
        with pytest.raises(VersionError, match="there is no commit yet"):
            ask()
    line = driver.get_head_major_version()
    assert (line.name, line.head) == ("main", None)
    assert list(driver.walk_major_versions()) == []
    assert driver.is_dirty()
    assert driver.saved_state() is None


def test_an_orphan_branch_has_no_commit_yet(driver: Git, script: GitScript) -> None:
    script.grow(1)
    script.git("checkout", "-q", "--orphan", "fresh")
    assert driver.get_head_major_version().name == "fresh"
    assert driver.get_head_major_version().head is None
    with pytest.raises(VersionError, match="there is no commit yet"):
        driver.get_minor_head()
    assert [line.name for line in driver.walk_major_versions()] == ["main"]


def test_a_detached_head_has_no_name(driver: Git, script: GitScript) -> None:
    ids = script.grow(2)
    script.git("checkout", "-q", "--detach", "HEAD~1")
    assert driver.get_head_major_version().name == ""
    assert driver.get_head_major_version().head == driver.get_minor_head() == ids[0]


@pytest.mark.parametrize("packed", [False, True])
def test_the_head_is_what_git_says_however_it_is_stored(driver: Git, script: GitScript, packed: bool) -> None:
    ids = script.grow(3)
    for name, id in {"feature/x": ids[0], "feature/x-2": ids[1], "feature/y": ids[2]}.items():
        script.git("branch", name, id)
    script.git("symbolic-ref", "refs/heads/alias", "refs/heads/feature/x")
    if packed:
        script.git("pack-refs", "--all")
    for name in ("feature/x", "feature/x-2", "feature/y", "main", "alias"):
        script.git("symbolic-ref", "HEAD", f"refs/heads/{name}")
        assert driver.get_minor_head() == script.git("rev-parse", "HEAD")
        assert driver.get_head_major_version().name == name
    script.git("symbolic-ref", "HEAD", "refs/heads/feature/x")
    script.git("update-ref", "HEAD", ids[2])
    assert driver.get_minor_head() == ids[2]


@posix
def test_a_head_that_is_a_link_is_read_too(driver: Git, script: GitScript) -> None:
    (id,) = script.grow(1)
    (script.root / ".git/HEAD").unlink()
    (script.root / ".git/HEAD").symlink_to("refs/heads/main")
    assert driver.get_head_major_version().name == "main"
    assert driver.get_minor_head() == id


def test_init_gives_the_branch_that_was_asked_for(tmp_path: Path) -> None:
    driver = Git(tmp_path / "new" / "deep", GitSettings(initial_branch="trunk"))
    driver.init()
    assert driver.get_head_major_version().name == "trunk"
    driver = Git(tmp_path / "other", GitSettings(initial_branch="not a name"))
    with pytest.raises(VersionError, match="branch name"):
        driver.init()


# --- shallow


@pytest.fixture
def shallow(script: GitScript, tmp_path: Path) -> tuple[list[str], Git]:
    """(all versions, driver in a clone that has the last three)"""
    ids = script.grow(6)
    git(tmp_path, "clone", "-q", "--depth=3", f"file://{script.root}".replace(" ", "%20"), str(tmp_path / "shallow"))
    return ids, Git(tmp_path / "shallow")


def test_a_walk_ends_where_a_shallow_clone_does(shallow: tuple[list[str], Git]) -> None:
    ids, driver = shallow
    walked = list(driver.walk_minor_versions(ids[-1]))
    assert [v.id for v in walked] == ids[:2:-1]
    assert walked[-1].parents == ()
    assert [driver.get_minor_version_info(v.id) for v in walked] == walked


def test_what_a_shallow_clone_has_not_is_told_with_what_to_do(shallow: tuple[list[str], Git], tmp_path: Path) -> None:
    ids, driver = shallow
    for ask in (
        lambda: driver.massage_parameter("HEAD~3"),
        lambda: driver.massage_parameter(ids[0]),
        lambda: driver.massage_parameter(ids[0][:9]),
        lambda: driver.check_minor_version_validity(ids[0]),
        lambda: driver.get_minor_version_info(ids[0]),
        lambda: driver.read_file(ids[0], "number"),
        lambda: driver.changed_files(ids[0], ids[-1]),
        lambda: driver.export(ids[0], tmp_path / "x"),
        lambda: driver.worktree(ids[0], tmp_path / "x"),
        lambda: list(driver.walk_minor_versions(ids[0])),
    ):
        with pytest.raises(VersionError) as caught:
            ask()
        assert "git fetch --unshallow" in (caught.value.hint or ""), caught.value.message
    git(driver.root, "fetch", "-q", "--unshallow")
    assert driver.massage_parameter("HEAD~5") == ids[0]


def test_tags_are_of_commits_light_annotated_or_tagged_twice(shallow: tuple[list[str], Git]) -> None:
    ids, driver = shallow
    git(driver.root, "tag", "light", ids[-1])
    git(driver.root, "tag", "-a", "-m", "Release", "annotated", ids[-2])
    git(driver.root, "tag", "-a", "-m", "Again", "twice", "annotated")
    git(driver.root, "tag", "file", f"{ids[-1]}:number")
    git(driver.root, "tag", "-a", "-m", "A file", "annotated-file", f"{ids[-1]}:number")
    assert driver.tags() == {"annotated": ids[-2], "light": ids[-1], "twice": ids[-2]}


def test_a_shallow_clone_knows_only_the_releases_it_has(shallow: tuple[list[str], Git]) -> None:
    ids, driver = shallow
    with pytest.raises(VersionError, match="no release before this version is here") as caught:
        driver.last_release(ids[-1])
    assert "git fetch --unshallow" in (caught.value.hint or "")
    git(driver.root, "tag", "v1", ids[-2])
    assert driver.last_release(ids[-1]) == ids[-2]
    git(driver.root, "tag", "-d", "v1")
    git(driver.root, "fetch", "-q", "--unshallow")
    assert driver.last_release(ids[-1]) is None


# --- bare


@pytest.fixture
def bare(script: GitScript, tmp_path: Path) -> Git:
    """The driver in a bare clone of three versions."""
    script.grow(3)
    git(tmp_path, "clone", "-q", "--bare", str(script.root), str(tmp_path / "bare.git"))
    return Git(tmp_path / "bare.git")


def test_a_bare_repository_does_what_needs_no_tree(bare: Git, script: GitScript, tmp_path: Path) -> None:
    head = script.git("rev-parse", "HEAD")
    assert bare.get_minor_head() == bare.massage_parameter("main") == head
    assert bare.get_head_major_version().name == "main"
    assert len(list(bare.walk_minor_versions(head))) == 3
    assert bare.read_file(head, "number") == b"2\n"
    assert bare.changed_files(bare.massage_parameter("HEAD~1"), head) == ("number",)
    assert not bare.is_dirty()
    assert bare.saved_state() is None
    bare.export(head, tmp_path / "exported")
    bare.worktree(head, tmp_path / "linked")
    for tree in ("exported", "linked"):
        assert (tmp_path / tree / "number").read_bytes() == b"2\n"
    assert Git(tmp_path / "linked").home() == bare.root
    assert not Git(tmp_path / "linked").is_dirty()
    bare.remove_worktree(tmp_path / "linked")
    assert sorted(path.name for path in bare.root.iterdir() if path.name == "index") == []


def test_a_bare_repository_refuses_what_needs_one(bare: Git) -> None:
    head = bare.get_minor_head()
    for ask in (bare.save_state, lambda: bare.checkout(head), lambda: bare.restore_state("x")):
        with pytest.raises(VersionError, match="a bare repository has no working tree"):
            ask()


def test_a_bare_repository_where_git_wants_it_named_is_told(bare: Git, script: GitScript) -> None:
    script.git("config", "--global", "safe.bareRepository", "explicit")
    with pytest.raises(VersionError, match=r"safe.bareRepository is `explicit`") as caught:
        bare.massage_parameter("main")
    assert "safe.bareRepository all" in (caught.value.hint or "")


# --- SHA-256


def test_ids_may_have_64_digits(repository: Callable[..., GitScript], tmp_path: Path) -> None:
    script = repository("sha256", "--object-format=sha256")
    ids = [script.version(str(n), {"file": b"%d" % n, "line\nbreak": b"x"}) for n in range(3)]
    driver = Git(script.root)
    assert {len(id) for id in ids} == {64}
    assert driver.get_minor_head() == ids[2]
    assert driver.massage_parameter("HEAD~1") == driver.massage_parameter(ids[1][:11]) == ids[1]
    walked = list(driver.walk_minor_versions(ids[2]))
    assert [v.id for v in walked] == ids[::-1]
    assert driver.get_minor_version_info(ids[1]) == walked[1]
    assert driver.read_file(ids[0], "file") == b"0"
    assert driver.read_file(ids[0], "line\nbreak") == b"x"
    assert driver.changed_files(ids[0], ids[2]) == ("file",)
    driver.worktree(ids[0], tmp_path / "tree")
    assert Git(tmp_path / "tree").get_minor_head() == ids[0]
    driver.remove_worktree(tmp_path / "tree")
    script.write({"file": b"changed"})
    state = driver.save_state()
    driver.checkout(ids[0])
    driver.restore_state(state)
    assert (script.root / "file").read_bytes() == b"changed"
    assert driver.get_head_major_version().name == "main"


# --- of another owner


def assert_told_whose_it_is(told: str, root: Path) -> None:
    assert "it belongs to another user" in told
    assert "git config --global --add safe.directory" in told
    assert str(root) in told.replace("'\"'\"'", "'")


@pytest.mark.parametrize("kind", ["plain", "bare"])
def test_a_repository_of_somebody_else_is_told_with_what_to_do(
    script: GitScript, bare: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    driver = bare if kind == "bare" else Git(script.root)
    head = driver.get_minor_head()
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    for ask in (
        lambda: driver.massage_parameter("main"),
        lambda: list(driver.walk_minor_versions(head)),
        lambda: list(driver.walk_major_versions()),
        lambda: driver.changed_files(None, head),
        lambda: driver.export(head, tmp_path / "x"),
    ):
        with pytest.raises(VersionError) as caught:
            ask()
        assert_told_whose_it_is(f"{caught.value.message}\n{caught.value.hint}", driver.root)
    script.git("config", "--global", "safe.directory", "*", GIT_TEST_ASSUME_DIFFERENT_OWNER="0")
    assert driver.massage_parameter("main") == head


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_that_was_given_away_is_told(script: GitScript) -> None:
    (id,) = script.grow(1)
    for folder, names, files in os.walk(script.root):
        for name in (".", *names, *files):
            os.chown(Path(folder, name), 65534, 65534, follow_symlinks=False)
    driver = Git(script.root)
    for ask in (driver.is_dirty, lambda: driver.check_minor_version_validity(id)):
        with pytest.raises(VersionError) as caught:
            ask()
        assert_told_whose_it_is(f"{caught.value.message}\n{caught.value.hint}", driver.root)
    assert driver.saved_state() is None


# --- damaged


def damage(path: Path) -> None:
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def loose(script: GitScript, id: str) -> Path:
    return script.root / ".git/objects" / id[:2] / id[2:]


@pytest.mark.parametrize("how", ["flipped", "empty", "gone"])
def test_a_damaged_commit_is_told(driver: Git, script: GitScript, how: str) -> None:
    old, new = script.grow(2)
    path = loose(script, old)
    damage(path) if how == "flipped" else None
    if how == "empty":
        path.chmod(0o644)
        path.write_bytes(b"")
    if how == "gone":
        path.unlink()
    for ask in (
        lambda: driver.get_minor_version_info(old),
        lambda: driver.check_minor_version_validity(old),
        lambda: driver.massage_parameter("HEAD~1"),
        lambda: list(driver.walk_minor_versions(new)),
        lambda: driver.changed_files(old, new),
    ):
        with pytest.raises(VersionError) as caught:
            ask()
        assert caught.value.message
    assert driver.massage_parameter("HEAD") == new


@pytest.mark.parametrize("how", ["flipped", "gone"])
def test_a_damaged_file_is_not_said_to_be_missing_from_its_version(driver: Git, script: GitScript, how: str) -> None:
    id = script.version("one", {"file": bytes(range(256)) * 20})
    path = loose(script, script.git("rev-parse", "HEAD:file"))
    damage(path) if how == "flipped" else path.unlink()
    with pytest.raises(VersionError) as caught:
        driver.read_file(id, "file")
    assert "git fsck" in (caught.value.hint or "")
    with pytest.raises(NotFoundError):
        driver.read_file(id, "no such file")


def test_a_damaged_index_is_told(driver: Git, script: GitScript) -> None:
    script.grow(1)
    (script.root / ".git/index").write_bytes(b"rubbish" * 20)
    for ask in (driver.is_dirty, driver.save_state):
        with pytest.raises(VersionError, match="damaged"):
            ask()
    assert driver.saved_state() is None


@pytest.mark.parametrize("content", [b"", b"\0" * 41, b"0123456789\n", b"ref: \n"])
def test_a_branch_that_a_crash_emptied_is_told(driver: Git, script: GitScript, content: bytes) -> None:
    script.grow(1)
    (script.root / ".git/refs/heads/main").write_bytes(content)
    for ask in (driver.get_minor_head, lambda: driver.massage_parameter("main")):
        with pytest.raises(VersionError):
            ask()


def test_a_repository_of_the_future_is_told(driver: Git, script: GitScript) -> None:
    script.grow(1)
    script.git("config", "core.repositoryFormatVersion", "999")
    with pytest.raises(VersionError, match="999"):
        driver.is_dirty()


def test_a_repository_that_is_gone_is_told(script: GitScript, tmp_path: Path) -> None:
    script.grow(1)
    driver, late = Git(script.root), Git(script.root)
    head = driver.get_minor_head()
    script.root.rename(tmp_path / "moved")
    asked = (late.get_minor_head, late.is_dirty, late.home, late.saved_state)
    for ask in (lambda: driver.massage_parameter(head), *asked):
        with pytest.raises(VersionError):
            ask()
    assert Git.detect(script.root) is None


@posix
def test_a_working_directory_that_is_gone_is_no_hindrance(script: GitScript, python: Python, tmp_path: Path) -> None:
    (id,) = script.grow(1)
    (tmp_path / "gone").mkdir()
    code = "os.rmdir(os.getcwd()); print(Git(Path(sys.argv[1])).massage_parameter('main'))"
    done = python(code, script.root, cwd=tmp_path / "gone")
    assert done.stdout == f"{id}\n", done


# --- git itself


QUESTIONS = """
driver = Git(Path(sys.argv[1]))
for ask in (driver.is_dirty, lambda: driver.massage_parameter("main"), lambda: list(driver.walk_major_versions())):
    try:
        ask()
    except PerfError as error:
        print(type(error).__name__, error, error.hint, sep="|")
"""


@pytest.mark.parametrize("refresh", ["", "quiet"])
def test_where_git_is_not_installed_it_is_said(script: GitScript, python: Python, tmp_path: Path, refresh: str) -> None:
    (id,) = script.grow(1)
    env = {**os.environ, "PATH": str(tmp_path)} | ({"GIT_PYTHON_REFRESH": refresh} if refresh else {})
    done = python(QUESTIONS + "print(driver.get_minor_head())", script.root, env=env)
    *told, head = done.stdout.splitlines()
    assert head == id, done
    assert len(told) == 3
    for line in told:
        assert line.startswith("PluginError|vcs git: the program git is not installed, or not on the PATH|install git")


def fake_git(folder: Path, script: str) -> dict[str, str]:
    """An environment where git is a script of ours."""
    (folder / "bin").mkdir()
    (folder / "bin/git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin/git").chmod(0o755)
    return {**os.environ, "PATH": str(folder / "bin")}


@posix
def test_a_git_that_cannot_be_started_is_not_to_be_installed(script: GitScript, python: Python, tmp_path: Path) -> None:
    """Another one would not start either where, say, the limit of processes is reached."""
    script.grow(1)
    env = fake_git(tmp_path, "")
    (tmp_path / "bin/git").write_bytes(b"\x7fELF of another machine")
    done = python(QUESTIONS, script.root, env=env)
    assert (
        done.stdout.splitlines()
        == ["PluginError|vcs git: the program git cannot be started: Exec format error|None"] * 3
    )


@posix
def test_a_git_that_is_too_old_is_told(script: GitScript, python: Python, tmp_path: Path) -> None:
    script.grow(1)
    old = 'case "$*" in *version) echo git version 1.8.3.1;; *) echo "error: unknown option" >&2; exit 129;; esac'
    done = python(QUESTIONS, script.root, env=fake_git(tmp_path, old))
    assert (
        done.stdout.splitlines()
        == [
            "PluginError|vcs git: git 1.8.3 is too old|install git 2.25 or newer",
        ]
        * 3
    ), done


@posix
def test_a_git_that_cannot_be_run_is_told(script: GitScript, python: Python, tmp_path: Path) -> None:
    script.grow(1)
    env = fake_git(tmp_path, "")
    (tmp_path / "bin/git").write_bytes(b"\x7fELF rubbish")
    done = python(QUESTIONS, script.root, env=env)
    assert len(done.stdout.splitlines()) == 3, done
    assert done.stderr == ""


@posix
def test_a_git_that_crashes_is_told(script: GitScript, python: Python, tmp_path: Path) -> None:
    script.grow(1)
    crash = 'case "$*" in version) echo git version 2.40.0;; *) kill -SEGV $$;; esac'
    done = python(QUESTIONS, script.root, env=fake_git(tmp_path, crash))
    assert len(done.stdout.splitlines()) == 3, done
    assert all("exit code" in line for line in done.stdout.splitlines()), done


def test_errors_are_ours(driver: Git, script: GitScript, tmp_path: Path) -> None:
    """Paths that cannot be are no reason for a traceback."""
    (id,) = script.grow(1)
    (tmp_path / "file").write_bytes(b"")
    questions: tuple[Callable[[], object], ...] = (
        lambda: driver.export(id, tmp_path / "file"),
        lambda: driver.export(id, tmp_path / "file" / "below"),
        lambda: driver.worktree(id, tmp_path / "file" / "below"),
        lambda: driver.worktree(id, tmp_path / ("x" * 300)),
        lambda: Git(tmp_path / "file" / "below").init(),
    )
    for ask in questions:
        with pytest.raises(PerfError):
            ask()
