"""The contract of views, for every form."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract
from perfcore_view_heatmap import HeatmapSettings, HeatmapView
from perfcore_view_heatmap.contract import HeatmapContract


class TestText(HeatmapContract):
    """As it is without options."""


class TestMedian(HeatmapContract):
    @pytest.fixture
    def driver(self) -> HeatmapView:
        return HeatmapView(HeatmapSettings(baseline="median"))


class TestPages(ViewContract):
    html = True
    columns = None

    @pytest.fixture(params=["html", "svg"])
    def driver(self, request: pytest.FixtureRequest) -> HeatmapView:
        return HeatmapView(HeatmapSettings(format=request.param))
