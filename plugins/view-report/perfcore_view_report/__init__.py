"""The view `report` of perfcore: one document on what changed, how sure that is, and on what it was measured."""

from perfcore_view_report.view import ReportSettings, ReportView

__all__ = ["ReportSettings", "ReportView"]
