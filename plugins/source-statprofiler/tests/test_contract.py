"""They keep the contract of their kind."""

from __future__ import annotations

from perfcore_source_statprofiler.contract import StatprofilerContract
from perfcore_source_statprofiler.report_contract import StatprofilerReportContract


class TestStatprofiler(StatprofilerContract):
    """Every rule of the kind source."""


class TestStatprofilerReport(StatprofilerReportContract):
    """Every rule of the kind source."""
