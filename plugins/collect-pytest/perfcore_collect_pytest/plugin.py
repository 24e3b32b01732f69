"""The plugin of pytest: the options `--perf...` and the fixture `perf`.

Every run of pytest imports this module. It imports only pytest; the rest is imported where it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from perfcore_collect_pytest.plugin_names import BENCHMARK_PLUGINS, WORKER

if TYPE_CHECKING:
    from perfcore_collect_pytest.calls import Perf

_PROCESSES = 5  # an error of 6 % in comparisons of two versions (95 %), and five times the time of one process


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("perf", "performance tests (perfcore)")
    group.addoption("--perf", action="store_true", help="Measure the tests that use the fixture `perf`.")
    group.addoption(
        "--perf-processes",
        type=int,
        default=_PROCESSES,
        metavar="N",
        help=f"Measure in N new processes: each is one value of a comparison. Default: {_PROCESSES}.",
    )
    group.addoption("--perf-fail", action="store_true", help="Fail if a test regressed.")


def pytest_configure(config: pytest.Config) -> None:
    manager = config.pluginmanager
    if not any(manager.hasplugin(name) for name in BENCHMARK_PLUGINS):
        from perfcore_collect_pytest import benchmark_fixture

        config.addinivalue_line("markers", "benchmark: options of pytest-benchmark, which is not installed")
        manager.register(benchmark_fixture, "perfcore-benchmark")
    if not config.getoption("perf") or manager.hasplugin(WORKER) or hasattr(config, "workerinput"):
        return
    if config.getoption("perf_processes") < 1:
        raise pytest.UsageError("--perf-processes takes a number from 1 on")
    if config.getoption("numprocesses", None) or config.getoption("tx", None):
        raise pytest.UsageError("--perf cannot measure while pytest-xdist runs tests side by side: add -n 0")
    if not config.getoption("collectonly"):
        from perfcore_collect_pytest.session import PerfSession

        manager.register(PerfSession(config), "perfcore-session")


@pytest.fixture
def perf(request: pytest.FixtureRequest) -> Perf:
    """Calls a function: `perf(function, *args, **kwargs)` gives what it returns. With `--perf` it is measured."""
    from perfcore_collect_pytest.calls import perf_of

    return perf_of(request)
