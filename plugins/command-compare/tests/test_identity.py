"""Identity of states: equal trees of a version control system, or equal declared inputs of built trees."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_command_compare.identity import inputs_hash, is_identical, same_tree, state_key
from perfcore_testing.project import Project

from perfcore.errors import UsageError
from perfcore.repository.repository import Repository


def tree(folder: Path, **files: str) -> Path:
    """A tree with these files; `__` in a name is a slash."""
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    files = {"prog": "code", "data__one": "1", "data__deep__two": "2", "README": "words"}
    return tree(tmp_path / "a", **files), tree(tmp_path / "b", **files)


@pytest.mark.parametrize("patterns", [("prog",), ("prog", "data/**"), ("prog", "data"), ("*",), ("**/*",)])
def test_equal_inputs_hash_alike_in_any_tree(trees: tuple[Path, Path], patterns: tuple[str, ...]) -> None:
    first, second = trees
    assert inputs_hash(first, patterns) == inputs_hash(second, patterns) is not None


@pytest.mark.parametrize(
    ("patterns", "file", "same"),
    [
        (("prog",), "prog", False),
        (("prog",), "README", True),
        (("prog",), "data/one", True),
        (("prog", "data/*"), "data/one", False),
        (("prog", "data"), "data/deep/two", False),
        (("data/**/*",), "data/deep/two", False),
        (("data/o*",), "data/deep/two", True),
    ],
)
def test_only_declared_inputs_count(trees: tuple[Path, Path], patterns: tuple[str, ...], file: str, same: bool) -> None:
    first, second = trees
    (second / file).write_text("changed")
    assert (inputs_hash(first, patterns) == inputs_hash(second, patterns)) is same


def test_names_modes_and_links_of_inputs_count(trees: tuple[Path, Path]) -> None:
    first, second = trees
    (second / "data" / "one").rename(second / "data" / "three")
    assert inputs_hash(first, ["data"]) != inputs_hash(second, ["data"])
    (second / "prog").chmod(0o755)
    assert inputs_hash(first, ["prog"]) != inputs_hash(second, ["prog"])
    for root, target in ((first, "README"), (second, "prog")):
        (root / "link").symlink_to(target)
    assert inputs_hash(first, ["link"]) != inputs_hash(second, ["link"])


def test_without_inputs_or_with_a_missing_one_nothing_is_known(trees: tuple[Path, Path]) -> None:
    first, second = trees
    assert inputs_hash(first, []) is None
    assert inputs_hash(first, ["prog", "no-such-file"]) is None
    assert not is_identical(None, ("1", first), ("2", second), [])
    assert not is_identical(None, ("1", first), ("2", second), ["no-such-file"])
    assert is_identical(None, ("1", first), ("2", second), ["prog"])
    size = (first / "prog").stat().st_size
    assert is_identical(None, ("1", first), ("2", second), ["prog"], size)
    assert not is_identical(None, ("1", first), ("2", second), ["prog"], size - 1), "too much to read"


def test_one_working_tree_is_the_same_as_itself(trees: tuple[Path, Path]) -> None:
    first, second = trees
    assert is_identical(None, (None, first), (None, first), [])
    assert not is_identical(None, (None, first), (None, second), [])


@pytest.mark.parametrize("pattern", ["/etc/passwd", "../b/prog", "data/../../b", ""])
def test_inputs_are_files_of_the_tree(trees: tuple[Path, Path], pattern: str) -> None:
    with pytest.raises(UsageError, match="inputs"):
        inputs_hash(trees[0], [pattern])


def test_versions_with_equal_trees_are_one_state(project: Project, trees: tuple[Path, Path]) -> None:
    vcs = Repository.open(project.path).vcs
    first, second = project.commit("One", a="1"), project.commit("Two", a="2")
    third = project.commit("One again", a="1")
    assert same_tree(vcs, first, third)
    assert not same_tree(vcs, first, second)
    assert is_identical(vcs, (first, trees[0]), (third, trees[1]), [])
    assert not is_identical(vcs, (first, trees[0]), (second, trees[1]), [])
    (trees[1] / "prog").write_text("changed")
    assert not is_identical(vcs, (first, trees[0]), (second, trees[1]), ["prog"])
    assert is_identical(vcs, (first, trees[0]), (second, trees[1]), ["README"])


def test_keys_are_equal_for_versions_of_one_state(project: Project, trees: tuple[Path, Path]) -> None:
    vcs = Repository.open(project.path).vcs
    first, second = project.commit("One", a="1"), project.commit("Two", a="2")
    third = project.commit("One again", a="1")
    keys: dict[str, str] = {}
    for version in (first, second, third):
        keys[version] = state_key(vcs, version, trees[0], [], keys)
    assert keys[first] == keys[third] != keys[second]
    declared: dict[str, str] = {}
    for version in (first, second):
        declared[version] = state_key(vcs, version, trees[0], ["prog"], declared)
    assert declared[first] == declared[second]
