"""It keeps the contract of its kind."""

from __future__ import annotations

from perfcore_source_statprofiler.contract import StatprofilerContract


class TestStatprofiler(StatprofilerContract):
    """Every rule of the kind source."""
