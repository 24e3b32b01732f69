"""The contract of views, for every form of a history."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract
from perfcore_view_history import HistorySettings, HistoryView
from perfcore_view_history.contract import HistoryContract


class TestDrawing(HistoryContract):
    """As it is without options."""


class TestAscii(ViewContract):
    @pytest.fixture
    def driver(self) -> HistoryView:
        return HistoryView(HistorySettings(ascii=True))


class TestCsv(ViewContract):
    @pytest.fixture
    def driver(self) -> HistoryView:
        return HistoryView(HistorySettings(csv=True))


class TestPage(ViewContract):
    html = True
    columns = None

    @pytest.fixture
    def driver(self) -> HistoryView:
        return HistoryView(HistorySettings(format="html"))


class TestPicture(ViewContract):
    html = True
    columns = None

    @pytest.fixture
    def driver(self) -> HistoryView:
        return HistoryView(HistorySettings(format="svg"))
