"""The view `histogram` of perfcore: the runs of profiles or versions beside each other."""

from perfcore_view_histogram.view import HistogramSettings, HistogramView

__all__ = ["HistogramSettings", "HistogramView"]
