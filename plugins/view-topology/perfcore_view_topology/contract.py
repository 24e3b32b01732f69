"""How the laws of the kind view are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract

from perfcore_view_topology.view import TopologySettings, TopologyView

_FORMS = {
    "text": TopologySettings(),
    "ascii": TopologySettings(ascii=True, metric="ipc", head=3),
    "page": TopologySettings(format="html"),
    "json": TopologySettings(format="json"),
}


class TopologyContract(ViewContract):
    """Every form: the text is as wide as the terminal, the page is HTML."""

    @pytest.fixture(params=_FORMS)
    def driver(self, request: pytest.FixtureRequest) -> TopologyView:
        self.fitted = request.param in ("text", "ascii")
        self.html = request.param == "page"
        return TopologyView(_FORMS[request.param])
