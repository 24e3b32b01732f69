"""git as a version control system of perfcore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfcore_vcs_git.driver import Git

if TYPE_CHECKING:
    from perfcore_vcs_git.settings import GitSettings

__all__ = ["Git", "GitSettings"]

if not TYPE_CHECKING:  # the options are imported where one is set

    def __getattr__(name: str) -> Any:
        if name != "GitSettings":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from perfcore_vcs_git.settings import GitSettings

        return GitSettings
