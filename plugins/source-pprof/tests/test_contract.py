"""It keeps the contract of its kind."""

from __future__ import annotations

from perfcore_source_pprof.contract import PprofContract


class TestPprof(PprofContract):
    """Every rule of the kind source."""
