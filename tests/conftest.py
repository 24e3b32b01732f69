"""Fixtures of the whole suite: those that plugin authors get too."""

from hypothesis import settings
from perfcore_testing.distributions import site
from perfcore_testing.project import empty_project, project

__all__ = ["empty_project", "project", "site"]

# A busy machine is no failure.
settings.register_profile("perfcore", deadline=None)
settings.load_profile("perfcore")
