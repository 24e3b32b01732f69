"""A site of a repository with a history."""

from __future__ import annotations

import pytest
from perfcore_site_kit.site import Site
from perfcore_testing import measured as histories
from perfcore_testing.pages import axe, browser, window
from perfcore_testing.project import Project, empty_project, project

from perfcore.library import open_repository

__all__ = ["axe", "browser", "empty_project", "measured", "project", "site", "window"]


@pytest.fixture
def measured(project: Project) -> Project:
    """`./slow` takes twice as long from the eighth version on; a release is before."""
    histories.slow_and_steady(project)
    return project


@pytest.fixture
def site(measured: Project) -> Site:
    return Site(open_repository(measured.path).repository)
