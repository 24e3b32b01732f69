"""The contract of reports, for each of them."""

from __future__ import annotations

import pytest
from perfcore_report_ci.github import GithubReport
from perfcore_report_ci.junit import JunitReport
from perfcore_report_ci.markdown import MarkdownReport
from perfcore_report_ci.sarif import SarifReport
from perfcore_testing.report import ReportContract


class TestGithub(ReportContract):
    @pytest.fixture
    def driver(self) -> GithubReport:
        return GithubReport()


class TestJunit(ReportContract):
    html = True

    @pytest.fixture
    def driver(self) -> JunitReport:
        return JunitReport()


class TestMarkdown(ReportContract):
    @pytest.fixture
    def driver(self) -> MarkdownReport:
        return MarkdownReport()


class TestSarif(ReportContract):
    exact = True  # JSON escapes what is not text

    @pytest.fixture
    def driver(self) -> SarifReport:
        return SarifReport()
