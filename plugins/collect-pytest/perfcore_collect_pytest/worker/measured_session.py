"""The session of pytest in a worker: chooses the tests that are measured, and tells what became of each."""

from __future__ import annotations

import gc
import itertools
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from perfcore_collect_bench.worker import link, suite_files

from perfcore_collect_pytest.calls import Order, Perf
from perfcore_collect_pytest.plugin_names import FIXTURES, PYTEST_BENCHMARK, WORKER

_LONGEST_MESSAGE = 500  # characters: an assertion may show all of two large lists
_ROUND_TIME = "0.05"  # s of a test of pytest-benchmark, which takes 1 s by itself: more processes tell more


class MeasuredSession:
    """A plugin of pytest for one process of a run. `arguments` are those that it adds to the user's."""

    __name__ = WORKER  # under which pluggy registers it

    def __init__(self, request: Mapping[str, Any], output: int) -> None:
        self._request = request
        self._output = output
        self._perf: Perf | None = None
        self._outcomes: list[pytest.TestReport] = []
        self._deselected: list[pytest.Item] = []
        # `-x` would leave out tests after one that fails; files of the cache belong to the user's own sessions.
        self.arguments = ["--maxfail=0", "--continue-on-collection-errors", "-o", f"cache_dir={request['cache']}"]

    def perf_of(self, test: str) -> Perf:
        """The fixture of a test."""
        self._perf = Perf(Order(self._request["plans"].get(test), test not in self._request["settled"]))
        return self._perf

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any, args: list[str]) -> Iterator[None]:
        """Add what other plugins have to be told: here they are known, and the arguments not yet parsed. A project is
        imported from its root, also where pytest was started below it."""
        root = [str(path) for path in suite_files.tree_path(early_config.rootpath)]
        sys.path[:0] = [path for path in root if path not in sys.path]
        has = early_config.pluginmanager.hasplugin
        if has("xdist"):
            args += ["-n0"]
        if has("pytest_cov"):
            args += ["--no-cov"]  # it would be most of what is measured
            early_config.known_args_namespace.no_cov = True  # which pytest-cov reads in this hook
        if has(PYTEST_BENCHMARK):
            args += [f"--benchmark-json={self._request['results']}", f"--benchmark-max-time={_ROUND_TIME}"]
            args += ["--benchmark-enable"]
        yield

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            link.tell(self._output, event="broken", key=report.nodeid, message=_message(report))

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._deselected += items

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the tests that measure. The order of the files is that of the seed; tests of a file stay together and in
        their order, as they may share fixtures."""
        fixtures = set(FIXTURES[:1] if config.getoption("benchmark_skip", False) else FIXTURES)
        excluded = set(self._request["excluded"])
        chosen = [item for item in items if item.nodeid not in excluded and _uses(fixtures, item)]
        deselected = sum(_uses(fixtures, item) for item in self._deselected)
        link.tell(self._output, event="chosen", selected=len(items), deselected=deselected)
        groups = [
            list(group) for _, group in itertools.groupby(chosen, key=lambda item: item.nodeid.partition("::")[0])
        ]
        random.Random(self._request["seed"]).shuffle(groups)
        items[:] = [item for group in groups for item in group]

    def pytest_collection_finish(self) -> None:
        # What the modules made stays: a collection that looks at it takes seconds for a large suite.
        gc.collect()
        gc.freeze()
        link.tell(self._output, event="traced", tracer=_tracer())

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._perf, self._outcomes = None, []
        link.tell(self._output, event="begin", key=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._outcomes.append(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        link.tell(self._output, key=nodeid, **self._event())

    def _event(self) -> dict[str, Any]:
        """What became of the test: a test of which any part failed was not measured."""
        for report in self._outcomes:
            if report.outcome == "failed":
                return {"event": "failed", "message": _message(report)}
            if report.outcome == "skipped":
                return {"event": "skipped", "message": _message(report)}
        if self._perf is None:
            return {"event": "passed"}  # it is one of pytest-benchmark, which writes its times at the end
        if self._perf.measured is None:
            return {
                "event": "failed",
                "message": "the test measures nothing: it never calls its fixture, or not to the end",
            }
        return {"event": "measured", **self._perf.measured}


def _uses(fixtures: set[str], item: pytest.Item) -> bool:
    return not fixtures.isdisjoint(getattr(item, "fixturenames", ()))


def _message(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The error in one line."""
    longrepr: Any = report.longrepr
    crash = getattr(longrepr, "reprcrash", None)
    if crash is not None:
        text = str(crash.message)
    elif isinstance(longrepr, tuple):
        text = str(longrepr[2])
    else:
        lines = [line for line in str(longrepr).splitlines() if line.startswith("E ")] or str(longrepr).splitlines()
        text = lines[-1].removeprefix("E ") if lines else ""
    return " ".join(text.split())[:_LONGEST_MESSAGE] or report.outcome


def _tracer() -> str:
    """What traces this process, as coverage and debuggers do; empty for nothing."""
    tracer = sys.gettrace() or sys.getprofile()
    if tracer is not None:
        return str(getattr(type(tracer), "__module__", "") or "a tracer")
    monitoring = getattr(sys, "monitoring", None)  # of Python 3.12 on
    names = [monitoring.get_tool(number) for number in range(6)] if monitoring else []
    return ", ".join(filter(None, names))
