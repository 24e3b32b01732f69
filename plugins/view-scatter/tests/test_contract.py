"""The contract of views, for every form."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract
from perfcore_view_scatter import ScatterSettings, ScatterView
from perfcore_view_scatter.contract import ScatterContract


class TestText(ScatterContract):
    """As it is without options."""


class TestAscii(ScatterContract):
    @pytest.fixture
    def driver(self) -> ScatterView:
        return ScatterView(ScatterSettings(ascii=True))


class TestPages(ViewContract):
    html = True
    columns = None

    @pytest.fixture(params=["html", "svg"])
    def driver(self, request: pytest.FixtureRequest) -> ScatterView:
        return ScatterView(ScatterSettings(format=request.param))
