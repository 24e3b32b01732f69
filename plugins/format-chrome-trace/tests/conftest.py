from perfcore_testing.project import empty_project, project

__all__ = ["empty_project", "project"]
