"""The input on which the contract of the kind view is tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract

from perfcore_view_history.view import HistoryView


class HistoryContract(ViewContract):
    """The drawing for terminals, which is the form without options."""

    @pytest.fixture
    def driver(self) -> HistoryView:
        return HistoryView()
