"""`pytest --perf`: a session that runs its tests once and then measures those that passed, each process of its own."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import pytest

from perfcore_collect_pytest.plugin_names import BENCHMARK_PLUGINS, FIXTURES, PYTEST_BENCHMARK

if TYPE_CHECKING:
    from perfcore_collect_pytest.measurement import SessionResult


class PerfSession:
    """A plugin of pytest for the session of the user."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._chosen: list[str] = []
        self._unmeasured: set[str] = set()
        self._result: SessionResult | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        fixtures = set(FIXTURES)
        if any(map(self._config.pluginmanager.hasplugin, BENCHMARK_PLUGINS)):
            fixtures.remove("benchmark")
        self._chosen = [
            item.nodeid for item in session.items if fixtures.intersection(getattr(item, "fixturenames", ()))
        ]
        self._unmeasured = set(self._chosen)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._unmeasured.discard(report.nodeid)
        elif report.failed:
            self._unmeasured.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Measure before the summary is printed, of which the exit code is part."""
        from perfcore.text import plural
        from perfcore_collect_pytest.measurement import SessionResult, measure

        passed = [test for test in self._chosen if test not in self._unmeasured]
        if not passed or exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return
        processes = self._config.getoption("perf_processes")
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            tests, in_processes = plural(len(passed), "test"), plural(processes, "process", "processes")
            reporter.write_line(f"\nmeasuring {tests} in {in_processes}")
        arguments = [*self._config.invocation_params.args, *(f"--deselect={test}" for test in self._unmeasured)]
        if self._config.pluginmanager.hasplugin(PYTEST_BENCHMARK):
            arguments.append("--benchmark-skip")
        try:
            self._result = measure(self._config.invocation_params.dir, shlex.join(map(str, arguments)), processes)
        except KeyboardInterrupt:  # raised here it would be a traceback, and there would be no summary
            self._result = SessionResult(messages=("interrupted: the tests are not measured",))
            session.exitstatus = pytest.ExitCode.INTERRUPTED
        if self._result.has_regressed and self._config.getoption("perf_fail") and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._result is None:
            return
        from perfcore_collect_pytest.report import lines

        terminalreporter.section("performance")
        for line in lines(self._result, terminalreporter._tw.fullwidth):
            terminalreporter.write_line(line.text, **{line.color: True} if line.color else {})
