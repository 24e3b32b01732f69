"""The contract of views."""

from __future__ import annotations

from perfcore_view_annotate.contract import AnnotateContract


class TestAnnotate(AnnotateContract):
    """As users ask for it."""
