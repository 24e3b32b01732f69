"""The contract of views, for the page and the SVG."""

from __future__ import annotations

import pytest
from perfcore_view_flamegraph import FlamegraphSettings, FlamegraphView

from perfcore.testing.view import ViewContract


class TestPage(ViewContract):
    html = True
    columns = None

    @pytest.fixture
    def driver(self) -> FlamegraphView:
        return FlamegraphView()


class TestCulledPage(ViewContract):
    html = True
    columns = None

    @pytest.fixture
    def driver(self) -> FlamegraphView:
        return FlamegraphView(FlamegraphSettings(min_share=5, lines=True, inverted=True))


class TestSvg(ViewContract):
    html = True
    columns = None

    @pytest.fixture
    def driver(self) -> FlamegraphView:
        return FlamegraphView(FlamegraphSettings(format="svg"))


class TestInvertedSvg(ViewContract):
    html = True
    columns = None

    @pytest.fixture
    def driver(self) -> FlamegraphView:
        return FlamegraphView(FlamegraphSettings(format="svg", inverted=True, flame=True, order="name"))
