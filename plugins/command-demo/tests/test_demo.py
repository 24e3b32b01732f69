"""`perf demo` as a plugin; tests/cli/test_demo.py of the project takes the whole tour."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_command_demo.driver import Demo
from perfcore_testing.command import CommandContract
from perfcore_testing.output import FakeContext


class TestDemo(CommandContract):
    @pytest.fixture
    def driver(self) -> Demo:
        return Demo()

    @pytest.fixture
    def output(self, tmp_path: Path) -> FakeContext:
        return FakeContext(tmp_path)

    # The tour starts `perf` processes, which write to the terminal themselves: the test of the tour has them.
    test_it_prints_through_the_output_only = None  # type: ignore[assignment]
