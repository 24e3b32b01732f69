"""A store in a git repository, under a ref of its own: on GitHub, GitLab, a server, or in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore_storage_git.settings import GitStorageSettings

if TYPE_CHECKING:
    from perfcore_storage_git.driver import GitStorage

__all__ = ["GitStorage", "GitStorageSettings"]


def __getattr__(name: str) -> object:
    """The driver, whose modules are not needed by those who only list plugins."""
    if name == "GitStorage":
        from perfcore_storage_git.driver import GitStorage

        return GitStorage
    raise AttributeError(name)
