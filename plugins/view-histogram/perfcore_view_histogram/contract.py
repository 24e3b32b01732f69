"""How the laws of the kind view are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract

from perfcore_view_histogram.view import HistogramView


class HistogramContract(ViewContract):
    """The text for terminals, which is the form without options."""

    fitted = True

    @pytest.fixture
    def driver(self) -> HistogramView:
        return HistogramView()
