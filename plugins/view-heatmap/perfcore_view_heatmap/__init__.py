"""The view `heatmap` of perfcore: benchmarks or functions over versions, coloured by their change."""

from perfcore_view_heatmap.view import HeatmapSettings, HeatmapView

__all__ = ["HeatmapSettings", "HeatmapView"]
