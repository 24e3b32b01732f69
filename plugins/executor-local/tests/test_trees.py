"""Trees of versions, and the folders that one command holds."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from perfcore_executor_local.trees import Trees
from perfcore_testing.project import Project

from perfcore.errors import StorageError
from perfcore.repository import Repository
from perfcore.repository.repository import UserPlaces
from perfcore.repository.scratch import LockedDirs, workspace


@pytest.fixture
def repository(project: Project) -> Repository:
    places = UserPlaces(project.home / "config.yml", project.home / "trusted", project.home / "trees")
    return Repository.open(project.path, places=places)


def test_a_tree_is_the_version_alone_and_goes_afterwards(project: Project, repository: Repository) -> None:
    first = repository.version()
    project.commit("Second", README="changed\n", more="x")
    project.write("untracked", "x")
    with Trees(repository) as trees:
        tree = trees.get(first)
        assert (tree / "README").read_text() == "hello\n"
        assert not (tree / "more").exists()
        assert not (tree / "untracked").exists()
    assert not tree.exists()
    assert project.git("worktree", "list").out.count("\n") == 1


def test_all_trees_have_paths_of_one_length_outside_of_the_user_s(project: Project, repository: Repository) -> None:
    version = repository.version()
    with Trees(repository) as trees:
        made = [trees.get(version) for _ in range(3)]
        assert len({len(str(path)) for path in made}) == 1
        assert len(set(made)) == 3
        assert not any(path.is_relative_to(project.path) for path in made)


def test_the_same_command_is_given_the_same_paths(repository: Repository) -> None:
    version = repository.version()
    paths = []
    for _ in range(2):
        with Trees(repository) as trees:
            paths.append([trees.get(version), trees.get(version)])
    assert paths[0] == paths[1]


def test_an_interrupted_removal_goes_on(tmp_path: Path) -> None:
    """An interruption comes once, and often then: an answer was the last that its reader wanted."""
    began: list[Path] = []

    def interrupted(path: Path) -> None:
        began.append(path)
        if len(began) == 2:
            raise KeyboardInterrupt

    made = []
    with contextlib.suppress(KeyboardInterrupt), LockedDirs(tmp_path, "tree", interrupted) as folders:
        for _ in range(3):
            made.append(folders.acquire())
            (made[-1] / "file").mkdir(parents=True)
    del folders
    assert began == [made[2], made[1], made[1], made[0]]
    assert not any(path.exists() for path in made)


def test_what_a_killed_command_left_is_removed_by_the_next(project: Project, repository: Repository) -> None:
    version = repository.version()
    left = repository.scratch / "tree-007"
    project.git("worktree", "add", "--quiet", "--detach", str(left), version)
    (left / "built").write_text("x")
    with Trees(repository):
        assert not left.exists()
    assert project.git("worktree", "list").out.count("\n") == 1


def _half_made(project: Project, repository: Repository, stage: str) -> Path:
    """What `git worktree add` leaves when it is killed in one of its stages."""
    tree = repository.scratch / "tree-007"
    project.git("worktree", "add", "--quiet", "--detach", str(tree), repository.version())
    entry = project.path / ".git" / "worktrees" / "tree-007"
    (entry / "locked").write_text("initializing")
    tree.with_name("tree-007.lock").touch()
    if stage != "filling":
        shutil.rmtree(tree)
    if stage == "locked":
        (entry / "gitdir").unlink()
    return entry


@pytest.mark.parametrize("stage", ["filling", "linked", "locked"])
def test_a_tree_that_git_was_killed_over_is_removed(project: Project, repository: Repository, stage: str) -> None:
    entry = _half_made(project, repository, stage)
    with Trees(repository):
        assert not entry.exists()
    assert project.git("worktree", "list").out.count("\n") == 1


def test_a_tree_that_git_makes_for_the_user_stays(project: Project, repository: Repository) -> None:
    mine = project.path.parent / "mine"
    project.git("worktree", "add", "--quiet", "--detach", str(mine), repository.version())
    (project.path / ".git" / "worktrees" / "mine" / "locked").write_text("initializing")
    _half_made(project, repository, "locked")
    with Trees(repository):
        assert (project.path / ".git" / "worktrees" / "mine").exists()
    assert mine.exists()


@pytest.mark.parametrize("words", [("status",), ("log",), ("add", "--all")])
def test_any_command_removes_what_a_killed_one_left(project: Project, words: tuple[str, ...]) -> None:
    first = subprocess.Popen(
        [sys.executable, "-m", "perfcore", "collect", "time", "-v", "HEAD", "--repeat", "1", "--", "sleep", "20"],
        cwd=project.path,
        env=project.env,
        stderr=subprocess.DEVNULL,
    )
    left: list[Path] = []
    while not left and first.poll() is None:
        left = list(project.home.rglob("tree-[0-9][0-9][0-9]"))
    first.kill()
    first.wait()
    assert left[0].exists()
    project.perf(*words)
    assert not left[0].exists()
    assert project.git("worktree", "list").out.count("\n") == 1


def test_what_another_command_holds_stays(tmp_path: Path) -> None:
    with LockedDirs(tmp_path, "plan") as one:
        held = one.acquire()
        held.mkdir()
        with LockedDirs(tmp_path, "plan") as other:
            assert held.exists()
            assert other.acquire() != held
    assert not held.exists()


def test_a_tree_that_was_removed_by_hand_is_no_failure(repository: Repository) -> None:
    with Trees(repository) as trees:
        shutil.rmtree(trees.get(repository.version()))
    with Trees(repository) as trees:
        assert trees.get(repository.version()).is_dir()


def test_a_place_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot use") as raised, LockedDirs(tmp_path / "file" / "below", "plan"):
        raise AssertionError
    assert raised.value.hint == "XDG_CACHE_HOME names it"


def test_a_plan_has_a_folder_even_where_there_is_no_place_for_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place in (None, tmp_path / "file" / "below", tmp_path / "place"):
        with workspace(place) as folder:
            folder.mkdir(exist_ok=True)
            (folder / "x").write_text("x")
        assert not folder.exists()
