from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from perfcore_storage_git import GitStorage, GitStorageSettings
from perfcore_testing.project import empty_project, project

__all__ = ["empty_project", "project"]


def bare(path: Path, *options: str) -> Path:
    """A repository that others push to."""
    subprocess.run(["git", "init", "--quiet", "--bare", *options, str(path)], check=True)
    return path


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    return bare(tmp_path / "origin.git")


@pytest.fixture
def storage(origin: Path, tmp_path: Path) -> GitStorage:
    return GitStorage(tmp_path / "place", GitStorageSettings(url=str(origin)))
