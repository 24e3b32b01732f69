"""The contract of views, for every form."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract
from perfcore_view_bars import BarsSettings, BarsView
from perfcore_view_bars.contract import BarsContract


class TestText(BarsContract):
    """As it is without options."""


class TestAscii(BarsContract):
    @pytest.fixture
    def driver(self) -> BarsView:
        return BarsView(BarsSettings(ascii=True))


class TestPages(ViewContract):
    html = True
    columns = None

    @pytest.fixture(params=["html", "svg"])
    def driver(self, request: pytest.FixtureRequest) -> BarsView:
        return BarsView(BarsSettings(format=request.param))
