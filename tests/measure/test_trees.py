"""Trees of versions, and the folders that one command holds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from perfcore_testing.project import Project

from perfcore.errors import StorageError
from perfcore.measure.trees import Trees
from perfcore.repository import Repository
from perfcore.repository.repository import UserPlaces
from perfcore.repository.scratch import LockedDirs, directory_of, workspace


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


def test_what_a_killed_command_left_is_removed_by_the_next(project: Project, repository: Repository) -> None:
    version = repository.version()
    left = directory_of(repository) / "tree-007"
    project.git("worktree", "add", "--quiet", "--detach", str(left), version)
    (left / "built").write_text("x")
    with Trees(repository):
        assert not left.exists()
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
    with pytest.raises(StorageError, match="cannot use"), LockedDirs(tmp_path / "file" / "below", "plan"):
        raise AssertionError


def test_a_plan_has_a_folder_even_where_there_is_no_place_for_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place in (None, tmp_path / "file" / "below", tmp_path / "place"):
        with workspace(place) as folder:
            folder.mkdir(exist_ok=True)
            (folder / "x").write_text("x")
        assert not folder.exists()
