"""The contract of views, for every form."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract
from perfcore_view_histogram import HistogramSettings, HistogramView
from perfcore_view_histogram.contract import HistogramContract


class TestText(HistogramContract):
    """As it is without options."""


class TestAscii(HistogramContract):
    @pytest.fixture
    def driver(self) -> HistogramView:
        return HistogramView(HistogramSettings(ascii=True))


class TestPages(ViewContract):
    html = True
    columns = None

    @pytest.fixture(params=["html", "svg"])
    def driver(self, request: pytest.FixtureRequest) -> HistogramView:
        return HistogramView(HistogramSettings(format=request.param))
