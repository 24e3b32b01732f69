"""How the laws of the kind view are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract

from perfcore_view_heatmap.view import HeatmapView


class HeatmapContract(ViewContract):
    """The text for terminals, which is the form without options."""

    fitted = True

    @pytest.fixture
    def driver(self) -> HeatmapView:
        return HeatmapView()
