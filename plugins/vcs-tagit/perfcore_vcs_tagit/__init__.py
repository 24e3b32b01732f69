"""tagit, a light version control system, as one of perfcore's."""

from __future__ import annotations

from perfcore_vcs_tagit.driver import Tagit

__all__ = ["Tagit"]
