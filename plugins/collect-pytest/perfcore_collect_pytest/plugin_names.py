"""Names of plugins and fixtures of pytest."""

WORKER = "perfcore-worker"
"""The plugin that is registered in a process that measures."""
FIXTURES = ("perf", "benchmark")
"""The fixtures whose tests are measured."""
BENCHMARK_PLUGINS = ("benchmark", "codspeed")
"""pytest-benchmark and pytest-codspeed, by their entry points: both bring a fixture `benchmark`."""
PYTEST_BENCHMARK = BENCHMARK_PLUGINS[0]
