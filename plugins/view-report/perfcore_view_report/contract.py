"""How the laws of the kind view are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract

from perfcore_view_report.view import ReportView


class ReportContract(ViewContract):
    """What it writes is a page."""

    html = True
    columns = None

    @pytest.fixture
    def driver(self) -> ReportView:
        return ReportView()
