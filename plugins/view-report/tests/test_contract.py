"""The contract of views."""

from __future__ import annotations

from perfcore_view_report.contract import ReportContract


class TestReport(ReportContract):
    """As users ask for it."""
