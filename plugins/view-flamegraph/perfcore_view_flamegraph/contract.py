"""How the laws of the kind view are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract

from perfcore_view_flamegraph.view import FlamegraphSettings, FlamegraphView


class FlamegraphContract(ViewContract):
    """What it writes is a page or a picture, as wide as it is shown."""

    html = True
    columns = None

    @pytest.fixture(params=["html", "svg"])
    def driver(self, request: pytest.FixtureRequest) -> FlamegraphView:
        return FlamegraphView(FlamegraphSettings(format=request.param))
