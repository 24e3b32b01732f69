"""The contract of views, for every form of the table."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract
from perfcore_view_table import TableSettings, TableView
from perfcore_view_table.contract import TableContract


class TestTerminal(TableContract):
    """As it is without options."""


class TestRawTerminal(ViewContract):
    fitted = True

    @pytest.fixture
    def driver(self) -> TableView:
        return TableView(TableSettings(raw=True, tail=3))


class TestMarkdown(ViewContract):
    html = True

    @pytest.fixture
    def driver(self) -> TableView:
        return TableView(TableSettings(format="markdown"))


class TestJson(ViewContract):
    @pytest.fixture
    def driver(self) -> TableView:
        return TableView(TableSettings(format="json"))


class TestCsv(ViewContract):
    exact = True

    @pytest.fixture
    def driver(self) -> TableView:
        return TableView(TableSettings(format="csv"))
