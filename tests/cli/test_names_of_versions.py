"""The name of a version where one of a profile is asked for."""

from __future__ import annotations

import pytest
from perfcore_testing.project import Project

PLACES = [("rm",), ("postprocess", "filter"), ("diff",), ("show", "table")]


@pytest.fixture
def measured(project: Project) -> Project:
    """Two profiles of the second version of three."""
    project.commit("Second")
    for command in ("true", "false"):
        words = ("collect", "time", "--version", "HEAD", "--add", "--repeat", "2", "--warmup", "0")
        project.perf(*words, "--on-failure", "ignore", "--", command)
    project.commit("Third")
    return project


def test_show_of_a_version_is_a_line_for_each_of_its_profiles(measured: Project) -> None:
    lines = measured.perf("show", "HEAD~1").lines
    assert [line.split()[0].partition(":")[2] for line in lines] == ["0@i", "1@i"]
    assert [line.split()[-1] for line in lines] == ["true", "false"]
    assert measured.perf("show", "HEAD~1", "--one-line").lines == lines


def test_show_of_a_version_in_a_view_draws_all_of_them(measured: Project) -> None:
    assert "0@i" in (done := measured.perf("show", "HEAD~1", "table", "--columns", "cpu")).out
    assert "1@i" in done.out


def test_options_of_show_may_follow_the_profile(measured: Project) -> None:
    assert (
        measured.perf("show", "HEAD~1:0@i", "--one-line").out == measured.perf("show", "--one-line", "HEAD~1:0@i").out
    )
    assert len(measured.perf("show", "HEAD~1:0@i", "--one-line").lines) == 1


@pytest.mark.parametrize("words", PLACES[:-1], ids=" ".join)
def test_a_version_in_place_of_a_profile_is_told_with_its_profiles(measured: Project, words: tuple[str, ...]) -> None:
    done = measured.perf(*words, "HEAD~1", code=3)
    assert "'HEAD~1' is a version, not a profile" in done.err
    assert "its profiles are HEAD~1:0@i-1@i" in done.err
    assert len(measured.perf("show", "HEAD~1:0@i-1@i", "--one-line").lines) == 2


@pytest.mark.parametrize("words", PLACES, ids=" ".join)
def test_a_version_without_profiles_says_that(measured: Project, words: tuple[str, ...]) -> None:
    done = measured.perf(*words, "HEAD", code=3)
    assert "'HEAD' is a version, not a profile" in done.err
    assert "no profile is registered for it" in done.err


@pytest.mark.parametrize("words", [*PLACES, ("check", "HEAD"), ("compare", "HEAD")], ids=" ".join)
@pytest.mark.parametrize("name", ["HEAD~1", "v1.0"])
def test_a_shallow_clone_says_that_it_is_one(measured: Project, words: tuple[str, ...], name: str) -> None:
    measured.git("clone", "--quiet", "--depth", "1", measured.path.as_uri(), str(measured.home / "clone"))
    clone = Project(measured.home / "clone", measured.home)
    clone.perf("init")
    done = clone.perf(*words, name, code=3)
    assert "this clone is shallow" in done.err
    assert "git fetch --unshallow" in done.err
