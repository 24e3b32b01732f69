"""The contract of views, for every form."""

from __future__ import annotations

import pytest
from perfcore_view_topology import TopologySettings, TopologyView

from perfcore.testing.view import ViewContract


class TestTerminal(ViewContract):
    fitted = True

    @pytest.fixture
    def driver(self) -> TopologyView:
        return TopologyView()


class TestAscii(ViewContract):
    fitted = True

    @pytest.fixture
    def driver(self) -> TopologyView:
        return TopologyView(TopologySettings(ascii=True, metric="ipc", head=3))


class TestPage(ViewContract):
    html = True

    @pytest.fixture
    def driver(self) -> TopologyView:
        return TopologyView(TopologySettings(format="html"))


class TestJson(ViewContract):
    @pytest.fixture
    def driver(self) -> TopologyView:
        return TopologyView(TopologySettings(format="json"))
