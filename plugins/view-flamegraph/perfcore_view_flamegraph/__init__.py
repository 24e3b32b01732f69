"""The view `flamegraph` of perfcore: call stacks as one offline page, or as an SVG for documents."""

from perfcore_view_flamegraph.view import FlamegraphSettings, FlamegraphView

__all__ = ["FlamegraphSettings", "FlamegraphView"]
