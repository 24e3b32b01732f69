"""The view `bars` of perfcore: amounts of benchmarks, or of rows by a column, as bars."""

from perfcore_view_bars.view import BarsSettings, BarsView

__all__ = ["BarsSettings", "BarsView"]
