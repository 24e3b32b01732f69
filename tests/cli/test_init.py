"""`perf init`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from perfcore_testing.distributions import Site

if TYPE_CHECKING:
    from .conftest import Here


def test_it_finds_the_vcs_by_itself(bare: Here) -> None:
    bare.git("init", "--quiet")
    done = bare.perf("init")
    assert "git repository" in done.err
    assert bare.perf("status", "--json").json["vcs"] == "git"


def test_the_next_command_is_one_of_a_collector_that_is_there(bare: Here) -> None:
    bare.git("init", "--quiet")
    without_time = {"PERF_DISABLED_PLUGINS": "time"}
    assert "next: perf collect bench -- COMMAND" in bare.perf("init", env=without_time).err
    bare.git("commit", "--quiet", "--allow-empty", "-m", "First")
    assert "(measure: perf collect bench -- COMMAND)" in bare.perf("status", env=without_time).out
    assert "(measure: perf collect time -- COMMAND)" in bare.perf("status").out
    bare.git("commit", "--quiet", "--allow-empty", "-m", "Second")
    assert "measure once: perf collect bench --add" in bare.perf("check", "--collect", env=without_time, code=3).err
    for words in (("check",), ("check", "all"), ("history",), ("check", "--calibrate")):
        assert "perf collect bench --" in bare.perf(*words, env=without_time, code=3).err, words
    compared = bare.perf("compare", "HEAD~1", "HEAD", env=without_time, code=9)
    assert "perf collect bench --version 'HEAD~1' --version HEAD" in compared.err


def test_it_works_from_a_folder_below_the_root(bare: Here) -> None:
    bare.git("init", "--quiet")
    below = bare.path / "src" / "deep"
    below.mkdir(parents=True)
    bare.perf("init", cwd=below)
    assert (bare.path / ".perf").is_dir()
    assert not (below / ".perf").exists()


def test_the_history_never_counts_as_dirt(bare: Here) -> None:
    bare.git("init", "--quiet")
    bare.perf("init")
    assert bare.git("status", "--porcelain").out == ""


def test_a_vcs_can_be_named(bare: Here) -> None:
    bare.git("init", "--quiet")
    bare.perf("init", "--vcs", "git")
    assert (bare.path / ".perf" / "local.yml").is_file()


def test_an_unknown_vcs_is_an_error_naming_the_nearest(bare: Here) -> None:
    bare.git("init", "--quiet")
    done = bare.perf("init", "--vcs", "gitt", code=5)
    assert "there is no vcs 'gitt'" in done.err
    assert "did you mean 'git'?" in done.err
    assert not (bare.path / ".perf").exists()


def test_it_makes_a_repository_where_it_is_asked_to(bare: Here) -> None:
    bare.perf("init", "--init-vcs")
    assert (bare.path / ".git").is_dir()
    assert bare.perf("status").out.startswith("on ")


def test_without_a_repository_it_says_how_to_make_one(bare: Here) -> None:
    done = bare.perf("init", code=3)
    assert "not in a git" in done.err
    assert "perf init --init-vcs" in done.err
    assert list(bare.path.iterdir()) == []


def test_a_second_init_changes_nothing_and_is_an_error(here: Here) -> None:
    before = here.snapshot()
    done = here.perf("init", code=3)
    assert "is there already" in done.err
    assert "perf status" in done.err
    assert here.snapshot() == before


def test_two_vcs_in_one_place_are_an_error_until_one_is_named(bare: Here, site: Site) -> None:
    site.install("acme-vcs", points={"perfcore.vcs": ["acme = acme_vcs:Vcs"]}, acme_vcs=_complete_vcs())
    bare.git("init", "--quiet")
    done = bare.real.perf("init", env=site.env, code=2)
    assert "acme and of git" in done.err
    assert "--vcs" in done.err
    bare.real.perf("init", "--vcs", "git", env=site.env)


def test_a_file_where_the_history_should_be_is_an_error(bare: Here) -> None:
    bare.git("init", "--quiet")
    bare.write(".perf", "mine")
    done = bare.perf("init", code=3)
    assert "no perfcore repository" in done.err
    assert (bare.path / ".perf").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_an_error(bare: Here) -> None:
    bare.git("init", "--quiet")
    bare.path.chmod(0o500)
    try:
        done = bare.perf("init", code=4)
    finally:
        bare.path.chmod(0o700)
    assert "cannot make" in done.err


def test_a_repository_that_git_refuses_to_read_gets_nothing(bare: Here) -> None:
    bare.git("init", "--quiet")
    done = bare.perf("init", code=3, env={"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    assert "it belongs to another user" in done.err
    assert not done.out
    assert not (bare.path / ".perf").exists()
    bare.perf("init")


def test_outside_of_a_repository_every_verb_says_so(bare: Here) -> None:
    for words in (("status",), ("log",), ("add", "0@p"), ("rm", "0@p"), ("check",), ("gc",), ("fsck",), ("tag",)):
        done = bare.perf(*words, code=3)
        assert "is not inside a perfcore repository" in done.err
        assert "perf init" in done.err


def _complete_vcs() -> str:
    """A driver that finds itself everywhere."""
    from perfcore.hookspecs import KINDS

    kind = KINDS["vcs"]
    import inspect

    lines = ["class Vcs:", "    def __init__(self, place): pass"]
    for method in kind.required:
        if method == "detect":
            lines += ["    @staticmethod", "    def detect(path): return path"]
            continue
        names = ", ".join(inspect.signature(getattr(kind.protocol, method)).parameters)
        lines.append(f"    def {method}({names}): raise NotImplementedError")
    return "\n".join(lines) + "\n"


def test_options_of_the_vcs_make_its_repository(bare: Here) -> None:
    folder = bare.path / "new"
    folder.mkdir()
    bare.perf("init", "--init-vcs", "--init-vcs-params", "initial_branch=trunk", cwd=folder)
    assert (folder / ".git" / "HEAD").read_text() == "ref: refs/heads/trunk\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--init-vcs", "--init-vcs-params", "initial_branch"), "--init-vcs-params wants KEY=VALUE"),
        (("--init-vcs", "--init-vcs-params", "initial_brunch=x"), "initial_branch"),
        (("--init-vcs-params", "initial_branch=x"), "--init-vcs-params wants --init-vcs"),
    ],
)
def test_wrong_options_of_the_vcs_make_nothing(bare: Here, words: tuple[str, ...], complaint: str) -> None:
    folder = bare.path / "new"
    folder.mkdir()
    assert complaint in bare.perf("init", *words, cwd=folder, code=2).err
    assert list(folder.iterdir()) == []
