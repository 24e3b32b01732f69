"""Repositories are found by their files alone, where git itself would find them."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from perfcore_vcs_git import Git

from perfcore.errors import VersionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from perfcore_vcs_git.contract import GitScript

    Python = Callable[..., subprocess.CompletedProcess[str]]


def test_what_every_command_asks_runs_nothing_and_imports_no_gitpython(script: GitScript, python: Python) -> None:
    head = script.grow(2)[-1]
    script.git("pack-refs", "--all")
    done = python(
        """
started = []
sys.addaudithook(lambda event, arguments: started.append(arguments) if event == "subprocess.Popen" else None)
root = Git.detect(Path(sys.argv[1]))
driver = Git(root)
print(driver.home() == root, driver.saved_state(), driver.get_head_major_version().name, driver.get_minor_head())
print(started, "git" in sys.modules)
""",
        script.root,
    )
    assert done.stdout == f"True None main {head}\n[] False\n", done


def test_what_only_reads_imports_no_gitpython(script: GitScript, python: Python) -> None:
    script.grow(2)
    done = python(
        """
driver = Git(Path(sys.argv[1]))
head = driver.massage_parameter("main")
driver.get_minor_version_info(head)
driver.read_file(head, "number")
print(len(list(driver.walk_minor_versions(head))), driver.is_dirty(), "git" in sys.modules)
driver.export(head, Path(sys.argv[2]))
print("git" in sys.modules)
""",
        script.root,
        script.root.parent / "tree",
    )
    assert done.stdout == "2 False False\nTrue\n", done


def test_inside_the_folder_of_administration_is_inside_the_tree(script: GitScript) -> None:
    script.grow(1)
    assert Git.detect(script.root / ".git" / "hooks") == script.root
    assert Git.detect(script.root / ".git") == script.root


def test_a_bare_repository_is_its_own_home(repository: Callable[..., GitScript]) -> None:
    bare = repository("bare.git", "--bare")
    assert Git.detect(bare.root / "refs") == bare.root
    assert Git.detect(bare.root) == bare.root
    assert Git(bare.root).home() == bare.root


def test_a_bare_repository_in_a_folder_called_dot_git(repository: Callable[..., GitScript], tmp_path: Path) -> None:
    bare = repository("project/.git", "--bare")
    assert Git.detect(tmp_path / "project") == bare.root
    assert Git(bare.root).home() == bare.root


@pytest.mark.parametrize("bare", [False, True])
def test_linked_trees_share_the_home(
    script: GitScript, repository: Callable[..., GitScript], tmp_path: Path, bare: bool
) -> None:
    script.version("one", {"folder/file": b"1"})
    if bare:
        script = repository("shared.git", "--bare")
        script.git("fetch", "-q", str(tmp_path / 'it\'s $HOME ~ "žluťoučký" 日本'), "main:main")
    linked = tmp_path / "linked"
    script.git("worktree", "add", "-q", str(linked), "main" if bare else "HEAD~0")
    assert Git.detect(linked / "folder" / "file") == linked
    assert Git(linked).home() == script.root
    (entry,) = (script.root / ("worktrees" if bare else ".git/worktrees")).iterdir()
    assert Git.detect(entry) == linked


def test_a_repository_kept_elsewhere_has_one_home(repository: Callable[..., GitScript], tmp_path: Path) -> None:
    script = repository("project", f"--separate-git-dir={tmp_path / 'kept'}")
    script.grow(1)
    script.git("worktree", "add", "-q", str(tmp_path / "linked"), "HEAD~0")
    assert Git.detect(script.root) == script.root
    assert Git(script.root).home() == Git(tmp_path / "linked").home() == tmp_path / "kept"


def test_a_submodule_is_a_repository_of_its_own(
    script: GitScript, repository: Callable[..., GitScript], tmp_path: Path
) -> None:
    inner = repository("inner")
    inner.version("one", {"deep/file": b"1"})
    script.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "libs/in ner")
    root = script.root / "libs/in ner"
    assert Git.detect(root / "deep") == root
    assert Git(root).home() == root
    assert Git.detect(script.root / ".git/modules/libs/in ner") == root
    subprocess.run(["git", "worktree", "add", "-q", "--detach", tmp_path / "linked"], cwd=root, check=True)
    assert Git(tmp_path / "linked").home() == root


def test_through_a_link_the_real_place_is_found(script: GitScript, tmp_path: Path) -> None:
    script.version("one", {"folder/file": b"1"})
    (tmp_path / "link").symlink_to(script.root / "folder")
    assert Git.detect(tmp_path / "link") == script.root


def test_an_empty_folder_called_dot_git_is_no_repository(script: GitScript) -> None:
    (script.root / "inside" / ".git").mkdir(parents=True)
    assert Git.detect(script.root / "inside") == script.root


def test_a_nested_folder_is_not_taken_for_the_repository_around_it(script: GitScript) -> None:
    script.grow(1)
    (script.root / "folder").mkdir()
    with pytest.raises(VersionError, match="no git repository at"):
        Git(script.root / "folder").get_minor_head()
    Git(script.root / "folder").init()
    assert Git.detect(script.root / "folder") == script.root / "folder"


def test_a_repository_inside_another_is_never_mistaken_for_it(script: GitScript) -> None:
    script.grow(1)
    inner = Git(script.root / "inner")
    inner.init()
    (inner.root / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 999\n")
    with pytest.raises(VersionError, match="repo version"):
        inner.is_dirty()


@pytest.mark.parametrize("content", ["", "gitdir: /not/there\n", "rubbish", "gitdir: \n"])
def test_a_file_dot_git_that_leads_nowhere_is_said_to(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    assert Git.detect(tmp_path) == tmp_path
    for ask in (Git(tmp_path).home, Git(tmp_path).get_minor_head, Git(tmp_path).is_dirty, Git(tmp_path).saved_state):
        with pytest.raises(VersionError) as caught:
            ask()
        assert caught.value.hint


@pytest.mark.parametrize(
    ("config", "bare"),
    [
        ("[core]\n\tbare = true\n", True),
        ("[core]\nbare\n", True),
        ("[CORE] BARE = Yes ; really\n", True),
        ('[core]\n bare = "on" # yes\n', True),
        ("[core]\n\tbare = false\n", False),
        ("[core]\n\tbare =\n", False),
        ('[core "bare"]\n\tbare = true\n', False),
        ("[other]\n\tbare = true\n[core]\n", False),
        ("[core]\n\tbare = true\n\tbare = false\n", False),
        ("[core]\n# bare = true\n", False),
    ],
)
def test_bare_is_read_as_git_reads_it(repository: Callable[..., GitScript], config: str, bare: bool) -> None:
    script = repository("project")
    config += "[core]\n\trepositoryformatversion = 0\n"
    (script.root / ".git" / "config").write_text(config)
    assert (script.git("rev-parse", "--is-bare-repository") == "true") is bare
    assert Git.detect(script.root) == (script.root / ".git" if bare else script.root)


def test_a_tree_apart_from_its_repository_is_the_home(repository: Callable[..., GitScript], tmp_path: Path) -> None:
    script = repository("admin")
    tree = tmp_path / "the \\ tree # 1"
    tree.mkdir()
    script.git("config", "core.worktree", str(tree))
    (tree / ".git").write_text(f"gitdir: {script.root / '.git'}\n")
    assert Git.detect(tree) == tree
    assert Git(tree).home() == tree
    assert Git.detect(script.root / ".git" / "objects") == tree


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can have it otherwise")
def test_a_folder_that_may_not_be_read_is_no_repository(tmp_path: Path, python: Python) -> None:
    (tmp_path / "closed" / ".git").mkdir(parents=True)
    (tmp_path / "closed").chmod(0)
    done = python("os.setuid(65534); print(Git.detect(Path(sys.argv[1])))", tmp_path / "closed" / "deep")
    assert done.stdout == "None\n", done
