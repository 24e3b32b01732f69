"""Versions that are not there: before the server starts, and while it runs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from perfcore_testing.measured import measure
from perfcore_testing.processes import PATIENCE
from perfcore_testing.project import Project, new_repository

from .conftest import running


@pytest.fixture
def repository(tmp_path: Path) -> Project:
    """One without a commit."""
    return new_repository(tmp_path)


@pytest.mark.parametrize("options", [(), ("--check",)])
def test_a_repository_without_a_commit_is_not_served(repository: Project, options: tuple[str, ...]) -> None:
    done = repository.perf("serve", "--port", "0", *options, code=3, timeout=30)
    assert done.out == ""
    assert "there is no commit yet\n  hint: commit something first" in done.err


def test_a_version_that_is_not_there_is_not_served(repository: Project) -> None:
    repository.commit("one")
    done = repository.perf("serve", "--port", "0", "--version", "v9", code=3, timeout=30)
    assert done.out == ""
    assert "v9" in done.err


def test_a_page_says_what_to_do_on_a_branch_without_a_commit(repository: Project) -> None:
    measure(repository, {"./a": lambda at: 5_000_000}, 1)
    with running(repository) as server:
        cookie, end = server.cookie(), time.monotonic() + PATIENCE
        repository.git("checkout", "--quiet", "--orphan", "other")
        while (answer := server.ask("/", cookie=cookie)).status == 200 and time.monotonic() < end:
            time.sleep(0.1)
    assert (answer.status, answer.text) == (404, "there is no commit yet. commit something first.\n")
