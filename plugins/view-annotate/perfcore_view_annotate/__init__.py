"""The view `annotate` of perfcore: sources with the cost of every line."""

from perfcore_view_annotate.view import AnnotateSettings, AnnotateView

__all__ = ["AnnotateSettings", "AnnotateView"]
