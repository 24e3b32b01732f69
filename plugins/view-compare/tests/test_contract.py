"""The contract of views, for every form."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract
from perfcore_view_compare import CompareSettings, CompareView
from perfcore_view_compare.contract import CompareContract


class TestText(CompareContract):
    """As it is without options."""


class TestAscii(CompareContract):
    @pytest.fixture
    def driver(self) -> CompareView:
        return CompareView(CompareSettings(ascii=True))


class TestPages(ViewContract):
    html = True
    columns = None

    @pytest.fixture(params=["html", "svg"])
    def driver(self, request: pytest.FixtureRequest) -> CompareView:
        return CompareView(CompareSettings(format=request.param))
