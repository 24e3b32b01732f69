"""git as a version control system of perfcore."""

from __future__ import annotations

from perfcore_vcs_git.driver import Git, GitSettings

__all__ = ["Git", "GitSettings"]
