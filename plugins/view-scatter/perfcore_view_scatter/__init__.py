"""The view `scatter` of perfcore: an amount over an input parameter, with intervals and a fit."""

from perfcore_view_scatter.view import ScatterSettings, ScatterView

__all__ = ["ScatterSettings", "ScatterView"]
