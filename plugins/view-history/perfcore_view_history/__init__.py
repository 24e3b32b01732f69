"""The view `history` of perfcore: a metric or a function over the versions of a branch, drawn or as CSV."""

from perfcore_view_history.view import HistorySettings, HistoryView

__all__ = ["HistorySettings", "HistoryView"]
