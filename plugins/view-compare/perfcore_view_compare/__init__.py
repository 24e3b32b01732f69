"""The view `compare` of perfcore: all comparisons of two versions, ranked, with their intervals."""

from perfcore_view_compare.view import CompareSettings, CompareView

__all__ = ["CompareSettings", "CompareView"]
