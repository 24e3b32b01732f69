"""A repository with a history, which tests publish: two commands over twelve versions, of which one became slower."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from perfcore_testing import measured as measured_project
from perfcore_testing.pages import axe, browser, window
from perfcore_testing.project import Project, empty_project, new_repository, project

__all__ = ["axe", "browser", "empty_project", "measured", "measured_template", "project", "window"]


@pytest.fixture(scope="session")
def measured_template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = new_repository(tmp_path_factory.mktemp("measured"))
    measured_project.slow_and_steady(made)
    return made


@pytest.fixture
def measured(measured_template: Project, tmp_path: Path) -> Project:
    """`./slow` takes twice as long from the eighth version on; `./steady` does not; a release is before."""
    path = Path(shutil.copytree(measured_template.path, tmp_path / "project", symlinks=True))
    return Project(path, measured_template.home)


@pytest.fixture
def files() -> Callable[[Path], dict[str, bytes]]:
    """The files below a folder by their names."""
    return lambda folder: {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
