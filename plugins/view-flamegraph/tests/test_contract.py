"""The contract of views, for the page and the SVG."""

from __future__ import annotations

import pytest
from perfcore_view_flamegraph import FlamegraphSettings, FlamegraphView
from perfcore_view_flamegraph.contract import FlamegraphContract


class TestFlamegraph(FlamegraphContract):
    """As users ask for it."""


class TestCulledPage(FlamegraphContract):
    @pytest.fixture
    def driver(self) -> FlamegraphView:
        return FlamegraphView(FlamegraphSettings(min_share=5, lines=True, inverted=True))


class TestInvertedSvg(FlamegraphContract):
    @pytest.fixture
    def driver(self) -> FlamegraphView:
        return FlamegraphView(FlamegraphSettings(format="svg", inverted=True, flame=True, order="name"))
