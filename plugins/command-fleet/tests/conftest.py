from perfcore_testing.pages import axe, browser, window
from perfcore_testing.project import empty_project, project

__all__ = ["axe", "browser", "empty_project", "project", "window"]
