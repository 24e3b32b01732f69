"""`perf import` of files of other harnesses in a repository."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from perfcore_testing.project import Project

from .suites import SAMPLES

COMMIT = "62ae80b79a76d71150bd4bc0d066aa6d86870685"


def copy(project: Project, name: str, old: str = "", new: str = "") -> str:
    text = (SAMPLES / name).read_text()
    assert old in text
    project.write(Path(name).name, text.replace(old, new))
    return Path(name).name


def test_a_file_is_recognised_and_registered_for_the_version_that_is_checked_out(project: Project) -> None:
    for name in ("gobench/out.txt", "googlebenchmark/single.json", "hyperfine/param.json", "catch2/out.xml"):
        done = project.perf("import", "--add", copy(project, name))
        assert "registered for" in done.out
    log = project.perf("log").out
    assert [word for word in ("gobench", "googlebenchmark b", "hyperfine", "catch2") if word not in log] == []


@pytest.mark.parametrize("name", ["hyperfine/param.json", "gobench/out.txt"])
def test_a_copy_of_a_file_without_a_date_adds_no_runs(project: Project, name: str) -> None:
    words = ("import", "--add", "--version", "HEAD", name.partition("/")[0], copy(project, name))
    path = project.path / words[-1]
    for seconds in (1_700_000_000, 1_700_086_400):
        os.utime(path, (seconds, seconds))
        project.perf(*words)
    assert project.perf("log", "--count-only").out.startswith("1 version, 1 measured, 1 profile")
    project.perf(*words, "--suite", "other")
    path.write_text(path.read_text().replace("3", "4"))
    project.perf(*words)
    assert project.perf("log", "--count-only").out.startswith("1 version, 1 measured, 3 profiles")


def test_the_commit_of_the_file_is_the_version(project: Project) -> None:
    head = project.git("rev-parse", "HEAD").out.strip()
    project.commit("More", **{"more.txt": "more"})
    name = copy(project, "pytest-benchmark/single.json", COMMIT, head)
    assert f"registered for {head[:10]}" in project.perf("import", "--add", "pytest-benchmark", name).out
    shown = project.perf("show", f"{head}:0@i", "table", "--table", "benchmarks").out
    assert "test_b.py::test_assert_after" in shown


def test_an_option_outweighs_the_commit_of_the_file(project: Project) -> None:
    name = copy(project, "pytest-benchmark/single.json")
    done = project.perf("import", "--add", "pytest-benchmark", name, code=None)
    assert done.code != 0
    assert "is not in this repository" in done.err
    head = project.git("rev-parse", "HEAD").out.strip()
    assert f"registered for {head[:10]}" in project.perf("import", "--add", "-v", "HEAD", name).out


def test_uncommitted_changes_are_filed_under_no_commit(project: Project) -> None:
    (path,) = (SAMPLES / "pytest-benchmark").rglob("0003*")
    project.write("dirty.json", path.read_text())
    done = project.perf("import", "--add", "pytest-benchmark", "dirty.json", code=None)
    assert done.code != 0
    assert "was measured with uncommitted changes" in done.err
    assert "uncommitted changes" in project.perf("status").out


def test_the_history_of_asv_goes_to_the_commits_that_it_names(project: Project) -> None:
    first = project.git("rev-parse", "HEAD").out.strip()
    second = project.commit("More", **{"more.txt": "more"})
    results = Path(shutil.copytree(SAMPLES / "asv", project.path / "results"))
    shutil.rmtree(results / "box2")
    old = ("2d122e164582ed99834cf34069cbe966b87dbef9", "797e73e020d9f43b9d89cc9e649e2e7a01d5ec45")
    for path in results.glob("box/*wheel.json"):
        path.write_text(path.read_text().replace(old[0], first).replace(old[1], second))
    done = project.perf("import", "--add", "asv", "results", code=None)
    assert done.code == 4
    assert [line.split(" for ")[1][:10] for line in done.lines if "registered" in line] == [first[:10], second[:10]]
    (left_out,) = [line for line in done.err.splitlines() if line.endswith("is not in this repository (left out)")]
    assert "c36e2fedd72195411eee28c9102e8fde0e6468f4" in left_out
    assert left_out.startswith("warning: box/c36e2fed"), "the file is named"
    assert "asv" in project.perf("log").out


@pytest.mark.parametrize("suite", ["nightly", "it's; $(rm) \x1b[2J"])
def test_a_suite_has_a_name_of_ones_own(project: Project, suite: str) -> None:
    project.perf("import", "--add", "hyperfine", copy(project, "hyperfine/param.json"), "--suite", suite)
    log = project.perf("log").out
    assert suite.split("\x1b")[0] in log
    assert "\x1b[2J" not in log


def test_a_cut_file_is_an_error_with_its_path(project: Project) -> None:
    content = (SAMPLES / "pyperf/mem.json").read_text()
    project.write("cut.json", content[: len(content) // 2])
    done = project.perf("import", "pyperf", "cut.json", code=4)
    assert "cut.json: no whole JSON" in done.err
    assert "Traceback" not in done.err
