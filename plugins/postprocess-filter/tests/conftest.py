"""A repository to work in."""

from hypothesis import settings
from perfcore_testing.project import empty_project, project

__all__ = ["empty_project", "project"]

# A busy machine is no failure.
settings.register_profile("perfcore", deadline=None)
settings.load_profile("perfcore")
